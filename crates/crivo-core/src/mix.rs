//! Two functions on 64 bits that everything else is made of.

/// 2^64 over the golden ratio, made odd: the step of SplitMix64's counter.
///
/// ```
/// use crivo_core::mix::GOLDEN;
///
/// let golden_ratio = (1.0 + 5f64.sqrt()) / 2.0;
/// assert!((GOLDEN as f64 / 2f64.powi(64) - 1.0 / golden_ratio).abs() < 1e-15);
/// ```
pub const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// A bijection of 64 bits whose output looks random: SplitMix64's step and finaliser.
///
/// ```
/// // The first output of SplitMix64 with the published test seed.
/// assert_eq!(crivo_core::mix::mix(1_234_567), 6_457_827_717_110_365_317);
/// ```
#[inline]
pub const fn mix(x: u64) -> u64 {
    // One round of a multiply–xorshift finaliser (Stafford's mix 13); the additive constant keeps 0
    // from being a fixed point.
    let mut x = x.wrapping_add(GOLDEN);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// Maps 64 random bits to `0..m` without a division: ⌊hash · m / 2^64⌋.
///
/// The high bits of `hash` decide. Each result has ⌊2^64/m⌋ or ⌈2^64/m⌉ preimages, so that the
/// bias is below m/2^64 for any m, also beyond 2^32. For m = 0 the answer is 0.
///
/// ```
/// use crivo_core::mix::reduce;
///
/// assert_eq!(reduce(0, 10), 0);
/// assert_eq!(reduce(u64::MAX / 2, 10), 4);
/// assert_eq!(reduce(u64::MAX, 1 << 40), (1 << 40) - 1);
/// ```
#[inline]
pub const fn reduce(hash: u64, m: u64) -> u64 {
    ((hash as u128 * m as u128) >> 64) as u64
}
