//! Signatures: a few values that represent a set, whole or cut to some bits.

use super::sketcher::is_native;
use super::{Form, SimilarityEstimate, Sketcher};
use crivo::ParameterError;
use crivo::hash::{Family, HashIdentity};
use thiserror::Error;

/// The number of bits of each value of a signature: 1, 2, 4, 8, 16, 32, or all 64.
///
/// Values of two sets that differ agree in their last b bits once in 2^b all the same, for which
/// estimates and plans allow. Fewer bits with more values usually are the better use of memory:
/// for the error of 64 bits at similarity ½, one bit needs 3 values for every one, and thus a
/// 21st of the memory.
///
/// ```
/// use crivo_sketch::SignatureBits;
///
/// assert_eq!(SignatureBits::new(8)?.chance_agreement(), 1.0 / 256.0);
/// assert!(SignatureBits::new(7).is_err());
/// # Ok::<(), crivo::ParameterError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SignatureBits(u32);

impl SignatureBits {
    /// All 64 bits.
    ///
    /// ```
    /// use crivo_sketch::SignatureBits;
    ///
    /// assert_eq!(SignatureBits::ALL.get(), 64);
    /// ```
    pub const ALL: Self = Self(64);

    /// The last `bits` of each value.
    ///
    /// ```
    /// use crivo_sketch::SignatureBits;
    ///
    /// assert!(SignatureBits::new(8).is_ok());
    /// assert!(SignatureBits::new(7).is_err());
    /// ```
    ///
    /// # Errors
    /// If it is not a power of two from 1 to 64.
    pub fn new(bits: u32) -> Result<Self, ParameterError> {
        // A power of two, so that no value lies across two words.
        if bits.is_power_of_two() && bits <= 64 {
            Ok(Self(bits))
        } else {
            Err(ParameterError::new("signature bits", bits, "1, 2, 4, 8, 16, 32 or 64"))
        }
    }

    /// The number.
    ///
    /// ```
    /// assert_eq!(crivo_sketch::SignatureBits::new(8)?.get(), 8);
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    pub const fn get(self) -> u32 {
        self.0
    }

    /// The probability 2^-b with which values of different elements agree.
    ///
    /// For 64 bits it is 0: a permutation gives different elements different values.
    ///
    /// ```
    /// assert_eq!(crivo_sketch::SignatureBits::new(8)?.chance_agreement(), 1.0 / 256.0);
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    pub fn chance_agreement(self) -> f64 {
        if self == Self::ALL { 0.0 } else { 0.5f64.powi(self.0 as i32) }
    }

    /// The probability that a place of two signatures agrees, if the sets have this similarity:
    /// s + (1 − s)/2^b.
    ///
    /// ```
    /// // With one bit, half of the places agree by chance.
    /// assert_eq!(crivo_sketch::SignatureBits::new(1)?.agreement(0.0), 0.5);
    /// assert_eq!(crivo_sketch::SignatureBits::new(1)?.agreement(0.8), 0.9);
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    pub fn agreement(self, similarity: f64) -> f64 {
        let chance = self.chance_agreement();
        chance + (1.0 - chance) * similarity
    }

    /// The number of words of a signature of `length` values.
    pub(super) const fn words_for(self, length: u32) -> usize {
        (length as usize * self.0 as usize).div_ceil(64)
    }

    const fn mask(self) -> u64 {
        u64::MAX >> (64 - self.0)
    }

    /// Value `index` of a signature with these words.
    #[inline]
    pub(super) fn value(self, words: &[u64], index: usize) -> u64 {
        let bit = index * self.0 as usize;
        words[bit / 64] >> (bit % 64) & self.mask()
    }

    /// Whether the bits behind the last value are 0.
    pub(super) fn has_clean_end(self, words: &[u64], length: u32) -> bool {
        let used = length as usize * self.0 as usize % 64;
        used == 0 || words.last().is_none_or(|last| last >> used == 0)
    }

