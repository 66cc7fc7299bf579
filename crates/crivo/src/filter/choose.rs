//! Which filter? Say what you need, and get a kind, its price, and the reason.
//!
//! ```
//! use crivo::filter::Kind;
//! use crivo::filter::choose::{Needs, choose};
//!
//! // A million keys at 1%; they come one by one, and some go again.
//! let needs = Needs { keys: Some(1_000_000), remove: true, ..Needs::fpr(0.01) };
//! let choice = choose(&needs)?;
//! assert_eq!(choice.kind, Kind::Cuckoo);
//! assert_eq!(format!("{:.1}", choice.bits_per_key), "10.5");
//! println!("{choice}");
//! # Ok::<(), crivo::ParameterError>(())
//! ```
//!
//! # Which filter?
//!
//! | what you need | filter | bits per key at 1% | at 0.01% |
//! |---|---|---|---|
//! | nothing changes: all keys are there at once | fuse | 7.9 | 15.8 |
//! | keys come | blocked; below about 0.05% bloom | 9.9 | 19.2 |
//! | keys come, filters are merged | blocked; below about 0.05% bloom | 9.9 | 19.2 |
//! | keys come and go | cuckoo | 10.5 | 17.9 |
//! | keys come and go, filters are merged | quotient | 9.7 | 17.1 |
//! | how often was it inserted? (and any of the above) | counting | 38.4 | 76.7 |
//! | nobody knows how many keys will come | growing | 13.5 | 23.1 |
//! | nobody knows how many, and they go, are counted or merged | quotient | 9.7 | 17.1 |
//!
//! For a million keys, as their [specifications](super::spec) say. Of more than 2^21 keys a fuse filter is
//! [built in shards](kind_for_keys). A split-block filter is never
//! recommended, though it is [listed](candidates): a blocked one can do the same in fewer bits (9.9
//! instead of 10.5 at 1%, 22.0 instead of 26.3 at 0.01%). Take it where another program is to read the
//! filter. Nor is a blocked-counting one: a counting one can do the same in fewer bits (38.4 instead of
//! 43.4 at 1%, 76.7 instead of 123.8 at 0.01%). Take it where time matters more than memory: a key's
//! counters are in one cache line.
//!
//! # What each kind can do
//!
//! | | one by one | remove | count | merge | grow |
//! |---|---|---|---|---|---|
//! | bloom, blocked, split-block | yes | | | yes | |
//! | counting, blocked-counting | yes | yes | yes | yes | |
//! | cuckoo | yes | yes | up to 8 copies | while there is room | |
//! | quotient | yes | yes | a place for each copy | yes | the FPR doubles with the size |
//! | fuse, sharded-fuse | | | | | |
//! | growing | yes | | | | yes |

use std::fmt;

use super::{Capabilities, Kind, ShardedFuseSpec, Spec};
use crate::ParameterError;
use crivo_core::check::{check_fpr, check_keys};

/// What a filter has to do.
///
/// ```
/// use crivo::filter::choose::Needs;
///
/// let needs = Needs { keys: Some(50_000), merge: true, ..Needs::fpr(0.001) };
/// assert!(!needs.remove);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Needs {
    /// How many keys there will be; `None` if nobody knows.
    pub keys: Option<u64>,
    /// The false-positive rate that is acceptable.
    pub fpr: f64,
    /// Keys are removed.
    pub remove: bool,
    /// It is asked how often a key was inserted.
    pub count: bool,
    /// Filters are merged into one.
    pub merge: bool,
    /// All keys are there before the first question, and the set never changes.
    pub all_keys_at_once: bool,
}

impl Needs {
    /// An unknown number of keys at this FPR, and nothing else.
    ///
    /// ```
    /// use crivo::filter::Kind;
    /// use crivo::filter::choose::{Needs, choose};
    ///
    /// assert_eq!(choose(&Needs::fpr(0.01))?.kind, Kind::Growing);
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    pub const fn fpr(fpr: f64) -> Self {
        Self { keys: None, fpr, remove: false, count: false, merge: false, all_keys_at_once: false }
    }

    fn check(&self) -> Result<(), ParameterError> {
        check_fpr(self.fpr)?;
        self.keys.map_or(Ok(()), check_keys)?;
        let refuse = |allowed| Err(ParameterError::new("all_keys_at_once", true, allowed));
        if !self.all_keys_at_once {
            Ok(())
        } else if self.keys.is_none() {
            refuse("false as long as nobody knows how many keys there are")
        } else if self.remove || self.count || self.merge {
            refuse(
                "false where keys are removed or counted or filters merged: built once from all \
                 keys, a filter is a set that never changes",
            )
        } else {
            Ok(())
        }
    }

