//! Two ways to describe a subtree, and the sets of numbers that represent it.

use std::collections::{BTreeSet, btree_set};
use std::{fmt, slice};

use super::message::NodeId;
use super::numbers::SortedNumbers;
use super::sized::{SizedFilter, Sizing};
use crivo::filter::{BloomSpec, FilterSpec};
use crivo::hash::Indices;
use crivo::{Digest, KeyHasher, ParameterError};

/// How the filters of a tree are built. All of its nodes use the same design.
///
/// ```
/// use crivo::KeyHasher;
/// use crivo_route::Design;
///
/// // One size for all, for a tree with up to 10,000 resources: 96 Kbit for each child.
/// let shared = Design::shared(10_000, 0.01, KeyHasher::default())?;
/// // Every subtree has the filter that it needs.
/// let sized = Design::sized(0.01, KeyHasher::default())?;
/// assert_eq!(shared.to_string(), "shared (95936 bits, k = 7)");
/// assert_eq!(sized.to_string(), "sized by subtree (1%)");
/// # Ok::<(), crivo::ParameterError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Design {
    pub(super) shape: Shape,
    pub(super) hasher: KeyHasher,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Shape {
    Shared { bits: u64, probes: u32 },
    Sized(Sizing),
}

/// The maximum number of bits of a shared filter: one child's takes 512 MB.
const MAX_BITS: u64 = 1 << 32;

impl Design {
    /// All filters have the same m and k, so that a parent's is the OR of its children's. They are
    /// large enough for the root: for `capacity` resources in the whole tree, at this FPR.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo_route::Design;
    ///
    /// let design = Design::shared(1_000, 0.01, KeyHasher::default())?;
    /// assert_eq!(design.to_string(), "shared (9600 bits, k = 7)");
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    ///
    /// # Errors
    /// If the capacity is 0, the FPR is not between 0 and 1, or a filter would have more than
    /// 2^32 bits.
    pub fn shared(capacity: u64, fpr: f64, hasher: KeyHasher) -> Result<Self, ParameterError> {
        let spec = BloomSpec::for_fpr(capacity, fpr)?;
        let (bits, probes) = (spec.size_in_bits(), spec.probes());
        if bits > MAX_BITS {
            return Err(ParameterError::new("size in bits", bits, "at most 2^32"));
        }
        Ok(Self { shape: Shape::Shared { bits, probes }, hasher })
    }

    /// Every filter is as large as its own subtree needs for this FPR. A node keeps the digests of
    /// its subtree, and sends digests to its parent.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo_route::Design;
    ///
    /// assert_eq!(Design::sized(0.01, KeyHasher::default())?.to_string(), "sized by subtree (1%)");
    /// assert!(Design::sized(1.0, KeyHasher::default()).is_err());
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    ///
    /// # Errors
    /// If the FPR is not between 0 and 1.
    pub fn sized(fpr: f64, hasher: KeyHasher) -> Result<Self, ParameterError> {
        Ok(Self { shape: Shape::Sized(Sizing::new(fpr)?), hasher })
    }

    /// The hasher.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo_route::Design;
    ///
    /// assert_eq!(Design::sized(0.01, KeyHasher::xxh3(7))?.hasher(), KeyHasher::xxh3(7));
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    pub fn hasher(&self) -> KeyHasher {
        self.hasher
    }

    /// A short name for tables.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo_route::Design;
    ///
    /// assert_eq!(Design::sized(0.01, KeyHasher::default())?.name(), "sized by subtree");
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    pub fn name(&self) -> &'static str {
        match self.shape {
            Shape::Shared { .. } => "shared",
            Shape::Sized(_) => "sized by subtree",
        }
    }

    /// Identifies this design in messages, so that two designs are never mixed. Messages are sent between
    /// versions: the family of this hash never changes.
    pub(super) fn fingerprint(&self) -> u64 {
        let (a, b) = match self.shape {
            Shape::Shared { bits, probes } => (bits, u64::from(probes)),
            Shape::Sized(sizing) => (0, sizing.fpr().to_bits()),
        };
        let identity = self.hasher.identity();
        let parts = [a, b, u64::from(identity.family().id()), identity.value()];
        let bytes: Vec<u8> = parts.iter().flat_map(|part| part.to_le_bytes()).collect();
        KeyHasher::xxh3(0).digest(&bytes).get()
    }

    /// How many numbers there could be, and the bits of a plain list or map of `count` of them:
    /// what compressed messages are compared with.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo_route::Design;
    ///
    /// // Ten digests of 64 bits.
    /// let (_, bits) = Design::sized(0.01, KeyHasher::default())?.plain_bits(10);
    /// assert_eq!(bits, 640.0);
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    pub fn plain_bits(&self, count: usize) -> (f64, f64) {
        match self.shape {
            Shape::Shared { bits, .. } => (bits as f64, bits as f64),
            Shape::Sized(_) => (2f64.powi(64), 64.0 * count as f64),
        }
    }

    /// The numbers that represent a resource: positions of bits, or its digest. In order, without
    /// repetition.
    pub(super) fn numbers_of(&self, resource: Digest) -> Vec<u64> {
        match self.shape {
            Shape::Shared { bits, probes } => {
                let mut positions: Vec<u64> =
                    Indices::new(resource, bits).take(probes as usize).collect();
                positions.sort_unstable();
                positions.dedup();
                positions
            }
            Shape::Sized(_) => vec![resource.get()],
        }
    }
}