    /// The number of `length` values that agree.
    fn agreeing(self, ours: &[u64], theirs: &[u64], length: u32) -> u32 {
        // The lowest bit of every value.
        let lowest = u64::MAX / self.mask();
        let differing = |(our, their): (&u64, &u64)| {
            // Gathers each value's bits in its lowest one. What spills over from the neighbour
            // above stays above the bits that still count.
            let mut difference = our ^ their;
            let mut half = self.0 / 2;
            while half > 0 {
                difference |= difference >> half;
                half /= 2;
            }
            (difference & lowest).count_ones()
        };
        length - ours.iter().zip(theirs).map(differing).sum::<u32>()
    }
}

/// Represents a set by `length` values of some bits each. Made by a [`Sketcher`].
///
/// ```
/// use crivo_sketch::{SignatureBits, Sketcher};
///
/// let sketcher = Sketcher::one_permutation(512)?;
/// let whole = sketcher.sketch_keys(0..10_000u32).expect("a set with elements");
/// let short = whole.shortened(SignatureBits::new(1)?)?;
/// assert_eq!((whole.size_in_bits(), short.size_in_bits()), (32_768, 512));
/// assert_eq!(short.estimate(&short)?.jaccard, 1.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
    sketcher: Sketcher,
    bits: SignatureBits,
    words: Box<[u64]>,
}

impl Signature {
    /// A signature of these words, which are as many as it needs.
    pub(super) fn from_words(sketcher: Sketcher, bits: SignatureBits, words: Box<[u64]>) -> Self {
        debug_assert_eq!(words.len(), bits.words_for(sketcher.length()));
        Self { sketcher, bits, words }
    }

    /// The sketcher that made it.
    ///
    /// ```
    /// use crivo_sketch::Sketcher;
    ///
    /// let sketcher = Sketcher::classic(64)?;
    /// let signature = sketcher.sketch_keys(0..100u32).expect("there are keys");
    /// assert_eq!(signature.sketcher(), sketcher);
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    pub fn sketcher(&self) -> Sketcher {
        self.sketcher
    }

    /// The number of bits of each value.
    ///
    /// ```
    /// use crivo_sketch::{SignatureBits, Sketcher};
    ///
    /// let signature = Sketcher::classic(64)?.sketch_keys(0..100u32).expect("there are keys");
    /// assert_eq!(signature.bits(), SignatureBits::ALL);
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    pub fn bits(&self) -> SignatureBits {
        self.bits
    }

    /// The memory of its values: values times bits.
    ///
    /// ```
    /// use crivo_sketch::{SignatureBits, Sketcher};
    ///
    /// let signature = Sketcher::classic(64)?.sketch_keys(0..100u32).expect("there are keys");
    /// assert_eq!(signature.size_in_bits(), 64 * 64);
    /// assert_eq!(signature.shortened(SignatureBits::new(1)?)?.size_in_bits(), 64);
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    pub fn size_in_bits(&self) -> u64 {
        u64::from(self.sketcher.length()) * u64::from(self.bits.get())
    }

    /// Value `index`.
    ///
    /// ```
    /// use crivo_sketch::Sketcher;
    ///
    /// // The least value of a set with more elements is no greater.
    /// let sketcher = Sketcher::classic(64)?;
    /// let few = sketcher.sketch_keys(0..10u32).expect("there are keys");
    /// let many = sketcher.sketch_keys(0..100u32).expect("there are keys");
    /// assert!((0..64).all(|index| many.value(index) <= few.value(index)));
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    ///
    /// # Panics
    /// If `index` is not below the number of values.
    pub fn value(&self, index: usize) -> u64 {
        let length = self.sketcher.length();
        assert!(index < length as usize, "value {index} of only {length}");
        self.bits.value(&self.words, index)
    }

    pub(super) fn words(&self) -> &[u64] {
        &self.words
    }

    /// The same with fewer bits of each value: the b-bit form.
    ///
    /// ```
    /// use crivo_sketch::{SignatureBits, Sketcher};
    ///
    /// let signature = Sketcher::classic(64)?.sketch_keys(0..100u32).expect("there are keys");
    /// let byte = signature.shortened(SignatureBits::new(8)?)?;
    /// assert_eq!(byte.value(0), signature.value(0) % 256);
    /// assert!(byte.shortened(SignatureBits::new(16)?).is_err());
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    ///
    /// # Errors
    /// If the signature has fewer bits.
    pub fn shortened(&self, bits: SignatureBits) -> Result<Self, ParameterError> {
        if bits > self.bits {
            let given = bits.get();
            return Err(ParameterError::new("signature bits", given, "no more than there are"));
        }
        let mut words = vec![0; bits.words_for(self.sketcher.length())];
        for index in 0..self.sketcher.length() as usize {
            let bit = index * bits.get() as usize;
            words[bit / 64] |= (self.value(index) & bits.mask()) << (bit % 64);
        }
        Ok(Self::from_words(self.sketcher, bits, words.into()))
    }

