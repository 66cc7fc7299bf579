//! Which protocol costs least?
//!
//! Three ways to make two sets equal, by what they send beside the differing items themselves:
//!
//! ```text
//!   rateless     1.35 to 1.8 symbols of 21 bytes for each of d differing items, and 8 bytes for
//!                each that is asked for
//!   filters      a filter of one set or of both finds all but a share 2^−w of the differing items,
//!                at about 1.1·w bits per item of the set; symbols find the rest
//!   everything   all items of the other side
//! ```
//!
//! Rateless wins while d is below some 2% of the sets, filters beyond; everything where sets are
//! tiny, items short, or nearly nothing is in common. A filter of one side only is for sets of which
//! one has little that the other lacks.

use super::offer::{MAX_WIDTH, fpr, offer_bytes};
use super::rateless::codec::symbols_bytes;
use super::rateless::expected_symbols;
use super::wire::number_length;

/// How many symbols are asked for first: 340 bytes, and a first idea of the difference.
pub(super) const FIRST_PULL: u64 = 16;
/// What an item costs that the initiator must ask for: the upper half of its id.
pub(super) const WANTED_BYTES: f64 = 8.0;

/// What every session sends: summaries, ends of items, seals.
const AROUND: f64 = 85.0;

/// What is known about two sets before a protocol is chosen.
///
/// *Here* is the side that decodes and decides, *there* the other.
///
/// ```
/// use crivo_exchange::{Protocol, Situation};
///
/// let sets = Situation { here: 1_000_000, there: 1_000_000, there_bytes: 40_000_000, difference: 1_000.0 };
/// let plan = sets.plan();
/// assert_eq!(plan.protocol, Protocol::Rateless);
/// assert!(plan.bytes < 35_000.0); // 29,300 for symbols, 4,000 to ask for items
///
/// let plan = Situation { difference: 200_000.0, ..sets }.plan();
/// assert!(matches!(plan.protocol, Protocol::Filters { .. }));
/// assert!(plan.bytes < 3_000_000.0); // 34 bytes each by symbols alone: 6,800,000
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Situation {
    /// The number of items here.
    pub here: u64,
    /// The number of items there.
    pub there: u64,
    /// The length of all items there together, in bytes.
    pub there_bytes: u64,
    /// The estimated number of items on one side only.
    pub difference: f64,
}

/// A way to make two sets equal.
///
/// ```
/// use crivo_exchange::{Protocol, Situation};
///
/// // Two small sets that have nothing in common.
/// let sets = Situation { here: 10, there: 10, there_bytes: 50, difference: 20.0 };
/// assert_eq!(sets.plan().protocol, Protocol::Everything);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Protocol {
    /// Coded symbols until the difference is decoded.
    Rateless,
    /// Filters first, then coded symbols for what they missed.
    Filters {
        /// The width of the fingerprints in the filter of the set here; 0 if there is none.
        here: u32,
        /// The width of the fingerprints in the filter of the set there; 0 if there is none.
        there: u32,
    },
    /// All items there are sent here.
    Everything,
}

/// A protocol, and what it is expected to cost.
///
/// ```
/// use crivo_exchange::Situation;
///
/// let sets = Situation { here: 1_000, there: 1_000, there_bytes: 40_000, difference: 10.0 };
/// let plan = sets.plan();
/// assert_eq!(plan.bytes, sets.cost(plan.protocol));
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SyncPlan {
    /// The protocol.
    pub protocol: Protocol,
    /// The bytes that it is expected to send in both directions, without the differing items.
    pub bytes: f64,
}

impl SyncPlan {
    /// The one that costs less.
    pub(super) fn cheaper(self, other: Self) -> Self {
        if other.bytes < self.bytes { other } else { self }
    }
}

/// The parts of a situation.
struct Shares {
    only_here: f64,
    only_there: f64,
}

impl Situation {
    /// The cheapest protocol.
    ///
    /// ```
    /// use crivo_exchange::{Protocol, Situation};
    ///
    /// let sets = Situation { here: 9_000, there: 9_000, there_bytes: 400_000, difference: 10.0 };
    /// assert_eq!(sets.plan().protocol, Protocol::Rateless);
    /// ```
    pub fn plan(&self) -> SyncPlan {
        self.priced(Protocol::Rateless)
            .cheaper(self.best_filters())
            .cheaper(self.priced_everything())
    }