    /// What a kind must be able to do.
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            insert: !self.all_keys_at_once,
            remove: self.remove,
            count: self.count,
            merge: self.merge,
            grow: self.keys.is_none(),
            ..Capabilities::STATIC
        }
    }

    /// Bits per key of a kind: an error if it cannot do what is needed.
    fn bits_per_key(&self, kind: Kind) -> Result<f64, ParameterError> {
        if !kind.capabilities().include(&self.capabilities()) {
            return Err(ParameterError::new("kind", kind, "one that can do what is needed"));
        }
        // Without a number of keys: enough that rounding to whole tables does not show.
        let keys = self.keys.unwrap_or(1 << 20);
        Ok(Spec::for_fpr(kind, keys, self.fpr)?.size_in_bits() as f64 / keys as f64)
    }
}

/// A kind that can do what is needed, and its price.
///
/// ```
/// use crivo::filter::choose::{Needs, candidates};
///
/// let needs = Needs { keys: Some(1_000_000), all_keys_at_once: true, ..Needs::fpr(0.01) };
/// let smallest = candidates(&needs)?[0];
/// assert_eq!(format!("{} {:.1}", smallest.kind, smallest.bits_per_key), "fuse 7.9");
/// # Ok::<(), crivo::ParameterError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Candidate {
    /// The kind.
    pub kind: Kind,
    /// Its bits per key when it holds as many as it is made for: just those of its
    /// [`Spec`]. For a growing filter those of its first stage; the following stages take more.
    pub bits_per_key: f64,
}

/// The kind to take, and why.
///
/// ```
/// use crivo::filter::choose::{Needs, choose};
///
/// let needs = Needs { keys: Some(1_000_000), remove: true, ..Needs::fpr(0.001) };
/// let choice = choose(&needs)?;
/// assert!(choice.to_string().starts_with("cuckoo (13.7 bits per key): "));
/// # Ok::<(), crivo::ParameterError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Choice {
    /// The kind.
    pub kind: Kind,
    /// Its bits per key, as in [`Candidate`].
    pub bits_per_key: f64,
    /// The reason, in a sentence.
    pub why: &'static str,
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({:.1} bits per key): {}", self.kind, self.bits_per_key, self.why)
    }
}

/// Every kind that can do what is needed, the smallest first.
///
/// An FPR that a kind cannot reach (fingerprints end at 32 or 62 bits) leaves it out.
///
/// ```
/// use crivo::filter::Kind;
/// use crivo::filter::choose::{Needs, candidates};
///
/// let needs = Needs { keys: Some(1_000_000), remove: true, ..Needs::fpr(0.01) };
/// let kinds: Vec<Kind> = candidates(&needs)?.iter().map(|found| found.kind).collect();
/// assert_eq!(kinds, [Kind::Quotient, Kind::Cuckoo, Kind::Counting, Kind::BlockedCounting]);
/// # Ok::<(), crivo::ParameterError>(())
/// ```
///
/// # Errors
/// If the number of keys is 0, the FPR is not strictly between 0 and 1, or needs contradict each
/// other.
pub fn candidates(needs: &Needs) -> Result<Vec<Candidate>, ParameterError> {
    needs.check()?;
    let candidate = |kind| {
        let bits_per_key = needs.bits_per_key(kind).ok()?;
        Some(Candidate { kind, bits_per_key })
    };
    let mut found: Vec<Candidate> = Kind::ALL.into_iter().filter_map(candidate).collect();
    found.sort_by(|a, b| a.bits_per_key.total_cmp(&b.bits_per_key));
    Ok(found)
}

/// The kind to take, as [the table](self#which-filter) has it.
///
/// ```
/// use crivo::filter::Kind;
/// use crivo::filter::choose::{Needs, choose};
///
/// let fixed = Needs { keys: Some(1_000_000), all_keys_at_once: true, ..Needs::fpr(0.01) };
/// assert_eq!(choose(&fixed)?.kind, Kind::Fuse);
/// let merged = Needs { keys: Some(1_000_000), merge: true, ..Needs::fpr(0.01) };
/// assert_eq!(choose(&merged)?.kind, Kind::Blocked);
/// # Ok::<(), crivo::ParameterError>(())
/// ```
///
/// # Errors
/// If the number of keys is 0, the FPR is not strictly between 0 and 1 or too low for every kind that
/// can do what is needed, or needs contradict each other.
pub fn choose(needs: &Needs) -> Result<Choice, ParameterError> {
    needs.check()?;
    let mut refused = None;
    for &(kind, why) in preferences(needs) {
        match needs.bits_per_key(kind) {
            Ok(bits_per_key)
                if kind != Kind::Blocked || is_worth_its_blocks(needs, bits_per_key) =>
            {
                return Ok(Choice { kind, bits_per_key, why });
            }
            Ok(_) => {}
            Err(error) => refused = refused.or(Some(error)),
        }
    }
    Err(refused.unwrap_or_else(|| ParameterError::of_real("fpr", needs.fpr, "higher")))
}

