//! Which filter? Say what you need, and get a kind, its price, and the reason.
//!
//! ```
//! use crivo::filter::Kind;
//! use crivo::filter::choose::{Needs, choose};
//!
//! // A million keys at 1%; they come one by one, and some go again.
//! let needs = Needs { keys: Some(1_000_000), remove: true, ..Needs::rate(0.01) };
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
//! For a million keys; by [theory](crate::theory), in whole bits where the filter stores whole
//! bits.
//!
//! # What each kind can do
//!
//! | | one by one | remove | count | merge | grow |
//! |---|---|---|---|---|---|
//! | bloom, blocked | yes | | | yes | |
//! | counting | yes | yes | yes | yes | |
//! | cuckoo | yes | yes | up to 8 copies | while there is room | |
//! | quotient | yes | yes | a place for each copy | yes | the rate doubles with the size |
//! | fuse | | | | | |
//! | growing | yes | | | | yes |

use std::fmt;

use super::{Kind, Plan};
use crate::ParameterError;
use crate::theory::blocked::{self, Block};
use crate::theory::check::{check_keys, check_rate};
use crate::theory::fuse::Arity;
use crate::theory::{bloom, cuckoo, fuse, limits, quotient};

/// What a filter has to do.
///
/// ```
/// use crivo::filter::choose::Needs;
///
/// let needs = Needs { keys: Some(50_000), merge: true, ..Needs::rate(0.001) };
/// assert!(!needs.remove);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Needs {
    /// How many keys there will be; `None` if nobody knows.
    pub keys: Option<u64>,
    /// The rate of wrong yeses that is acceptable.
    pub rate: f64,
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
    /// An unknown number of keys at this rate, and nothing else.
    pub const fn rate(rate: f64) -> Self {
        Self {
            keys: None,
            rate,
            remove: false,
            count: false,
            merge: false,
            all_keys_at_once: false,
        }
    }

    fn check(&self) -> Result<(), ParameterError> {
        check_rate(self.rate)?;
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

    /// Whether a kind can do all of this, at this rate.
    fn can_be_met_by(&self, kind: Kind) -> bool {
        // The fingerprints of these end at 32 bits.
        let is_narrow = matches!(kind, Kind::Cuckoo | Kind::Fuse);
        let keys = self.keys.unwrap_or(1 << 32);
        self.are_met_by(kind) && (!is_narrow || Plan::for_rate(kind, keys, self.rate).is_ok())
    }

    /// Whether a kind can do all of this.
    fn are_met_by(&self, kind: Kind) -> bool {
        let Abilities { dynamic, remove, count, merge, grow } = Abilities::of(kind);
        (dynamic || self.all_keys_at_once)
            && (remove || !self.remove)
            && (count || !self.count)
            && (merge || !self.merge)
            && (grow || self.keys.is_some())
    }
}

/// What a kind can do: [the second table](self#what-each-kind-can-do), as one would plan with it.
///
/// ```
/// use crivo::filter::Kind;
/// use crivo::filter::choose::Abilities;
///
/// let removing = Kind::ALL.into_iter().filter(|&kind| Abilities::of(kind).remove);
/// assert!(removing.eq([Kind::Counting, Kind::Cuckoo, Kind::Quotient]));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Abilities {
    /// Keys are inserted one by one.
    pub dynamic: bool,
    /// Keys are removed.
    pub remove: bool,
    /// It tells how often a key was inserted.
    pub count: bool,
    /// Two filters become one.
    pub merge: bool,
    /// It takes any number of keys.
    pub grow: bool,
}

impl Abilities {
    /// Those of a kind.
    pub const fn of(kind: Kind) -> Self {
        let none = Self { dynamic: true, remove: false, count: false, merge: false, grow: false };
        match kind {
            Kind::Bloom | Kind::Blocked => Self { merge: true, ..none },
            Kind::Counting => Self { remove: true, count: true, merge: true, ..none },
            // Eight copies fill a key's two buckets: not what is called counting.
            // A merger fills one table with the keys of both: not what one would plan with.
            Kind::Cuckoo => Self { remove: true, ..none },
            Kind::Quotient => Self { remove: true, count: true, merge: true, grow: true, ..none },
            Kind::Fuse => Self { dynamic: false, ..none },
            Kind::Growing | Kind::GrowingBlocked => Self { grow: true, ..none },
        }
    }
}

/// A kind that can do what is needed, and its price.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Candidate {
    /// The kind.
    pub kind: Kind,
    /// Its bits per key when it holds as many as it is made for, by theory. For a growing filter
    /// those of its first part; the following parts take more.
    pub bits_per_key: f64,
}

