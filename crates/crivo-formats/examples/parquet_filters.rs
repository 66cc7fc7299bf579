//! The filters of Parquet files: lists them, asks them, adds them.
//!
//! ```text
//!   parquet_filters list FILE                       row groups, columns, sizes, FPRs
//!   parquet_filters ask FILE COLUMN KEY-TYPE KEY    which row groups may contain the key
//!   parquet_filters add FILE FPR [COLUMN …]         filters for columns that have none
//! ```

use std::env;
use std::error::Error;

use crivo_formats::KeyType;
use crivo_formats::parquet::{AddFilters, ParquetFile};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match &arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["list", path] => list(path),
        ["ask", path, column, key_type, key] => {
            let key_type: KeyType = key_type.parse()?;
            let key = key_type.parse_key(key.as_bytes())?;
            let answers = ParquetFile::open(path)?.may_contain(column, &key)?;
            for (row_group, answer) in answers.iter().enumerate() {
                println!("row group {row_group}: {answer:?}");
            }
            Ok(())
        }
        ["add", path, fpr, columns @ ..] => {
            let add = AddFilters::new(fpr.parse()?)?;
            let add = columns.iter().fold(add, |add, &column| add.column(column));
            let added = add.replace(path)?;
            println!("{} filters added", added.len());
            Ok(())
        }
        _ => Err("usage: parquet_filters list … | ask … | add …".into()),
    }
}

fn list(path: &str) -> Result<(), Box<dyn Error>> {
    let mut file = ParquetFile::open(path)?;
    for location in file.filters().to_vec() {
        let Some(filter) = file.filter(location.row_group, location.column)? else { continue };
        println!(
            "row group {}, {}: {} bytes, FPR {:.5}",
            location.row_group,
            file.columns()[location.column].path,
            filter.size_in_bits() / 8,
            filter.expected_fpr(),
        );
    }
    Ok(())
}