impl fmt::Display for Design {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        match self.shape {
            Shape::Shared { bits, probes } => write!(f, " ({bits} bits, k = {probes})"),
            Shape::Sized(sizing) => write!(f, " ({}%)", sizing.fpr() * 100.0),
        }
    }
}

/// A set of numbers: positions of bits, or digests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NumberSet {
    /// Positions: a bitmap with this number of bits.
    Bits { words: Vec<u64>, bits: u64 },
    /// Digests.
    Digests(BTreeSet<u64>),
}

impl NumberSet {
    pub(super) fn empty(design: &Design) -> Self {
        match design.shape {
            Shape::Shared { bits, .. } => {
                Self::Bits { words: vec![0; bits.div_ceil(64) as usize], bits }
            }
            Shape::Sized(_) => Self::Digests(BTreeSet::new()),
        }
    }

    /// The greatest number that could be in it.
    pub(super) fn greatest(&self) -> u64 {
        match self {
            Self::Bits { bits, .. } => bits - 1,
            Self::Digests(_) => u64::MAX,
        }
    }

    /// Whether the number, which is not above the greatest, is in it.
    pub(super) fn has(&self, number: u64) -> bool {
        match self {
            Self::Bits { words, .. } => words[(number / 64) as usize] >> (number % 64) & 1 == 1,
            Self::Digests(digests) => digests.contains(&number),
        }
    }

    /// Adds the number if it is not there, and removes it if it is.
    pub(super) fn flip(&mut self, number: u64) {
        match self {
            Self::Bits { words, .. } => words[(number / 64) as usize] ^= 1 << (number % 64),
            Self::Digests(digests) => {
                if !digests.remove(&number) {
                    digests.insert(number);
                }
            }
        }
    }

    /// The numbers in it, in order.
    pub(super) fn iter(&self) -> Numbers<'_> {
        match self {
            Self::Bits { words, .. } => Numbers::Bits(Ones::of(words, false)),
            Self::Digests(digests) => Numbers::Digests(digests.iter()),
        }
    }

    /// How many numbers are in it.
    pub(super) fn count(&self) -> u64 {
        match self {
            Self::Bits { words, .. } => words.iter().map(|word| u64::from(word.count_ones())).sum(),
            Self::Digests(digests) => digests.len() as u64,
        }
    }

    /// The shorter list: of what is in it, or (true) of what is not.
    pub(super) fn sparser(&self) -> (bool, SortedNumbers) {
        match self {
            Self::Bits { words, bits } if self.fill() > 0.5 => {
                let clear = Ones::of(words, true).take_while(|position| position < bits);
                (true, SortedNumbers::from_sorted(clear))
            }
            _ => (false, SortedNumbers::from_sorted(self.iter())),
        }
    }

    /// Some of its possible numbers, at most `count`, as a list: in one pass, and in no more than two
    /// bits for each possible number and some for each that is in it.
    pub(super) fn list(&self, count: u64, numbers: impl Iterator<Item = u64>) -> SortedNumbers {
        let r = (self.greatest() / count.max(1)).checked_ilog2().unwrap_or(0);
        SortedNumbers::with_parameter(r, numbers)
    }

    /// The share of all possible numbers that are in it.
    pub(super) fn fill(&self) -> f64 {
        match self {
            Self::Bits { bits, .. } => self.count() as f64 / *bits as f64,
            Self::Digests(_) => self.count() as f64 / 2f64.powi(64),
        }
    }

    /// Its memory in bits.
    pub(super) fn size_in_bits(&self) -> u64 {
        match self {
            Self::Bits { bits, .. } => *bits,
            Self::Digests(digests) => 64 * digests.len() as u64,
        }
    }
}

/// The numbers of a set, in order.
#[derive(Clone)]
pub(super) enum Numbers<'a> {
    Bits(Ones<'a>),
    Digests(btree_set::Iter<'a, u64>),
}

impl Iterator for Numbers<'_> {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        match self {
            Self::Bits(ones) => ones.next(),
            Self::Digests(digests) => digests.next().copied(),
        }
    }
}

