//! A made-up sequence of requests, with the share of one-hit wonders that was asked for.

use std::collections::HashMap;

use crivo::ParameterError;
use crivo_core::Random;
use crivo_core::check::{check_open_unit, check_positive};

/// How to make a [`Trace`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TracePlan {
    /// How many objects there are that may be asked for again and again.
    pub catalogue: u64,
    /// The exponent of Zipf's law: the i-th most popular of them is asked for in proportion to
    /// 1/i^exponent.
    pub exponent: f64,
    /// How many requests go to the catalogue.
    pub requests: u64,
    /// The share of all *objects* of the trace that are asked for once.
    pub once: f64,
    /// The seed of all that is random.
    pub seed: u64,
}

impl Default for TracePlan {
    /// Three quarters of the objects are asked for once.
    fn default() -> Self {
        Self { catalogue: 100_000, exponent: 0.9, requests: 1_000_000, once: 0.75, seed: 1 }
    }
}

/// A sequence of requests: Zipf's law, and objects that are asked for once strewn in.
///
/// Of the objects in the trace just the wanted share is asked for once, to the nearest object:
/// those of the catalogue that happen to come once count as well.
///
/// ```
/// use crivo_lab::sim::admission::trace::{Trace, TracePlan};
///
/// let trace = Trace::new(&TracePlan { catalogue: 1_000, requests: 10_000, ..TracePlan::default() })?;
/// assert_eq!(format!("{:.3}", trace.once_share()), "0.750");
/// # Ok::<(), crivo::ParameterError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Trace {
    requests: Vec<u64>,
    popularity: Vec<f64>,
    wonders: u64,
    once: u64,
    objects: u64,
}

impl Trace {
    /// The trace of a plan.
    ///
    /// # Errors
    /// If the catalogue is empty or too large, there are no requests, the exponent is negative or
    /// not finite, the share is not between 0 and 1, or the catalogue alone has a larger share of
    /// objects that come once.
    pub fn new(plan: &TracePlan) -> Result<Self, ParameterError> {
        check_positive("catalogue", plan.catalogue)?;
        check_positive("requests", plan.requests)?;
        check_open_unit("share of objects asked for once", plan.once)?;
        if plan.catalogue > 1 << 32 {
            return Err(ParameterError::new("catalogue", plan.catalogue, "at most 2^32"));
        }
        if !(0.0..=10.0).contains(&plan.exponent) {
            return Err(ParameterError::of_real("exponent", plan.exponent, "from 0 to 10"));
        }
        let popularity = zipf(plan.catalogue, plan.exponent);
        let mut random = Random::new(plan.seed);
        let mut requests = draw(&popularity, plan.requests, &mut random);

        let mut counts: HashMap<u64, u64> = HashMap::new();
        for &object in &requests {
            *counts.entry(object).or_default() += 1;
        }
        let distinct = counts.len() as f64;
        let once = counts.values().filter(|&&count| count == 1).count() as f64;
        // (once + w)/(distinct + w) = share, solved for w.
        let wonders = ((plan.once * distinct - once) / (1.0 - plan.once)).round();
        if wonders < 0.0 {
            return Err(ParameterError::of_real(
                "share of objects asked for once",
                plan.once,
                "at least that of the catalogue itself; make more requests",
            ));
        }
        let wonders = wonders as u64;
        requests.extend(plan.catalogue..plan.catalogue + wonders);
        shuffle(&mut requests, &mut random);
        Ok(Self {
            requests,
            popularity,
            wonders,
            once: once as u64 + wonders,
            objects: counts.len() as u64 + wonders,
        })
    }

    /// The objects, in the order in which they are asked for.
    pub fn requests(&self) -> &[u64] {
        &self.requests
    }

    /// How many different objects there are.
    pub fn object_count(&self) -> u64 {
        self.objects
    }

    /// The share of objects that are asked for once.
    pub fn once_share(&self) -> f64 {
        self.once as f64 / self.objects as f64
    }

    /// The probability that a request goes to each object of the catalogue; the rest are for
    /// objects that come once.
    pub fn request_rates(&self) -> impl Iterator<Item = f64> {
        let share = 1.0 - self.wonders as f64 / self.requests.len() as f64;
        self.popularity.iter().map(move |popularity| popularity * share)
    }
}

/// The probabilities of Zipf's law.
fn zipf(catalogue: u64, exponent: f64) -> Vec<f64> {
    let weights: Vec<f64> = (1..=catalogue).map(|rank| (rank as f64).powf(-exponent)).collect();
    let total: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| weight / total).collect()
}

/// So many numbers with these probabilities.
fn draw(probabilities: &[f64], count: u64, random: &mut Random) -> Vec<u64> {
    let mut sum = 0.0;
    let cumulative: Vec<f64> = probabilities
        .iter()
        .map(|probability| {
            sum += probability;
            sum
        })
        .collect();
    let last = probabilities.len() - 1;
    (0..count)
        .map(|_| {
            // Rounding may leave the last sum a little below 1.
            let point = random.unit();
            cumulative.partition_point(|&sum| sum <= point).min(last) as u64
        })
        .collect()
}

/// Fisher and Yates: every order has the same chance.
fn shuffle(items: &mut [u64], random: &mut Random) {
    for end in (1..items.len()).rev() {
        items.swap(end, random.index(end + 1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_trace_is_what_was_planned() {
        for once in [0.3, 0.75, 0.9] {
            let plan = TracePlan { catalogue: 500, requests: 20_000, once, ..TracePlan::default() };
            let trace = Trace::new(&plan).unwrap();
            let mut counts: HashMap<u64, u64> = HashMap::new();
            for &object in trace.requests() {
                *counts.entry(object).or_default() += 1;
            }
            let single = counts.values().filter(|&&count| count == 1).count() as f64;
            assert_eq!(counts.len() as u64, trace.object_count());
            assert!((single / counts.len() as f64 - once).abs() < 1e-3);
            assert_eq!(single / counts.len() as f64, trace.once_share());
            // Zipf's law: the first of the catalogue is asked for 2^0.9 times as often as the
            // second. 20,000 draws; five standard errors are below a tenth.
            let ratio = counts[&0] as f64 / counts[&1] as f64;
            assert!((ratio / 2f64.powf(0.9) - 1.0).abs() < 0.1, "{ratio}");
            let total: f64 = trace.request_rates().sum();
            let catalogue = 20_000.0 / trace.requests().len() as f64;
            assert!((total - catalogue).abs() < 1e-9);
        }
    }

    #[test]
    fn impossible_traces_are_refused() {
        let bad = |plan: TracePlan| assert!(Trace::new(&plan).is_err(), "{plan:?}");
        bad(TracePlan { catalogue: 0, ..TracePlan::default() });
        bad(TracePlan { requests: 0, ..TracePlan::default() });
        bad(TracePlan { once: 1.0, ..TracePlan::default() });
        bad(TracePlan { exponent: f64::NAN, ..TracePlan::default() });
        // A hundred requests to a million objects: nearly all come once.
        bad(TracePlan { catalogue: 1_000_000, requests: 100, exponent: 0.0, once: 0.1, seed: 1 });
    }
}
