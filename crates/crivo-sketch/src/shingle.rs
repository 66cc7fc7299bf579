//! From text to a set: its shingles, each as a digest.

use std::num::NonZeroUsize;

use crivo::{Digest, Key, KeyHasher, ParameterError};

/// How text becomes a set: all runs of k words, or of k characters, that occur in it.
///
/// White space only separates: runs of it count as one space, and none counts at the ends, so that
/// breaking lines elsewhere changes nothing. All else counts: case, punctuation, accents. A text
/// shorter than k is one shingle, whole; only a text of nothing but white space has none.
///
/// A shingle is hashed as its bytes, with one space between words: the digests are the same on
/// every platform.
///
/// ```
/// use crivo::KeyHasher;
/// use crivo_sketch::Shingles;
///
/// let pairs = Shingles::words(2)?;
/// let hasher = KeyHasher::default();
/// let set = pairs.set("a rose is  a rose\nis a rose", &hasher);
/// assert_eq!(set.element_count(), 3); // "a rose", "rose is", "is a"
/// assert_eq!(set, ["a rose", "rose is", "is a"].iter().map(|pair| hasher.digest(pair)).collect());
/// # Ok::<(), crivo::ParameterError>(())
/// ```
///
/// # Which k?
///
/// Long enough that unrelated texts share few shingles, short enough that a small change leaves
/// most as they were: one changed word changes k shingles of words. Three words, or five
/// characters for short texts and nine for long ones, are common choices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shingles {
    unit: Unit,
    length: NonZeroUsize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Words,
    Characters,
}

impl Shingles {
    /// Runs of `length` words. A word is what stands between white space.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo_sketch::Shingles;
    ///
    /// let text = "to be or not to be"; // "to be" comes twice
    /// assert_eq!(Shingles::words(2)?.set(text, &KeyHasher::default()).element_count(), 4);
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    ///
    /// # Errors
    /// If the length is 0.
    pub fn words(length: usize) -> Result<Self, ParameterError> {
        Self::new(Unit::Words, length)
    }

    /// Runs of `length` characters (Unicode scalar values), spaces included.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo_sketch::Shingles;
    ///
    /// let shingles = Shingles::characters(2)?;
    /// assert_eq!(shingles.set("banana", &KeyHasher::default()).element_count(), 3); // ba, an, na
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    ///
    /// # Errors
    /// If the length is 0.
    pub fn characters(length: usize) -> Result<Self, ParameterError> {
        Self::new(Unit::Characters, length)
    }

    fn new(unit: Unit, length: usize) -> Result<Self, ParameterError> {
        let length = NonZeroUsize::new(length)
            .ok_or_else(|| ParameterError::new("shingle length", length, "at least 1"))?;
        Ok(Self { unit, length })
    }

    /// The set of shingles of `text`.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo_sketch::Shingles;
    ///
    /// let (shingles, hasher) = (Shingles::characters(3)?, KeyHasher::default());
    /// let (one, other) = (shingles.set("banana", &hasher), shingles.set("bananas", &hasher));
    /// assert_eq!(one.common_count(&other), 3); // ban, ana, nan
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    pub fn set(&self, text: &str, hasher: &KeyHasher) -> DigestSet {
        self.each(text, |shingle| hasher.digest(shingle)).collect()
    }

    /// What `see` makes of every shingle, in the order of the text and as often as it occurs.
    fn each<T>(&self, text: &str, see: impl Fn(&str) -> T) -> impl Iterator<Item = T> {
        let text = single_spaced(text);
        let unit = self.unit;
        // A text with fewer units is one shingle.
        let mut end = unit.end_at(&text, 0);
        for _ in 1..self.length.get() {
            if end == text.len() {
                break;
            }
            end = unit.end_at(&text, end + unit.gap());
        }
        let mut start = 0;
        let mut is_done = text.is_empty();
        std::iter::from_fn(move || {
            if is_done {
                return None;
            }
            let seen = see(&text[start..end]);
            is_done = end == text.len();
            if !is_done {
                start = unit.end_at(&text, start) + unit.gap();
                end = unit.end_at(&text, end + unit.gap());
            }
            Some(seen)
        })
    }
}

impl Unit {
    /// The end of the unit that begins at `start`, in a text that is single-spaced.
    fn end_at(self, text: &str, start: usize) -> usize {
        let rest = &text[start..];
        start
            + match self {
                Self::Words => rest.find(' ').unwrap_or(rest.len()),
                Self::Characters => rest.chars().next().map_or(0, char::len_utf8),
            }
    }

    /// The bytes between two units.
    fn gap(self) -> usize {
        match self {
            Self::Words => 1,
            Self::Characters => 0,
        }
    }
}

/// The text with one space between its words, and none around them.
fn single_spaced(text: &str) -> String {
    let mut spaced = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !spaced.is_empty() {
            spaced.push(' ');
        }
        spaced.push_str(word);
    }
    spaced
}

/// A set of digests, for which similarity can be computed exactly: sorted, each one once.
///
/// ```
/// use crivo::KeyHasher;
/// use crivo_sketch::DigestSet;
///
/// let hasher = KeyHasher::default();
/// let fruit = DigestSet::of_keys(["apple", "pear", "plum"], &hasher);
/// let basket = DigestSet::of_keys(["pear", "plum", "quince"], &hasher);
/// assert_eq!(fruit.jaccard(&basket), 0.5); // two in common, of four in all
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct DigestSet {
    sorted: Box<[Digest]>,
}

