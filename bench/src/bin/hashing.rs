//! Hash functions: alone, and in questions to a Bloom filter.
//!
//! ```text
//! cargo run --release --bin hashing
//! ```
//!
//! The first table has nanoseconds per key for keys of several lengths, which lie one behind another in a cache: how
//! many hashes there are in a time, and not how long one takes. The second has nanoseconds per question to a Bloom
//! filter of a million keys (1%), whose digests are these hashes. All are medians of interleaved rounds, in which every
//! function must give what it gave before, and find every key that is present.
//!
//! The compiler knows the length of a `u64`, and that of no other key; the processor guesses it well but for keys of 1 to
//! 32 bytes. fold64, XXH3 and SipHash-2-4 are crivo's hashers, of which fold64 alone is inlined. MuseAir v1 is withdrawn
//! from crates.io, because keys collided whatever the seed; this is v2, in both its variants.

use std::hint::black_box;

use crivo::filter::Bloom;
use crivo::hash::SecretKey;
use crivo::{Digest, KeyHasher};
use crivo_bench::{Contender, interleave, number, table};
use rapidhash::v3::{DEFAULT_RAPID_SECRETS, rapidhash_v3_inline};

/// What the keys are.
#[derive(Clone, Copy)]
enum Shape {
    Number,
    Bytes(usize),
    /// 1 to 32 bytes, in no order.
    Mixed,
}

use Shape::{Bytes, Mixed, Number};

const SHAPES: [Shape; 8] =
    [Number, Mixed, Bytes(8), Bytes(16), Bytes(32), Bytes(64), Bytes(256), Bytes(4096)];
/// Of keys that are hashed only, all together; a reading goes through them several times.
const BYTES: usize = 1 << 18;
const PASSES: u64 = 8;

/// In a filter, where longer keys would be more than the caches have.
const FILTER_SHAPES: [Shape; 6] = [Number, Mixed, Bytes(8), Bytes(16), Bytes(32), Bytes(64)];
const MEMBERS: usize = 1_000_000;
const FPR: f64 = 0.01;

const ROUNDS: usize = 51;
const FILTER_ROUNDS: usize = 15;

impl Shape {
    fn name(self) -> String {
        match self {
            Number => "u64".to_owned(),
            Bytes(length) => format!("{length} bytes"),
            Mixed => "1–32 bytes".to_owned(),
        }
    }

    /// Of `BYTES` bytes, on average.
    fn key_count(self) -> usize {
        match self {
            Number => BYTES / 8,
            Bytes(length) => BYTES / length,
            Mixed => BYTES / 16,
        }
    }
}

/// Keys, one behind another.
struct Keys {
    shape: Shape,
    bytes: Vec<u8>,
    lengths: Vec<usize>,
}

impl Keys {
    /// Those from position `first` on; others for other positions.
    fn new(first: usize, count: usize, shape: Shape) -> Self {
        let length = |i: usize| match shape {
            Number => 8,
            Bytes(length) => length,
            Mixed => 1 + (number(i as u64) % 32) as usize,
        };
        let lengths: Vec<usize> = (first..first + count).map(length).collect();
        let size: usize = lengths.iter().sum();
        let words = (first as u64) << 9..;
        let bytes = words.flat_map(|word| number(word).to_le_bytes()).take(size).collect();
        Self { shape, bytes, lengths }
    }

    #[inline(always)]
    fn each(&self, work: impl FnMut(&[u8])) {
        match self.shape {
            Number => self.bytes.as_chunks::<8>().0.iter().map(|key| &key[..]).for_each(work),
            Bytes(length) => self.bytes.chunks_exact(black_box(length)).for_each(work),
            Mixed => {
                let mut rest = &self.bytes[..];
                let next = |&length: &usize| rest.split_off(..length).unwrap_or_default();
                self.lengths.iter().map(next).for_each(work);
            }
        }
    }
}

type Count = dyn Fn(&Bloom, &Keys) -> u64;

/// A hash function, inlined into each of these.
struct Function {
    name: &'static str,
    sum: Box<dyn Fn(&Keys) -> u64>,
    build: Box<dyn Fn(&Keys) -> Bloom>,
    count: Box<Count>,
}

