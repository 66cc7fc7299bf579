//! What the tests of several kinds have in common.

use crate::Digest;

/// Digests for which no hash function is to blame.
pub(super) fn digests(seed: u64) -> impl Iterator<Item = Digest> {
    (0..).map(move |i: u64| Digest::new(seed.wrapping_mul(1 << 40) + i).remix())
}

/// The laws of union and intersection. `ours` makes a filter, and each `unlike` one that cannot be merged
/// with it, because the parameter of that name differs.
macro_rules! merge_laws {
    ($filter:ident, ours: $ours:expr, unlike: $($parameter:literal = $other:expr),+ $(,)?) => {
        mod merging {
            use super::*;
            use $crate::filter::RebuildError;

            fn filled(fpr: f64, keys: impl IntoIterator<Item = u64>) -> $filter {
                let mut filter = $filter::with_hasher(200, fpr, KeyHasher::xxh3(1)).unwrap();
                filter.extend(keys);
                filter
            }

            proptest! {
                #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 1 } else { 64 }))]

                #[test]
                #[cfg_attr(miri, ignore = "takes long there")]
                fn a_union_is_the_filter_of_both_and_an_intersection_keeps_the_common(
                    ours in prop::collection::vec(0u64..500, 0..200),
                    theirs in prop::collection::vec(0u64..500, 0..200),
                    fpr in 0.0001..0.5f64,
                ) {
                    let (a, b) = (filled(fpr, ours.clone()), filled(fpr, theirs.clone()));
                    let mut union = a.clone();
                    union.union_with(&b).unwrap();
                    prop_assert_eq!(&union, &filled(fpr, ours.iter().chain(&theirs).copied()));
                    let mut both = a.clone();
                    both.intersect_with(&b).unwrap();
                    let mut common = ours.iter().filter(|key| theirs.contains(key));
                    prop_assert!(common.all(|key| both.contains(key)));
                    prop_assert_eq!(both.key_count(), a.key_count().min(b.key_count()));
                    for key in 0..500u64 {
                        prop_assert!(!both.contains(&key) || (a.contains(&key) && b.contains(&key)));
                    }
                }
            }

            #[test]
            fn filters_that_differ_are_not_merged_and_stay_as_they_were() {
                let mut ours: $filter = $ours.unwrap();
                ours.insert("ana");
                let before = ours.clone();
                for (parameter, other) in [$(($parameter, $other.unwrap())),+] {
                    for error in [ours.union_with(&other), ours.intersect_with(&other)] {
                        let Err(RebuildError::Incompatible(error)) = error else {
                            panic!("{error:?}")
                        };
                        assert_eq!(error.parameter, parameter);
                    }
                    assert_eq!(ours, before);
                }
            }
        }
    };
}

/// What holds for filters of blocks, in which a key has all its bits in one block. `bias` is at least
/// that of the estimate of 2,000 keys at an FPR of 1%.
macro_rules! laws_of_blocks {
    ($filter:ident, bias: $bias:literal) => {
        fn filled(
            capacity: u64,
            fpr: f64,
            seed: u64,
            keys: impl IntoIterator<Item = u64>,
        ) -> $filter {
            let mut filter = $filter::with_hasher(capacity, fpr, KeyHasher::xxh3(seed)).unwrap();
            filter.extend(keys);
            filter
        }

        #[test]
        #[cfg_attr(miri, ignore = "takes long there")]
        fn it_is_never_full() {
            let filter = filled(100, 0.01, 0, 0..10_000);
            assert_eq!((filter.key_count(), filter.capacity()), (10_000, 100));
            assert!((0..10_000u64).all(|key| filter.contains(&key)));
            assert!(filter.expected_fpr() > 1.0 - 1e-9);
            assert_eq!((filter.fill_fpr(), filter.estimated_key_count()), (1.0, None));
            // One key 2,000 times is one key's bits.
            let once = filled(100, 0.01, 0, [7]);
            let often = filled(100, 0.01, 0, [7; 2_000]);
            assert_eq!(once.words, often.words);
            assert_eq!(often.key_count(), 2_000);
        }

        /// 400 filters: the mean within five standard errors (6e-7), plus the bias.
        #[test]
        #[cfg_attr(miri, ignore = "takes long there")]
        fn keys_are_estimated_from_set_bits() {
            let (n, runs) = (2_000, 400);
            let (mut sum, mut error) = (0.0, 0.0);
            for seed in 0..runs {
                let estimate = filled(n, 0.01, seed, 0..n).estimated_key_count().unwrap();
                sum += estimate.keys / runs as f64;
                error += estimate.standard_error / runs as f64;
            }
            let allowed = 5.0 * error / (runs as f64).sqrt() + $bias;
            assert!((sum - n as f64).abs() < allowed, "{sum} ± {allowed}");
        }
    };
}

pub(super) use {laws_of_blocks, merge_laws};
