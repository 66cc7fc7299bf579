//! What there is to tell about a filter.

use crivo::codec::Kind;
use crivo::filter::choose::Abilities;
use crivo::filter::{AnyFilter, CountingBloom, Filter};
use crivo::theory::estimate::cardinality;
use serde::{Serialize, Serializer};

use crate::human;

/// A kind by its name.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KindName(pub(crate) Kind);

impl Serialize for KindName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.name())
    }
}

/// The numbers of a filter, as `--json` gives them.
#[derive(Debug, Serialize)]
pub(crate) struct Facts {
    pub(crate) kind: KindName,
    /// Insertions less removals.
    pub(crate) keys: u64,
    /// `null` for any number.
    pub(crate) capacity: Option<u64>,
    pub(crate) size_bytes: u64,
    pub(crate) bits_per_key: f64,
    /// Now.
    pub(crate) expected_rate: f64,
    pub(crate) expected_rate_at_capacity: f64,
    pub(crate) hash: &'static str,
    /// `null` for a secret key.
    pub(crate) seed: Option<u64>,
}

impl Facts {
    pub(crate) fn of(filter: &AnyFilter) -> Self {
        let hasher = filter.hasher();
        Self {
            kind: KindName(filter.kind()),
            keys: filter.key_count(),
            capacity: filter.capacity(),
            size_bytes: filter.size_in_bits() / 8,
            bits_per_key: filter.size_in_bits() as f64 / distinct_keys(filter).max(1) as f64,
            expected_rate: present_rate(filter),
            expected_rate_at_capacity: filter.expected_fpr_when_full(),
            hash: hasher.family().name(),
            seed: hasher.seed(),
        }
    }
}

/// The rate of wrong yeses now.
pub(crate) fn present_rate(filter: &AnyFilter) -> f64 {
    // Copies that are counted, and keys that were left out because they seemed to be there, would
    // mislead theory; the bits know better.
    filter.fill_fpr().unwrap_or_else(|| filter.expected_fpr())
}

/// How many different keys there are, as far as the filter can tell: a counting one also counts
/// copies, of which it takes any number.
pub(crate) fn distinct_keys(filter: &AnyFilter) -> u64 {
    match filter {
        AnyFilter::Counting(counting) => {
            let used = counting.counters().filter(|&counter| counter > 0).count() as u64;
            cardinality(counting.counter_count(), counting.probes(), used)
                .map_or(u64::MAX, |found| found.keys.round() as u64)
                .min(counting.key_count())
        }
        filter => filter.key_count(),
    }
}

/// A warning if the filter holds more than it is made for.
pub(crate) fn past_capacity(filter: &AnyFilter) -> Option<String> {
    let capacity = filter.capacity()?;
    let is_past = match filter {
        AnyFilter::Counting(filter) => is_crowded(filter, capacity),
        filter => filter.key_count() > capacity,
    };
    is_past.then(|| crowded(filter, capacity, filter.key_count(), present_rate(filter)))
}

/// The same where it is known how many distinct keys it holds.
pub(crate) fn past_capacity_with(filter: &AnyFilter, distinct: u64) -> Option<String> {
    let capacity = filter.capacity().filter(|&capacity| capacity < distinct)?;
    Some(crowded(filter, capacity, distinct, rate_with(filter, distinct)))
}

/// The rate of wrong yeses where it is known how many distinct keys it holds: by theory, and past
/// the capacity by its bits.
pub(crate) fn rate_with(filter: &AnyFilter, distinct: u64) -> f64 {
    let is_past = filter.capacity().is_some_and(|capacity| capacity < distinct);
    match filter.fill_fpr() {
        Some(rate) if is_past => rate,
        _ => filter.expected_fpr_with(distinct),
    }
}

fn crowded(filter: &AnyFilter, capacity: u64, keys: u64, rate: f64) -> String {
    format!(
        "the filter is made for {} and holds {}: its rate of wrong yeses is now {} instead of {}; \
         build a larger one with --keys",
        human::counted(capacity, "key"),
        human::count(keys),
        human::rate(rate),
        human::rate(filter.expected_fpr_when_full()),
    )
}

/// Whether there are certainly more distinct keys than the capacity. Copies, of which it takes any
/// number, count as keys here, so that the counters must tell.
fn is_crowded(filter: &CountingBloom, capacity: u64) -> bool {
    const CERTAIN: f64 = 3.0;
    let used = filter.counters().filter(|&counter| counter > 0).count() as u64;
    filter.key_count() > capacity
        && match cardinality(filter.counter_count(), filter.probes(), used) {
            Ok(found) => found.keys - CERTAIN * found.standard_error > capacity as f64,
            // Every counter is in use.
            Err(_) => true,
        }
}

/// The names of the kinds that can do something: `counting, cuckoo and quotient`.
pub(crate) fn kinds_that(can: impl Fn(Abilities) -> bool) -> String {
    let names: Vec<_> =
        Kind::ALL.into_iter().filter(|kind| can(Abilities::of(*kind))).map(Kind::name).collect();
    match names.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => names.concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_listed_as_people_do() {
        assert_eq!(kinds_that(|can| can.remove), "counting, cuckoo and quotient");
        assert_eq!(kinds_that(|can| !can.dynamic), "fuse");
    }
}
