//! How often signatures whose places are not independent become candidates.
//!
//! The S-curve 1 − (1 − s^r)^b takes the places of two signatures to agree independently of each
//! other. Those of a one-permutation signature do not: no element is found in two bins, and what
//! empty bins borrow is found in several. Yet all that matters is *how many* places agree. Given
//! their number t, every choice of t places is equally likely, and the probability that one of
//! them fills a band follows.
//!
//! ```text
//!   u elements in the union, c in both, k bins
//!   m bins filled           balls and bins: u balls, k bins
//!   M of them agree         draws without replacement: m of u, of which c count
//!   t = M + B               an empty bin borrows from a random filled one: B ~ Binomial(k − m, M/m)
//!   P(candidate | t)        place by place, below
//! ```
//!
//! All of it comes from sums and products of positive numbers.

use super::Banding;
use crivo::ParameterError;
use crivo::theory::special::binomial_probability;
use crivo_core::check::{check_positive, check_range};

/// From this number of elements per bin on, a bin is empty with probability below 1e-21.
const SURELY_FILLED: u64 = 64;

/// What is less likely than this is left out of sums.
const NEGLIGIBLE: f64 = 1e-13;

/// The probability that one-permutation signatures of `length` whole values become candidates, if
/// the sets have `common` elements in both and `union` in all.
///
/// It is exact for ideal hashing, and never far from the S-curve of
/// [`Banding::candidate_probability`]: with 16 bands of 4 by at most about a percentage point.
///
/// It is the mean over all orders in which empty bins may look for a lender. A sketcher has one
/// order for all sets, which shows where many bins are empty: its own probability is then off by
/// about a percentage point (20 elements in 32 bins: 0.5 to 1.6; 100 in 100: 0.7).
///
/// ```
/// use crivo_sketch::{Banding, one_permutation_candidates};
///
/// let banding = Banding::new(16, 4)?;
/// let chance = |common, union| one_permutation_candidates(banding, 64, common, union);
/// let curve = banding.candidate_probability(0.5);
/// assert!((chance(50_000, 100_000)? - curve).abs() < 1e-3);
/// assert!((chance(100, 200)? - curve).abs() > 2e-3); // nothing is found in two bins
/// assert!((chance(5, 10)? - curve).abs() > 4e-3); // most bins borrow
/// # Ok::<(), crivo::ParameterError>(())
/// ```
///
/// # Errors
/// If the union is empty or smaller than what is common, or the bands need more values than
/// there are.
pub fn one_permutation_candidates(
    banding: Banding,
    length: u32,
    common: u64,
    union: u64,
) -> Result<f64, ParameterError> {
    check_positive("union", union)?;
    if common > union {
        return Err(ParameterError::new("common", common, "at most the union"));
    }
    check_range("bands × rows", banding.value_count(), 1..=length, "at most the signature length")?;
    let by_agreeing = candidates_by_agreeing(banding, length);
    let filled = filled_bins(union, length);
    // drawn[M]: the probability that M of the filled bins agree; a bin more at every step.
    let mut drawn = vec![1.0];
    let mut probability = filled[0] * by_agreeing[0];
    for (m, &weight) in filled.iter().enumerate().skip(1) {
        draw_one_more(&mut drawn, m as u64, common, union);
        if weight < NEGLIGIBLE {
            continue;
        }
        let borrowing = length as usize - m;
        let given_filled = drawn.iter().enumerate().filter(|(_, share)| **share >= NEGLIGIBLE).map(
            |(agreeing, share)| share * mean_over_borrowed(&by_agreeing, agreeing, m, borrowing),
        );
        probability += weight * given_filled.sum::<f64>();
    }
    Ok(probability.min(1.0))
}

/// The mean of `by_agreeing[M + B]` over the places that borrow.
fn mean_over_borrowed(by_agreeing: &[f64], agreeing: usize, m: usize, borrowing: usize) -> f64 {
    let share = agreeing as f64 / m as f64;
    if borrowing == 0 || agreeing == 0 {
        return by_agreeing[agreeing];
    }
    if agreeing == m {
        return by_agreeing[agreeing + borrowing];
    }
    (0..=borrowing)
        .map(|borrowed| {
            let weight = binomial_probability(borrowing as f64, borrowed as f64, share);
            weight * by_agreeing[agreeing + borrowed]
        })
        .sum()
}

/// The distribution of the number of bins that `balls` balls fill, index by number.
fn filled_bins(balls: u64, bins: u32) -> Vec<f64> {
    let k = f64::from(bins);
    let mut filled = vec![0.0; bins as usize + 1];
    if balls >= SURELY_FILLED * u64::from(bins) {
        filled[bins as usize] = 1.0;
        return filled;
    }
    filled[0] = 1.0;
    for _ in 0..balls {
        for m in (1..filled.len()).rev() {
            let free = (k - (m - 1) as f64) / k;
            filled[m] = filled[m] * (m as f64 / k) + filled[m - 1] * free;
        }
        filled[0] = 0.0;
    }
    filled
}

