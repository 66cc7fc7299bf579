//! From a set to its signature: k permutations, or one.

use std::fmt;

use super::{Signature, SignatureBits};
use crivo::hash::reduce;
use crivo::{Digest, Key, KeyHasher, ParameterError};
use crivo_core::check::check_range;

/// The maximum number of values of a signature. At 4,096 the standard error is below 0.8 percentage points, and
/// no bands need more.
pub(super) const MAX_VALUES: u32 = 4_096;

/// How a signature's values are chosen from a set.
///
/// ```
/// use crivo_sketch::Form;
///
/// assert_eq!(Form::OnePermutation.to_string(), "one-permutation");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Form {
    /// k permutations of the universe, and the least element under each: the values are
    /// independent of each other. n·k steps.
    Classic,
    /// One permutation, cut into k bins, and the least element of each bin; a bin without element
    /// borrows from another (*optimal densification*). n + k steps for n well above k.
    OnePermutation,
}

impl Form {
    /// Every form, in the order of their numbers.
    ///
    /// ```
    /// use crivo_sketch::Form;
    ///
    /// assert_eq!(Form::ALL, [Form::Classic, Form::OnePermutation]);
    /// ```
    pub const ALL: [Self; 2] = [Self::Classic, Self::OnePermutation];

    /// The number of this form in files. It never changes.
    ///
    /// ```
    /// assert_ne!(crivo_sketch::Form::Classic.id(), crivo_sketch::Form::OnePermutation.id());
    /// ```
    pub const fn id(self) -> u8 {
        match self {
            Self::Classic => 1,
            Self::OnePermutation => 2,
        }
    }

    /// The form with this number, if there is one.
    ///
    /// ```
    /// use crivo_sketch::Form;
    ///
    /// assert_eq!(Form::from_id(Form::Classic.id()), Some(Form::Classic));
    /// assert_eq!(Form::from_id(255), None);
    /// ```
    pub fn from_id(id: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|form| form.id() == id)
    }

    /// A short name for people and tables.
    ///
    /// ```
    /// assert_eq!(crivo_sketch::Form::Classic.name(), "classic");
    /// ```
    pub const fn name(self) -> &'static str {
        match self {
            Self::Classic => "classic",
            Self::OnePermutation => "one-permutation",
        }
    }
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Makes signatures that can be compared with each other: a form, a length, a hasher.
///
/// The permutations are fixed functions of digests. Other permutations come with another seed of
/// the hasher.
///
/// ```
/// use crivo_sketch::Sketcher;
///
/// let sketcher = Sketcher::classic(256)?;
/// let one = sketcher.sketch_keys(0..1_000u32).expect("a set with elements");
/// let other = sketcher.sketch_keys(500..1_500u32).expect("a set with elements");
/// let estimate = one.estimate(&other)?; // the truth is 500 of 1,500
/// assert!((estimate.jaccard - 1.0 / 3.0).abs() < 3.0 * estimate.standard_error);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sketcher {
    form: Form,
    length: u32,
    hasher: KeyHasher,
}

impl Sketcher {
    /// Classic MinHash of `length` values, by fold64 with seed 0.
    ///
    /// ```
    /// use crivo_sketch::Sketcher;
    ///
    /// assert!(Sketcher::classic(4_096).is_ok());
    /// assert!(Sketcher::classic(4_097).is_err());
    /// ```
    ///
    /// # Errors
    /// If the length is not from 1 to 4,096.
    pub fn classic(length: u32) -> Result<Self, ParameterError> {
        Self::with_hasher(Form::Classic, length, KeyHasher::default())
    }

    /// One-permutation MinHash of `length` values, by fold64 with seed 0.
    ///
    /// ```
    /// use crivo_sketch::{Form, Sketcher};
    ///
    /// assert_eq!(Sketcher::one_permutation(128)?.form(), Form::OnePermutation);
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    ///
    /// # Errors
    /// If the length is not from 1 to 4,096.
    pub fn one_permutation(length: u32) -> Result<Self, ParameterError> {
        Self::with_hasher(Form::OnePermutation, length, KeyHasher::default())
    }

    /// Either form, with another hasher.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo_sketch::{Form, Sketcher};
    ///
    /// let sketcher = Sketcher::with_hasher(Form::Classic, 128, KeyHasher::xxh3(7))?;
    /// assert_eq!(sketcher.hasher(), KeyHasher::xxh3(7));
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    ///
    /// # Errors
    /// If the length is not from 1 to 4,096.
    pub fn with_hasher(form: Form, length: u32, hasher: KeyHasher) -> Result<Self, ParameterError> {
        check_range("signature length", length, 1..=MAX_VALUES, "from 1 to 4096")?;
        Ok(Self { form, length, hasher })
    }

