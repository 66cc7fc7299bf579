//! TPC-H for tests: its tables, its queries, and results that can be compared.

use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::util::pretty::pretty_format_batches;
use datafusion::datasource::MemTable;
use tpchgen::generators::{
    CustomerGenerator, LineItemGenerator, NationGenerator, OrderGenerator, PartGenerator,
    PartSuppGenerator, RegionGenerator, SupplierGenerator,
};
use tpchgen_arrow::{
    CustomerArrow, LineItemArrow, NationArrow, OrderArrow, PartArrow, PartSuppArrow, RegionArrow,
    SupplierArrow,
};

/// The numbers of the queries and their text.
pub fn queries() -> Vec<(usize, &'static str)> {
    let mut queries = Vec::new();
    let mut rest = include_str!("queries.sql");
    for number in 1..=22 {
        let begin = format!("-- {number}\n");
        let start = rest.find(&begin).unwrap() + begin.len();
        rest = &rest[start..];
        let end = rest.find(&format!("-- {}\n", number + 1)).unwrap_or(rest.len());
        queries.push((number, &rest[..end]));
    }
    queries
}

/// Every table of a scale factor, in some batches.
pub fn tables(scale: f64) -> Vec<(&'static str, Vec<RecordBatch>)> {
    macro_rules! batches {
        ($arrow:ident, $generator:ident) => {
            $arrow::new($generator::new(scale, 1, 1))
                .with_batch_size(4096)
                .map(|batch| batch.unwrap())
                .collect()
        };
    }
    vec![
        ("customer", batches!(CustomerArrow, CustomerGenerator)),
        ("lineitem", batches!(LineItemArrow, LineItemGenerator)),
        ("nation", batches!(NationArrow, NationGenerator)),
        ("orders", batches!(OrderArrow, OrderGenerator)),
        ("part", batches!(PartArrow, PartGenerator)),
        ("partsupp", batches!(PartSuppArrow, PartSuppGenerator)),
        ("region", batches!(RegionArrow, RegionGenerator)),
        ("supplier", batches!(SupplierArrow, SupplierGenerator)),
    ]
}

/// A table in memory of several partitions.
pub fn table(batches: &[RecordBatch]) -> Arc<MemTable> {
    let schema = batches[0].schema();
    let partitions = (0..4).map(|part| batches.iter().skip(part).step_by(4).cloned().collect());
    Arc::new(MemTable::try_new(schema, partitions.collect()).unwrap())
}

/// The rows of a result, in an order of their own.
pub fn sorted_rows(batches: &[RecordBatch]) -> Vec<String> {
    let text = pretty_format_batches(batches).unwrap().to_string();
    let mut rows: Vec<String> = text.lines().skip(3).map(str::to_owned).collect();
    // The widths of columns belong to the whole table.
    for row in &mut rows {
        *row = row.split('|').map(str::trim).collect::<Vec<_>>().join("|");
    }
    rows.retain(|row| !row.starts_with('+'));
    rows.sort();
    rows
}
