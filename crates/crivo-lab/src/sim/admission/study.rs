//! Policies compared on one trace: hits, and what was written to the cache.
//!
//! ```
//! use crivo_lab::sim::admission::study::{AdmissionPlan, compare};
//! use crivo_lab::sim::admission::trace::TracePlan;
//!
//! let trace = TracePlan { catalogue: 2_000, requests: 20_000, ..TracePlan::default() };
//! let plan = AdmissionPlan { trace, cache_share: 0.05, ..AdmissionPlan::default() };
//! let rows = compare(&plan)?;
//! let (plain, admitted) = (&rows[0], &rows[1]);
//! assert_eq!((plain.policy, admitted.policy), ("LRU", "LRU, second request"));
//! assert!(admitted.hit_ratio > plain.hit_ratio);
//! assert!(admitted.bytes_written < plain.bytes_written / 2);
//! # Ok::<(), crivo::BuildError>(())
//! ```

use super::policies::{Admitted, Lru, Policy, S3Fifo, WTinyLfu};
use super::theory;
use super::trace::{Trace, TracePlan};
use crivo::{BuildError, KeyHasher, ParameterError};
use crivo_core::check::{check_open_unit, check_positive};
use crivo_sketch::admission::{AgeingSketch, SecondRequest};

/// What to compare on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AdmissionPlan {
    /// The requests.
    pub trace: TracePlan,
    /// The room of the cache, as a share of the different objects of the trace.
    pub cache_share: f64,
    /// How many objects a doorkeeper remembers for each object of the cache.
    pub window_per_object: f64,
    /// The rate at which the doorkeeper errs.
    pub rate: f64,
    /// The size of an object in bytes.
    pub object_bytes: u64,
    /// The share of requests that fill the cache before anything is counted.
    pub warm_up: f64,
}

impl Default for AdmissionPlan {
    /// Three quarters of objects asked for once, and room for a hundredth.
    fn default() -> Self {
        Self {
            trace: TracePlan::default(),
            cache_share: 0.01,
            window_per_object: 4.0,
            rate: 0.01,
            object_bytes: 32 * 1024,
            warm_up: 0.2,
        }
    }
}

/// What one policy did.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct AdmissionRow {
    /// The name of the policy.
    pub policy: &'static str,
    /// The room of the cache, in objects.
    pub cache_objects: u64,
    /// The requests that were counted.
    pub requests: u64,
    /// How many of them were hits.
    pub hits: u64,
    /// Hits over requests.
    pub hit_ratio: f64,
    /// What theory expects, where there is a formula.
    pub expected_hit_ratio: Option<f64>,
    /// Bytes written to the cache, to whichever part of it.
    pub bytes_written: u64,
    /// What theory expects.
    pub expected_bytes_written: Option<f64>,
    /// Bytes that came into the main part, where newcomers wait in a separate one.
    pub bytes_written_to_main: u64,
    /// The memory that the policy needs beside names and queues, in bytes.
    pub filter_bytes: u64,
}

/// Plain LRU, LRU behind either doorkeeper, W-TinyLFU, S3-FIFO, and S3-FIFO behind a doorkeeper, all
/// on the same trace.
///
/// The counts that fade are halved after every two windows of misses, so that they forget an object
/// that came once after one window on average, and after two at most.
///
/// # Errors
/// If a parameter is out of its range, or there is no memory.
pub fn compare(plan: &AdmissionPlan) -> Result<Vec<AdmissionRow>, BuildError> {
    check_open_unit("share of the cache", plan.cache_share)?;
    check_open_unit("share of the warm-up", plan.warm_up)?;
    check_positive("object size", plan.object_bytes)?;
    if !(plan.window_per_object > 0.0 && plan.window_per_object <= 1e6) {
        let allowed = "above 0 and at most 1e6";
        let error = ParameterError::of_real("window per object", plan.window_per_object, allowed);
        return Err(error.into());
    }
    let trace = Trace::new(&plan.trace)?;
    let capacity = ((trace.object_count() as f64 * plan.cache_share) as usize).max(2);
    let window = ((capacity as f64 * plan.window_per_object) as u64).max(1);
    let hasher = KeyHasher::xxh3(plan.trace.seed);
    let door = SecondRequest::with_hasher(window, plan.rate, hasher)?;
    // Half of a sample is left over when counts are halved.
    let counts = AgeingSketch::with_sample(window, window.saturating_mul(4), hasher)?;
    let sketch_bytes = 8 * capacity as u64;

    let rates: Vec<f64> = trace.request_rates().collect();
    let plain = theory::lru(&rates, capacity as f64);
    let admitted = theory::second_request_lru(&rates, capacity as f64, window as f64, plan.rate);
    let (door_bytes, count_bytes) = (door.size_in_bits() / 8, counts.size_in_bits() / 8);
    let run = Run { plan, trace: &trace };
    Ok(vec![
        run.row("LRU", &mut Lru::new(capacity)?, Some(plain), 0),
        run.row(
            "LRU, second request",
            &mut Admitted::new(door.clone(), Lru::new(capacity)?),
            Some(admitted),
            door_bytes,
        ),
        run.row(
            "LRU, ageing counts",
            &mut Admitted::new(counts, Lru::new(capacity)?),
            None,
            count_bytes,
        ),
        run.row("W-TinyLFU", &mut WTinyLfu::new(capacity)?, None, sketch_bytes),
        run.row("S3-FIFO", &mut S3Fifo::new(capacity)?, None, 0),
        run.row(
            "S3-FIFO, second request",
            &mut Admitted::new(door, S3Fifo::new(capacity)?),
            None,
            door_bytes,
        ),
    ])
}

