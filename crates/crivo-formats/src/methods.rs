//! What every Bloom filter of this crate has for itself, written once.

use crivo::filter::Incompatible;

use crate::bits::Table;
use crate::{ChangeError, ForeignFilter, FormatError, KeyTypeError, TypedKey};

/// A format that is a table of bits. What differs between formats is here; the methods that users
/// call are made of it by [`bloom_methods`].
pub(crate) trait BloomFormat: Sized {
    /// The name in the table of formats.
    fn name(&self) -> &'static str;

    fn table(&self) -> &Table;

    fn table_mut(&mut self) -> &mut Table;

    /// The bits of a key, or `None` if the system has no keys of this type.
    fn positions(&self, key: &TypedKey<'_>) -> Option<impl Iterator<Item = u64> + use<Self>>;

    /// An error if the filters differ in something else than their tables' sizes.
    fn check_mergeable(&self, other: &Self) -> Result<(), Incompatible>;

    /// Whether the system does not insert this key, and answers that it is not there.
    fn leaves_out(&self, _key: &TypedKey<'_>) -> bool {
        false
    }

    /// Follows every insertion, which changed the table if `is_new`.
    fn inserted(&mut self, _is_new: bool) {}

    /// Follows every union.
    fn united(&mut self, _other: &Self) {}

    /// How many keys there are, if the file tells.
    fn stored_key_count(&self) -> Option<u64> {
        None
    }

    /// What describes the filter besides its table.
    fn own_parameters(&self) -> Vec<(&'static str, String)>;

    fn encode(&self) -> Vec<u8>;
}

fn positions<F: BloomFormat>(
    filter: &F,
    key: &TypedKey<'_>,
) -> Result<impl Iterator<Item = u64> + use<F>, KeyTypeError> {
    filter.positions(key).ok_or_else(|| KeyTypeError::new(filter.name(), key.key_type()))
}

#[inline]
pub(crate) fn contains<F: BloomFormat>(
    filter: &F,
    key: &TypedKey<'_>,
) -> Result<bool, KeyTypeError> {
    let positions = positions(filter, key)?;
    Ok(!filter.leaves_out(key) && filter.table().contains(positions))
}

#[inline]
pub(crate) fn insert<F: BloomFormat>(
    filter: &mut F,
    key: &TypedKey<'_>,
) -> Result<bool, KeyTypeError> {
    let positions = positions(filter, key)?;
    if filter.leaves_out(key) {
        return Ok(false);
    }
    let is_new = filter.table_mut().insert(positions);
    filter.inserted(is_new);
    Ok(is_new)
}

pub(crate) fn union<F: BloomFormat>(filter: &mut F, other: &F) -> Result<(), Incompatible> {
    filter.check_mergeable(other)?;
    filter.table_mut().union_with(other.table())?;
    filter.united(other);
    Ok(())
}

pub(crate) fn union_any<F: BloomFormat + ForeignFilter>(
    filter: &mut F,
    other: &dyn ForeignFilter,
) -> Result<(), ChangeError> {
    let Some(same) = (other as &dyn std::any::Any).downcast_ref::<F>() else {
        return Err(Incompatible::new("format", filter.name(), other.format()).into());
    };
    Ok(union(filter, same)?)
}

/// The filter, if it is of this format: one reader may know several.
pub(crate) fn of_format<F: BloomFormat + ForeignFilter>(
    filter: F,
    name: &'static str,
) -> Result<Box<dyn ForeignFilter>, FormatError> {
    if BloomFormat::name(&filter) != name {
        let reason = "it is of another version";
        return Err(FormatError::NotThisFormat { expected: name, reason });
    }
    Ok(Box::new(filter))
}

pub(crate) fn parameters<F: BloomFormat>(filter: &F) -> Vec<(&'static str, String)> {
    let mut parameters = filter.own_parameters();
    parameters.push(("k", filter.table().probes().to_string()));
    parameters.push(("set bits", filter.table().count_set_bits().to_string()));
    parameters
}

/// The methods of a type that is a [`BloomFormat`], and its `ForeignFilter`.
///
/// `keys` are the types of Rust that its system has; `example` makes an empty filter.
macro_rules! bloom_methods {
    ($filter:ident, keys: [$($key:ty),* $(,)?], example: $example:literal $(,)?) => {
        $(impl $crate::KeyOf<$filter> for $key {})*

        impl $filter {
            /// The filter as its system stores it.
            ///
            /// ```
            #[doc = $example]
            /// filter.insert("ana");
            /// assert!(8 * filter.to_bytes().len() as u64 >= filter.size_in_bits());
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            pub fn to_bytes(&self) -> Vec<u8> {
                $crate::methods::BloomFormat::encode(self)
            }

            /// Whether `key` may be a member. `false` is certain.
            ///
            /// ```
            #[doc = $example]
            /// filter.insert("ana");
            /// assert!(filter.contains("ana"));
            /// assert!(!filter.contains("rui"));
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            #[inline]
            pub fn contains<K: $crate::KeyOf<Self> + ?Sized>(&self, key: &K) -> bool {
                $crate::key::of_this_system($crate::methods::contains(self, &key.as_key()))
            }

            /// Makes `key` a member: `true` if it was certainly new.
            ///
            /// ```
            #[doc = $example]
            /// assert!(filter.insert("ana"));
            /// assert!(!filter.insert("ana"));
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            #[inline]
            pub fn insert<K: $crate::KeyOf<Self> + ?Sized>(&mut self, key: &K) -> bool {
                $crate::key::of_this_system($crate::methods::insert(self, &key.as_key()))
            }

            /// Takes in the keys of another filter.
            ///
            /// ```
            #[doc = $example]
            /// let mut theirs = filter.clone();
            /// theirs.insert("ana");
            /// filter.union_with(&theirs)?;
            /// assert!(filter.contains("ana"));
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            ///
            /// # Errors
            /// If the two differ in a parameter. This one is as it was.
            pub fn union_with(&mut self, other: &Self) -> Result<(), crivo::filter::Incompatible> {
                $crate::methods::union(self, other)
            }

            /// The memory of the table, in bits.
            ///
            /// ```
            #[doc = $example]
            /// filter.insert("ana");
            /// assert!(filter.count_set_bits() <= filter.size_in_bits());
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            pub fn size_in_bits(&self) -> u64 {
                $crate::methods::BloomFormat::table(self).size_in_bits()
            }

            /// How many bits a key has: k.
            ///
            /// ```
            #[doc = $example]
            /// filter.insert("ana");
            /// assert!((1..=u64::from(filter.probes())).contains(&filter.count_set_bits()));
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            pub fn probes(&self) -> u32 {
                $crate::methods::BloomFormat::table(self).probes()
            }

            /// How many bits are set. It reads the whole table.
            ///
            /// ```
            #[doc = $example]
            /// assert_eq!(filter.count_set_bits(), 0);
            /// filter.insert("ana");
            /// assert!(filter.count_set_bits() > 0);
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            pub fn count_set_bits(&self) -> u64 {
                $crate::methods::BloomFormat::table(self).count_set_bits()
            }

            /// The number of different keys, estimated from the set bits. `None` if all bits are
            /// set, or a key has more than 255.
            ///
            /// ```
            #[doc = $example]
            /// filter.insert("ana");
            /// filter.insert("ana");
            /// assert_eq!(filter.estimated_key_count().map(|found| found.keys.round()), Some(1.0));
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            pub fn estimated_key_count(&self) -> Option<crivo::theory::estimate::Estimate> {
                $crate::methods::BloomFormat::table(self).estimated_key_count()
            }

            /// The false-positive rate of this very table: (set bits/bits)^k. It reads the whole
            /// table.
            ///
            /// ```
            #[doc = $example]
            /// assert_eq!(filter.expected_fpr(), 0.0);
            /// filter.insert("ana");
            /// assert!(filter.expected_fpr() < 1e-6);
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            pub fn expected_fpr(&self) -> f64 {
                $crate::methods::BloomFormat::table(self).fill_fpr()
            }
        }

        impl $crate::ForeignFilter for $filter {
            fn format(&self) -> &'static str {
                $crate::methods::BloomFormat::name(self)
            }

            fn contains_key(
                &self,
                key: &$crate::TypedKey<'_>,
            ) -> Result<bool, $crate::KeyTypeError> {
                $crate::methods::contains(self, key)
            }

            fn insert_key(
                &mut self,
                key: &$crate::TypedKey<'_>,
            ) -> Result<bool, $crate::ChangeError> {
                Ok($crate::methods::insert(self, key)?)
            }

            fn union_with_any(
                &mut self,
                other: &dyn $crate::ForeignFilter,
            ) -> Result<(), $crate::ChangeError> {
                $crate::methods::union_any(self, other)
            }

            fn size_in_bits(&self) -> u64 {
                self.size_in_bits()
            }

            fn key_count(&self) -> Option<u64> {
                $crate::methods::BloomFormat::stored_key_count(self)
            }

            fn estimated_key_count(&self) -> Option<crivo::theory::estimate::Estimate> {
                self.estimated_key_count()
            }

            fn fill(&self) -> Option<f64> {
                Some($crate::methods::BloomFormat::table(self).fill())
            }

            fn expected_fpr(&self) -> f64 {
                self.expected_fpr()
            }

            fn parameters(&self) -> Vec<(&'static str, String)> {
                $crate::methods::parameters(self)
            }

            fn to_bytes(&self) -> Vec<u8> {
                self.to_bytes()
            }
        }
    };
}

pub(crate) use bloom_methods;
