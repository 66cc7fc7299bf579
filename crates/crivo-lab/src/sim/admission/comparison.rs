//! Cache policies compared on one trace: hits, and bytes written to the cache.
//!
//! ```
//! use crivo_lab::sim::admission::comparison::{AdmissionPlan, compare};
//! use crivo_lab::sim::admission::trace::TracePlan;
//!
//! let trace = TracePlan { catalogue: 2_000, requests: 20_000, ..TracePlan::default() };
//! let plan = AdmissionPlan { trace, cache_share: 0.05, ..AdmissionPlan::default() };
//! let rows = compare(&plan)?;
//! let (plain, admitted) = (&rows[0], &rows[1]);
//! assert_eq!((plain.policy.as_str(), admitted.policy.as_str()), ("LRU", "LRU, second request"));
//! assert!(admitted.hit_ratio() > plain.hit_ratio());
//! assert!(admitted.bytes_written < plain.bytes_written / 2);
//! # Ok::<(), crivo::BuildError>(())
//! ```

use crivo::{BuildError, KeyHasher, ParameterError};
use crivo_core::check::{check_open_unit, check_positive};
use crivo_sketch::admission::{AgeingSketch, SecondRequest};
use serde::{Deserialize, Serialize};

use super::policies::{Admitted, CachePolicy, Lru, S3Fifo, WTinyLfu};
use super::theory::{self, LruTheory};
use super::trace::{Trace, TracePlan};

/// The parameters of a comparison.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AdmissionPlan {
    /// The requests.
    pub trace: TracePlan,
    /// The capacity of the cache, as a fraction of the distinct objects of the trace.
    pub cache_share: f64,
    /// The number of objects that a doorkeeper remembers, for each object of the cache.
    pub window_per_object: f64,
    /// The false-positive rate of the doorkeeper.
    pub fpr: f64,
    /// The size of an object in bytes.
    pub object_bytes: u64,
    /// The fraction of requests that fill the cache before anything is counted.
    pub warm_up: f64,
}

impl Default for AdmissionPlan {
    /// Three quarters of the objects are requested once; the cache has room for a hundredth.
    fn default() -> Self {
        Self {
            trace: TracePlan::default(),
            cache_share: 0.01,
            window_per_object: 4.0,
            fpr: 0.01,
            object_bytes: 32 * 1024,
            warm_up: 0.2,
        }
    }
}

/// One policy on one trace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AdmissionRow {
    /// The number of the trace, where there are several; 0 otherwise.
    pub trace: u32,
    /// The name of the policy.
    pub policy: String,
    /// The capacity of the cache, as a fraction of the distinct objects of the trace.
    pub cache_share: f64,
    /// The capacity of the cache, in objects.
    pub cache_objects: u64,
    /// The requests that were counted.
    pub requests: u64,
    /// The hits among them.
    pub hits: u64,
    /// The hit ratio in theory, where there is a formula.
    pub hit_theory: Option<f64>,
    /// The bytes of all requested objects.
    pub bytes_requested: u64,
    /// The bytes written to any part of the cache.
    pub bytes_written: u64,
    /// The bytes written in theory, where there is a formula.
    pub bytes_written_theory: Option<f64>,
    /// The bytes that entered the main part, where new objects wait in a separate one.
    pub bytes_written_to_main: u64,
    /// The memory that the policy needs besides names and queues, in bytes.
    pub filter_bytes: u64,
}

impl AdmissionRow {
    /// Hits over requests.
    pub fn hit_ratio(&self) -> f64 {
        self.hits as f64 / self.requests as f64
    }

    /// Bytes written over bytes requested.
    pub fn write_ratio(&self) -> f64 {
        self.bytes_written as f64 / self.bytes_requested as f64
    }

    /// The write ratio in theory, where there is a formula.
    pub fn write_theory(&self) -> Option<f64> {
        self.bytes_written_theory.map(|bytes| bytes / self.bytes_requested as f64)
    }
}