fn function(name: &'static str, hash: impl Fn(&[u8]) -> u64 + Copy + 'static) -> Function {
    let sum = move |keys: &Keys| {
        let mut sum = 0u64;
        keys.each(|key| sum = sum.wrapping_add(hash(key)));
        sum
    };
    let build = move |keys: &Keys| {
        let mut filter = Bloom::new(MEMBERS as u64, FPR).expect("memory");
        keys.each(|key| {
            filter.insert_digest(Digest::new(hash(key)));
        });
        filter
    };
    let count = move |filter: &Bloom, keys: &Keys| {
        let mut found = 0;
        keys.each(|key| found += u64::from(filter.contains_digest(Digest::new(hash(key)))));
        found
    };
    Function { name, sum: Box::new(sum), build: Box::new(build), count: Box::new(count) }
}

fn functions() -> Vec<Function> {
    let of = |name, hasher: KeyHasher| function(name, move |key| hasher.digest(key).get());
    let rapid = |key: &[u8]| rapidhash_v3_inline::<true, false, false>(key, &DEFAULT_RAPID_SECRETS);
    vec![
        of("fold64", KeyHasher::default()),
        of("XXH3", KeyHasher::xxh3(0)),
        of("SipHash-2-4", KeyHasher::sip24(SecretKey::new([7; 16]))),
        function("rapidhash v3", rapid),
        function("komihash v5", |key| komihash::v5::komihash(key, 0)),
        function("MuseAir v2", |key| museair::hash(key, 0)),
        function("MuseAir v2, BFast", |key| museair::bfast::hash(key, 0)),
    ]
}

/// Work that must come to the same every time.
fn repeatable<'a>(name: &str, work: impl Fn() -> u64 + 'a) -> Contender<'a> {
    let mut first = None;
    let owned = name.to_owned();
    Contender::new(name, move || {
        let reading = work();
        assert_eq!(*first.get_or_insert(reading), reading, "{owned} gives other hashes");
        reading
    })
}

/// Adds a column of results.
fn append(rows: &mut [Vec<String>], title: String, times: &[f64]) {
    let cells = times.iter().map(|time| format!("{time:.2}"));
    for (row, cell) in rows.iter_mut().zip(std::iter::once(title).chain(cells)) {
        row.push(cell);
    }
}

fn main() {
    let functions = functions();
    let names = |title: &str| -> Vec<Vec<String>> {
        let names = functions.iter().map(|function| function.name);
        std::iter::once(title).chain(names).map(|name| vec![name.to_owned()]).collect()
    };

    let mut rows = names("ns per hash");
    for shape in SHAPES {
        let keys = &Keys::new(0, shape.key_count(), shape);
        let mut contenders: Vec<_> = functions
            .iter()
            .map(|Function { name, sum, .. }| {
                let pass = |all: u64, _| all.wrapping_add(sum(black_box(keys)));
                repeatable(name, move || (0..PASSES).fold(0, pass))
            })
            .collect();
        let hashes = PASSES as usize * shape.key_count();
        append(&mut rows, shape.name(), &interleave(&mut contenders, hashes, ROUNDS, None));
    }
    print!("{}", table(&rows));

    let mut rows = names("ns per question");
    for shape in FILTER_SHAPES {
        let present = Keys::new(0, MEMBERS, shape);
        let absent = Keys::new(MEMBERS, MEMBERS, shape);
        let filters: Vec<Bloom> =
            functions.iter().map(|function| (function.build)(&present)).collect();
        for (which, keys, expected) in
            [("present", &present, Some(MEMBERS as u64)), ("absent", &absent, None)]
        {
            let mut contenders: Vec<_> = functions
                .iter()
                .zip(&filters)
                .map(|(Function { name, count, .. }, filter)| {
                    repeatable(name, move || count(filter, black_box(keys)))
                })
                .collect();
            let times = interleave(&mut contenders, MEMBERS, FILTER_ROUNDS, expected);
            append(&mut rows, format!("{}, {which}", shape.name()), &times);
        }
    }
    print!("\n{}", table(&rows));
}
