//! Queries for tests of several crates: TPC-H, random joins and queries, and results that can be compared.

pub mod joins;
pub mod random;
pub mod tpch;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::util::pretty::pretty_format_batches;

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
