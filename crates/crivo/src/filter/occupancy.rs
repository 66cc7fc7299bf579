//! How much of a filter's table is used.

/// The used part of a filter's table, and what the table consists of.
///
/// ```
/// use crivo::filter::{Bloom, Cells};
///
/// let mut filter = Bloom::with_size(64, 3, Default::default())?;
/// filter.insert("ana");
/// let occupancy = filter.occupancy();
/// assert_eq!((occupancy.used, occupancy.total), (3, 64));
/// assert_eq!(occupancy.cells, Cells::Bits { probes: 3 });
/// assert_eq!(occupancy.share(), 3.0 / 64.0);
/// # Ok::<(), crivo::BuildError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Occupancy {
    /// How many cells are used: bits that are set, counters above 0, slots that hold a fingerprint.
    pub used: u64,
    /// How many cells there are.
    pub total: u64,
    /// What a cell is.
    pub cells: Cells,
}

/// What the cells of a filter's table are.
///
/// ```
/// use crivo::filter::{Cells, CountingBloom, Cuckoo};
///
/// let counting = CountingBloom::new(1_000, 0.01)?;
/// assert_eq!(counting.occupancy().cells, Cells::Counters { probes: 7 });
/// let cuckoo = Cuckoo::new(1_000, 0.01)?;
/// assert_eq!(cuckoo.occupancy().cells, Cells::Slots { bits: 10 });
/// # Ok::<(), crivo::BuildError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cells {
    /// Bits, a number of which belong to a key.
    Bits {
        /// The bits of a key, k.
        probes: u32,
    },
    /// Counters, a number of which belong to a key.
    Counters {
        /// The counters of a key, k.
        probes: u32,
    },
    /// Slots, each for the fingerprint of a key.
    Slots {
        /// The bits of a fingerprint, or of the part of it that a slot stores.
        bits: u32,
    },
}

impl Occupancy {
    pub(super) fn of(used: u64, total: u64, cells: Cells) -> Self {
        Self { used, total, cells }
    }

    /// The used share of the cells, from 0 to 1.
    ///
    /// ```
    /// let mut filter = crivo::filter::Bloom::new(10_000, 0.01)?;
    /// assert_eq!(filter.occupancy().share(), 0.0);
    /// filter.extend(0..10_000u64);
    /// assert_eq!(format!("{:.2}", filter.occupancy().share()), "0.52");
    /// # Ok::<(), crivo::BuildError>(())
    /// ```
    pub fn share(&self) -> f64 {
        self.used as f64 / self.total as f64
    }
}
