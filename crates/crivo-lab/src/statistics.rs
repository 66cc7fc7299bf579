//! Means, intervals and regression lines.

use crivo::ParameterError;
use crivo::theory::interval;
use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

/// The confidence of every interval in a plot.
pub const CONFIDENCE: f64 = 0.95;

/// The maximum probability that a verdict of the report is a false alarm.
pub const FALSE_ALARM: f64 = 0.01;

/// A value and its confidence interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PointEstimate {
    /// The value.
    pub value: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl PointEstimate {
    /// Whether the interval contains `value`.
    pub fn contains(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }

    /// The estimate in another unit.
    pub fn scaled(self, factor: f64) -> Self {
        Self { value: self.value * factor, low: self.low * factor, high: self.high * factor }
    }
}

/// A proportion with its exact (Clopper–Pearson) interval.
///
/// # Errors
/// If there are no trials, or more successes than trials.
pub fn proportion(
    successes: u64,
    trials: u64,
    confidence: f64,
) -> Result<PointEstimate, ParameterError> {
    let interval = interval::exact(successes, trials, confidence)?;
    let value = successes as f64 / trials as f64;
    Ok(PointEstimate { value, low: interval.low, high: interval.high })
}

/// A proportion over several samples of equal size, such as the queries to each of many filters, with
/// an interval that is valid even if the samples have different rates: the wider of the exact interval
/// of all trials and Student's interval over the samples. `squares` is the sum of the squared numbers
/// of successes.
///
/// The exact interval alone assumes independent trials. The queries to one filter are not independent:
/// they share its bits, and the rates of filters of one size vary around the mean in theory.
///
/// # Errors
/// If there are no trials, or more successes than trials.
pub fn proportion_of_samples(
    samples: u32,
    trials: u64,
    (successes, squares): (u64, u64),
    confidence: f64,
) -> Result<PointEstimate, ParameterError> {
    let exact = proportion(successes, trials, confidence)?;
    let (count, sum) = (f64::from(samples), successes as f64);
    let variation = (squares as f64 - sum * sum / count).max(0.0);
    let error = (variation * count / (count - 1.0)).sqrt() / trials as f64;
    let half = student(count - 1.0, confidence).map_or(0.0, |quantile| quantile * error);
    let (low, high) = (exact.value - half, exact.value + half);
    Ok(PointEstimate { value: exact.value, low: exact.low.min(low), high: exact.high.max(high) })
}

/// The half width of Student's interval in standard errors, if there are degrees of freedom.
fn student(degrees_of_freedom: f64, confidence: f64) -> Option<f64> {
    let student = StudentsT::new(0.0, 1.0, degrees_of_freedom).ok()?;
    Some(student.inverse_cdf(0.5 + confidence / 2.0))
}

/// The mean of a sample.
pub fn mean(sample: &[f64]) -> f64 {
    sample.iter().sum::<f64>() / sample.len().max(1) as f64
}

/// The mean with Student's interval. A single value has no interval: its ends are the value.
pub fn mean_interval(sample: &[f64], confidence: f64) -> PointEstimate {
    let value = mean(sample);
    let count = sample.len() as f64;
    let squares: f64 = sample.iter().map(|x| (x - value).powi(2)).sum();
    let half = student(count - 1.0, confidence)
        .map_or(0.0, |quantile| quantile * (squares / (count * (count - 1.0))).sqrt());
    PointEstimate { value, low: value - half, high: value + half }
}

/// A value with its normal interval, from a known standard error.
pub fn normal_interval(value: f64, standard_error: f64, confidence: f64) -> PointEstimate {
    let half = Normal::standard().inverse_cdf(0.5 + confidence / 2.0) * standard_error;
    PointEstimate { value, low: value - half, high: value + half }
}

/// The observed standard deviation of `count` values, with its normal interval for large samples. The
/// excess kurtosis of the values, 0 if they are normal, determines the variance of their squares.
///
/// ```text
///   relative standard error = ½ √(2/(count − 1) + kurtosis/count)
/// ```
pub fn deviation_interval(
    deviation: f64,
    count: u64,
    excess_kurtosis: f64,
    confidence: f64,
) -> PointEstimate {
    let count = count.max(2) as f64;
    let variation = (2.0 / (count - 1.0) + excess_kurtosis / count).max(0.0);
    normal_interval(deviation, deviation * variation.sqrt() / 2.0, confidence)
}

