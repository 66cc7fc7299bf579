//! What the fuzz targets share.

use std::array;
use std::sync::LazyLock;

use crivo::KeyHasher;
use crivo::filter::{AnyFilter, Count, Kind, OperationError, Spec};
use xxhash_rust::xxh3::xxh3_64;

/// Makes a file of arbitrary bytes that is right in all that a fuzzer would never guess: magic,
/// version, lengths and checksums. Kind, hash, key count, parameters and payload are the fuzzer's.
///
/// ```text
///   input:  kind, family, version and metadata length, parameter count,
///           hash value (8), key count (8), parameters, metadata, payload
/// ```
///
/// Kind, family, version and counts are reduced to numbers that exist. If a length is given, the
/// payload is repeated or cut to have it. `None` if the input is too short.
pub fn envelope(input: &[u8], length: Option<usize>) -> Option<Vec<u8>> {
    let (&[kind, family, version, count], rest) = input.split_first_chunk()?;
    let (hash_and_keys, rest) = rest.split_first_chunk::<16>()?;
    let count = count % 16;
    let (parameters, rest) = rest.split_at_checked(8 * usize::from(count))?;
    let (version, metadata_length) = (1 + version % 2, version / 2 % 32);
    let metadata_length = if version == 1 { 0 } else { metadata_length };
    let (metadata, payload) = rest.split_at_checked(usize::from(metadata_length))?;
    let length = length.unwrap_or(payload.len() / 8 * 8);
    let pattern = if payload.is_empty() { &[0] } else { payload };
    let payload: Vec<u8> = pattern.iter().copied().cycle().take(length).collect();

    let mut bytes = b"\x89crivo\r\n".to_vec();
    bytes.extend([version, 0, 1 + kind % last_kind(), 1 + family % 6, count, 0, 0, 0]);
    bytes.extend(hash_and_keys);
    bytes.extend((payload.len() as u64).to_le_bytes());
    bytes.extend(xxh3_64(&payload).to_le_bytes());
    if version == 2 {
        bytes.extend(u64::from(metadata_length).to_le_bytes());
    }
    bytes.extend(parameters);
    bytes.extend(metadata);
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    bytes.extend(xxh3_64(&bytes).to_le_bytes());
    bytes.resize(bytes.len().next_multiple_of(64), 0);
    bytes.extend(payload);
    Some(bytes)
}

/// The last number of a kind of file. Those before it are filters too, and the index of similar sets.
fn last_kind() -> u8 {
    Kind::ALL.iter().map(|kind| kind.id()).max().expect("there are kinds")
}

/// Small filters of every kind.
pub static SPECS: LazyLock<Vec<Spec>> = LazyLock::new(|| {
    let spec = |kind| Spec::for_fpr(kind, 30, 0.01).expect("every kind has such filters");
    Kind::ALL.into_iter().map(spec).collect()
});

/// Operations on two filters of a kind, two bytes of the input for each: what to do, and one of 256
/// keys. After each step, both are asked for all keys.
pub fn operate(spec: &Spec, input: &[u8]) {
    if !spec.kind().capabilities().insert {
        return build(spec, input);
    }
    let empty = || Model::new(spec.build(KeyHasher::default()).expect("there is memory"));
    let (mut ours, mut theirs) = (empty(), empty());
    for &[step, key] in input.as_chunks().0 {
        match step % 12 {
            0..3 => ours.insert(key),
            3 | 4 => theirs.insert(key),
            // A growing filter gets more than one stage.
            5 => (0..64).for_each(|more| ours.insert(key.wrapping_add(more))),
            6 | 7 => ours.remove(key),
            8 => theirs.remove(key),
            9 => ours.unite(&theirs),
            10 => ours.intersect(&theirs),
            _ if key < 16 => theirs.clear(),
            _ => ours.write_and_read(),
        }
        ours.check();
        theirs.check();
    }
    ours.write_and_read();
    ours.check();
}

/// For kinds that are built at once: a filter of the keys of the input.
fn build(spec: &Spec, input: &[u8]) {
    let hasher = KeyHasher::default();
    let digests = input.iter().map(|key| hasher.digest(key)).collect();
    let filter = spec.build_from(digests, hasher).expect("digests of different keys can be solved");
    let mut model = Model::new(filter);
    model.copies = array::from_fn(|key| u64::from(input.contains(&(key as u8))));
    model.key_count = model.copies.iter().sum();
    model.check();
    model.write_and_read();
    model.check();
}

/// A filter, how often each key is in it, and how many keys it has counted.
struct Model {
    filter: AnyFilter,
    copies: [u64; 256],
    key_count: u64,
}

impl Model {
    fn new(filter: AnyFilter) -> Self {
        Self { filter, copies: [0; 256], key_count: 0 }
    }

