//! What there is to tell about a filter.

use crivo::codec::Kind;
use crivo::filter::choose::Abilities;
use crivo::filter::{AnyFilter, Filter};
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
            bits_per_key: filter.bits_per_key(),
            expected_rate: present_rate(filter),
            expected_rate_at_capacity: filter.expected_fpr_when_full(),
            hash: hasher.family().name(),
            seed: hasher.seed(),
        }
    }
}

/// The rate of wrong yeses now.
pub(crate) fn present_rate(filter: &AnyFilter) -> f64 {
    match filter {
        // It counts copies, which theory would take for different keys; its counters know better.
        AnyFilter::Counting(filter) => filter.fill_fpr(),
        filter => filter.expected_fpr(),
    }
}

/// A warning if the filter holds more than it is made for.
pub(crate) fn past_capacity(filter: &AnyFilter) -> Option<String> {
    let capacity = filter.capacity()?;
    let (now, planned) = (present_rate(filter), filter.expected_fpr_when_full());
    // Of copies a counting filter takes any number; how many keys it has, its rate must tell.
    let is_past = match filter.kind() {
        Kind::Counting => filter.key_count() > capacity && now > SCATTER * planned,
        _ => filter.key_count() > capacity,
    };
    is_past.then(|| {
        format!(
            "the filter is made for {} and holds {}: its rate of wrong yeses is now {} instead of \
             {}; build a larger one with --keys",
            human::counted(capacity, "key"),
            human::count(filter.key_count()),
            human::rate(now),
            human::rate(planned),
        )
    })
}

/// By so much the rate of a table may exceed theory's mean by chance.
const SCATTER: f64 = 1.05;

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
