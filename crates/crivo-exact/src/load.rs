//! The relation between slots, load and entries.

/// The fewest slots that a table with entries has: a group of tags must not meet a slot twice.
pub(super) const MIN_SLOTS: usize = 16;

/// The entries that `slots` slots may hold at `max_load`.
#[inline]
pub(super) fn entry_limit(slots: usize, max_load: f64) -> usize {
    (slots as f64 * max_load) as usize
}

/// The fewest slots that may hold `entries` at `max_load`.
///
/// `None` if there are no entries, or if the number overflows.
pub(super) fn slots_for(entries: usize, max_load: f64) -> Option<usize> {
    let estimate = (entries as f64 / max_load).ceil();
    if entries == 0 || estimate >= usize::MAX as f64 {
        return None;
    }
    let mut slots = (estimate as usize).max(MIN_SLOTS);
    // Rounding may have cost a slot; beyond 2^53 it may cost many.
    while entry_limit(slots, max_load) < entries {
        slots = slots.checked_add(1 + (slots as u64 >> 52) as usize)?;
    }
    Some(slots)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn there_is_room_and_no_more_than_needed(entries in 1usize.., max_load in 0.01f64..=1.0) {
            if let Some(slots) = slots_for(entries, max_load) {
                prop_assert!(entry_limit(slots, max_load) >= entries);
                let wasted = slots as f64 - entries as f64 / max_load;
                prop_assert!(slots == MIN_SLOTS || wasted <= 2.0 + 1e-15 * slots as f64);
            }
        }
    }

    #[test]
    fn nothing_and_too_much() {
        assert_eq!(slots_for(0, 0.5), None);
        assert_eq!(slots_for(usize::MAX, 0.5), None);
        assert_eq!(slots_for(1, 0.5), Some(MIN_SLOTS));
        assert_eq!(slots_for(9_000, 0.9), Some(10_000));
    }
}
