//! Tables in files that every process can read.

use std::fs::File;
use std::path::Path;

use datafusion::arrow::array::RecordBatch;
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::prelude::{ParquetReadOptions, SessionContext};

use crate::cases;

/// Writes the tables of TPC-H as Parquet files.
pub fn write_tpch(directory: &Path, scale: f64) {
    for (name, batches) in cases::tpch::tables(scale) {
        write(directory, name, batches);
    }
}

/// Writes the rows of a table, which has some batch, as a Parquet file.
pub fn write(directory: &Path, name: &str, batches: impl Iterator<Item = RecordBatch>) {
    let mut batches = batches.peekable();
    let schema = batches.peek().unwrap().schema();
    let file = File::create(directory.join(format!("{name}.parquet"))).unwrap();
    let mut writer = ArrowWriter::try_new(file, schema, None).unwrap();
    batches.for_each(|batch| writer.write(&batch).unwrap());
    writer.close().unwrap();
}

/// Makes every Parquet file of a directory a table.
pub async fn register(context: &SessionContext, directory: &Path) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        let options = ParquetReadOptions::default();
        context.register_parquet(name, path.to_str().unwrap(), options).await.unwrap();
    }
}