/// Draws the m-th of `union` elements without replacement, of which `common` count.
fn draw_one_more(drawn: &mut Vec<f64>, m: u64, common: u64, union: u64) {
    let left = union.saturating_sub(m - 1).max(1) as f64;
    let chance = |agreeing: usize| common.saturating_sub(agreeing as u64) as f64 / left;
    drawn.push(0.0);
    for agreeing in (0..drawn.len()).rev() {
        let before = if agreeing == 0 { 0.0 } else { drawn[agreeing - 1] * chance(agreeing - 1) };
        drawn[agreeing] = before + drawn[agreeing] * (1.0 - chance(agreeing)).max(0.0);
    }
}

/// P(some band agrees in all its places | t of `length` places agree), for t = 0 … length.
///
/// Place by place, from the last to the first: a place agrees with probability t/n, if t of the n
/// from it on do.
fn candidates_by_agreeing(banding: Banding, length: u32) -> Vec<f64> {
    let places = length as usize;
    let unused = places - banding.value_count() as usize;
    // The probability that no band is full from here on: after all bands it is 1.
    let mut none_full = vec![1.0; places + 1];
    for band in (0..banding.bands() as usize).rev() {
        // From the band's end: `broken` if a place of it differed, `whole` if none has so far.
        let mut broken = none_full;
        let mut whole = vec![0.0; places + 1];
        for row in (0..banding.rows() as usize).rev() {
            let after = unused + (banding.bands() as usize - 1 - band) * banding.rows() as usize;
            let n = after + banding.rows() as usize - row;
            for t in (0..=places).rev() {
                let agrees = (t as f64 / n as f64).min(1.0);
                let below = t.saturating_sub(1);
                whole[t] = agrees * whole[below] + (1.0 - agrees) * broken[t];
                broken[t] = agrees * broken[below] + (1.0 - agrees) * broken[t];
            }
        }
        none_full = whole;
    }
    none_full.into_iter().map(|none| 1.0 - none).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// P(candidate) where every place agrees with probability p on its own.
    fn of_independent_places(banding: Banding, length: u32, p: f64) -> f64 {
        let by_agreeing = candidates_by_agreeing(banding, length);
        let weight = |t: usize| binomial_probability(f64::from(length), t as f64, p);
        by_agreeing.iter().enumerate().map(|(t, chance)| weight(t) * chance).sum()
    }

    #[test]
    fn small_cases_by_hand() {
        // Two bands of two; of three agreeing places of four, two always fill a band.
        let by_agreeing = candidates_by_agreeing(Banding::new(2, 2).unwrap(), 4);
        let expected = [0.0, 0.0, 1.0 / 3.0, 1.0, 1.0];
        assert!(by_agreeing.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-15));
        // One element in all: the sets are equal, or have nothing in common.
        let banding = Banding::new(3, 2).unwrap();
        assert_eq!(one_permutation_candidates(banding, 6, 1, 1).unwrap(), 1.0);
        assert_eq!(one_permutation_candidates(banding, 6, 0, 1).unwrap(), 0.0);
        // Two bins, one band of one, one of two elements common: the bin's least, or the borrowed
        // one, is common with probability 1/2 whatever happens.
        let one = Banding::new(1, 1).unwrap();
        assert!((one_permutation_candidates(one, 2, 1, 2).unwrap() - 0.5).abs() < 1e-15);
        // Both of two bins must agree: only if both elements fell into one bin (1/2), and the common
        // one was the lesser (1/2).
        let both = Banding::new(1, 2).unwrap();
        assert!((one_permutation_candidates(both, 2, 1, 2).unwrap() - 0.25).abs() < 1e-15);
    }

    #[test]
    fn bad_parameters_are_named() {
        let banding = Banding::new(4, 4).unwrap();
        let parameter = |length, common, union| {
            one_permutation_candidates(banding, length, common, union).unwrap_err().parameter
        };
        assert_eq!(parameter(16, 0, 0), "union");
        assert_eq!(parameter(16, 2, 1), "common");
        assert_eq!(parameter(15, 1, 1), "bands × rows");
    }

    proptest! {
        #[test]
        fn independent_places_give_the_s_curve(
            bands in 1u32..20, rows in 1u32..8, unused in 0u32..10, p in 0.01..0.99f64,
        ) {
            let banding = Banding::new(bands, rows).unwrap();
            let found = of_independent_places(banding, bands * rows + unused, p);
            prop_assert!((found - banding.candidate_probability(p)).abs() < 1e-9);
        }

        #[test]
        fn one_row_of_one_band_is_the_similarity(
            length in 1u32..80, union in 1u64..300, share in 0.0..=1.0f64,
        ) {
            let common = (share * union as f64) as u64;
            let one = Banding::new(1, 1).unwrap();
            let found = one_permutation_candidates(one, length, common, union).unwrap();
            prop_assert!((found - common as f64 / union as f64).abs() < 1e-9);
        }

        #[test]
        fn distributions_add_up_to_1(balls in 1u64..500, bins in 1u32..60) {
            prop_assert!((filled_bins(balls, bins).iter().sum::<f64>() - 1.0).abs() < 1e-12);
        }
    }
}
