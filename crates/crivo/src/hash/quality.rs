//! Is this family good enough? Uniformity, correlation and independence, with p-values.