    /// The form.
    ///
    /// ```
    /// use crivo_sketch::{Form, Sketcher};
    ///
    /// assert_eq!(Sketcher::classic(128)?.form(), Form::Classic);
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    pub fn form(&self) -> Form {
        self.form
    }

    /// The number of values of its signatures.
    ///
    /// ```
    /// assert_eq!(crivo_sketch::Sketcher::classic(128)?.length(), 128);
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    pub fn length(&self) -> u32 {
        self.length
    }

    /// The hasher that turns keys into digests.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo_sketch::Sketcher;
    ///
    /// assert_eq!(Sketcher::classic(128)?.hasher(), KeyHasher::default());
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    pub fn hasher(&self) -> KeyHasher {
        self.hasher
    }

    /// The signature of a set of keys; keys may come repeatedly, and in any order. `None` for the
    /// empty set, which has no least element.
    ///
    /// ```
    /// use crivo_sketch::Sketcher;
    ///
    /// let sketcher = Sketcher::classic(128)?;
    /// let signature = sketcher.sketch_keys(["ana", "rui"]);
    /// assert_eq!(sketcher.sketch_keys(["rui", "ana", "rui"]), signature);
    /// assert_eq!(sketcher.sketch_keys::<u32>([]), None);
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    pub fn sketch_keys<K: Key>(&self, keys: impl IntoIterator<Item = K>) -> Option<Signature> {
        self.sketch(keys.into_iter().map(|key| self.hasher.digest(&key)))
    }

    /// The signature of a set of digests, which must come from [`hasher`](Self::hasher). `None` for
    /// the empty set.
    ///
    /// ```
    /// use crivo_sketch::Sketcher;
    ///
    /// let sketcher = Sketcher::classic(128)?;
    /// let digests = ["ana", "rui"].map(|key| sketcher.hasher().digest(key));
    /// assert_eq!(sketcher.sketch(digests), sketcher.sketch_keys(["ana", "rui"]));
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    pub fn sketch(&self, digests: impl IntoIterator<Item = Digest>) -> Option<Signature> {
        let mut values = vec![0; self.length as usize];
        self.fill(digests, &mut values)
            .then(|| Signature::from_words(*self, SignatureBits::ALL, values.into()))
    }

    /// Writes the values of a set into `values`, and returns whether there was any element.
    pub(super) fn fill(
        &self,
        digests: impl IntoIterator<Item = Digest>,
        values: &mut [u64],
    ) -> bool {
        match self.form {
            Form::Classic => fill_by_permutations(digests, values),
            Form::OnePermutation => fill_by_bins(digests, values),
        }
    }
}

/// values[i] = min over x of permutation_i(x).
///
/// A permutation is `remix`, a bijection in which every bit of the input affects every bit of the
/// output, of the digest and a constant of its own. So two elements never share a value.
fn fill_by_permutations(digests: impl IntoIterator<Item = Digest>, values: &mut [u64]) -> bool {
    let constants: Vec<u64> =
        (0..values.len() as u64).map(|index| Digest::new(index).remix().get()).collect();
    values.fill(u64::MAX);
    let mut any = false;
    for digest in digests {
        any = true;
        for (value, constant) in values.iter_mut().zip(&constants) {
            *value = (*value).min(Digest::new(digest.get() ^ constant).remix().get());
        }
    }
    any
}

/// values[i] = min over those x that [`reduce`] puts into bin i: the digest itself is the
/// permutation. A value's high bits determine its bin, so that values of different bins always differ.
fn fill_by_bins(digests: impl IntoIterator<Item = Digest>, values: &mut [u64]) -> bool {
    let length = values.len() as u64;
    let mut is_filled = vec![false; values.len()];
    values.fill(u64::MAX);
    for digest in digests {
        let bin = reduce(digest.get(), length) as usize;
        values[bin] = values[bin].min(digest.get());
        is_filled[bin] = true;
    }
    if !is_filled.contains(&true) {
        return false;
    }
    for bin in 0..values.len() {
        if !is_filled[bin] {
            values[bin] = values[lender(bin as u64, &is_filled)];
        }
    }
    true
}