/// The median, with a distribution-free interval between two order statistics: each value is below
/// the median with probability ½, so ranks follow the binomial distribution. With too few values it is
/// their whole range, at a lower confidence than requested: see [`median_miss`].
pub fn median_interval(sample: &[f64], confidence: f64) -> PointEstimate {
    let mut ordered = sample.to_vec();
    ordered.sort_by(f64::total_cmp);
    let count = ordered.len();
    if count == 0 {
        return PointEstimate { value: 0.0, low: 0.0, high: 0.0 };
    }
    let value = (ordered[(count - 1) / 2] + ordered[count / 2]) / 2.0;
    let (rank, _) = median_rank(count, confidence);
    PointEstimate { value, low: ordered[rank], high: ordered[count - 1 - rank] }
}

/// The probability that the [`median_interval`] of `count` values misses the median: at most
/// 1 − `confidence` if there are enough values, and more otherwise.
///
/// ```
/// use crivo_lab::statistics::median_miss;
///
/// assert!(median_miss(30, 0.95) <= 0.05);
/// // All of five values are on one side with probability 2/2⁵, and no interval is wider.
/// assert_eq!(median_miss(5, 0.95), 0.0625);
/// ```
pub fn median_miss(count: usize, confidence: f64) -> f64 {
    median_rank(count, confidence).1
}

/// The rank, from 0, of the lower end of the interval, and the probability that it misses.
fn median_rank(count: usize, confidence: f64) -> (usize, f64) {
    // The largest r with P(Binomial(count, ½) ≤ r) ≤ (1 − confidence)/2, but at least 0.
    let mut term = 0.5f64.powi(count as i32);
    let (mut rank, mut below) = (0, term);
    loop {
        term *= (count - rank) as f64 / (rank + 1) as f64;
        if rank + 1 >= count.div_ceil(2) || below + term > (1.0 - confidence) / 2.0 {
            return (rank, (2.0 * below).min(1.0));
        }
        below += term;
        rank += 1;
    }
}

/// A line fitted by least squares.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Line {
    /// The value at 0.
    pub intercept: f64,
    /// The slope, with Student's interval.
    pub slope: PointEstimate,
}

impl Line {
    /// The value at `x`.
    pub fn at(&self, x: f64) -> f64 {
        self.intercept + self.slope.value * x
    }
}

/// The regression line of points (x, y). With fewer than three its slope has no interval.
pub fn regression(points: &[(f64, f64)], confidence: f64) -> Line {
    let count = points.len().max(1) as f64;
    let mean_x = points.iter().map(|(x, _)| x).sum::<f64>() / count;
    let mean_y = points.iter().map(|(_, y)| y).sum::<f64>() / count;
    let spread: f64 = points.iter().map(|(x, _)| (x - mean_x).powi(2)).sum();
    let together: f64 = points.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
    let slope = if spread > 0.0 { together / spread } else { 0.0 };
    let intercept = mean_y - slope * mean_x;
    let residues: f64 = points.iter().map(|(x, y)| (y - intercept - slope * x).powi(2)).sum();
    let half = match student(count - 2.0, confidence) {
        Some(quantile) if spread > 0.0 => quantile * (residues / (count - 2.0) / spread).sqrt(),
        _ => 0.0,
    };
    Line { intercept, slope: PointEstimate { value: slope, low: slope - half, high: slope + half } }
}

