//! Correlation: two functions rise and fall together.

use std::f64::consts::SQRT_2;

use crivo::{Digest, ParameterError};
use statrs::function::erf::{erfc, erfc_inv};

use super::{DigestTable, Hypothesis, check_alpha, pairs};

/// Pearson's coefficient of every two functions, taken over the digests as numbers.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Correlation {
    /// Row i, column j: the coefficient of functions i and j. Symmetric, with ones on the
    /// diagonal. A constant function correlates with no other: 0.
    pub matrix: Vec<Vec<f64>>,
    /// How many keys the coefficients were taken over.
    pub key_count: usize,
}

impl Correlation {
    /// What was tested of every two functions, and its p-value: the probability of a coefficient at
    /// least as far from 0, if the functions are independent.
    pub fn outcomes(&self) -> impl Iterator<Item = (Hypothesis, f64)> {
        pairs(self.matrix.len()).map(|(first, second)| {
            let p_value = p_value(self.matrix[first][second], self.key_count);
            (Hypothesis::Uncorrelated(first, second), p_value)
        })
    }

    /// The largest |r| of two different functions, or 0 if there is only one.
    pub fn largest(&self) -> f64 {
        pairs(self.matrix.len())
            .map(|(first, second)| self.matrix[first][second].abs())
            .fold(0.0, f64::max)
    }
}

/// The |r| that no pair of a perfect family reaches, but with a probability of `alpha` over all
/// `pair_count` pairs together (Bonferroni's bound, which is the first step of [`holm`](super::holm)).
///
/// ```text
///   threshold = tanh( z / √(n − 3) ),   z: the normal quantile of 1 − alpha / (2 · pairs)
/// ```
///
/// ```
/// use crivo_lab::quality::correlation_threshold;
///
/// // Ten functions have 45 pairs.
/// let threshold = correlation_threshold(0.01, 100_000, 45)?;
/// assert!((threshold - 0.0117).abs() < 1e-4);
/// # Ok::<(), crivo::ParameterError>(())
/// ```
///
/// # Errors
/// If alpha is not strictly between 0 and 1, with fewer than four keys, or without pairs.
pub fn correlation_threshold(
    alpha: f64,
    key_count: usize,
    pair_count: usize,
) -> Result<f64, ParameterError> {
    check_alpha(alpha)?;
    check_sample(key_count, pair_count)?;
    let deviations = SQRT_2 * erfc_inv(alpha / pair_count as f64);
    Ok((deviations * standard_error(key_count)).tanh())
}

/// The probability that at least one of `pair_count` pairs of a perfect family reaches |r| = `limit`.
///
/// ```
/// use crivo_lab::quality::probability_of_correlation_above;
///
/// // "|r| < 0.01" for ten functions and 100,000 keys fails without any fault in 7% of runs.
/// let probability = probability_of_correlation_above(0.01, 100_000, 45)?;
/// assert_eq!((probability * 100.0).round(), 7.0);
/// # Ok::<(), crivo::ParameterError>(())
/// ```
///
/// # Errors
/// If the limit is not strictly between 0 and 1, with fewer than four keys, or without pairs.
pub fn probability_of_correlation_above(
    limit: f64,
    key_count: usize,
    pair_count: usize,
) -> Result<f64, ParameterError> {
    if !(limit > 0.0 && limit < 1.0) {
        return Err(ParameterError::new("limit", limit, "strictly between 0 and 1"));
    }
    check_sample(key_count, pair_count)?;
    // 1 − (1 − p)^pairs, without losing a small p. The coefficients of a perfect family are as
    // good as independent of each other, also where pairs share a function.
    let none = pair_count as f64 * (-p_value(limit, key_count)).ln_1p();
    Ok(-none.exp_m1())
}

impl DigestTable {
    /// The correlation of every two functions.
    ///
    /// ```
    /// use crivo::Digest;
    /// use crivo::KeyHasher;
    /// use crivo_lab::quality::DigestTable;
    ///
    /// let digest = |key: &u64| KeyHasher::default().digest(key);
    /// let inverted = |key: &u64| Digest::new(!digest(key).get());
    /// let functions: [&dyn Fn(&u64) -> Digest; 2] = [&digest, &inverted];
    /// let correlation = DigestTable::new(&functions, 0..1_000)?.correlation()?;
    /// assert!((correlation.matrix[0][1] + 1.0).abs() < 1e-9);
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    ///
    /// # Errors
    /// If there are fewer than four keys.
    pub fn correlation(&self) -> Result<Correlation, ParameterError> {
        let key_count = self.key_count();
        check_keys(key_count)?;
        let columns: Vec<_> = self.columns().map(standardised).collect();
        let mut matrix = vec![vec![1.0; columns.len()]; columns.len()];
        for (first, second) in pairs(columns.len()) {
            let products = columns[first].iter().zip(&columns[second]);
            let sum: f64 = products.map(|(a, b)| a * b).sum();
            // Rounding must not lift |r| above 1.
            let coefficient = sum.clamp(-1.0, 1.0);
            matrix[first][second] = coefficient;
            matrix[second][first] = coefficient;
        }
        Ok(Correlation { matrix, key_count })
    }
}

/// The column as numbers, with mean 0 and length 1; all zeros for a constant one.
fn standardised(column: &[Digest]) -> Vec<f64> {
    // Counted from the smallest digest, so that no bit is lost where only the low ones vary.
    let smallest = column.iter().min().map_or(0, |digest| digest.get());
    let mut values: Vec<f64> =
        column.iter().map(|digest| (digest.get() - smallest) as f64).collect();
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    values.iter_mut().for_each(|value| *value -= mean);
    let length = values.iter().map(|value| value * value).sum::<f64>().sqrt();
    if length > 0.0 {
        values.iter_mut().for_each(|value| *value /= length);
    }
    values
}

/// Fisher: atanh(r) of independent functions is normal, with mean 0 and this deviation.
fn standard_error(key_count: usize) -> f64 {
    (key_count as f64 - 3.0).sqrt().recip()
}

/// The probability that two independent functions reach |`coefficient`|.
fn p_value(coefficient: f64, key_count: usize) -> f64 {
    let deviations = coefficient.abs().atanh() / standard_error(key_count);
    erfc(deviations / SQRT_2)
}

fn check_keys(key_count: usize) -> Result<(), ParameterError> {
    match key_count {
        0..=3 => Err(ParameterError::new("keys", key_count, "at least four")),
        _ => Ok(()),
    }
}

fn check_sample(key_count: usize, pair_count: usize) -> Result<(), ParameterError> {
    check_keys(key_count)?;
    match pair_count {
        0 => Err(ParameterError::new("pairs", 0, "at least one")),
        _ => Ok(()),
    }
}
