use proptest::prelude::*;

use super::*;
use crate::filter::testing::{digests, laws_of_blocks, merge_laws};
use crate::filter::{Bytes, Kind};
use crate::persist::Persist;
use crate::persist::testing::{from_parts, payload_length};
use crate::theory::interval;

// 0.02 keys for each of 82 blocks.
laws_of_blocks!(SplitBlock, bias: 2.0);

merge_laws!(
    SplitBlock,
    ours: SplitBlock::with_size(10, KeyHasher::xxh3(1)),
    unlike:
        "number of blocks" = SplitBlock::with_size(11, KeyHasher::xxh3(1)),
        "hash function" = SplitBlock::with_size(10, KeyHasher::xxh3(2)),
);

/// As the Parquet specification has it, on 32-bit words: the block, and the bit of each of its words.
fn places(digest: u64, blocks: u64) -> (u64, [u32; 8]) {
    let salts = [
        1203114875u32,
        1150766481,
        2284105051,
        2729912477,
        1884591559,
        770785867,
        2667333959,
        1550580529,
    ];
    (((digest >> 32) * blocks) >> 32, salts.map(|salt| (digest as u32).wrapping_mul(salt) >> 27))
}

/// The eight 32-bit words of a block.
fn halves(block: &Block) -> [u32; 8] {
    std::array::from_fn(|i| (block[i / 2] >> (32 * (i % 2))) as u32)
}

#[test]
fn the_worked_example_of_the_documentation_holds() {
    let key = Digest::new(0x9000_0000_0000_0001);
    let mut filter = SplitBlock::with_size(4, KeyHasher::default()).unwrap();
    assert!(filter.insert_digest(key));
    let positions = [8, 8, 17, 20, 14, 5, 19, 11];
    assert_eq!(places(key.get(), 4), (2, positions));
    assert_eq!(halves(&filter.table()[2]), positions.map(|bit| 1 << bit));
    assert_eq!(filter.count_set_bits(), 8);
}