/// The number of trials of each of two proportions for a two-sided test of their difference at `level`
/// with this `power`.
///
/// ```text
///   trials of each = (z_level + z_power)² · (p(1 − p) + q(1 − q)) / (p − q)²
/// ```
///
/// ```
/// use crivo_lab::statistics::trials_to_separate;
///
/// // A Bloom filter of 8 bits per key with k = 5 and 6: about 33 million questions to each.
/// let trials = trials_to_separate(0.021_679, 0.021_577, 0.05, 0.8);
/// assert!((3.0e7..3.5e7).contains(&trials));
/// ```
pub fn trials_to_separate(p: f64, q: f64, level: f64, power: f64) -> f64 {
    let normal = Normal::standard();
    let deviations = normal.inverse_cdf(1.0 - level / 2.0) + normal.inverse_cdf(power);
    deviations.powi(2) * (p * (1.0 - p) + q * (1.0 - q)) / (p - q).powi(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_has_students_interval() {
        // Mean 3, standard error √(2.5/5) = 0.7071, t(4, 97.5%) = 2.7764.
        let estimate = mean_interval(&[1.0, 2.0, 3.0, 4.0, 5.0], 0.95);
        assert!((estimate.value - 3.0).abs() < 1e-12);
        assert!((estimate.high - 3.0 - 1.9632).abs() < 1e-3, "{estimate:?}");
        assert_eq!(mean_interval(&[2.0], 0.95), PointEstimate { value: 2.0, low: 2.0, high: 2.0 });
    }

    #[test]
    fn a_proportion_of_samples_allows_for_their_variation() {
        let exact = proportion(300, 1000, 0.95).unwrap();
        // Ten samples of 100 with 30 successes each vary less than by chance: the exact interval.
        let even = proportion_of_samples(10, 1000, (300, 9000), 0.95).unwrap();
        assert_eq!(even, exact);
        // Five with 10 and five with 50: Student's, with a standard error of 0.2·√(10/9)/√10 and
        // t(9, 97.5%) = 2.2622.
        let uneven = proportion_of_samples(10, 1000, (300, 13_000), 0.95).unwrap();
        assert!((uneven.high - 0.3 - 2.2622 * 0.2 / 3.0).abs() < 1e-4, "{uneven:?}");
        assert!((0.6 - uneven.high - uneven.low).abs() < 1e-12);
        assert_eq!(proportion_of_samples(1, 1000, (300, 90_000), 0.95).unwrap(), exact);
    }

    #[test]
    fn a_standard_error_gives_an_interval() {
        let estimate = normal_interval(1.0, 0.5, 0.95);
        assert!((estimate.low - 0.02).abs() < 1e-4 && (estimate.high - 1.98).abs() < 1e-4);
        // 201 normal values: 1/√400 of the deviation, twice that to each side.
        let deviation = deviation_interval(2.0, 201, 0.0, 0.954_499_736);
        assert!((deviation.high - 2.2).abs() < 1e-6, "{deviation:?}");
        // Values that are one of two with equal probability have a kurtosis of −2: no variance.
        let coin = deviation_interval(0.5, 1_000_000, -2.0, 0.95);
        assert!(coin.high - coin.low < 1e-5);
    }

    #[test]
    fn a_median_lies_between_ordered_values() {
        let sample: Vec<f64> = (1..=30).map(f64::from).collect();
        // The table of the sign test: for 30 values the ranks are 10 and 21.
        let estimate = median_interval(&sample, 0.95);
        assert_eq!((estimate.value, estimate.low, estimate.high), (15.5, 10.0, 21.0));
        assert_eq!(median_interval(&[7.0], 0.95).value, 7.0);
        let few = median_interval(&[3.0, 1.0, 2.0], 0.95);
        assert_eq!((few.low, few.value, few.high), (1.0, 2.0, 3.0));
        // The same table: 30 values miss with 4.28%; three, with 2/2³.
        assert!((median_miss(30, 0.95) - 0.0428).abs() < 1e-4);
        assert_eq!((median_miss(3, 0.95), median_miss(1, 0.95)), (0.25, 1.0));
    }

    #[test]
    fn a_line_goes_through_its_points() {
        let line = regression(&[(0.0, 1.0), (1.0, 3.0), (2.0, 5.0)], 0.95);
        assert!((line.intercept - 1.0).abs() < 1e-12 && (line.slope.value - 2.0).abs() < 1e-12);
        assert!((line.at(4.0) - 9.0).abs() < 1e-12);
        let noisy = regression(&[(0.0, 1.0), (1.0, 0.0), (2.0, 1.0), (3.0, 0.0)], 0.95);
        assert!(noisy.slope.low < 0.0 && noisy.slope.high > 0.0);
    }
}
