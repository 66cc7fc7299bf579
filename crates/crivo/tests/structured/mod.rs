//! Keys as programs have them: counters, addresses, times, text. Members and absent keys of a family
//! differ in few bits, in few bytes, or by a constant, and a hash function that lets some of that
//! through shows in the FPR of a filter.
//!
//! The list of [`families`] is what a hash family must pass to be the default. All that it must pass, with
//! the probability that a good hash function fails by chance:
//!
//! | | |
//! |---|---|
//! | the FPR of eleven kinds, with seed 0: 45 families, two choices of members, six standard deviations | 2.0e-6 |
//! | the FPR of Bloom and blocked filters, over eight seeds: 45 families, two choices, six standard deviations | 0.4e-6 |
//! | no two keys of a family with one digest, for nine seeds: 45 · 9 · 220,000² / 2^65 | 0.5e-6 |
//! | uniformity, correlation and independence over the same families (crivo-lab, `quality`) | 9.0e-6 |
//! | all of it | 1.2e-5 |
//!
//! Seeds are fixed: what passes once, passes always. Over eight seeds a rate that is 9% too low or too high
//! is found, with a probability of 99%; with one seed, only one that is 25% off.

mod families;

use crivo::filter::{Kind, Spec};
use crivo::{Digest, KeyHasher};

use self::families::{FAMILIES, MakeKey};

/// The members of a family, and ten times as many absent keys.
const MEMBERS: u64 = 20_000;
const ASKED: u64 = 10 * MEMBERS;

const FPR: f64 = 0.01;

/// The rates of filters of as many keys scatter by no more than this share around the mean: by chance some
/// have more bits set than others, or fuller blocks. Other seeds scatter in other directions, so that it
/// is less for the mean of several.
const SCATTER: f64 = 0.02;

/// So many standard deviations are too many.
const LIMIT: f64 = 6.0;

/// The seeds over which a rate is averaged.
const SEEDS: u64 = 8;

/// What was found in filters of one kind with keys of one family.
#[derive(Debug, Clone, Copy, Default)]
struct Found {
    /// The number of absent keys that were found, less what is expected.
    excess: f64,
    variance: f64,
}

impl Found {
    /// Adds those of a filter.
    fn add(&mut self, kind: Kind, members: &[Digest], absent: &[Digest]) {
        let spec = Spec::for_fpr(kind, members.len() as u64, FPR).unwrap();
        let filter = spec.build_from(members.to_vec(), KeyHasher::default()).unwrap();
        let mut hits = vec![false; absent.len()];
        filter.contains_batch(absent, &mut hits);
        let found = hits.into_iter().filter(|&hit| hit).count() as f64;
        let expected = absent.len() as f64 * filter.expected_fpr();
        self.excess += found - expected;
        self.variance += expected + (SCATTER * expected).powi(2);
    }

    /// In standard deviations.
    fn deviation(self) -> f64 {
        self.excess / self.variance.sqrt()
    }
}

/// The digests of members and of absent keys: members are the first keys of a family, and the others are
/// asked; or every eleventh key is a member.
fn choices(key: MakeKey, digest: impl Fn(&[u8]) -> Digest) -> [(Vec<Digest>, Vec<Digest>); 2] {
    let digests: Vec<Digest> = (0..MEMBERS + ASKED).map(|i| digest(&key(i))).collect();
    let (first, rest) = digests.split_at(MEMBERS as usize);
    let pick = |wanted: bool| {
        let indices = (0..digests.len()).filter(|index| index.is_multiple_of(11) == wanted);
        indices.map(|index| digests[index]).collect::<Vec<_>>()
    };
    [(first.to_vec(), rest.to_vec()), (pick(true), pick(false))]
}

/// What the families give, for each choice and kind, over all these hashers together.
fn check(hashers: &[KeyHasher], kinds: &[Kind]) {
    for (name, key) in FAMILIES {
        let mut found = vec![[Found::default(); 2]; kinds.len()];
        for hasher in hashers {
            let choices = choices(*key, |key| hasher.digest(key));
            let (members, absent) = &choices[0];
            let mut different: Vec<_> =
                members.iter().chain(absent).map(|digest| digest.get()).collect();
            different.sort_unstable();
            different.dedup();
            let all = members.len() + absent.len();
            assert_eq!(different.len(), all, "{name}: keys share a digest");
            for (found, &kind) in found.iter_mut().zip(kinds) {
                for (found, (members, absent)) in found.iter_mut().zip(&choices) {
                    found.add(kind, members, absent);
                }
            }
        }
        for (found, kind) in found.iter().zip(kinds) {
            for deviation in found.map(Found::deviation) {
                assert!(deviation.abs() < LIMIT, "{name} in a {kind} filter: {deviation:.1}");
            }
        }
    }
}

/// 45 families, two choices and eleven kinds: by chance a good hash function fails with a probability of
/// 990 · 2e-9 = 2.0e-6.
#[test]
#[cfg_attr(miri, ignore = "millions of questions")]
fn keys_as_programs_have_them_are_found_at_the_rate_of_theory() {
    check(&[KeyHasher::default()], &Kind::ALL);
}

/// 45 families, two choices and two kinds: 180 · 2e-9 = 0.4e-6.
#[test]
#[cfg_attr(miri, ignore = "millions of questions")]
fn small_differences_from_theory_show_over_several_seeds() {
    let hashers: Vec<_> = (1..=SEEDS).map(KeyHasher::fold64).collect();
    check(&hashers, &[Kind::Bloom, Kind::Blocked]);
}

/// All kinds for other seeds, each alone and all together: 11 · 2.0e-6, and 5.9e-7 for keys that share a
/// digest: 2.2e-5.
#[test]
#[ignore = "takes a minute"]
fn keys_as_programs_have_them_are_found_at_the_rate_of_theory_under_other_seeds() {
    let hashers: Vec<_> = (1..=9).chain([1 << 63]).map(KeyHasher::fold64).collect();
    for hasher in &hashers {
        check(&[*hasher], &Kind::ALL);
    }
    check(&hashers, &Kind::ALL);
}

/// One folded multiplication is not enough for a blocked filter: it finds a tenth less than it should, which
/// one seed does not show.
#[test]
#[cfg_attr(miri, ignore = "millions of questions")]
fn a_single_folded_multiplication_fails() {
    let (_, key) = FAMILIES.iter().find(|(name, _)| *name == "multiples of 2^32").unwrap();
    let mut found = Found::default();
    for seed in 1..=SEEDS {
        let start = Digest::new(seed).remix().get();
        let fold = |key: &[u8]| {
            let word = u64::from_le_bytes(key.try_into().unwrap());
            let product = u128::from(word ^ start) * 0x9216_d5d9_8979_fb1b;
            Digest::new(product as u64 ^ (product >> 64) as u64)
        };
        let [(members, absent), _] = choices(*key, fold);
        found.add(Kind::Blocked, &members, &absent);
    }
    assert!(found.deviation() < -LIMIT, "{}", found.deviation());
}

/// A rate that is 9% off is beyond the limit by as much as 99% of all samples are.
#[test]
fn several_seeds_show_a_difference_of_nine_percent() {
    let of_seeds = |seeds: u64, share: f64| {
        let expected = ASKED as f64 * FPR;
        let variance = seeds as f64 * (expected + (SCATTER * expected).powi(2));
        Found { excess: seeds as f64 * share * expected, variance }.deviation()
    };
    assert!(of_seeds(SEEDS, 0.09) > LIMIT + 2.33);
    assert!(of_seeds(1, 0.25) > LIMIT + 2.33 && of_seeds(1, 0.17) < LIMIT);
}
