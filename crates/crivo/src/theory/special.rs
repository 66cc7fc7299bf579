//! Factorials, binomial probabilities and their tails, accurate where libraries are not.
//!
//! The trouble is size: ln(10^12 !) is about 2.7 · 10^13, so that a difference of two such
//! logarithms has lost every digit that a probability needs. Loader's remedy is to take out
//! Stirling's formula by hand and to compute only what is left over: a small correction δ and a
//! deviance, both accurate to the last few bits.
//!
//! C. Loader, *Fast and Accurate Computation of Binomial Probabilities* (2000): three pages that
//! explain why the obvious way fails and what to do.

use std::f64::consts::{PI, TAU};

use statrs::function::erf::erfc_inv;
use statrs::function::gamma::ln_gamma;

/// δ(x) = ln x! − [(x + ½)·ln x − x + ½·ln 2π] for x > 0: what Stirling's formula misses.
pub(super) fn stirling_error(x: f64) -> f64 {
    if x < 16.0 {
        return ln_gamma(x + 1.0) - (x + 0.5) * x.ln() + x - 0.5 * TAU.ln();
    }
    let square = x * x;
    // The next term of the series is below 2e-16 from x = 16 on.
    (1.0 / 12.0
        - (1.0 / 360.0 - (1.0 / 1260.0 - (1.0 / 1680.0 - 1.0 / 1188.0 / square) / square) / square)
            / square)
        / x
}

/// x·ln(x/mean) + mean − x, without cancellation when x is near the mean.
fn deviance(x: f64, mean: f64) -> f64 {
    if (x - mean).abs() > 0.1 * (x + mean) {
        return x * (x / mean).ln() + mean - x;
    }
    // With v = (x − mean)/(x + mean): ln(x/mean) = 2·(v + v³/3 + v⁵/5 + …).
    let v = (x - mean) / (x + mean);
    let mut sum = (x - mean) * v;
    let mut power = 2.0 * x * v;
    for odd in (3..).step_by(2) {
        power *= v * v;
        let next = sum + power / f64::from(odd);
        if next == sum {
            break;
        }
        sum = next;
    }
    sum
}

/// ln of the number of ways to choose `chosen` things out of `all`.
pub(super) fn ln_choose(all: f64, chosen: f64) -> f64 {
    if chosen <= 0.0 || chosen >= all {
        return 0.0;
    }
    let rest = all - chosen;
    let share = chosen / all;
    -chosen * share.ln() - rest * (-share).ln_1p()
        + 0.5 * (all / (2.0 * PI * chosen * rest)).ln()
        + stirling_error(all)
        - stirling_error(chosen)
        - stirling_error(rest)
}

/// The probability of exactly `successes` in `trials`, each with probability p in (0, 1).
///
/// ```
/// use crivo::theory::special::binomial_probability;
///
/// // Two heads in four throws: 6 of 16.
/// assert!((binomial_probability(4.0, 2.0, 0.5) - 0.375).abs() < 1e-12);
/// ```
pub fn binomial_probability(trials: f64, successes: f64, p: f64) -> f64 {
    let failures = trials - successes;
    if successes <= 0.0 {
        return (trials * (-p).ln_1p()).exp();
    }
    if failures <= 0.0 {
        return (trials * p.ln()).exp();
    }
    let exponent = stirling_error(trials)
        - stirling_error(successes)
        - stirling_error(failures)
        - deviance(successes, trials * p)
        - deviance(failures, trials * (1.0 - p));
    exponent.exp() * (trials / (2.0 * PI * successes * failures)).sqrt()
}

/// The two sides of a binomial distribution: fewer than x successes, and x or more.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tails {
    pub(super) below: f64,
    pub(super) at_least: f64,
}