/// The kind to build where `kind` is asked for, with that many keys: a fuse filter of more keys than one
/// shard takes (2^21) is built in shards, in less memory. Any other kind is what it is.
///
/// ```
/// use crivo::filter::Kind;
/// use crivo::filter::choose::kind_for_keys;
///
/// assert_eq!(kind_for_keys(Kind::Fuse, 1_000_000), Kind::Fuse);
/// assert_eq!(kind_for_keys(Kind::Fuse, 1_000_000_000), Kind::ShardedFuse);
/// assert_eq!(kind_for_keys(Kind::Bloom, 1_000_000_000), Kind::Bloom);
/// ```
pub fn kind_for_keys(kind: Kind, keys: u64) -> Kind {
    match kind {
        Kind::Fuse if ShardedFuseSpec::shards_for(keys) > 1 => Kind::ShardedFuse,
        kind => kind,
    }
}

/// Whether one cache line per query costs little enough: at most a tenth of the classic filter's bits.
fn is_worth_its_blocks(needs: &Needs, blocked: f64) -> bool {
    const MAX_TIMES_CLASSIC: f64 = 1.1;
    let classic = needs.bits_per_key(Kind::Bloom);
    classic.is_ok_and(|classic| blocked <= MAX_TIMES_CLASSIC * classic)
}