/// The kind to take, and why.
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
/// A rate that a kind cannot reach (fingerprints end at 32 or 62 bits) leaves it out.
///
/// ```
/// use crivo::filter::Kind;
/// use crivo::filter::choose::{Needs, candidates};
///
/// let needs = Needs { keys: Some(1_000_000), remove: true, ..Needs::rate(0.01) };
/// let kinds: Vec<Kind> = candidates(&needs)?.iter().map(|found| found.kind).collect();
/// assert_eq!(kinds, [Kind::Quotient, Kind::Cuckoo, Kind::Counting]);
/// # Ok::<(), crivo::ParameterError>(())
/// ```
///
/// # Errors
/// If the number of keys is 0, the rate is not strictly between 0 and 1, or needs contradict each
/// other.
pub fn candidates(needs: &Needs) -> Result<Vec<Candidate>, ParameterError> {
    needs.check()?;
    let mut found: Vec<Candidate> = Kind::ALL
        .into_iter()
        .filter(|&kind| needs.can_be_met_by(kind))
        .filter_map(|kind| {
            let bits_per_key = bits_per_key(kind, needs.keys, needs.rate).ok()?;
            Some(Candidate { kind, bits_per_key })
        })
        .collect();
    found.sort_by(|a, b| a.bits_per_key.total_cmp(&b.bits_per_key));
    Ok(found)
}

/// The kind to take, as [the table](self#which-filter) has it.
///
/// # Errors
/// If the number of keys is 0, the rate is not strictly between 0 and 1 or too low for the kind,
/// or needs contradict each other.
pub fn choose(needs: &Needs) -> Result<Choice, ParameterError> {
    needs.check()?;
    let (kind, why) = rule(needs)?;
    debug_assert!(needs.are_met_by(kind));
    let bits_per_key = bits_per_key(kind, needs.keys, needs.rate)?;
    Ok(Choice { kind, bits_per_key, why })
}

fn rule(needs: &Needs) -> Result<(Kind, &'static str), ParameterError> {
    Ok(match *needs {
        Needs { keys: None, remove: false, count: false, merge: false, .. } => (
            Kind::Growing,
            "nobody knows how many keys will come, and a chain of filters keeps the rate for any \
             number",
        ),
        Needs { keys: None, .. } => (
            Kind::Quotient,
            "it is the one filter that grows and can also remove, count and merge; each doubling \
             doubles the rate, so start with a lower one",
        ),
        Needs { all_keys_at_once: true, .. } if needs.can_be_met_by(Kind::Fuse) => {
            (Kind::Fuse, "the set never changes, and nothing that answers as fast takes fewer bits")
        }
        Needs { count: true, .. } => (
            Kind::Counting,
            "it counts, and a key that is inserted often takes no more room than any other",
        ),
        Needs { remove: true, merge: true, .. } => (
            Kind::Quotient,
            "it removes and merges: it keeps fingerprints in order, and two of them merge as \
             sorted lists do",
        ),
        Needs { remove: true, keys: Some(keys), rate, .. }
            if !needs.can_be_met_by(Kind::Cuckoo)
                && Plan::for_rate(Kind::Quotient, keys, rate).is_err() =>
        {
            (Kind::Counting, "it removes, and at so low a rate fingerprints would be too long")
        }
        Needs { remove: true, .. } if !needs.can_be_met_by(Kind::Cuckoo) => {
            (Kind::Quotient, "it removes, and its fingerprints are long enough for so low a rate")
        }
        Needs { remove: true, .. } => {
            (Kind::Cuckoo, "it removes, and a question reads two buckets, however low the rate")
        }
        Needs { keys, rate, .. } => {
            let blocked = bits_per_key(Kind::Blocked, keys, rate)?;
            let classic = bits_per_key(Kind::Bloom, keys, rate)?;
            if blocked <= CLASSIC_TIMES * classic {
                (
                    Kind::Blocked,
                    "a question reads one cache line, and at this rate that costs at most a tenth \
                     more bits than the classic filter",
                )
            } else {
                (
                    Kind::Bloom,
                    "at this rate crowded blocks would take over a tenth more bits than the classic \
                     filter, which takes repeated keys and any number of them, too",
                )
            }
        }
    })
}

/// The most that one cache line per question may cost: this much of the classic filter's bits.
const CLASSIC_TIMES: f64 = 1.1;

/// How full tables of fingerprints are when they hold the keys that they are made for.
const LOAD: f64 = 0.95;

/// Slots of a cuckoo bucket.
const BUCKET: u32 = 4;

/// Bits of metadata per slot of a quotient filter: two bitmaps, and an offset of 16 bits for 64.
const METADATA: f64 = 2.25;

/// Bits of a counter.
const COUNTER: f64 = 4.0;

/// The share of the rate that the first filter of a growing chain gets.
const FIRST_SHARE: f64 = 0.15;

