//! The kinds of filters, and the one table that lists them.

use std::fmt;

use crate::ParameterError;
use crate::persist::FileKind;

/// The table of kinds: the name in the code, the types of the filters and of their specification, the
/// number that stands for the kind in files, its short name, and what it is. It calls the macro that it
/// is given with all rows.
macro_rules! for_each_kind {
    ($macro:ident) => {
        $macro! {
            Bloom(Bloom, BloomSpec): 1, "bloom", "The classic Bloom filter.";
            Blocked(Blocked, BlockedSpec): 2, "blocked", "The blocked Bloom filter.";
            Counting(CountingBloom, CountingSpec): 3, "counting", "The counting Bloom filter.";
            Cuckoo(Cuckoo, CuckooSpec): 4, "cuckoo", "The cuckoo filter.";
            Quotient(Quotient, QuotientSpec): 5, "quotient", "The quotient filter.";
            Fuse(Fuse, FuseSpec): 6, "fuse", "The binary fuse filter.";
            Growing(Growing, GrowingSpec<BloomSpec>): 7, "growing",
                "A growing chain of Bloom filters.";
            GrowingBlocked(GrowingBlocked, GrowingSpec<BlockedSpec>): 9, "growing-blocked",
                "A growing chain of blocked Bloom filters.";
            SplitBlock(SplitBlock, SplitBlockSpec): 10, "split-block",
                "The split-block Bloom filter of Parquet files.";
            BlockedCounting(BlockedCounting, BlockedCountingSpec): 11, "blocked-counting",
                "The blocked counting Bloom filter.";
            ShardedFuse(ShardedFuse, ShardedFuseSpec): 12, "sharded-fuse",
                "The binary fuse filter in shards, for very many keys.";
        }
    };
}
pub(crate) use for_each_kind;

macro_rules! kinds {
    ($($kind:ident($filter:ident, $spec:ty): $id:literal, $name:literal, $what:literal;)*) => {
        /// The kinds of filters, and the numbers that stand for them in files.
        ///
        /// What else a file may contain is a [`FileKind`].
        ///
        /// ```
        /// use crivo::filter::Kind;
        ///
        /// assert_eq!((Kind::Cuckoo.id(), Kind::Cuckoo.to_string()), (4, "cuckoo".to_owned()));
        /// ```
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Kind {
            $(#[doc = $what] $kind,)*
        }

        impl Kind {
            /// Every kind of filter, in the order of their numbers.
            ///
            /// ```
            /// use crivo::filter::Kind;
            ///
            /// let growing = Kind::ALL.into_iter().filter(|kind| kind.capabilities().unlimited);
            /// assert!(growing.eq([Kind::Growing, Kind::GrowingBlocked]));
            /// ```
            pub const ALL: [Self; [$($id),*].len()] = [$(Self::$kind),*];

            /// The number that stands for this kind in files. It never changes.
            ///
            /// ```
            /// assert_eq!(crivo::filter::Kind::Bloom.id(), 1);
            /// ```
            pub const fn id(self) -> u8 {
                match self { $(Self::$kind => $id,)* }
            }

            /// A short name for people and command lines.
            ///
            /// ```
            /// assert_eq!(crivo::filter::Kind::GrowingBlocked.name(), "growing-blocked");
            /// ```
            pub const fn name(self) -> &'static str {
                match self { $(Self::$kind => $name,)* }
            }
        }
    };
}
for_each_kind!(kinds);

macro_rules! names {
    ($first:ident($($_first:tt)*): $_id:literal, $name:literal, $_what:literal;
     $($kind:ident($($_types:tt)*): $id:literal, $more:literal, $what:literal;)*) => {
        /// All names, for an error message.
        const NAMES: &str = concat!("one of ", $name $(, ", ", $more)*);
    };
}
for_each_kind!(names);

impl Kind {
    /// The kind with this number, if there is one.
    ///
    /// ```
    /// use crivo::filter::Kind;
    ///
    /// assert_eq!(Kind::from_id(1), Some(Kind::Bloom));
    /// assert_eq!(Kind::from_id(255), None);
    /// ```
    pub fn from_id(id: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.id() == id)
    }

    /// What a file with a filter of this kind says that it contains.
    ///
    /// ```
    /// assert_eq!(crivo::filter::Kind::Fuse.file_kind().description(), "fuse filter");
    /// ```
    pub const fn file_kind(self) -> FileKind {
        FileKind::new(self.id(), self.name(), "filter")
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl std::str::FromStr for Kind {
    type Err = ParameterError;

    /// The kind of filter of that [name](Kind::name).
    ///
    /// ```
    /// use crivo::filter::Kind;
    ///
    /// assert_eq!("cuckoo".parse(), Ok(Kind::Cuckoo));
    /// assert!("sieve".parse::<Kind>().is_err());
    /// ```
    fn from_str(name: &str) -> Result<Self, ParameterError> {
        Self::ALL
            .into_iter()
            .find(|kind| kind.name() == name)
            .ok_or_else(|| ParameterError::new("kind", format_args!("{name:?}"), NAMES))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names_are_read_as_they_are_written() {
        for kind in Kind::ALL {
            assert_eq!(Kind::from_id(kind.id()), Some(kind));
            assert_eq!(kind.name().parse(), Ok(kind));
        }
        assert!(Kind::ALL.is_sorted_by_key(|kind| kind.id()));
        let error = "sieve".parse::<Kind>().unwrap_err().to_string();
        assert!(Kind::ALL.iter().all(|kind| error.contains(kind.name())), "{error}");
    }
}