    /// Does something with the filter: whether it succeeded. If not, nothing has changed.
    fn attempt<T>(
        &mut self,
        operation: impl FnOnce(&mut AnyFilter) -> Result<T, OperationError>,
    ) -> Option<T> {
        let before = self.filter.to_bytes();
        let result = operation(&mut self.filter);
        assert!(result.is_ok() || self.filter.to_bytes() == before, "a failure changed something");
        result.ok()
    }

    fn insert(&mut self, key: u8) {
        if let Some(is_new) = self.attempt(|filter| filter.insert(&key)) {
            assert!(!is_new || self.copies[usize::from(key)] == 0, "a member is not new");
            self.copies[usize::from(key)] += 1;
            self.key_count += 1;
        }
    }

    /// Only what was inserted may be removed.
    fn remove(&mut self, key: u8) {
        if self.copies[usize::from(key)] == 0 {
            return;
        }
        let can_remove = self.filter.kind().capabilities().remove;
        let removed = self.attempt(|filter| filter.remove(&key)).is_some();
        assert_eq!(removed, can_remove, "it is a member");
        if removed {
            self.copies[usize::from(key)] -= 1;
            self.key_count -= 1;
        }
    }

    fn unite(&mut self, other: &Self) {
        if self.attempt(|filter| filter.union_with(&other.filter)).is_some() {
            self.copies = array::from_fn(|key| self.copies[key] + other.copies[key]);
            self.key_count += other.key_count;
        }
    }

    fn intersect(&mut self, other: &Self) {
        if self.attempt(|filter| filter.intersect_with(&other.filter)).is_some() {
            self.copies = array::from_fn(|key| self.copies[key].min(other.copies[key]));
            self.key_count = self.key_count.min(other.key_count);
        }
    }

    fn clear(&mut self) {
        self.filter.clear().expect("what takes keys can be cleared");
        (self.copies, self.key_count) = ([0; 256], 0);
    }

    /// A filter that was written and read is the same.
    fn write_and_read(&mut self) {
        let bytes = self.filter.to_bytes();
        let filter = AnyFilter::from_bytes(&bytes).expect("it was just written");
        assert!(filter == self.filter && filter.to_bytes() == bytes);
        self.filter = filter;
    }

    fn check(&self) {
        assert_eq!(self.filter.key_count(), self.key_count);
        for (key, &copies) in (0..=255u8).zip(&self.copies) {
            assert!(copies == 0 || self.filter.contains(&key), "a false negative");
            match self.filter.count(&key) {
                Ok(Count::AtMost(count)) => assert!(count >= copies),
                // A counter that is full says no more, and other kinds do not count.
                Ok(Count::AtLeast(_)) | Err(_) => {}
            }
        }
    }
}

/// Changes a filter that was read from hostile bytes: what fails changes nothing, what was inserted is
/// found, and it takes memory only in proportion to what it had. `keys` decides which keys.
pub fn change(filter: &AnyFilter, keys: &[u8]) {
    let mut model = Model::new(filter.clone());
    // A table of sorted remainders may contradict itself, and then answers at random.
    let is_sound = filter.kind() != Kind::Quotient;
    let size = filter.size_in_bits();
    let keys: Vec<u64> = (0..8).chain(keys.iter().take(8).map(|&key| u64::from(key))).collect();
    let mut inserted = Vec::new();
    for key in &keys {
        if model.attempt(|filter| filter.insert(key)).is_some() {
            inserted.push(*key);
        }
    }
    let found = |filter: &AnyFilter| inserted.iter().all(|key| filter.contains(key));
    assert!(!is_sound || found(&model.filter), "what was inserted is not found");
    // Sixteen keys are enough for a stage more, or, of the smallest, for some.
    assert!(model.filter.size_in_bits() <= 8 * size.max(1 << 15), "it takes too much memory");
    let changed = model.filter.clone();
    for merge in [AnyFilter::union_with, AnyFilter::intersect_with] {
        for other in [filter, &changed] {
            Model::new(changed.clone()).attempt(|changed| merge(changed, other));
        }
    }
    let mut united = Model::new(changed.clone());
    united.attempt(|united| united.union_with(filter));
    assert!(!is_sound || found(&united.filter), "a union has lost a key");
    if let AnyFilter::Quotient(quotient) = &changed {
        let mut expanded = quotient.clone();
        assert!(expanded.expand().is_ok() || expanded == *quotient, "a failure changed something");
    }
    model.write_and_read();
    for key in &inserted {
        let removed = model.attempt(|filter| filter.remove(key)).is_some();
        let can_remove = filter.kind().capabilities().remove;
        assert!(!is_sound || removed == can_remove, "what was inserted cannot be removed");
    }
    if model.attempt(AnyFilter::clear).is_some() {
        assert_eq!(model.filter.key_count(), 0);
        assert!(keys.iter().all(|key| !model.filter.contains(key)), "nothing is in it");
    }
}