/// Plain LRU, LRU behind either doorkeeper, W-TinyLFU, S3-FIFO, and S3-FIFO behind a doorkeeper, all
/// on the same trace.
///
/// Ageing counts are halved after every two windows of misses: an object that was requested once is
/// forgotten after one window on average, and after two at most.
///
/// # Errors
/// If a parameter is out of range, or memory is exhausted.
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
    let door = SecondRequest::with_hasher(window, plan.fpr, hasher)?;
    // Halving leaves half of a sample.
    let counts = AgeingSketch::with_sample(window, window.saturating_mul(4), hasher)?;
    let sketch_bytes = 8 * capacity as u64;

    let rates: Vec<f64> = trace.request_rates().collect();
    let plain = theory::lru(&rates, capacity as f64);
    let admitted = theory::second_request_lru(&rates, capacity as f64, window as f64, plan.fpr);
    let (door_bytes, count_bytes) = (door.size_in_bits() / 8, counts.size_in_bits() / 8);
    let simulation = Simulation { plan, trace: &trace };
    Ok(vec![
        simulation.row("LRU", &mut Lru::new(capacity)?, Some(plain), 0),
        simulation.row(
            "LRU, second request",
            &mut Admitted::new(door.clone(), Lru::new(capacity)?),
            Some(admitted),
            door_bytes,
        ),
        simulation.row(
            "LRU, ageing counts",
            &mut Admitted::new(counts, Lru::new(capacity)?),
            None,
            count_bytes,
        ),
        simulation.row("W-TinyLFU", &mut WTinyLfu::new(capacity)?, None, sketch_bytes),
        simulation.row("S3-FIFO", &mut S3Fifo::new(capacity)?, None, 0),
        simulation.row(
            "S3-FIFO, second request",
            &mut Admitted::new(door, S3Fifo::new(capacity)?),
            None,
            door_bytes,
        ),
    ])
}

struct Simulation<'a> {
    plan: &'a AdmissionPlan,
    trace: &'a Trace,
}

impl Simulation<'_> {
    fn row(
        &self,
        policy: &str,
        cache: &mut dyn CachePolicy,
        theory: Option<LruTheory>,
        filter_bytes: u64,
    ) -> AdmissionRow {
        let all = self.trace.requests();
        let (first, counted) = all.split_at((all.len() as f64 * self.plan.warm_up) as usize);
        for &object in first {
            cache.request(object);
        }
        let (mut hits, mut written, mut written_to_main) = (0, 0, 0);
        for &object in counted {
            let access = cache.request(object);
            hits += u64::from(access.hit);
            written += u64::from(access.written);
            written_to_main += access.written_to_main;
        }
        let requests = counted.len() as u64;
        let object_bytes = self.plan.object_bytes;
        let bytes_requested = requests * object_bytes;
        AdmissionRow {
            trace: 0,
            policy: policy.to_string(),
            cache_share: self.plan.cache_share,
            cache_objects: cache.capacity() as u64,
            requests,
            hits,
            hit_theory: theory.map(|theory| theory.hit_ratio),
            bytes_requested,
            bytes_written: written * object_bytes,
            bytes_written_theory: theory.map(|theory| theory.write_ratio * bytes_requested as f64),
            bytes_written_to_main: written_to_main * object_bytes,
            filter_bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn admission_raises_the_hit_ratio_and_halves_the_writes() {
        let trace = TracePlan { catalogue: 20_000, requests: 300_000, ..TracePlan::default() };
        let rows = compare(&AdmissionPlan { trace, ..AdmissionPlan::default() }).unwrap();
        let row = |name: &str| rows.iter().find(|row| row.policy == name).unwrap();
        let (plain, door) = (row("LRU"), row("LRU, second request"));
        assert!(door.hit_ratio() > plain.hit_ratio());
        assert!(2 * door.bytes_written < plain.bytes_written);
        let counts = row("LRU, ageing counts");
        assert!(counts.hit_ratio() > plain.hit_ratio());
        assert!(2 * counts.bytes_written < plain.bytes_written);
        assert!(row("W-TinyLFU").hit_ratio() > plain.hit_ratio());
        assert!(row("S3-FIFO").hit_ratio() > plain.hit_ratio());
        for row in &rows {
            if let Some(expected) = row.hit_theory {
                assert!((row.hit_ratio() - expected).abs() < 0.01, "{row:?}");
            }
            if let Some(expected) = row.bytes_written_theory {
                assert!((row.bytes_written as f64 / expected - 1.0).abs() < 0.05, "{row:?}");
            }
        }
    }

    #[test]
    fn invalid_plans_are_rejected() {
        for plan in [
            AdmissionPlan { cache_share: 0.0, ..AdmissionPlan::default() },
            AdmissionPlan { warm_up: 1.0, ..AdmissionPlan::default() },
            AdmissionPlan { window_per_object: -1.0, ..AdmissionPlan::default() },
            AdmissionPlan { fpr: 2.0, ..AdmissionPlan::default() },
            AdmissionPlan { object_bytes: 0, ..AdmissionPlan::default() },
        ] {
            assert!(compare(&plan).is_err(), "{plan:?}");
        }
    }
}
