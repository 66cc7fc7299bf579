//! A second reader of the file format, written from `docs/format.md` and sharing no code with the
//! library: what it makes of the golden files must be what the library does.
//!
//! Only the hash of a key is the library's own; that has test vectors elsewhere.

use std::fs;
use std::path::Path;

use crivo::KeyHasher;
use crivo::codec::{Header, LoadOptions};
use crivo::filter::AnyFilter;
use crivo::hash::SecretKey;

struct File {
    version: u64,
    kind: u8,
    parameters: Vec<u64>,
    /// Name, value, name, value …
    metadata: Vec<String>,
    words: Vec<u64>,
}

impl File {
    fn parse(bytes: &[u8]) -> Self {
        let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
        let version = word(8) & 0xffff;
        let parameter_count = (word(8) >> 32) as usize;
        let (parameters, metadata_length) = match version {
            1 => (48, 0),
            2 => (56, word(48) as usize),
            _ => panic!("the document knows no version {version}"),
        };
        let metadata = parameters + 8 * parameter_count;
        let checksum = (metadata + metadata_length).next_multiple_of(8);
        let payload = (checksum + 8).next_multiple_of(64);
        assert_eq!(bytes.len(), payload + word(32) as usize);
        File {
            version,
            kind: bytes[10],
            parameters: (0..parameter_count).map(|i| word(parameters + 8 * i)).collect(),
            metadata: texts(&bytes[metadata..metadata + metadata_length]),
            words: (payload..bytes.len()).step_by(8).map(word).collect(),
        }
    }

    fn contains(&self, digest: u64) -> bool {
        let p = &self.parameters;
        match self.kind {
            1 => bloom(&self.words, p[1], digest),
            2 => blocked(&self.words, p[1], digest),
            3 => counting(&self.words, p[1], p[2], p[3], digest),
            4 => cuckoo(&self.words, p[0], p[2], digest),
            5 => quotient(&self.words, p[0], p[1], digest),
            6 => fuse(&self.words, p, digest),
            7 => stages(self).any(|(words, k)| bloom(words, k, digest)),
            9 => stages(self).any(|(words, k)| blocked(words, k, digest)),
            10 => split_block(&self.words, digest),
            11 => blocked_counting(&self.words, p[0], p[1], p[3], digest),
            12 => sharded_fuse(&self.words, p, digest),
            other => panic!("the document knows no kind {other}"),
        }
    }
}

/// Texts, each with its length before it.
fn texts(mut bytes: &[u8]) -> Vec<String> {
    let mut texts = Vec::new();
    while !bytes.is_empty() {
        let last = bytes.iter().position(|byte| byte & 0x80 == 0).unwrap();
        let (length, rest) = bytes.split_at(last + 1);
        let length = length.iter().rev().fold(0, |sum, byte| sum << 7 | usize::from(byte & 0x7f));
        let (text, rest) = rest.split_at(length);
        texts.push(String::from_utf8(text.to_vec()).unwrap());
        bytes = rest;
    }
    texts
}

/// ⌊x · n / 2^64⌋
fn reduce(x: u64, n: u64) -> u64 {
    ((u128::from(x) * u128::from(n)) >> 64) as u64
}

/// The item of `width` bits at bit `width · index`.
fn packed(words: &[u64], width: u64, index: u64) -> u64 {
    (0..width).fold(0, |item, i| item | bit(words, width * index + i) << i)
}

fn bit(words: &[u64], index: u64) -> u64 {
    words[(index / 64) as usize] >> (index % 64) & 1
}

fn points(digest: u64) -> impl Iterator<Item = u64> {
    let step = digest.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    std::iter::successors(Some(digest), move |point| Some(point.rotate_left(39).wrapping_add(step)))
}

fn bloom(words: &[u64], k: u64, digest: u64) -> bool {
    let n = words.len() as u64;
    points(digest).take(k as usize).all(|x| bit(words, 64 * reduce(x, n) + x % 64) == 1)
}

fn blocked(words: &[u64], k: u64, digest: u64) -> bool {
    const MULTIPLIER: u64 = 0xd1b5_4a32_d192_ed03;
    let block = reduce(digest, words.len() as u64 / 8);
    let mut pattern = digest.wrapping_mul(MULTIPLIER);
    for probe in 0..k {
        if probe > 0 && probe % 7 == 0 {
            pattern = (pattern ^ (pattern >> 32)).wrapping_mul(MULTIPLIER);
        }
        let position = pattern >> (55 - 9 * (probe % 7)) & 511;
        if bit(words, 512 * block + 64 * (position % 8) + position / 8) == 0 {
            return false;
        }
    }
    true
}

fn blocked_counting(words: &[u64], blocks: u64, k: u64, width: u64, digest: u64) -> bool {
    const MULTIPLIER: u64 = 0xd1b5_4a32_d192_ed03;
    let block_words = 2 * width;
    let first_word = reduce(digest, blocks) * block_words;
    let mut pattern = digest.wrapping_mul(MULTIPLIER);
    (0..k).all(|probe| {
        if probe > 0 && probe % 8 == 0 {
            pattern = (pattern ^ (pattern >> 32)).wrapping_mul(MULTIPLIER);
        }
        let position = pattern >> (56 - 8 * (probe % 8)) & 127;
        let word = words[(first_word + position % block_words) as usize];
        word >> (position / block_words * width) & ((1 << width) - 1) > 0
    })
}

