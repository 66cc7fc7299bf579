//! What the commands report about a filter.

use crivo::filter::{AnyFilter, Capabilities, Kind};
use serde::{Serialize, Serializer};

use crate::error::Error;
use crate::human;

/// A kind, serialized as its name.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KindName(pub(crate) Kind);

impl Serialize for KindName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.name())
    }
}

/// The numbers of a filter, as `--json` prints them.
#[derive(Debug, Serialize)]
pub(crate) struct FilterSummary {
    pub(crate) kind: KindName,
    /// Insertions less removals.
    pub(crate) keys: u64,
    /// `null` if unlimited.
    pub(crate) capacity: Option<u64>,
    pub(crate) size_bytes: u64,
    pub(crate) bits_per_key: f64,
    /// Now.
    pub(crate) expected_fpr: f64,
    pub(crate) expected_fpr_at_capacity: f64,
    pub(crate) hash: &'static str,
    /// `null` for a secret key.
    pub(crate) seed: Option<u64>,
}

impl FilterSummary {
    pub(crate) fn of(filter: &AnyFilter) -> Self {
        let hasher = filter.hasher();
        Self {
            kind: KindName(filter.kind()),
            keys: filter.key_count(),
            capacity: filter.capacity(),
            size_bytes: filter.size_in_bits() / 8,
            bits_per_key: filter.size_in_bits() as f64 / distinct_keys(filter).max(1) as f64,
            expected_fpr: current_fpr(filter),
            expected_fpr_at_capacity: filter.expected_fpr_when_full(),
            hash: hasher.family().name(),
            seed: hasher.seed(),
        }
    }
}

/// The false-positive rate now.
pub(crate) fn current_fpr(filter: &AnyFilter) -> f64 {
    // Theory needs the number of distinct keys. Counted copies, and keys left out because they
    // seemed present, distort it; the bits do not.
    filter.fill_fpr().unwrap_or_else(|| filter.expected_fpr())
}

/// An estimate of the number of distinct keys. The key count of a counting filter includes copies,
/// so its counters are used.
pub(crate) fn distinct_keys(filter: &AnyFilter) -> u64 {
    if !filter.kind().capabilities().free_copies {
        return filter.key_count();
    }
    filter
        .estimated_key_count()
        .map_or(u64::MAX, |found| found.keys.round() as u64)
        .min(filter.key_count())
}

/// A warning if the filter holds more keys than its capacity.
pub(crate) fn past_capacity(filter: &AnyFilter) -> Option<String> {
    past_capacity_holding(filter, &human::count(filter.key_count()))
}

/// As [`past_capacity`], with a text for how many keys it holds.
pub(crate) fn past_capacity_holding(filter: &AnyFilter, held: &str) -> Option<String> {
    let capacity = filter.capacity()?;
    let is_past = filter.key_count() > capacity
        && (!filter.kind().capabilities().free_copies || exceeds(filter, capacity));
    is_past.then(|| capacity_warning(filter, capacity, held, current_fpr(filter))).flatten()
}

/// As [`past_capacity`], with a known number of distinct keys.
pub(crate) fn past_capacity_with(filter: &AnyFilter, distinct: u64) -> Option<String> {
    let capacity = filter.capacity().filter(|&capacity| capacity < distinct)?;
    capacity_warning(filter, capacity, &human::count(distinct), fpr_with(filter, distinct))
}

/// The false-positive rate with a known number of distinct keys: by theory, and past the capacity by
/// the bits that are set.
pub(crate) fn fpr_with(filter: &AnyFilter, distinct: u64) -> f64 {
    let is_past = filter.capacity().is_some_and(|capacity| capacity < distinct);
    match filter.fill_fpr() {
        Some(fpr) if is_past => fpr,
        _ => filter.expected_fpr_with(distinct),
    }
}

/// A warning if the false-positive rate is above the one that was promised, visibly.
fn capacity_warning(filter: &AnyFilter, capacity: u64, held: &str, fpr: f64) -> Option<String> {
    let promised = filter.expected_fpr_when_full();
    let (now, then) = (human::percentage(fpr), human::percentage(promised));
    (fpr > promised && now != then).then(|| format!(
        "the filter is made for {} and holds {}: its false-positive rate is now {} instead of {}; \
         build a larger one with --keys",
        human::counted(capacity, "key"),
        held,
        now,
        then,
    ))
}

/// Whether there are more distinct keys than the capacity, beyond statistical doubt. The key count
/// includes copies, so that the counters decide.
fn exceeds(filter: &AnyFilter, capacity: u64) -> bool {
    const STANDARD_ERRORS: f64 = 3.0;
    match filter.estimated_key_count() {
        Some(found) => found.keys - STANDARD_ERRORS * found.standard_error > capacity as f64,
        // Every counter is above 0.
        None => true,
    }
}

/// The error of inserting into a filter of this kind.
pub(crate) fn cannot_insert(kind: Kind) -> Error {
    Error::new(format_args!(
        "a {kind} filter is built from all its keys and takes no more; {} filters take keys one by \
         one",
        kinds_that(|can| can.insert)
    ))
}

/// The error of removing from a filter of this kind.
pub(crate) fn cannot_remove(kind: Kind) -> Error {
    Error::new(format_args!(
        "keys cannot be removed from a {kind} filter; {} filters support removal",
        kinds_that(|can| can.remove)
    ))
}

/// The error of asking a filter of this kind for copies. What can remove a key has a count of it.
pub(crate) fn cannot_count(kind: Kind) -> Error {
    Error::new(format_args!(
        "a {kind} filter does not count copies; {} filters do",
        kinds_that(|can| can.remove)
    ))
}

/// The kinds that are recommended for merging.
pub(crate) fn mergeable_kinds() -> String {
    kinds_that(|can| can.merge)
}

/// The names of the kinds with some ability: `quotient, growing and growing-blocked`.
fn kinds_that(can: impl Fn(Capabilities) -> bool) -> String {
    let names: Vec<_> =
        Kind::ALL.into_iter().filter(|kind| can(kind.capabilities())).map(Kind::name).collect();
    match names.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => names.concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_listed_with_commas_and_and() {
        assert_eq!(kinds_that(|can| can.remove), "counting, cuckoo, quotient and blocked-counting");
        assert_eq!(kinds_that(|can| !can.insert), "fuse and sharded-fuse");
    }
}
