//! What a kind of filter can do.

/// What a kind can do, as one would plan with it: `Kind::capabilities`.
///
/// ```
/// use crivo::filter::Kind;
///
/// let removing = Kind::ALL.into_iter().filter(|kind| kind.capabilities().remove);
/// assert!(removing.eq([Kind::Counting, Kind::Cuckoo, Kind::Quotient, Kind::BlockedCounting]));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Capabilities {
    /// Keys are inserted one by one. Otherwise the filter is built from all of them at once.
    pub insert: bool,
    /// Keys are removed.
    pub remove: bool,
    /// It tells how often a key was inserted.
    pub count: bool,
    /// It counts copies of a key that take no room of their own.
    pub free_copies: bool,
    /// Two filters become one, so that several threads can [build](super::FilterSpec::build_on_threads)
    /// one. A cuckoo filter merges only while there is room in its table, which is nothing to plan with.
    pub merge: bool,
    /// It is never full: past its capacity it takes keys at a rising FPR, or it grows.
    pub never_full: bool,
    /// It is made for a number of keys that is not known.
    pub grow: bool,
    /// It keeps its FPR for any number of keys: it has no capacity.
    pub unlimited: bool,
}

impl Capabilities {
    /// Of a filter that is built once and never changes. The others are described by what they can
    /// do beyond this.
    pub(super) const STATIC: Self = Self {
        insert: false,
        remove: false,
        count: false,
        free_copies: false,
        merge: false,
        never_full: false,
        grow: false,
        unlimited: false,
    };

    /// Whether everything that is asked for is among what it can do.
    pub(super) fn include(&self, asked: &Self) -> bool {
        let pairs = [
            (self.insert, asked.insert),
            (self.remove, asked.remove),
            (self.count, asked.count),
            (self.free_copies, asked.free_copies),
            (self.merge, asked.merge),
            (self.never_full, asked.never_full),
            (self.grow, asked.grow),
            (self.unlimited, asked.unlimited),
        ];
        pairs.iter().all(|&(can, is_asked)| can || !is_asked)
    }
}