impl DigestSet {
    /// The set of the digests of these keys.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo_sketch::DigestSet;
    ///
    /// let set = DigestSet::of_keys(["ana", "rui", "ana"], &KeyHasher::default());
    /// assert_eq!(set.element_count(), 2);
    /// ```
    pub fn of_keys<K: Key>(keys: impl IntoIterator<Item = K>, hasher: &KeyHasher) -> Self {
        keys.into_iter().map(|key| hasher.digest(&key)).collect()
    }

    /// The digests, in ascending order.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo_sketch::DigestSet;
    ///
    /// let set = DigestSet::of_keys(["ana", "rui", "eva"], &KeyHasher::default());
    /// assert!(set.digests().is_sorted());
    /// ```
    pub fn digests(&self) -> &[Digest] {
        &self.sorted
    }

    /// The number of digests.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo_sketch::DigestSet;
    ///
    /// assert_eq!(DigestSet::of_keys(0..100u32, &KeyHasher::default()).element_count(), 100);
    /// ```
    pub fn element_count(&self) -> usize {
        self.sorted.len()
    }

    /// Whether there is none.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo_sketch::DigestSet;
    ///
    /// assert!(DigestSet::of_keys::<u32>([], &KeyHasher::default()).is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.sorted.is_empty()
    }

    /// The number of digests in both sets.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo_sketch::DigestSet;
    ///
    /// let of = |range| DigestSet::of_keys::<u32>(range, &KeyHasher::default());
    /// assert_eq!(of(0..100).common_count(&of(50..150)), 50);
    /// ```
    pub fn common_count(&self, other: &Self) -> usize {
        let (mut ours, mut theirs) = (&self.sorted[..], &other.sorted[..]);
        let mut common = 0;
        while let (Some(our), Some(their)) = (ours.first(), theirs.first()) {
            common += usize::from(our == their);
            ours = &ours[usize::from(our <= their)..];
            theirs = &theirs[usize::from(their <= our)..];
        }
        common
    }

    /// The Jaccard similarity: what both sets have, over what either has. From 0 (nothing in
    /// common) to 1 (the same set); two empty sets are the same.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo_sketch::DigestSet;
    ///
    /// let of = |range| DigestSet::of_keys::<u32>(range, &KeyHasher::default());
    /// assert_eq!(of(0..100).jaccard(&of(50..150)), 50.0 / 150.0);
    /// ```
    pub fn jaccard(&self, other: &Self) -> f64 {
        let common = self.common_count(other);
        let all = self.element_count() + other.element_count() - common;
        if all == 0 { 1.0 } else { common as f64 / all as f64 }
    }
}

impl FromIterator<Digest> for DigestSet {
    fn from_iter<I: IntoIterator<Item = Digest>>(digests: I) -> Self {
        let mut sorted: Vec<Digest> = digests.into_iter().collect();
        sorted.sort_unstable();
        sorted.dedup();
        Self { sorted: sorted.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn shingles(shingles: Shingles, text: &str) -> Vec<String> {
        shingles.each(text, str::to_owned).collect()
    }

    #[test]
    fn words_and_characters_slide_by_one() {
        let words = |length, text| shingles(Shingles::words(length).unwrap(), text);
        assert_eq!(words(2, " to be\tor\n\nnot "), ["to be", "be or", "or not"]);
        assert_eq!(words(1, "to be to"), ["to", "be", "to"]);
        assert_eq!(words(3, "to be"), ["to be"]);
        assert!(words(3, " \n").is_empty());
        let characters = |length, text| shingles(Shingles::characters(length).unwrap(), text);
        assert_eq!(characters(3, "não  é"), ["não", "ão ", "o é"]);
        assert_eq!(characters(9, "não"), ["não"]);
        assert!(characters(1, "").is_empty());
        assert_eq!(Shingles::words(0).unwrap_err().parameter, "shingle length");
    }

    #[test]
    fn shingles_are_hashed_the_same_for_ever() {
        let set = Shingles::words(2).unwrap().set("to be or", &KeyHasher::xxh3(7));
        // XXH3 of "be or" and "to be", computed by another implementation.
        let expected = [0x175b_c373_aca4_42fc, 0x41fb_4347_9a8a_9e57];
        assert_eq!(set.digests(), expected.map(Digest::new));
    }

    proptest! {
        #[test]
        fn similarity_is_that_of_sets(
            ours in prop::collection::btree_set(0u64..60, 0..40),
            theirs in prop::collection::btree_set(0u64..60, 0..40),
        ) {
            let set = |keys: &BTreeSet<u64>| keys.iter().copied().map(Digest::new).collect();
            let (a, b): (DigestSet, DigestSet) = (set(&ours), set(&theirs));
            let common = ours.intersection(&theirs).count();
            let all = ours.union(&theirs).count();
            prop_assert_eq!(a.common_count(&b), common);
            prop_assert_eq!(a.jaccard(&b), b.jaccard(&a));
            prop_assert_eq!(a.jaccard(&a), 1.0);
            if all > 0 {
                prop_assert_eq!(a.jaccard(&b), common as f64 / all as f64);
            }
        }

        #[test]
        fn white_space_only_separates(
            words in prop::collection::vec("[a-zé]{1,4}", 0..12),
            gaps in prop::collection::vec("[ \t\n]{1,3}", 13),
            length in 1usize..5,
        ) {
            let spread: String = words
                .iter()
                .zip(&gaps)
                .flat_map(|(word, gap)| [gap.as_str(), word])
                .chain([gaps[12].as_str()])
                .collect();
            for kind in [Shingles::words(length).unwrap(), Shingles::characters(length).unwrap()] {
                prop_assert_eq!(shingles(kind, &spread), shingles(kind, &words.join(" ")));
            }
        }
    }
}
