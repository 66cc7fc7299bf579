//! A synthetic sequence of requests, with a given fraction of objects that are requested once.

use std::collections::HashMap;

use crivo::ParameterError;
use crivo_core::Random;
use crivo_core::check::{check_open_unit, check_positive};

/// The parameters of a [`Trace`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TracePlan {
    /// The number of objects that may be requested repeatedly.
    pub catalogue: u64,
    /// The exponent of Zipf's law: the i-th most popular of them is requested in proportion to
    /// 1/i^exponent.
    pub exponent: f64,
    /// The number of requests to the catalogue.
    pub requests: u64,
    /// The fraction of all *objects* of the trace that are requested once.
    pub once: f64,
    /// The seed of all randomness.
    pub seed: u64,
}

impl Default for TracePlan {
    /// Three quarters of the objects are requested once.
    fn default() -> Self {
        Self { catalogue: 100_000, exponent: 0.9, requests: 1_000_000, once: 0.75, seed: 1 }
    }
}

/// A sequence of requests by Zipf's law, with objects that are requested once at random places.
///
/// The fraction of objects that are requested once is that of the plan, to the nearest object.
/// Objects of the catalogue that happen to be requested once count as well.
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
    one_hit_wonders: u64,
    once: u64,
    objects: u64,
}

impl Trace {
    /// The trace of a plan.
    ///
    /// # Errors
    /// If the catalogue is empty or too large, there are no requests, the exponent is not from 0 to
    /// 10, the fraction is not between 0 and 1, or the catalogue alone has a larger fraction of
    /// objects that are requested once.
    pub fn new(plan: &TracePlan) -> Result<Self, ParameterError> {
        check_positive("catalogue", plan.catalogue)?;
        check_positive("requests", plan.requests)?;
        check_open_unit("fraction of objects requested once", plan.once)?;
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
        // (once + w)/(distinct + w) = plan.once, solved for w.
        let one_hit_wonders = ((plan.once * distinct - once) / (1.0 - plan.once)).round();
        if one_hit_wonders < 0.0 {
            return Err(ParameterError::of_real(
                "fraction of objects requested once",
                plan.once,
                "at least that of the catalogue itself; make more requests",
            ));
        }
        let one_hit_wonders = one_hit_wonders as u64;
        requests.extend(plan.catalogue..plan.catalogue + one_hit_wonders);
        random.shuffle(&mut requests);
        Ok(Self {
            requests,
            popularity,
            one_hit_wonders,
            once: once as u64 + one_hit_wonders,
            objects: counts.len() as u64 + one_hit_wonders,
        })
    }

    /// The requested objects, in order.
    pub fn requests(&self) -> &[u64] {
        &self.requests
    }

    /// The number of distinct objects.
    pub fn object_count(&self) -> u64 {
        self.objects
    }

    /// The fraction of objects that are requested once.
    pub fn once_share(&self) -> f64 {
        self.once as f64 / self.objects as f64
    }

    /// The probability that a request is for each object of the catalogue; the others are for objects
    /// that are requested once.
    pub fn request_rates(&self) -> impl Iterator<Item = f64> {
        let share = 1.0 - self.one_hit_wonders as f64 / self.requests.len() as f64;
        self.popularity.iter().map(move |popularity| popularity * share)
    }
}

/// The probabilities of Zipf's law.
pub(crate) fn zipf(catalogue: u64, exponent: f64) -> Vec<f64> {
    let weights: Vec<f64> = (1..=catalogue).map(|rank| (rank as f64).powf(-exponent)).collect();
    let total: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| weight / total).collect()
}

/// `count` random numbers with these probabilities.
pub(crate) fn draw(probabilities: &[f64], count: u64, random: &mut Random) -> Vec<u64> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_trace_follows_its_plan() {
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
            // Zipf's law: the first of the catalogue is requested 2^0.9 times as often as the
            // second. 20,000 draws; five standard errors are below a tenth.
            let ratio = counts[&0] as f64 / counts[&1] as f64;
            assert!((ratio / 2f64.powf(0.9) - 1.0).abs() < 0.1, "{ratio}");
            let total: f64 = trace.request_rates().sum();
            let catalogue = 20_000.0 / trace.requests().len() as f64;
            assert!((total - catalogue).abs() < 1e-9);
        }
    }

    #[test]
    fn impossible_traces_are_rejected() {
        let bad = |plan: TracePlan| assert!(Trace::new(&plan).is_err(), "{plan:?}");
        bad(TracePlan { catalogue: 0, ..TracePlan::default() });
        bad(TracePlan { requests: 0, ..TracePlan::default() });
        bad(TracePlan { once: 1.0, ..TracePlan::default() });
        bad(TracePlan { exponent: f64::NAN, ..TracePlan::default() });
        // A hundred requests to a million objects: nearly all are requested once.
        bad(TracePlan { catalogue: 1_000_000, requests: 100, exponent: 0.0, once: 0.1, seed: 1 });
    }
}