#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn every_set_of_instructions_follows_the_specification() {
    for blocks in [1, 3, 1_000] {
        let mut expected = vec![[0u32; 8]; blocks as usize];
        let mut filters: Vec<SplitBlock> = Level::all()
            .iter()
            .map(|&level| SplitBlock {
                level,
                ..SplitBlock::with_size(blocks, KeyHasher::default()).unwrap()
            })
            .collect();
        for key in digests(blocks).take(20 * blocks as usize) {
            let (block, bits) = places(key.get(), blocks);
            let words = &mut expected[block as usize];
            let is_new = (0..8).any(|i| words[i] >> bits[i] & 1 == 0);
            words.iter_mut().zip(bits).for_each(|(word, bit)| *word |= 1 << bit);
            for filter in &mut filters {
                assert_eq!(filter.insert_digest(key), is_new, "{:?}", filter.level);
            }
        }
        for filter in &filters {
            assert!(filter.table().iter().map(halves).eq(expected.iter().copied()));
        }
        let asked: Vec<Digest> =
            digests(blocks + 7).take(5_000).chain(digests(blocks).take(50)).collect();
        for filter in &filters {
            let mut hits = vec![false; asked.len()];
            filter.contains_batch(&asked, &mut hits);
            for (&key, hit) in asked.iter().zip(hits) {
                let (block, bits) = places(key.get(), blocks);
                let words = expected[block as usize];
                let is_set = (0..8).all(|i| words[i] >> bits[i] & 1 == 1);
                assert_eq!((filter.contains_digest(key), hit), (is_set, is_set));
            }
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn every_single_bit_decides() {
    for key in digests(9).take(50) {
        let mut block = [0; BLOCK_WORDS];
        block::insert(&mut block, key);
        for &level in Level::all() {
            assert!(dispatch::contains(level, &block, key));
            for bit in (0..256).filter(|bit| block[bit / 64] >> (bit % 64) & 1 == 1) {
                let mut without = block;
                without[bit / 64] ^= 1 << (bit % 64);
                assert!(!dispatch::contains(level, &without, key), "{level:?} {bit}");
            }
        }
    }
}

/// The largest number of blocks and the extremes of the upper half stay in range.
#[test]
fn the_last_block_is_reached_and_not_passed() {
    for blocks in [1, 2, 3, 7, 1_000] {
        let table = vec![[0; BLOCK_WORDS]; blocks];
        assert_eq!(block_of(Digest::new(u64::MAX), table.len()), blocks - 1);
        assert_eq!(block_of(Digest::new(0xffff_ffff), table.len()), 0);
    }
}

/// Each filter's own rate is the mean over its blocks, if the patterns of absent keys are uniform;
/// then hits are binomial. Four cells at 1e-5.
#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn absent_keys_are_accepted_at_the_rate_of_the_set_bits() {
    let (n, asked) = (100_000, 4_000_000);
    for (seed, fpr) in (100..).zip([0.1, 0.01, 1e-3, 1e-4]) {
        let filter = filled(n, fpr, seed, 0..n);
        let absent = |key: &u64| filter.contains(key);
        let hits = (n..n + asked).filter(absent).count() as u64;
        let observed = interval::exact(hits, asked, 1.0 - 1e-5).unwrap();
        assert!(observed.contains(filter.fill_fpr()), "{fpr}: {hits}, {}", filter.fill_fpr());
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn a_filter_of_words_has_the_answers_of_the_words() {
    let ours = filled(1_000, 0.01, 3, 0..800);
    let theirs = SplitBlock::from_words(ours.words(), ours.hasher()).unwrap();
    assert_eq!(theirs.words(), ours.words());
    assert!((760..840).contains(&theirs.key_count()), "{theirs:?}");
    assert!((0..5_000u64).all(|key| ours.contains(&key) == theirs.contains(&key)));
    let hasher = KeyHasher::default();
    assert!(SplitBlock::from_words(&[0; 8], hasher).unwrap().is_empty());
    assert_eq!(SplitBlock::from_words(&[0, 0, 1, 0], hasher).unwrap().key_count(), 1);
    assert!(SplitBlock::from_words(&[!0; 4], hasher).unwrap().key_count() > 100);
    for length in [0, 1, 3, 5, 7] {
        assert!(SplitBlock::from_words(&vec![0; length], hasher).is_err(), "{length}");
    }
}

#[test]
fn bad_parameters_are_named() {
    let named = |result: Result<SplitBlock, BuildError>| match result {
        Err(BuildError::Parameter(error)) => error.parameter,
        other => panic!("{other:?}"),
    };
    let hasher = KeyHasher::default();
    assert_eq!(named(SplitBlock::new(0, 0.01)), "n");
    for fpr in [0.0, 1.0, f64::NAN, -1.0] {
        assert_eq!(named(SplitBlock::new(10, fpr)), "fpr");
    }
    assert_eq!(named(SplitBlock::with_size(0, hasher)), "number of blocks");
    assert_eq!(named(SplitBlock::with_size((1 << 32) + 1, hasher)), "number of blocks");
    let with_memory = |capacity, bytes| SplitBlockSpec::for_memory(capacity, Bytes(bytes));
    assert_eq!(with_memory(1, 31).unwrap_err().parameter, "memory in bytes");
    assert_eq!(with_memory(0, 64).unwrap_err().parameter, "n");
    assert_eq!(with_memory(1, 1 << 50).unwrap().blocks(), 1 << 32);
    // Made by size alone, it is for as many keys as set half of its bits.
    assert_eq!(SplitBlock::with_size(1_000, hasher).unwrap().capacity(), 22_180);
}

#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn hostile_parts_are_refused_or_harmless() {
    let parts = |parameters: &[u64], words: usize| {
        let payload = Words::copied(&vec![!0; words]).unwrap();
        let hasher = KeyHasher::default();
        from_parts::<SplitBlock>(Kind::SplitBlock, hasher, u64::MAX, parameters, payload)
    };
    let bad: [&[u64]; 6] =
        [&[], &[2], &[2, 9, 9], &[0, 9], &[(1 << 32) + 1, 9], &[u64::MAX, u64::MAX]];
    for parameters in bad {
        let length = payload_length::<SplitBlock>(Kind::SplitBlock, parameters);
        assert!(length.is_err(), "{parameters:?}");
        assert!(parts(parameters, 8).is_err(), "{parameters:?}");
    }
    for words in [0, 4, 7, 9, 12] {
        assert!(parts(&[2, 9], words).is_err());
    }
    let mut filter = parts(&[2, 0], 8).unwrap();
    assert!(digests(1).take(1_000).all(|key| filter.contains_digest(key)));
    filter.insert("ana");
    filter.union_with(&filter.clone()).unwrap();
    assert_eq!((filter.key_count(), filter.fill_fpr()), (u64::MAX, 1.0));
    assert_eq!(filter.expected_fpr(), 1.0);
    assert_eq!(filter.parts().parameters, [2, 0]);
}