struct Run<'a> {
    plan: &'a AdmissionPlan,
    trace: &'a Trace,
}

impl Run<'_> {
    fn row(
        &self,
        policy: &'static str,
        cache: &mut dyn Policy,
        expected: Option<theory::Expected>,
        filter_bytes: u64,
    ) -> AdmissionRow {
        let all = self.trace.requests();
        let (first, counted) = all.split_at((all.len() as f64 * self.plan.warm_up) as usize);
        for &object in first {
            cache.request(object);
        }
        let (mut hits, mut written, mut written_to_main) = (0, 0, 0);
        for &object in counted {
            let outcome = cache.request(object);
            hits += u64::from(outcome.hit);
            written += u64::from(outcome.written);
            written_to_main += outcome.written_to_main;
        }
        let requests = counted.len() as u64;
        let bytes = self.plan.object_bytes;
        AdmissionRow {
            policy,
            cache_objects: cache.capacity() as u64,
            requests,
            hits,
            hit_ratio: hits as f64 / requests as f64,
            expected_hit_ratio: expected.map(|expected| expected.hit_ratio),
            bytes_written: written * bytes,
            expected_bytes_written: expected
                .map(|expected| expected.write_ratio * (requests * bytes) as f64),
            bytes_written_to_main: written_to_main * bytes,
            filter_bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lecture_was_right() {
        let trace = TracePlan { catalogue: 20_000, requests: 300_000, ..TracePlan::default() };
        let rows = compare(&AdmissionPlan { trace, ..AdmissionPlan::default() }).unwrap();
        let row = |name: &str| rows.iter().find(|row| row.policy == name).unwrap();
        let (plain, door) = (row("LRU"), row("LRU, second request"));
        assert!(door.hit_ratio > plain.hit_ratio);
        assert!(2 * door.bytes_written < plain.bytes_written);
        let counts = row("LRU, ageing counts");
        assert!(counts.hit_ratio > plain.hit_ratio);
        assert!(2 * counts.bytes_written < plain.bytes_written);
        assert!(row("W-TinyLFU").hit_ratio > plain.hit_ratio);
        assert!(row("S3-FIFO").hit_ratio > plain.hit_ratio);
        for row in &rows {
            if let Some(expected) = row.expected_hit_ratio {
                assert!((row.hit_ratio - expected).abs() < 0.01, "{row:?}");
            }
            if let Some(expected) = row.expected_bytes_written {
                assert!((row.bytes_written as f64 / expected - 1.0).abs() < 0.05, "{row:?}");
            }
        }
    }

    #[test]
    fn plans_that_make_no_sense_are_refused() {
        for plan in [
            AdmissionPlan { cache_share: 0.0, ..AdmissionPlan::default() },
            AdmissionPlan { warm_up: 1.0, ..AdmissionPlan::default() },
            AdmissionPlan { window_per_object: -1.0, ..AdmissionPlan::default() },
            AdmissionPlan { rate: 2.0, ..AdmissionPlan::default() },
            AdmissionPlan { object_bytes: 0, ..AdmissionPlan::default() },
        ] {
            assert!(compare(&plan).is_err(), "{plan:?}");
        }
    }
}