    /// The estimated similarity of the sets, with its error.
    ///
    /// ```
    /// use crivo_sketch::Sketcher;
    ///
    /// let sketcher = Sketcher::classic(256)?;
    /// let one = sketcher.sketch_keys(0..1_000u32).expect("there are keys");
    /// let other = sketcher.sketch_keys(200..1_200u32).expect("there are keys");
    /// // 800 of 1,200 keys are in both.
    /// assert!((one.estimate(&other)?.jaccard - 0.667).abs() < 0.1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the other signature was made by another sketcher.
    pub fn estimate(&self, other: &Self) -> Result<SimilarityEstimate, SketchMismatch> {
        self.check_comparable(other.sketcher, other.bits)?;
        Ok(self.compare(&other.words))
    }

    /// [`estimate`](Self::estimate) against the words of a signature that was made in the same way.
    pub(super) fn compare(&self, theirs: &[u64]) -> SimilarityEstimate {
        if self.sketcher.form() == Form::OnePermutation && self.bits == SignatureBits::ALL {
            return self.compare_bins(theirs);
        }
        let length = self.sketcher.length();
        let agreeing = self.bits.agreeing(&self.words, theirs, length);
        SimilarityEstimate::of_places(agreeing, length, self.bits)
    }

    /// Of one-permutation signatures whose values are whole only the bins count in which one of
    /// the sets has an element: borrowed values carry no new information.
    fn compare_bins(&self, theirs: &[u64]) -> SimilarityEstimate {
        let length = self.sketcher.length();
        let (mut filled, mut agreeing) = (0, 0);
        for (bin, (&our, &their)) in self.words.iter().zip(theirs).enumerate() {
            if is_native(our, bin, length) || is_native(their, bin, length) {
                filled += 1;
                agreeing += u32::from(our == their);
            }
        }
        SimilarityEstimate::of_bins(agreeing, filled, length)
    }

    /// An error unless signatures of `sketcher` can be compared with this one.
    pub(super) fn check_comparable(
        &self,
        sketcher: Sketcher,
        bits: SignatureBits,
    ) -> Result<(), SketchMismatch> {
        let ours = self.sketcher;
        if ours.form() != sketcher.form() {
            Err(SketchMismatch::Form(ours.form(), sketcher.form()))
        } else if ours.length() != sketcher.length() {
            Err(SketchMismatch::Length(ours.length(), sketcher.length()))
        } else if self.bits != bits {
            Err(SketchMismatch::Bits(self.bits.get(), bits.get()))
        } else if ours.hasher() != sketcher.hasher() {
            let [ours, theirs] = [ours, sketcher].map(|sketcher| sketcher.hasher().identity());
            Err(SketchMismatch::Hasher(ours, theirs))
        } else {
            Ok(())
        }
    }
}

/// Why two signatures cannot be compared: their sketchers differ.
///
/// ```
/// use crivo_sketch::Sketcher;
///
/// let sketch = |length| Sketcher::classic(length).map(|s| s.sketch_keys(0..100u32));
/// let (short, long) = (sketch(64)?.expect("keys"), sketch(128)?.expect("keys"));
/// assert!(short.estimate(&long).is_err());
/// # Ok::<(), crivo::ParameterError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SketchMismatch {
    /// Their forms differ.
    #[error("the signatures cannot be compared: one is {0}, the other {1}")]
    Form(Form, Form),
    /// Their numbers of values differ.
    #[error("the signatures cannot be compared: one has {0} values, the other {1}")]
    Length(u32, u32),
    /// Their values have different numbers of bits; [`Signature::shortened`] helps.
    #[error(
        "the signatures cannot be compared: one has values of {0} bits, the other of {1}; \
         shorten the longer"
    )]
    Bits(u32, u32),
    /// They were made with different hash functions or seeds.
    #[error(
        "the signatures cannot be compared: the hash function is {0} in one and {1} in the other{advice}",
        advice = same_hasher([.0, .1])
    )]
    Hasher(HashIdentity, HashIdentity),
}

