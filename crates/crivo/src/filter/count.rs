//! How often a key is in a filter.

use std::fmt;

/// How often a key was inserted and not removed, as far as the filter can tell. It is never less
/// than the truth.
///
/// ```
/// use crivo::filter::{Count, CountingBloom};
///
/// let mut filter = CountingBloom::new(1_000, 0.01)?; // counters of four bits
/// filter.insert("ana");
/// assert_eq!(filter.count("ana"), Count::AtMost(1));
/// filter.extend(["ana"; 20]);
/// assert_eq!(filter.count("ana"), Count::AtLeast(15));
/// # Ok::<(), crivo::BuildError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Count {
    /// This often or less. `AtMost(0)`: certainly never.
    AtMost(u64),
    /// The counters are saturated and stand for this or any greater number: there is no bound.
    AtLeast(u64),
}

impl Count {
    /// The number, without saying whether it is a bound from above or from below.
    ///
    /// ```
    /// use crivo::filter::Count;
    ///
    /// assert_eq!(Count::AtMost(2).get(), 2);
    /// assert_eq!(Count::AtLeast(15).get(), 15);
    /// ```
    pub const fn get(self) -> u64 {
        match self {
            Self::AtMost(count) | Self::AtLeast(count) => count,
        }
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtMost(count) => write!(f, "at most {count}"),
            Self::AtLeast(count) => write!(f, "at least {count}"),
        }
    }
}
