//! Sizes, error rates, bounds and intervals: pure formulas that know no filter type.
mod check;
mod occupancy;
mod special;

pub mod blocked;
pub mod bloom;
pub mod compaction;
pub mod counting;
pub mod cuckoo;
pub mod estimate;
pub mod fuse;
pub mod interval;
pub mod limits;
pub mod quotient;
pub mod rejection;