/// What theory says that a kind takes, in whole bits where it stores whole bits.
fn bits_per_key(kind: Kind, keys: Option<u64>, rate: f64) -> Result<f64, ParameterError> {
    // Without a number of keys: of so many that rounding to whole filters does not show.
    let n = keys.unwrap_or(1 << 32);
    let classic = || Ok::<_, ParameterError>(bloom::size(n, rate)?.bits as f64 / n as f64);
    let in_blocks = |rate| {
        let block = Block::CACHE_LINE;
        let blocks = blocked::size(block, n, rate)?.blocks as f64;
        Ok::<_, ParameterError>(blocks * f64::from(block.bits) / n as f64)
    };
    Ok(match kind {
        Kind::Bloom => classic()?,
        Kind::Counting => COUNTER * classic()?,
        Kind::Blocked => in_blocks(rate)?,
        Kind::Cuckoo => f64::from(cuckoo::fingerprint_bits(rate, BUCKET, LOAD)?) / LOAD,
        Kind::Quotient => {
            let slot = f64::from(quotient::remainder_bits(rate, LOAD)?) + METADATA;
            slot / LOAD
        }
        Kind::Fuse => fuse::bits_per_key(n, rate, Arity::Three)?,
        Kind::Growing => limits::bloom(rate * FIRST_SHARE)?,
        Kind::GrowingBlocked => in_blocks(rate * FIRST_SHARE)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MILLION: Option<u64> = Some(1_000_000);

    /// The rows of "Which filter?", in its order.
    fn rows(rate: f64) -> [Needs; 8] {
        let needs = Needs { keys: MILLION, ..Needs::rate(rate) };
        [
            Needs { all_keys_at_once: true, ..needs },
            needs,
            Needs { merge: true, ..needs },
            Needs { remove: true, ..needs },
            Needs { remove: true, merge: true, ..needs },
            Needs { count: true, ..needs },
            Needs::rate(rate),
            Needs { remove: true, ..Needs::rate(rate) },
        ]
    }

    #[test]
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
    fn one_line_stops_paying_at_about_half_a_thousandth() {
        let kind = |rate| choose(&Needs { keys: MILLION, ..Needs::rate(rate) }).unwrap().kind;
        assert_eq!(kind(0.0006), Kind::Blocked);
        assert_eq!(kind(0.0004), Kind::Bloom);
    }

    #[test]
    fn contradictions_are_refused() {
        let set = Needs { keys: MILLION, all_keys_at_once: true, ..Needs::rate(0.01) };
        for needs in [
            Needs { count: true, ..set },
            Needs { remove: true, ..set },
            Needs { merge: true, ..set },
            Needs { keys: None, ..set },
        ] {
            assert_eq!(choose(&needs).unwrap_err().parameter, "all_keys_at_once");
            assert_eq!(candidates(&needs).unwrap_err().parameter, "all_keys_at_once");
        }
        let none = Needs { keys: Some(0), ..Needs::rate(0.01) };
        assert_eq!(choose(&none).unwrap_err().parameter, "n");
        for bad in [0.0, 1.0, f64::NAN] {
            assert_eq!(choose(&Needs::rate(bad)).unwrap_err().parameter, "rate");
        }
    }

    #[test]
    fn a_rate_out_of_reach_leaves_a_kind_out() {
        let needs = Needs { keys: Some(1_000), remove: true, ..Needs::rate(1e-25) };
        assert_eq!(choose(&needs).unwrap().kind, Kind::Counting);
        let kinds: Vec<Kind> = candidates(&needs).unwrap().iter().map(|c| c.kind).collect();
        assert_eq!(kinds, [Kind::Counting]);
    }

    /// What is chosen can be made, at every rate.
    #[test]
    fn nothing_is_chosen_that_cannot_be_planned() {
        for exponent in 1..18 {
            for (remove, all_keys_at_once) in [(false, false), (true, false), (false, true)] {
                let rate = 0.1f64.powi(exponent);
                let needs = Needs { keys: MILLION, remove, all_keys_at_once, ..Needs::rate(rate) };
                if let Ok(Choice { kind, .. }) = choose(&needs) {
                    assert!(Plan::for_rate(kind, 1_000_000, rate).is_ok(), "{kind} at {rate}");
                }
            }
        }
    }

    #[test]
    fn the_reason_reads_as_a_sentence() {
        let choice = choose(&Needs::rate(0.01)).unwrap();
        let text = choice.to_string();
        assert!(text.starts_with("growing (13.5 bits per key): nobody knows"), "{text}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn the_choice_is_a_candidate_and_candidates_are_sorted(
            keys in prop::option::of(1u64..1 << 40), exponent in 1f64..30.0,
            remove: bool, count: bool, merge: bool, all_keys_at_once: bool,
        ) {
            let rate = 0.5f64.powf(exponent);
            let needs = Needs { keys, rate, remove, count, merge, all_keys_at_once };
            let (Ok(choice), Ok(found)) = (choose(&needs), candidates(&needs)) else {
                prop_assert!(all_keys_at_once);
                return Ok(());
            };
            let Choice { kind, bits_per_key, .. } = choice;
            let same = Candidate { kind, bits_per_key };
            prop_assert!(found.contains(&same), "{same:?} {found:?}");
            prop_assert!(found.is_sorted_by(|a, b| a.bits_per_key <= b.bits_per_key));
            // No filter takes less than the information it holds.
            let limit = limits::fixed_set(rate).unwrap();
            prop_assert!(found.iter().all(|found| found.bits_per_key >= limit));
        }
    }
}