/// The kinds that can do what is needed, in the order in which one would try them, and why each.
fn preferences(needs: &Needs) -> &'static [(Kind, &'static str)] {
    const COUNTING_REMOVES: (Kind, &str) =
        (Kind::Counting, "it removes, and at so low an FPR fingerprints would be too long");
    match *needs {
        Needs { keys: None, remove: false, count: false, merge: false, .. } => &[(
            Kind::Growing,
            "nobody knows how many keys will come, and a chain of filters keeps the FPR for any \
             number",
        )],
        Needs { keys: None, .. } => &[(
            Kind::Quotient,
            "it is the one filter that grows and can also remove, count and merge; each doubling \
             doubles the FPR, so start with a lower one",
        )],
        Needs { count: true, .. } => &[(
            Kind::Counting,
            "it counts, and a key that is inserted often takes no more room than any other",
        )],
        Needs { remove: true, merge: true, .. } => &[
            (
                Kind::Quotient,
                "it removes and merges: it keeps fingerprints in order, and two of them merge as \
                 sorted lists do",
            ),
            COUNTING_REMOVES,
        ],
        Needs { remove: true, .. } => &[
            (Kind::Cuckoo, "it removes, and a query reads two buckets, however low the FPR"),
            (Kind::Quotient, "it removes, and its fingerprints are long enough for so low an FPR"),
            COUNTING_REMOVES,
        ],
        _ => {
            const ONE_BY_ONE: [(Kind, &str); 2] = [
                (
                    Kind::Blocked,
                    "a query reads one cache line, and at this FPR that costs at most a tenth more \
                     bits than the classic filter",
                ),
                (
                    Kind::Bloom,
                    "at this FPR crowded blocks would take over a tenth more bits than the classic \
                     filter, which takes repeated keys and any number of them, too",
                ),
            ];
            const AT_ONCE: [(Kind, &str); 3] = [
                (
                    Kind::Fuse,
                    "the set never changes, and nothing that answers as fast takes fewer bits",
                ),
                ONE_BY_ONE[0],
                ONE_BY_ONE[1],
            ];
            const MANY_AT_ONCE: [(Kind, &str); 3] = [
                (
                    Kind::ShardedFuse,
                    "the set never changes, nothing that answers as fast takes fewer bits, and so \
                     many keys are built shard by shard, in bounded memory",
                ),
                ONE_BY_ONE[0],
                ONE_BY_ONE[1],
            ];
            match needs.keys.map(|keys| kind_for_keys(Kind::Fuse, keys)) {
                Some(Kind::ShardedFuse) if needs.all_keys_at_once => &MANY_AT_ONCE,
                _ if needs.all_keys_at_once => &AT_ONCE,
                _ => &ONE_BY_ONE,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::theory::limits;
    use proptest::prelude::*;

    const MILLION: Option<u64> = Some(1_000_000);

    /// The rows of "Which filter?", in its order.
    fn rows(fpr: f64) -> [Needs; 8] {
        let needs = Needs { keys: MILLION, ..Needs::fpr(fpr) };
        [
            Needs { all_keys_at_once: true, ..needs },
            needs,
            Needs { merge: true, ..needs },
            Needs { remove: true, ..needs },
            Needs { remove: true, merge: true, ..needs },
            Needs { count: true, ..needs },
            Needs::fpr(fpr),
            Needs { remove: true, ..Needs::fpr(fpr) },
        ]
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes long there")]
    fn the_table_of_the_documentation_holds() {
        let source = include_str!("choose.rs");
        let table = source.lines().skip_while(|line| !line.contains("# Which filter?")).skip(4);
        let cells = |row: &'static str| row.split('|').map(str::trim).collect::<Vec<_>>();
        let table: Vec<_> = table.take_while(|row| row.starts_with("//! |")).map(cells).collect();
        assert_eq!(table.len(), 8);
        for (i, cells) in table.iter().enumerate() {
            let (at_1_percent, at_1_in_10_000) = (rows(0.01)[i], rows(0.0001)[i]);
            let names = cells[2];
            for (needs, bits, name) in [
                (at_1_percent, cells[3], names.split(';').next().unwrap()),
                (at_1_in_10_000, cells[4], names.rsplit(' ').next().unwrap()),
            ] {
                let choice = choose(&needs).unwrap();
                assert_eq!(choice.kind.name(), name, "{cells:?}");
                assert_eq!(format!("{:.1}", choice.bits_per_key), bits, "{cells:?}");
            }
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes long there")]
    fn one_line_stops_paying_at_about_half_a_thousandth() {
        let kind = |fpr| choose(&Needs { keys: MILLION, ..Needs::fpr(fpr) }).unwrap().kind;
        assert_eq!(kind(0.0006), Kind::Blocked);
        assert_eq!(kind(0.0004), Kind::Bloom);
    }

    #[test]
    fn contradictions_are_refused() {
        let set = Needs { keys: MILLION, all_keys_at_once: true, ..Needs::fpr(0.01) };
        for needs in [
            Needs { count: true, ..set },
            Needs { remove: true, ..set },
            Needs { merge: true, ..set },
            Needs { keys: None, ..set },
        ] {
            assert_eq!(choose(&needs).unwrap_err().parameter, "all_keys_at_once");
            assert_eq!(candidates(&needs).unwrap_err().parameter, "all_keys_at_once");
        }
        let none = Needs { keys: Some(0), ..Needs::fpr(0.01) };
        assert_eq!(choose(&none).unwrap_err().parameter, "n");
        for bad in [0.0, 1.0, f64::NAN] {
            assert_eq!(choose(&Needs::fpr(bad)).unwrap_err().parameter, "fpr");
        }
    }

    #[test]
    fn an_fpr_out_of_reach_leaves_a_kind_out() {
        let needs = Needs { keys: Some(1_000), remove: true, ..Needs::fpr(1.2e-16) };
        assert_eq!(choose(&needs).unwrap().kind, Kind::Counting);
        let kinds: Vec<Kind> = candidates(&needs).unwrap().iter().map(|c| c.kind).collect();
        assert_eq!(kinds, [Kind::Counting, Kind::BlockedCounting]);
    }

    /// What is chosen can be built, at every FPR.
    #[test]
    #[cfg_attr(miri, ignore = "takes long there")]
    fn nothing_is_chosen_that_cannot_be_built() {
        for exponent in 1..18 {
            for (remove, all_keys_at_once) in [(false, false), (true, false), (false, true)] {
                let fpr = 0.1f64.powi(exponent);
                let needs = Needs { keys: MILLION, remove, all_keys_at_once, ..Needs::fpr(fpr) };
                if let Ok(Choice { kind, .. }) = choose(&needs) {
                    assert!(Spec::for_fpr(kind, 1_000_000, fpr).is_ok(), "{kind} at {fpr}");
                }
            }
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes long there")]
    fn the_reason_reads_as_a_sentence() {
        let choice = choose(&Needs::fpr(0.01)).unwrap();
        let text = choice.to_string();
        assert!(text.starts_with("growing (13.5 bits per key): nobody knows"), "{text}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 1 } else { 64 }))]
        #[test]
        fn the_choice_is_a_candidate_and_candidates_are_sorted(
            // Far from the floor that digests put under the FPR.
            keys in prop::option::of(1u64..1 << 28), exponent in 1f64..30.0,
            remove: bool, count: bool, merge: bool, all_keys_at_once: bool,
        ) {
            let fpr = 0.5f64.powf(exponent);
            let needs = Needs { keys, fpr, remove, count, merge, all_keys_at_once };
            let (Ok(choice), Ok(found)) = (choose(&needs), candidates(&needs)) else {
                prop_assert!(all_keys_at_once);
                return Ok(());
            };
            let Choice { kind, bits_per_key, .. } = choice;
            let same = Candidate { kind, bits_per_key };
            prop_assert!(found.contains(&same), "{same:?} {found:?}");
            prop_assert!(found.is_sorted_by(|a, b| a.bits_per_key <= b.bits_per_key));
            // No filter takes less than the information it holds.
            let limit = limits::fixed_set(fpr).unwrap();
            prop_assert!(found.iter().all(|found| found.bits_per_key >= limit));
        }
    }
}
