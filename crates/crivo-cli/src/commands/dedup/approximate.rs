//! Deduplication by a filter: a few bits per record, and a few records wrongly dropped.

use crivo::Digest;
use crivo::filter::{Blocked, Bloom, DynamicFilter, Growing};

use super::summary::DedupSummary;
use crate::commands::records::{Printer, each_hashed_chunk};
use crate::error::Error;
use crate::human;
use crate::input::{InputArgs, Pieces};
use crate::output;

/// How many records are looked up together.
const BATCH: usize = 256;

/// The first capacity of a growing filter: less than a megabyte, and few stages for millions of
/// records.
const FIRST_CAPACITY: u64 = 1 << 18;

/// Below this FPR a blocked filter is larger than a classic one by a fifth.
const MIN_BLOCKED_FPR: f64 = 0.0005;

/// Prints the records that are new to a filter with this FPR, and with this capacity if it is given.
pub(super) fn dedup(
    input: &InputArgs,
    fpr: f64,
    keys: Option<u64>,
    printer: &mut Printer,
) -> Result<DedupSummary, Error> {
    match keys {
        None => dedup_with(input, Growing::new(FIRST_CAPACITY, fpr)?, Growing::fill_fpr, printer),
        Some(keys) => {
            let keys = keys.max(1);
            let summary = match fpr < MIN_BLOCKED_FPR {
                true => dedup_with(input, Bloom::new(keys, fpr)?, Bloom::fill_fpr, printer)?,
                false => dedup_with(input, Blocked::new(keys, fpr)?, Blocked::fill_fpr, printer)?,
            };
            let inserted = summary.records - summary.dropped;
            if inserted > keys {
                output::print_warning(format_args!(
                    "there were more than the {} of --keys; the false-positive rate rose above --fpr",
                    human::counted(keys, "record")
                ));
            }
            Ok(summary)
        }
    }
}

fn dedup_with<F: DynamicFilter>(
    input: &InputArgs,
    mut filter: F,
    fill_fpr: fn(&F) -> f64,
    printer: &mut Printer,
) -> Result<DedupSummary, Error> {
    let mut hits = [false; BATCH];
    let mut digests = Vec::with_capacity(BATCH);
    let mut kept = Pieces::default();
    let mut wrongly = WronglyDropped::default();
    let mut summary = DedupSummary::default();
    each_hashed_chunk(input.chunks_to_print()?, |chunk, hashed| {
        kept.clear();
        let mut kept_count = 0;
        for (whole, records) in hashed.digests.chunks(BATCH).zip(hashed.records.chunks(BATCH)) {
            digests.clear();
            // The filter uses half of the 128 bits.
            digests.extend(whole.iter().map(|digest| Digest::new(*digest as u64)));
            let hits = &mut hits[..digests.len()];
            filter.contains_batch(&digests, hits);
            for ((digest, record), hit) in digests.iter().zip(records).zip(&*hits) {
                // A record that was new to the filter may be a repetition within the batch.
                if !hit && !filter.contains_digest(*digest) {
                    filter.insert_digest(*digest)?;
                    kept.push(record.clone());
                    kept_count += 1;
                }
            }
            wrongly.count_up_to(&filter, fill_fpr, false);
        }
        summary.records += hashed.digests.len() as u64;
        summary.dropped += hashed.digests.len() as u64 - kept_count;
        printer.print(chunk, &kept)
    })?;
    wrongly.count_up_to(&filter, fill_fpr, true);
    // The estimate is a sum over new records, whose number is not known: it may exceed all drops.
    summary.expected_wrongly_dropped = wrongly.expected.min(summary.dropped as f64);
    Ok(summary)
}

/// The expected number of new records that were dropped.
///
/// While the filter's FPR is f, a new record is dropped with probability f and inserted with
/// probability 1 − f: for each one inserted, f/(1 − f) are dropped. This is integrated over the
/// filling filter by the trapezoidal rule, in steps of less than a hundredth of its keys.
#[derive(Debug, Default)]
struct WronglyDropped {
    expected: f64,
    keys: u64,
    odds: f64,
}

impl WronglyDropped {
    /// Past the capacity, only keys that set a new bit were inserted, so that more bits are set than
    /// theory expects for that number of keys: there the bits are counted.
    fn count_up_to<F: DynamicFilter>(
        &mut self,
        filter: &F,
        fill_fpr: fn(&F) -> f64,
        is_last: bool,
    ) {
        let keys = filter.key_count();
        let step = keys - self.keys;
        if step > keys / 128 || is_last {
            let is_past = keys > filter.capacity();
            let fpr = if is_past { fill_fpr(filter) } else { filter.expected_fpr() };
            // A filter whose bits are all set drops everything, and tells nothing about what is new.
            let odds = if fpr < 1.0 { fpr / (1.0 - fpr) } else { f64::MAX };
            self.expected += step as f64 * (self.odds / 2.0 + odds / 2.0);
            (self.keys, self.odds) = (keys, odds);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crivo::KeyHasher;

    /// Twenty filters of 20,000 records at 1%, each wrongly dropping about 38: the total of 760 has a
    /// standard deviation below 35 (more than that of independent drops, because the filters' own
    /// rates vary). Within five of them: fails by chance once in a million times.
    #[test]
    fn the_expected_number_is_dropped() {
        let (mut dropped, mut expected) = (0.0, 0.0);
        for seed in 0..20 {
            let mut filter = Growing::with_hasher(1_024, 0.01, KeyHasher::xxh3(seed)).unwrap();
            let mut wrongly = WronglyDropped::default();
            for key in 0..20_000u64 {
                if filter.contains(&key) {
                    dropped += 1.0;
                } else {
                    filter.insert(&key);
                }
                wrongly.count_up_to(&filter, Growing::fill_fpr, key % 256 == 0);
            }
            wrongly.count_up_to(&filter, Growing::fill_fpr, true);
            expected += wrongly.expected;
        }
        assert!(expected > 500.0, "{expected}");
        assert!(f64::abs(dropped - expected) < 175.0, "{dropped} instead of {expected}");
    }

    /// Eight times the capacity: about 60% of the records are wrongly dropped.
    #[test]
    fn past_the_capacity_the_bits_are_counted() {
        let mut filter = Blocked::with_hasher(5_000, 0.01, KeyHasher::xxh3(1)).unwrap();
        let (mut wrongly, mut dropped) = (WronglyDropped::default(), 0.0);
        for key in 0..40_000u64 {
            if filter.contains(&key) {
                dropped += 1.0;
            } else {
                filter.insert(&key);
            }
            wrongly.count_up_to(&filter, Blocked::fill_fpr, false);
        }
        wrongly.count_up_to(&filter, Blocked::fill_fpr, true);
        let ratio = wrongly.expected / dropped;
        assert!(dropped > 10_000.0 && (0.9..1.1).contains(&ratio), "{ratio} of {dropped}");
    }
}
