//! A few bits per record, and a few records too few.

use crivo::Digest;
use crivo::filter::{Blocked, Bloom, DynamicFilter, Growing};

use super::{Summary, sift_chunks};
use crate::commands::records::Printer;
use crate::human;
use crate::input::{InputArgs, Pieces};
use crate::outcome::Error;
use crate::output;

/// How many records are asked about together.
const BATCH: usize = 256;

/// The capacity that a growing filter begins with: less than a megabyte, and few filters in the
/// chain for millions of records.
const FIRST_CAPACITY: u64 = 1 << 18;

/// Below this rate a filter in blocks of a cache line is larger than a classic one by a fifth.
const LEAST_BLOCKED_RATE: f64 = 0.0005;

/// Prints what is new to a filter of this rate, for this many records if that is known.
pub(super) fn dedup(input: &InputArgs, rate: f64, keys: Option<u64>) -> Result<Summary, Error> {
    match keys {
        None => dedup_with(input, Growing::new(FIRST_CAPACITY, rate)?, Growing::fill_fpr),
        Some(keys) => {
            let keys = keys.max(1);
            let summary = match rate < LEAST_BLOCKED_RATE {
                true => dedup_with(input, Bloom::new(keys, rate)?, Bloom::fill_fpr)?,
                false => dedup_with(input, Blocked::new(keys, rate)?, Blocked::fill_fpr)?,
            };
            let inserted = summary.records - summary.dropped;
            if inserted > keys {
                output::warn(format_args!(
                    "there were more than the {} of --keys; the rate of wrongly dropped ones rose \
                     above --rate",
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
) -> Result<Summary, Error> {
    let mut printer = Printer::new();
    let mut hits = [false; BATCH];
    let mut digests = Vec::with_capacity(BATCH);
    let mut kept = Pieces::default();
    let mut wrongly = WronglyDropped::default();
    let mut summary = Summary::default();
    sift_chunks(input.chunks_to_print()?, |chunk, hashed| {
        kept.clear();
        let mut kept_count = 0;
        for (whole, records) in hashed.digests.chunks(BATCH).zip(hashed.records.chunks(BATCH)) {
            digests.clear();
            // Half of a good hash is a good hash.
            digests.extend(whole.iter().map(|digest| Digest::new(*digest as u64)));
            let hits = &mut hits[..digests.len()];
            filter.contains_batch(&digests, hits);
            for ((digest, record), hit) in digests.iter().zip(records).zip(&*hits) {
                // What was new to the filter may have come earlier in the same batch.
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
    summary.expected_wrongly_dropped = wrongly.expected;
    Ok(summary)
}

/// How many new records are to be expected to have been dropped.
///
/// While the filter's rate is f, a new record is dropped with probability f, and inserted with
/// probability 1 − f: for each that was inserted, f/(1 − f) were dropped. This sums up over the
/// filling filter, by the trapezoidal rule in steps of less than a hundredth of its keys.
#[derive(Debug, Default)]
struct WronglyDropped {
    expected: f64,
    keys: u64,
    odds: f64,
}

impl WronglyDropped {
    /// In a filter that is past its capacity only those keys were inserted that found a free place,
    /// which sets more bits than theory supposes for so many: there the bits are counted.
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
            let rate = if is_past { fill_fpr(filter) } else { filter.expected_fpr() };
            let odds = rate / (1.0 - rate);
            self.expected += step as f64 * (self.odds + odds) / 2.0;
            (self.keys, self.odds) = (keys, odds);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crivo::KeyHasher;
    use crivo::filter::Filter;

    /// Twenty filters of 20,000 records at 1%, each dropping about 38 wrongly: the total of 760
    /// has a standard deviation below 35 (more than that of independent drops, because the filters'
    /// own rates scatter). Five of them: fails by chance once in a million times.
    #[test]
    fn as_many_are_dropped_as_expected() {
        let (mut dropped, mut expected) = (0.0, 0.0);
        for seed in 0..20 {
            let mut filter = Growing::with_hasher(1_024, 0.01, KeyHasher::xxh3(seed)).unwrap();
            let mut wrongly = WronglyDropped::default();
            for key in 0..20_000u64 {
                if filter.contains(&key) {
                    dropped += 1.0;
                } else {
                    filter.insert(&key).unwrap();
                }
                wrongly.count_up_to(&filter, Growing::fill_fpr, key % 256 == 0);
            }
            wrongly.count_up_to(&filter, Growing::fill_fpr, true);
            expected += wrongly.expected;
        }
        assert!(expected > 500.0, "{expected}");
        assert!(f64::abs(dropped - expected) < 175.0, "{dropped} instead of {expected}");
    }

    /// Four times as many records as it is made for: about 60% of them are dropped wrongly.
    #[test]
    fn past_the_capacity_the_bits_tell() {
        let mut filter = Blocked::with_hasher(5_000, 0.01, KeyHasher::xxh3(1)).unwrap();
        let (mut wrongly, mut dropped) = (WronglyDropped::default(), 0.0);
        for key in 0..40_000u64 {
            if filter.contains(&key) {
                dropped += 1.0;
            } else {
                filter.insert(&key).unwrap();
            }
            wrongly.count_up_to(&filter, Blocked::fill_fpr, false);
        }
        wrongly.count_up_to(&filter, Blocked::fill_fpr, true);
        let ratio = wrongly.expected / dropped;
        assert!(dropped > 10_000.0 && (0.9..1.1).contains(&ratio), "{ratio} of {dropped}");
    }
}
