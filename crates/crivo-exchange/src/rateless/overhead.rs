//! How many symbols it takes.

/// The size of a difference, and the symbols per id until all of it is decoded: the mean of 2 to
/// 5,000 exchanges each (200,000 ids altogether, where that is more than two).
const MEASURED: [(f64, f64); 24] = [
    (1.0, 1.000),
    (2.0, 1.615),
    (3.0, 1.731),
    (4.0, 1.756),
    (5.0, 1.758),
    (6.0, 1.789),
    (8.0, 1.749),
    (10.0, 1.734),
    (12.0, 1.705),
    (16.0, 1.674),
    (24.0, 1.610),
    (32.0, 1.573),
    (48.0, 1.521),
    (64.0, 1.489),
    (96.0, 1.458),
    (128.0, 1.438),
    (192.0, 1.417),
    (256.0, 1.407),
    (512.0, 1.388),
    (1_024.0, 1.374),
    (4_096.0, 1.362),
    (16_384.0, 1.358),
    (65_536.0, 1.352),
    (262_144.0, 1.357),
];

/// How many coded symbols it takes to decode a difference of this size, on average.
///
/// Between the sizes that were measured it goes straight, and beyond the last as the last.
///
/// ```
/// use crivo_exchange::rateless::expected_symbols;
///
/// assert_eq!(expected_symbols(0.0), 1.0); // one symbol tells that two sets are the same
/// assert_eq!(expected_symbols(1.0), 1.0);
/// assert!((expected_symbols(1_000.0) / 1_000.0 - 1.374).abs() < 0.001);
/// ```
pub fn expected_symbols(difference: f64) -> f64 {
    let beyond = MEASURED.partition_point(|&(size, _)| size < difference);
    if beyond == 0 {
        return 1.0;
    }
    let (low, at_low) = MEASURED[beyond - 1];
    let (high, at_high) = *MEASURED.get(beyond).unwrap_or(&(f64::INFINITY, at_low));
    let share = if high.is_finite() { (difference - low) / (high - low) } else { 0.0 };
    difference * (at_low + share * (at_high - at_low))
}
