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
pub(super) fn binomial_probability(trials: f64, successes: f64, p: f64) -> f64 {
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
/// The smaller side is computed with full relative accuracy, by the continued fraction of the
/// incomplete beta function; it takes about √trials steps.
pub(super) fn binomial_tails(trials: f64, x: f64, p: f64) -> Tails {
    let misses = trials - x + 1.0;
    if p < (x + 1.0) / (trials + 3.0) {
        let at_least = binomial_probability(trials, x, p) * (1.0 - p) * beta_fraction(x, misses, p);
        Tails {
            below: 1.0 - at_least,
            at_least,
        }
    } else {
        let below =
            binomial_probability(trials, x - 1.0, p) * p * beta_fraction(misses, x, 1.0 - p);
        Tails {
            below,
            at_least: 1.0 - below,
        }
    }
}

/// The continued fraction of I_x(a, b) · a·B(a, b) / (x^a·(1−x)^b), for x < (a+1)/(a+b+2).
///
/// Lentz's method on DLMF 8.17.22.
fn beta_fraction(a: f64, b: f64, x: f64) -> f64 {
    // Keeps a denominator that happens to vanish from becoming a division by zero.
    const TINY: f64 = 1e-300;
    // Far beyond √trials for any number of trials that is a whole f64.
    const MOST_STEPS: u32 = 100_000_000;
    let away_from_zero = |value: f64| if value.abs() < TINY { TINY } else { value };

    let mut upper = 1.0;
    let mut lower = 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1.0));
    let mut fraction = lower;
    for step in 1..MOST_STEPS {
        let i = f64::from(step);
        let even = i * (b - i) * x / ((a + 2.0 * i - 1.0) * (a + 2.0 * i));
        let odd = -(a + i) * (a + b + i) * x / ((a + 2.0 * i) * (a + 2.0 * i + 1.0));
        let mut change = 1.0;
        for coefficient in [even, odd] {
            lower = 1.0 / away_from_zero(1.0 + coefficient * lower);
            upper = away_from_zero(1.0 + coefficient / upper);
            change = lower * upper;
            fraction *= change;
        }
        if (change - 1.0).abs() < 3e-16 {
            break;
        }
    }
    fraction
}

/// The z beyond which a standard normal variable falls, to either side, with this probability.
pub(super) fn normal_two_sided(outside: f64) -> f64 {
    std::f64::consts::SQRT_2 * erfc_inv(outside)
}
