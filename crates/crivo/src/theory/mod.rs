//! Sizes, error rates, bounds and intervals: pure formulas that know no filter type.
