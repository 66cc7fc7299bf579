//! TPC-H: its tables and its queries.

use datafusion::arrow::array::RecordBatch;
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

/// The names of the tables, and their rows at a scale factor, in batches.
pub fn tables(scale: f64) -> Vec<(&'static str, Batches)> {
    macro_rules! batches {
        ($arrow:ident, $generator:ident) => {
            Box::new(
                $arrow::new($generator::new(scale, 1, 1))
                    .with_batch_size(4096)
                    .map(|batch| batch.unwrap()),
            )
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

/// The rows of a table.
type Batches = Box<dyn Iterator<Item = RecordBatch>>;