/// The bin whose value an empty bin takes over: the first filled one in a random sequence that
/// depends on the empty bin alone. Two sets that both lack a bin thus look in the same places.
///
/// It takes about k/filled tries.
///
/// ```
/// use crivo_sketch::lender;
///
/// assert_eq!(lender(0, &[false, true, false]), 1); // the only one that is filled
/// ```
///
/// # Panics
/// If no bin is filled.
pub fn lender(bin: u64, is_filled: &[bool]) -> usize {
    assert!(is_filled.contains(&true), "a bin is filled");
    let length = is_filled.len() as u64;
    let start = Digest::new(bin).remix().get();
    let mut attempt = 0;
    loop {
        let candidate = reduce(Digest::new(start ^ attempt).remix().get(), length) as usize;
        if is_filled[candidate] {
            return candidate;
        }
        attempt += 1;
    }
}

/// Whether a value of a one-permutation signature was found in its own bin.
pub(super) fn is_native(value: u64, bin: usize, length: u32) -> bool {
    reduce(value, u64::from(length)) == bin as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn both(length: u32) -> [Sketcher; 2] {
        [Sketcher::classic(length).unwrap(), Sketcher::one_permutation(length).unwrap()]
    }

    #[test]
    fn the_empty_set_has_no_signature() {
        for sketcher in both(16) {
            assert_eq!(sketcher.sketch_keys([""; 0]), None);
        }
    }

    #[test]
    fn bad_lengths_are_named() {
        for length in [0, 4_097, u32::MAX] {
            let error = Sketcher::classic(length).unwrap_err();
            assert_eq!(error.parameter, "signature length");
        }
    }

    #[test]
    fn a_single_element_fills_every_bin() {
        let signature = Sketcher::one_permutation(64).unwrap().sketch_keys(["ana"]).unwrap();
        let digest = KeyHasher::default().digest("ana").get();
        assert!((0..64).all(|index| signature.value(index) == digest));
    }

    #[test]
    fn signatures_are_the_same_for_ever() {
        let hasher = KeyHasher::xxh3(0);
        let [classic, bins] = [Form::Classic, Form::OnePermutation].map(|form| {
            let sketcher = Sketcher::with_hasher(form, 4, hasher).unwrap();
            let signature = sketcher.sketch_keys(["to", "be", "or"]).unwrap();
            [0, 1, 2, 3].map(|index| signature.value(index))
        });
        // Computed by another implementation of XXH3 and of docs/format.md.
        let expected = [
            0x09a4_d555_8718_f8d3,
            0xb037_aed8_2a59_bf47,
            0x190a_c764_a2c8_26a1,
            0x27cb_209c_5aab_f836,
        ];
        assert_eq!(classic, expected);
        // Bins 0 and 3 are empty, and both borrow from bin 2.
        let found = [0x6069_9019_4ddd_993c, 0x9cce_72ed_7f6f_c243];
        assert_eq!(bins, [found[1], found[0], found[1], found[1]]);
    }

    proptest! {
        #[test]
        fn order_and_repetition_do_not_matter(
            keys in prop::collection::vec(0u32..500, 1..60), length in 1u32..100,
        ) {
            for sketcher in both(length) {
                let one = sketcher.sketch_keys(keys.iter().copied());
                let twice = keys.iter().rev().chain(&keys).copied();
                prop_assert_eq!(one, sketcher.sketch_keys(twice));
            }
        }

        /// The signature of a union has in every place that was found, not borrowed, the lesser of
        /// both values.
        #[test]
        fn a_union_has_the_lesser_values(
            ours in prop::collection::vec(any::<u64>(), 1..60),
            theirs in prop::collection::vec(any::<u64>(), 1..60),
            length in 1u32..100,
        ) {
            for sketcher in both(length) {
                let sketch = |keys: &[u64]| sketcher.sketch_keys(keys.iter().copied()).unwrap();
                let (one, other) = (sketch(&ours), sketch(&theirs));
                let union = sketch(&[&ours[..], &theirs[..]].concat());
                for index in 0..length as usize {
                    let [one, other, union] = [&one, &other, &union].map(|s| s.value(index));
                    match sketcher.form() {
                        Form::Classic => prop_assert_eq!(union, one.min(other)),
                        Form::OnePermutation => {
                            let native = |value: &u64| is_native(*value, index, length);
                            let least = [one, other].into_iter().filter(native).min();
                            prop_assert_eq!(Some(union).filter(native), least);
                        }
                    }
                }
            }
        }
    }
}
