use super::*;
use proptest::prelude::*;

#[test]
fn published_rates_are_reproduced() {
    // Broder and Mitzenmacher's survey, and the source documents: 8 and 10 bits per key.
    for (m, k, expected) in [
        (8_000, 6, "0.02158"),
        (8_000, 7, "0.02293"),
        (10_000, 7, "0.00819"),
        (12_000, 8, "0.00314"),
    ] {
        assert_eq!(format!("{:.5}", fpr(m, 1_000, k).unwrap()), expected);
    }
    assert_eq!(format!("{:.6}", fpr(10_000, 1_000, 7).unwrap()), "0.008194");
}

#[test]
fn the_best_rate_at_a_given_budget() {
    for (bits_per_key, expected) in [(8, "2.16"), (10, "0.819"), (12, "0.314"), (16, "0.0459")] {
        let (m, n) = (bits_per_key * 1_000_000, 1_000_000);
        let percent = 100.0 * fpr(m, n, best_probes(m, n).unwrap()).unwrap();
        let digits = expected.len() - 2;
        assert_eq!(format!("{percent:.digits$}"), expected);
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn one_percent_takes_9_59_bits_per_key() {
    let n = 1_000_000_000;
    let per_key = |bits: u64| format!("{:.2}", bits as f64 / n as f64);
    assert_eq!(per_key(bits(n, 0.01).unwrap()), "9.59");
    let size = size(n, 0.01).unwrap();
    assert_eq!(per_key(size.bits), "9.59");
    assert_eq!(size.probes, 7);
}

#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn the_exact_rate_agrees_with_long_arithmetic() {
    // By the alternating sum, in arithmetic of 400 digits.
    for (m, n, k, expected) in [
        (64, 5, 4, 0.005_521_701_708_467_213),
        (1_000, 100, 7, 0.008_266_247_514_843_566),
        (1_000, 100, 30, 0.220_761_254_771_447),
        (8_000, 1_000, 6, 0.021_594_478_742_602_633),
        (30_000, 1_000, 20, 5.547_519_365_780_255e-7),
        (958_506, 100_000, 7, 0.010_039_300_123_962_643),
        (10_000_000_000, 1_000_000_000, 7, 0.008_193_722_073_095_846),
        (10_000_000_000_000, 1_000_000_000_000, 7, 0.008_193_722_065_869_65),
    ] {
        let got = fpr_exact(m, n, k).unwrap();
        assert!((got / expected - 1.0).abs() < 1e-12, "{m} {n} {k}: {got}");
    }
}

#[test]
fn a_small_filter_counted_by_hand() {
    // m = 3, k = 2, n = 1: one bit set with probability 1/3, two with 2/3.
    let by_hand = (1.0 / 3.0) * (1.0 / 9.0) + (2.0 / 3.0) * (4.0 / 9.0);
    assert!((fpr_exact(3, 1, 2).unwrap() - by_hand).abs() < 1e-15);
    assert_eq!(fpr_exact(1, 1, 9).unwrap(), 1.0);
    assert_eq!(fpr_exact(10, 0, 3).unwrap(), 0.0);
    assert_eq!(fpr(10, 0, 3).unwrap(), 0.0);
}

#[test]
fn the_floor_is_not_always_best() {
    assert_eq!(best_probes_floor(10_000, 1_000), Ok(6));
    assert_eq!(best_probes(10_000, 1_000), Ok(7));
    // 5.545: both neighbours are near, and 6 is the better one.
    assert_eq!(best_probes(8_000, 1_000), Ok(6));
    assert_eq!(best_probes(1, 1_000), Ok(1));
    assert_eq!(best_probes(u64::MAX, 1), Ok(255));
}

#[test]
fn bits_for_a_given_number_of_probes_invert_the_rate() {
    // The least m for 1% with k = 3: −3n/ln(1 − 0.01^(1/3)).
    let m = bits_for_probes(1_000_000, 0.01, 3).unwrap();
    assert!(fpr(m, 1_000_000, 3).unwrap() <= 0.01);
    assert!(fpr(m - 1, 1_000_000, 3).unwrap() > 0.01);
}

#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn sizes_from_one_key_to_a_million_million() {
    for n in [1, 2, 10, 1_000, 1_000_000, 1_000_000_000_000] {
        for fpr in [0.5, 0.1, 0.01, 1e-4, 1e-9] {
            let found = size(n, fpr).unwrap();
            let here = fpr_exact(found.bits, n, found.probes).unwrap();
            assert!(here <= fpr, "{n} {fpr} {found:?}");
            let asymptotic = bits(n, fpr).unwrap();
            assert!(found.bits >= asymptotic, "{n} {fpr} {found:?}");
            // Whole probes and the finite size cost little, and the less the more keys there are.
            let slack = asymptotic as f64 * 1.09 + 40.0;
            assert!((found.bits as f64) < slack, "{n} {fpr} {found:?}");
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn no_smaller_filter_would_do() {
    for (n, fpr) in [(1, 0.3), (3, 0.05), (20, 0.01), (500, 0.001)] {
        let found = size(n, fpr).unwrap();
        for k in 1..=30 {
            assert!(fpr_exact(found.bits - 1, n, k).unwrap() > fpr, "{n} {k}");
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn extreme_sizes_keep_the_fpr() {
    for n in [1, 2, 33, 1_000, 1_000_000_000, 1_000_000_000_000, 1 << 56] {
        for fpr in [2.8e-20, 1e-15, 1e-10, 0.5, 0.999] {
            if let Ok(BloomSize { bits, probes }) = size(n, fpr) {
                assert!(mean_fpr(bits, n, probes) <= fpr * (1.0 + 1e-9), "{n} {fpr}");
            }
        }
    }
    assert_eq!(size(1, 1e-300).unwrap_err().parameter, "fpr");
}

#[test]
fn bad_parameters_are_named() {
    let parameter = |error: ParameterError| error.parameter;
    assert_eq!(fpr(0, 1, 1).map_err(parameter), Err("m"));
    assert_eq!(fpr(1, 1, 0).map_err(parameter), Err("k"));
    assert_eq!(fpr_bound(1, 1, 1).map_err(parameter), Err("m"));
    assert_eq!(fpr_exact(1, 1, 256).map_err(parameter), Err("k"));
    assert_eq!(best_probes(8, 0).map_err(parameter), Err("n"));
    for bad in [0.0, 1.0, -1.0, f64::NAN] {
        assert_eq!(bits(1, bad).map_err(parameter), Err("fpr"));
        assert_eq!(size(1, bad).map_err(parameter), Err("fpr"));
    }
    assert_eq!(size(0, 0.1).map_err(parameter), Err("n"));
    assert_eq!(size(u64::MAX, 0.01).map_err(parameter), Err("size in bits"));
    assert_eq!(bits(u64::MAX, 0.01).map_err(parameter), Err("size in bits"));
}

proptest! {
    #[test]
    fn the_exact_rate_lies_between_the_textbook_and_the_bound(
        m in 2u64..2_000, n in 1u64..500, k in 1u32..20,
    ) {
        let exact = fpr_exact(m, n, k).unwrap();
        let throws = (n * u64::from(k)) as f64;
        let clear = (throws * (-1.0 / m as f64).ln_1p()).exp();
        let textbook = (1.0 - clear).powi(k as i32);
        prop_assert!(exact >= textbook * (1.0 - 1e-9));
        prop_assert!(exact >= fpr(m, n, k).unwrap() * (1.0 - 1e-9));
        prop_assert!(exact <= fpr_bound(m, n, k).unwrap() * (1.0 + 1e-9));
    }

    #[test]
    fn more_bits_and_fewer_keys_err_less(m in 2u64..10_000, n in 1u64..1_000, k in 1u32..12) {
        let here = fpr_exact(m, n, k).unwrap();
        prop_assert!(fpr_exact(m + 1, n, k).unwrap() <= here * (1.0 + 1e-12));
        prop_assert!(fpr_exact(m, n - 1, k).unwrap() <= here * (1.0 + 1e-12));
    }
}