fn split_block(words: &[u64], digest: u64) -> bool {
    const SALTS: [u64; 8] = [
        0x47b6_137b,
        0x4497_4d91,
        0x8824_ad5b,
        0xa2b7_289d,
        0x7054_95c7,
        0x2df1_424b,
        0x9efc_4947,
        0x5c6b_fb31,
    ];
    let block = ((digest >> 32) * (words.len() as u64 / 4)) >> 32;
    (0..8).zip(SALTS).all(|(half, salt)| {
        let position = ((digest & 0xffff_ffff) * salt % (1 << 32)) >> 27;
        bit(words, 256 * block + 32 * half + position) == 1
    })
}

fn counting(words: &[u64], counters: u64, k: u64, width: u64, digest: u64) -> bool {
    points(digest).take(k as usize).all(|x| packed(words, width, reduce(x, counters)) > 0)
}

fn cuckoo(words: &[u64], buckets: u64, width: u64, digest: u64) -> bool {
    let fingerprint = 1 + reduce(digest.wrapping_mul(0x9e37_79b9_7f4a_7c15), (1 << width) - 1);
    let random = fingerprint.wrapping_mul(
        fingerprint.wrapping_mul(0x2438_6a88_85a3_08d3).wrapping_add(0x1319_8a2e_0370_7345),
    );
    let sum = 2 * reduce(random, buckets / 2) + 1;
    let one = reduce(digest, buckets);
    let other = (sum + buckets - one) % buckets;
    [one, other]
        .into_iter()
        .flat_map(|bucket| (0..4).map(move |slot| 4 * bucket + slot))
        .any(|slot| packed(words, width, slot) == fingerprint)
}

fn quotient(words: &[u64], slots: u64, width: u64, digest: u64) -> bool {
    let fingerprint = reduce(digest, slots << width);
    let (quotient, remainder) = (fingerprint >> width, fingerprint % (1 << width));
    let block_words = 2 + width;
    let of_block =
        |slot: u64, word: u64| words[(slot / 64 * block_words + word) as usize] >> (slot % 64) & 1;
    if of_block(quotient, 0) == 0 {
        return false;
    }
    let runs_before = (0..quotient).filter(|&q| of_block(q, 0) == 1).count();
    let mut ends = (0..).filter(|&slot| of_block(slot, 1) == 1);
    let start = match runs_before {
        0 => quotient,
        n => quotient.max(ends.nth(n - 1).unwrap() + 1),
    };
    let end = ends.next().unwrap();
    (start..=end).any(|slot| {
        let block = (slot / 64 * block_words + 2) as usize;
        packed(&words[block..block + width as usize], width, slot % 64) == remainder
    })
}

fn fuse(words: &[u64], parameters: &[u64], digest: u64) -> bool {
    let &[arity, width, length, segments, seed] = parameters else { panic!() };
    let mixed = digest.wrapping_mul(seed);
    let spread = mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let first = reduce(mixed, segments * length);
    let offsets = [0, mixed >> 18, mixed, spread >> 14];
    let sum = (0..arity).fold(spread >> 32, |sum, i| {
        let cell = (first + i * length) ^ (offsets[i as usize] % length);
        sum ^ packed(words, width, cell)
    });
    sum % (1 << width) == 0
}

fn sharded_fuse(words: &[u64], parameters: &[u64], digest: u64) -> bool {
    let (&[arity, width, length, segments, shards], seeds) =
        parameters.split_first_chunk().unwrap();
    assert_eq!(seeds.len() as u64, shards);
    let shard = reduce(digest, shards) as usize;
    let words = &words[words.len() / seeds.len() * shard..];
    fuse(words, &[arity, width, length, segments, seeds[shard]], digest)
}

/// The table and k of every stage of a growing filter.
fn stages(file: &File) -> impl Iterator<Item = (&[u64], u64)> {
    let mut start = 0;
    file.parameters[2..].chunks(2).map(move |stage| {
        let length = (stage[0] / 256) as usize;
        let table = &file.words[start..start + length];
        start += length.next_multiple_of(8);
        (table, stage[0] % 256)
    })
}

#[test]
fn the_document_is_enough_to_read_every_golden_file() {
    let secret = SecretKey::new([7; 16]);
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut kinds = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "crivo") {
            continue;
        }
        let header = Header::load(&path).unwrap();
        let file = File::parse(&fs::read(&path).unwrap());
        let metadata = header.metadata().iter().flat_map(|(name, value)| [name, value]);
        assert!(metadata.eq(file.metadata.iter().map(String::as_str)), "{}", path.display());
        assert_eq!(u64::from(header.version()), file.version);
        if header.filter_kind().is_none() {
            continue;
        }
        let options = LoadOptions::new();
        let filter: AnyFilter =
            options.secret_key(secret).load(&path).or_else(|_| options.load(&path)).unwrap();
        let hasher: KeyHasher = filter.hasher();
        kinds.push((file.version, file.kind));
        for key in (0..filter.key_count()).chain(1_000_000..1_003_000) {
            let digest = hasher.digest(&key);
            assert_eq!(
                file.contains(digest.get()),
                filter.contains_digest(digest),
                "{} answers otherwise for {key}",
                path.display()
            );
        }
    }
    kinds.sort_unstable();
    kinds.dedup();
    // Kinds that are younger than version 2 were never written in version 1.
    let first = [1, 2, 3, 4, 5, 6, 7, 9].map(|kind| (1, kind));
    let second = [1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12].map(|kind| (2, kind));
    assert_eq!(kinds, [&first[..], &second].concat(), "a golden file for every version and kind");
}