/// P(X < x) and P(X ≥ x) for X binomial with `trials` ≥ x ≥ 1 and p in (0, 1).
///
/// The side away from the mean is a sum of falling positive terms, hence accurate however small. It
/// takes some multiple of the standard deviation; where that is many terms, they are summed in
/// strides.
pub(super) fn binomial_tails(trials: f64, x: f64, p: f64) -> Tails {
    let odds = p / (1.0 - p);
    let deviation = (trials * p * (1.0 - p)).sqrt();
    let probability = |j: f64| binomial_probability(trials, j, p);
    if x > trials * p {
        let ratio = |j: f64| (trials - j) / (j + 1.0) * odds;
        let at_least =
            falling_sum(deviation, |i| ratio(x + i), |i| probability((x + i).min(trials)));
        Tails { below: 1.0 - at_least, at_least }
    } else {
        let last = x - 1.0;
        let ratio = |j: f64| j / (trials - j + 1.0) / odds;
        let below =
            falling_sum(deviation, |i| ratio(last - i), |i| probability((last - i).max(0.0)));
        Tails { below, at_least: 1.0 - below }
    }
}

/// f(0) + f(1) + …, until a term no longer shows, for a function that falls ever faster on a scale of
/// at most `deviation`; `ratio(i)` is f(i + 1)/f(i).
fn falling_sum(deviation: f64, ratio: impl Fn(f64) -> f64, f: impl Fn(f64) -> f64) -> f64 {
    /// Up to this scale, terms are summed one by one: some tens of thousands.
    const SHORT: f64 = 4096.0;
    /// On a longer scale, it is divided into this many strides.
    const STRIDES: f64 = 256.0;
    let first = f(0.0);
    if first == 0.0 {
        return 0.0;
    }
    // At the top of the distribution it is flat.
    let slope = ratio(0.0).ln().min(0.0);
    let scale = if slope < 0.0 { deviation.min(-1.0 / slope) } else { deviation };
    if scale <= SHORT {
        return first * falling_products(ratio);
    }
    let stride = (scale / STRIDES).floor();
    let mut sum = 0.0;
    let mut i = 0.0;
    loop {
        let term = f(i * stride);
        sum += term;
        if term <= 1e-17 * sum {
            break;
        }
        i += 1.0;
    }
    // By Euler and Maclaurin, both sums are the integral and corrections at its lower end, where the
    // derivative of f is f times the slope of its logarithm. The next correction is below 1e-12.
    stride * sum - (stride - 1.0) / 2.0 * first + (stride * stride - 1.0) / 12.0 * first * slope
}

/// 1 + r(0) + r(0)·r(1) + …, until a term no longer shows or a ratio is 0.
fn falling_products(ratio: impl Fn(f64) -> f64) -> f64 {
    let (mut term, mut sum, mut i) = (1.0, 1.0, 0.0);
    loop {
        let factor = ratio(i);
        term *= factor;
        sum += term;
        // What follows is at most term·factor/(1 − factor), for the ratios fall.
        if term * factor <= 1e-17 * sum * (1.0 - factor) {
            return sum;
        }
        i += 1.0;
    }
}

/// The z beyond which a standard normal variable falls, to either side, with this probability.
pub(super) fn normal_two_sided(outside: f64) -> f64 {
    std::f64::consts::SQRT_2 * erfc_inv(outside)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "takes long there")]
    fn strides_and_single_terms_agree() {
        // Scales on both sides of the limit between the two ways.
        for trials in [1e9, 1e10] {
            for deviations in [0.0, 0.5, 2.0, 6.0, 20.0] {
                let (p, deviation) = (0.5f64, 0.5 * f64::sqrt(trials));
                let x = (trials * p + deviations * deviation).ceil() + 1.0;
                let ratio = |i: f64| (trials - x - i) / (x + i + 1.0);
                let exact = binomial_probability(trials, x, p) * falling_products(ratio);
                let got = binomial_tails(trials, x, p).at_least;
                assert!((got / exact - 1.0).abs() < 1e-9, "{trials} {deviations}: {got} {exact}");
                // The distribution is symmetric.
                let below = binomial_tails(trials, trials - x + 1.0, p).below;
                assert!((below / exact - 1.0).abs() < 1e-9, "{trials} {deviations}: {below}");
            }
        }
    }
}