/// The positions of the bits that are set, or of those that are not.
#[derive(Clone)]
pub(super) struct Ones<'a> {
    words: slice::Iter<'a, u64>,
    /// Xored with each word.
    mask: u64,
    /// What is left of the current word, and the number of words begun.
    word: u64,
    begun: u64,
}

impl<'a> Ones<'a> {
    fn of(words: &'a [u64], inverted: bool) -> Self {
        Self { words: words.iter(), mask: if inverted { u64::MAX } else { 0 }, word: 0, begun: 0 }
    }
}

impl Iterator for Ones<'_> {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        while self.word == 0 {
            self.word = self.words.next()? ^ self.mask;
            self.begun += 1;
        }
        let position = 64 * (self.begun - 1) + u64::from(self.word.trailing_zeros());
        self.word &= self.word - 1;
        Some(position)
    }
}

/// What a node knows about one child's subtree.
#[derive(Debug, Clone)]
pub(super) struct View {
    pub(super) numbers: NumberSet,
    /// Queried instead of the digests, which may be kept in slow storage.
    filter: Option<SizedFilter>,
    /// The number of the next summary.
    pub(super) next_sequence: u64,
    /// Whether no summary is missing. While one is, no absence is certain, and everything is accepted.
    pub(super) complete: bool,
}

impl View {
    /// The view of a `child` that reported these numbers.
    pub(super) fn new(child: NodeId, design: &Design, numbers: NumberSet, sequence: u64) -> Self {
        let filter = match (design.shape, &numbers) {
            (Shape::Sized(sizing), NumberSet::Digests(digests)) => {
                Some(SizedFilter::new(sizing, child.0, digests))
            }
            _ => None,
        };
        Self { numbers, filter, next_sequence: sequence.wrapping_add(1), complete: true }
    }

    /// Applies numbers that changed, none above the greatest.
    pub(super) fn apply(&mut self, flipped: &SortedNumbers) {
        for number in flipped {
            self.numbers.flip(number);
            if let (Some(filter), NumberSet::Digests(digests)) = (&mut self.filter, &self.numbers) {
                filter.update(Digest::new(number), digests);
            }
        }
    }

    /// Whether the subtree may have the resource with these numbers. `false` is certain.
    pub(super) fn accepts(&self, numbers: &[u64]) -> bool {
        if !self.complete {
            return true;
        }
        match &self.filter {
            Some(filter) => {
                numbers.first().is_some_and(|&digest| filter.contains(Digest::new(digest)))
            }
            None => numbers.iter().all(|&number| self.numbers.has(number)),
        }
    }

    /// The false-positive rate of the filter with its present contents.
    pub(super) fn expected_fpr(&self, design: &Design) -> f64 {
        match (design.shape, &self.filter) {
            (Shape::Shared { probes, .. }, _) => self.numbers.fill().powf(f64::from(probes)),
            (Shape::Sized(_), Some(filter)) => filter.expected_fpr(),
            (Shape::Sized(_), None) => 1.0,
        }
    }

    /// The bits of the filter, and those that it is rebuilt from.
    pub(super) fn size_in_bits(&self) -> (u64, u64) {
        match &self.filter {
            Some(filter) => (filter.size_in_bits(), self.numbers.size_in_bits()),
            None => (self.numbers.size_in_bits(), 0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sparser_list_says_the_same() {
        let design = Design::shared(10, 0.1, KeyHasher::default()).unwrap();
        let mut set = NumberSet::empty(&design);
        let bits = set.greatest() + 1;
        for position in 0..bits {
            let (complement, numbers) = set.sparser();
            assert!(numbers.len() as u64 <= bits / 2);
            for number in 0..bits {
                assert_eq!(set.has(number), numbers.iter().any(|n| n == number) != complement);
            }
            set.flip(position);
        }
    }

    #[test]
    fn designs_that_differ_in_anything_have_other_fingerprints() {
        let hasher = KeyHasher::xxh3(1);
        let designs = [
            Design::shared(100, 0.01, hasher).unwrap(),
            Design::shared(200, 0.01, hasher).unwrap(),
            Design::shared(100, 0.02, hasher).unwrap(),
            Design::shared(100, 0.01, KeyHasher::xxh3(2)).unwrap(),
            Design::sized(0.01, hasher).unwrap(),
            Design::sized(0.02, hasher).unwrap(),
        ];
        for (i, a) in designs.iter().enumerate() {
            assert!(designs[i + 1..].iter().all(|b| a.fingerprint() != b.fingerprint()));
        }
        assert!(Design::shared(0, 0.01, hasher).is_err());
        assert!(Design::shared(1 << 40, 0.01, hasher).is_err());
        assert!(Design::sized(1.0, hasher).is_err());
    }
}
