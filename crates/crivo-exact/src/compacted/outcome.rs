//! Results that may be wrong with a small probability.

/// What a [`CompactedMap`](super::CompactedMap) found for a key.
///
/// ```
/// use crivo_exact::Lookup;
///
/// let found = Lookup::Probably(7);
/// assert_eq!(found.probable(), Some(7));
/// assert!(Lookup::<u32>::Absent.is_absent());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Lookup<T> {
    /// There is no entry of this key.
    Absent,
    /// There is an entry, probably of this key; it may be that of another.
    Probably(T),
}

impl<T> Lookup<T> {
    /// What was found, for a caller that accepts the probability of error.
    ///
    /// ```
    /// use crivo_exact::Lookup;
    ///
    /// assert_eq!(Lookup::Probably(7).probable(), Some(7));
    /// assert_eq!(Lookup::<u32>::Absent.probable(), None);
    /// ```
    pub fn probable(self) -> Option<T> {
        match self {
            Self::Absent => None,
            Self::Probably(found) => Some(found),
        }
    }

    /// Whether nothing was found.
    ///
    /// ```
    /// use crivo_exact::Lookup;
    ///
    /// assert!(!Lookup::Probably(7).is_absent());
    /// ```
    pub const fn is_absent(&self) -> bool {
        matches!(self, Self::Absent)
    }
}

impl<T> From<Option<T>> for Lookup<T> {
    fn from(found: Option<T>) -> Self {
        found.map_or(Self::Absent, Self::Probably)
    }
}

/// What an insertion into a [`CompactedMap`](super::CompactedMap) did.
///
/// ```
/// use crivo_exact::Inserted;
///
/// assert_eq!(Inserted::ProbablyReplaced(7).replaced(), Some(7));
/// assert_eq!(Inserted::<u32>::New.replaced(), None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inserted<V> {
    /// There was no entry; there is one now.
    New,
    /// There was an entry with this value, probably of this key; it may be that of another key,
    /// which shares the entry and the new value from now on.
    ProbablyReplaced(V),
}

impl<V> Inserted<V> {
    /// The value that was replaced, if there was one.
    ///
    /// ```
    /// use crivo_exact::Inserted;
    ///
    /// assert_eq!(Inserted::ProbablyReplaced(7).replaced(), Some(7));
    /// assert_eq!(Inserted::<u32>::New.replaced(), None);
    /// ```
    pub fn replaced(self) -> Option<V> {
        match self {
            Self::New => None,
            Self::ProbablyReplaced(value) => Some(value),
        }
    }
}