    /// The cheapest pair of filters, of which one may be none.
    ///
    /// ```
    /// use crivo_exchange::{Protocol, Situation};
    ///
    /// let sets = Situation { here: 9_000, there: 9_000, there_bytes: 400_000, difference: 5e3 };
    /// let filters = sets.best_filters();
    /// assert!(filters.bytes < sets.cost(Protocol::Rateless));
    /// ```
    pub fn best_filters(&self) -> SyncPlan {
        let one_bit = self.priced(Protocol::Filters { here: 1, there: 1 });
        (0..=MAX_WIDTH)
            .flat_map(|here| (0..=MAX_WIDTH).map(move |there| (here, there)))
            .filter(|&widths| widths != (0, 0))
            .map(|(here, there)| self.priced(Protocol::Filters { here, there }))
            .fold(one_bit, SyncPlan::cheaper)
    }

    /// The bytes that a protocol is expected to send in both directions, without the differing
    /// items themselves. Their lengths, before each of them, are counted.
    ///
    /// ```
    /// use crivo_exchange::{Protocol, Situation};
    ///
    /// let sets = Situation { here: 9_000, there: 9_000, there_bytes: 400_000, difference: 99.0 };
    /// assert!(sets.cost(Protocol::Rateless) < 5_000.0);
    /// assert!(sets.cost(Protocol::Everything) > 390_000.0);
    /// ```
    pub fn cost(&self, protocol: Protocol) -> f64 {
        let Shares { only_here, only_there } = self.shares();
        let mean = self.there_bytes / self.there.max(1);
        let lengths = (only_here + only_there) * number_length(mean) as f64;
        AROUND
            + lengths
            + match protocol {
                // Once symbols have cost as much as everything, everything is sent instead.
                Protocol::Rateless => {
                    let symbols = symbols_cost(self.there as f64, only_here, only_there);
                    let everything = self.everything_cost();
                    if symbols > everything { 2.0 * everything } else { symbols }
                }
                Protocol::Filters { here, there } => {
                    let missed =
                        |width: u32, all: f64| if width == 0 { all } else { all * fpr(width) };
                    let bytes = |width: u32, count: f64| {
                        if width == 0 { 0.0 } else { offer_bytes(count, width) }
                    };
                    let missed_there = missed(here, only_there);
                    let left_there = self.there as f64 - (only_there - missed_there);
                    bytes(here, self.here as f64)
                        + bytes(there, left_there)
                        + symbols_cost(left_there, missed(there, only_here), missed_there)
                }
                Protocol::Everything => self.everything_cost(),
            }
    }

    /// What it costs to send all items there, beside the differing ones: those that both have, and the
    /// news which were new, as how many known ones came before each.
    pub(super) fn everything_cost(&self) -> f64 {
        let only_there = self.shares().only_there;
        let common = (self.there as f64 - only_there).max(0.0);
        let gap = common / only_there.max(1.0);
        common * self.item_cost() + only_there * number_length(gap as u64) as f64
    }

    /// What an item there takes in a message, on average.
    fn item_cost(&self) -> f64 {
        let mean = self.there_bytes as f64 / self.there.max(1) as f64;
        mean + number_length(mean as u64) as f64
    }

    /// The bytes of all items there, as they would be sent.
    pub(super) fn everything(&self) -> f64 {
        self.there as f64 * self.item_cost()
    }

    /// The plan to send everything.
    pub(super) fn priced_everything(&self) -> SyncPlan {
        self.priced(Protocol::Everything)
    }

    fn priced(&self, protocol: Protocol) -> SyncPlan {
        SyncPlan { protocol, bytes: self.cost(protocol) }
    }

    fn shares(&self) -> Shares {
        let (here, there) = (self.here as f64, self.there as f64);
        let difference = self.difference.clamp((here - there).abs(), here + there);
        Shares {
            only_here: (difference + here - there) / 2.0,
            only_there: (difference + there - here) / 2.0,
        }
    }
}

/// What it costs to find a difference by symbols, and to ask for what lacks here.
fn symbols_cost(there: f64, only_here: f64, only_there: f64) -> f64 {
    let symbols = expected_symbols(only_here + only_there).max(FIRST_PULL as f64);
    symbols_bytes(there, symbols) + only_there * WANTED_BYTES
}
