//! Sizes, error rates, bounds and intervals: pure formulas that know no filter type.
mod check;
mod occupancy;
mod special;

pub mod bloom;