/// How to make both signatures, behind a semicolon, if one of them has a secret key, which is not to be given
/// up, or the family that was the default once.
fn same_hasher(hashers: [&HashIdentity; 2]) -> String {
    let of = |family| hashers.into_iter().find(|each| each.family() == family);
    let [ours, theirs] = hashers.map(HashIdentity::family);
    if of(Family::Sip24).is_some() {
        "; make both with KeyHasher::sip24 and the same secret key".to_owned()
    } else if ours != theirs
        && let Some(old) = of(Family::Xxh3)
    {
        format!("; make both with Sketcher::with_hasher and KeyHasher::xxh3({})", old.value())
    } else {
        String::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crivo::KeyHasher;
    use crivo::hash::SecretKey;
    use proptest::prelude::*;

    #[test]
    fn signatures_of_another_make_are_refused() {
        let base = Sketcher::classic(64).unwrap();
        let with = |hasher| Sketcher::with_hasher(Form::Classic, 64, hasher).unwrap();
        let secret = |byte| with(KeyHasher::sip24(SecretKey::new([byte; 16])));
        let same_key = "; make both with KeyHasher::sip24 and the same secret key";
        let sketch = |sketcher: Sketcher| sketcher.sketch_keys(0..100u32).unwrap();
        let ours = sketch(base);
        let short = ours.shortened(SignatureBits::new(4).unwrap()).unwrap();
        for (theirs, expected) in [
            (sketch(Sketcher::one_permutation(64).unwrap()), "one is classic, the other one-p"),
            (sketch(Sketcher::classic(65).unwrap()), "one has 64 values, the other 65"),
            (
                sketch(with(KeyHasher::fold64(1))),
                "function is fold64 with seed 0 in one and fold64 with seed 1 in the other",
            ),
            (
                sketch(with(KeyHasher::xxh3(1))),
                "the hash function is fold64 with seed 0 in one and xxh3 with seed 1 in the other; make \
                 both with Sketcher::with_hasher and KeyHasher::xxh3(1)",
            ),
            (sketch(secret(1)), same_key),
            (short.clone(), "one has values of 64 bits, the other of 4; shorten the longer"),
        ] {
            let error = ours.estimate(&theirs).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
        assert!(short.shortened(SignatureBits::ALL).is_err());
        for theirs in [secret(2), with(KeyHasher::xxh3(1))] {
            let error = sketch(secret(1)).estimate(&sketch(theirs)).unwrap_err().to_string();
            assert!(error.ends_with(same_key), "{error}");
        }
    }

    proptest! {
        #[test]
        fn shortening_keeps_the_last_bits(
            keys in prop::collection::vec(any::<u64>(), 1..50),
            others in prop::collection::vec(any::<u64>(), 1..50),
            length in 1u32..200, power in 0u32..=6,
        ) {
            let bits = SignatureBits::new(1 << power).unwrap();
            for sketcher in [
                Sketcher::classic(length).unwrap(), Sketcher::one_permutation(length).unwrap(),
            ] {
                let all: Vec<u64> = keys.iter().chain(&others).copied().collect();
                let whole = sketcher.sketch_keys(keys.iter().copied()).unwrap();
                let union = sketcher.sketch_keys(all).unwrap();
                let (short, short_union) =
                    (whole.shortened(bits).unwrap(), union.shortened(bits).unwrap());
                prop_assert!(bits.has_clean_end(short.words(), length));
                let mut agreeing = 0;
                for index in 0..length as usize {
                    prop_assert_eq!(short.value(index), whole.value(index) & bits.mask());
                    agreeing += u32::from(short.value(index) == short_union.value(index));
                }
                let counted = bits.agreeing(short.words(), short_union.words(), length);
                prop_assert_eq!(counted, agreeing);
                prop_assert_eq!(short.estimate(&short).unwrap().jaccard, 1.0);
            }
        }
    }
}
