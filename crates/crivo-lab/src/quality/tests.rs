//! Good families pass, bad functions fail for the right reason, and p-values are what they claim.
//!
//! Keys and seeds are fixed, so that each outcome is the same in every run. Where a test could
//! have failed by chance when it was written, it says how likely that was.

use std::collections::BTreeSet;

use crivo::hash::Family;
use crivo::{Digest, KeyHasher};
use proptest::prelude::*;

use super::*;

/// The families of keys that a filter's default hash must pass with.
#[path = "../../../crivo/tests/structured/families.rs"]
mod families;

/// With 100,000 keys: 100 expected in a bin, 1,000 in a cell, and almost no false alarms.
const STRICT: QualityPlan = QualityPlan { bins: 1000, joint_bins: 10, alpha: 1e-6 };

fn decimal_strings(count: u32) -> Vec<String> {
    (0..count).map(|key| key.to_string()).collect()
}

/// Distinct words of 1 to 24 small letters.
fn random_strings(count: usize) -> Vec<String> {
    let mut state = Digest::new(2015);
    let mut next = |bound| {
        state = state.remix();
        crivo::hash::reduce(state.get(), bound)
    };
    let mut words = BTreeSet::new();
    while words.len() < count {
        let length = 1 + next(24);
        words.insert((0..length).map(|_| (b'a' + next(26) as u8) as char).collect());
    }
    words.into_iter().collect()
}

fn members(family: Family, count: u64) -> Vec<KeyHasher> {
    (0..count).map(|seed| family.with_seed(seed)).collect()
}

/// Two functions of a counter: the default hash, and what `second` makes of its digest and key.
fn linked(second: impl Fn(u64, u64) -> u64, key_count: u64) -> DigestTable {
    let hash = |key: &u64| KeyHasher::default().digest(key);
    let linked = |key: &u64| Digest::new(second(hash(key).get(), *key));
    let functions: [&dyn Fn(&u64) -> Digest; 2] = [&hash, &linked];
    DigestTable::new(&functions, 0..key_count).unwrap()
}

/// Two functions whose digests are given.
fn table_of_digests(rows: impl IntoIterator<Item = [u64; 2]>) -> DigestTable {
    let functions = [0, 1].map(|column| move |row: &[u64; 2]| Digest::new(row[column]));
    DigestTable::new(&functions, rows).unwrap()
}

/// Tables of perfect functions, as far as anyone knows, each over keys of its own.
fn perfect_tables(
    functions: u64,
    key_count: u64,
    table_count: u64,
) -> impl Iterator<Item = DigestTable> {
    let hashers = members(Family::Sip24, functions);
    (0..table_count).map(move |table| {
        let keys = table * key_count..(table + 1) * key_count;
        DigestTable::of_hashers(&hashers, keys).unwrap()
    })
}

fn failing(assessment: &Assessment) -> Vec<Hypothesis> {
    let failures = assessment.verdict.failures();
    failures.map(|comparison| comparison.hypothesis).collect()
}

/// Fourteen assessments, of ten functions or one, each with a false alarm in 1e-6: 1.4e-5 for the test.
#[test]
fn every_family_passes() {
    let (decimal, random) = (decimal_strings(100_000), random_strings(100_000));
    for family in Family::ALL {
        let functions = members(family, if family.is_seeded() { 10 } else { 1 });
        for keys in [&decimal, &random] {
            let table = DigestTable::of_hashers(&functions, keys).unwrap();
            let assessment = table.assess(STRICT).unwrap();
            assert!(assessment.verdict.passes(), "{family}: {}", assessment.verdict);
        }
    }
}

/// Keys as programs have them: those with which the default family must give filters their FPR, too.
/// Each function is there a second time with the halves of its digests exchanged, since the tests look at
/// the first bits; and so the two halves are compared with each other.
///
/// 90 assessments, each with a false alarm in 1e-7: 9.0e-6 for the test. The probability for all that the
/// default family must pass is in `structured/mod.rs`, beside the families.
#[test]
fn the_default_family_and_xxh3_pass_with_keys_as_programs_have_them() {
    let plan = QualityPlan { alpha: 1e-7, ..STRICT };
    for (name, key) in families::FAMILIES {
        let keys: Vec<Vec<u8>> = (0..100_000).map(key).collect();
        for family in [Family::Fold64, Family::Xxh3] {
            let functions: Vec<_> = members(family, 4)
                .into_iter()
                .flat_map(|hasher| [0, 32].map(|turn| (hasher, turn)))
                .map(|(hasher, turn)| {
                    move |key: &&Vec<u8>| {
                        Digest::new(hasher.digest(&key[..]).get().rotate_left(turn))
                    }
                })
                .collect();
            let table = DigestTable::new(&functions, &keys).unwrap();
            let assessment = table.assess(plan).unwrap();
            assert!(assessment.verdict.passes(), "{family}, {name}: {}", assessment.verdict);
        }
    }
}

/// One folded multiplication of a counter: too even.
#[test]
fn a_single_folded_multiplication_fails_with_a_counter() {
    let fold = |key: &u64| {
        let product = u128::from(*key) * 0x9216_d5d9_8979_fb1b;
        Digest::new(product as u64 ^ (product >> 64) as u64)
    };
    let table = DigestTable::new(&[fold], 0..100_000).unwrap();
    assert_eq!(failing(&table.assess(STRICT).unwrap()), [Hypothesis::Uniform(0)]);
}

#[test]
fn a_function_given_twice_is_noticed() {
    let twins = [KeyHasher::farm_fingerprint(); 2];
    let table = DigestTable::of_hashers(&twins, 0..100_000u32).unwrap();
    let assessment = table.assess(STRICT).unwrap();
    assert_eq!(
        failing(&assessment),
        [Hypothesis::Uncorrelated(0, 1), Hypothesis::Independent(0, 1)]
    );
    assert!((assessment.correlation.largest() - 1.0).abs() < 1e-9);
}

#[test]
fn missing_bits_fail_uniformity_only() {
    for kept in [0xff00_0000_0000_0000, u64::MAX >> 1, u64::MAX >> 8] {
        let other = KeyHasher::xxh3(1);
        let table = linked(|_, key| other.digest(&key).get() & kept, 100_000);
        let assessment = table.assess(STRICT).unwrap();
        assert_eq!(failing(&assessment), [Hypothesis::Uniform(1)], "{kept:#018x}");
        assert!(assessment.uniformity[1].test.p_uneven < 1e-100);
    }
}

/// The limit that the documentation admits, and its remedy.
#[test]
fn missing_low_bits_show_only_when_rotated_up() {
    let other = KeyHasher::xxh3(1);
    let truncated = move |key: u64| other.digest(&key).get() & !0xffff_ffff;
    let table = linked(|_, key| truncated(key), 100_000);
    assert!(table.assess(STRICT).unwrap().verdict.passes());
    let table = linked(|_, key| truncated(key).rotate_left(32), 100_000);
    assert!(!table.assess(STRICT).unwrap().verdict.passes());
}

/// x and x + c mod 1 have r = 1 − 6c(1 − c), which is 0 for c = (3 − √3)/6: correlation is blind
/// there, and independence is not.
#[test]
fn a_constant_apart_is_dependent_even_where_it_is_uncorrelated() {
    let apart = |c: f64| {
        let constant = (c * 2f64.powi(64)) as u64;
        let table = linked(|digest, _| digest.wrapping_add(constant), 100_000);
        table.assess(STRICT).unwrap()
    };
    let both = [Hypothesis::Uncorrelated(0, 1), Hypothesis::Independent(0, 1)];
    for c in [1e-9, 0.1, 0.5] {
        let assessment = apart(c);
        assert_eq!(failing(&assessment), both, "{c}");
        // The standard deviation of r is below 1/√n = 0.0032: six of them.
        let coefficient = assessment.correlation.matrix[0][1];
        let theory = 1.0 - 6.0 * c * (1.0 - c);
        assert!((coefficient - theory).abs() < 0.019, "{c}: {coefficient}");
    }
    let blind = apart((3.0 - 3f64.sqrt()) / 6.0);
    assert_eq!(failing(&blind), both[1..]);
}

#[test]
fn the_sum_of_bytes_fails_every_check() {
    let sum = |key: &String| key.bytes().map(u64::from).sum::<u64>();
    let keys = decimal_strings(100_000);

    // As it is, all the keys of each function share one bin: nothing is left to be dependent.
    let seeded = [0, 1, 2].map(|seed| move |key: &String| Digest::new(sum(key) + seed));
    let table = DigestTable::new(&seeded, keys.clone()).unwrap();
    let assessment = table.assess(STRICT).unwrap();
    assert_eq!(failing(&assessment).len(), 3 + 3);
    assert_eq!(assessment.independence[0].test.degrees_of_freedom, 0);
    assert_eq!(assessment.independence[0].test.p_value(), 1.0);

    // Spread over the range by odd multipliers it is lumpy, and so is each pair.
    let spread = [0x9e37_79b9_7f4a_7c15, 0xbf58_476d_1ce4_e5b9]
        .map(|odd: u64| move |key: &String| Digest::new(sum(key).wrapping_mul(odd)));
    let table = DigestTable::new(&spread, keys).unwrap();
    let failing = failing(&table.assess(STRICT).unwrap());
    for hypothesis in
        [Hypothesis::Uniform(0), Hypothesis::Uniform(1), Hypothesis::Independent(0, 1)]
    {
        assert!(failing.contains(&hypothesis), "{hypothesis}: {failing:?}");
    }
}

/// Every twentieth key has the same digest under both functions: r = 0.05, 16 standard deviations.
#[test]
fn a_weak_link_is_found() {
    let other = KeyHasher::xxh3(1);
    let table = linked(
        |digest, key| match key % 20 {
            0 => digest,
            _ => other.digest(&key).get(),
        },
        100_000,
    );
    let failing = failing(&table.assess(STRICT).unwrap());
    assert_eq!(failing, [Hypothesis::Uncorrelated(0, 1), Hypothesis::Independent(0, 1)]);
}

#[test]
fn a_counter_is_too_even() {
    let table = linked(|_, key| key * (u64::MAX / 100_000), 100_000);
    let assessment = table.assess(STRICT).unwrap();
    assert_eq!(failing(&assessment), [Hypothesis::Uniform(1)]);
    let test = assessment.uniformity[1].test;
    assert!(test.p_even < 1e-100 && test.p_uneven > 0.999, "{test:?}");
}

#[test]
fn a_full_grid_is_too_even() {
    let digit = |place: u64| move |key: &u64| Digest::new(key / place % 10 * (u64::MAX / 9));
    let table = DigestTable::new(&[digit(1), digit(10)], 0..10_000).unwrap();
    let test = table.independence(10).unwrap()[0].test;
    assert!(test.p_even < 1e-100 && test.p_value() < 1e-100, "{test:?}");
}

#[test]
fn a_constant_function_gives_numbers_and_fails() {
    let table = linked(|_, _| u64::MAX / 3, 1_000);
    let assessment = table.assess(QualityPlan::default()).unwrap();
    assert_eq!(failing(&assessment), [Hypothesis::Uniform(1)]);
    assert_eq!(assessment.correlation.matrix[0][1], 0.0);
}

/// Correlation does not depend on where in the 64 bits the values lie.
#[test]
fn correlation_sees_the_lowest_bits() {
    let high = 0xffff_ffff_0000_0000;
    let table = linked(|digest, _| high | digest >> 56, 1_000);
    assert!(table.correlation().unwrap().matrix[0][1] > 0.99);
}

#[test]
fn the_worked_example() {
    let bins = [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3u64];
    let table = DigestTable::new(&[|bin: &u64| Digest::new(bin << 62)], bins).unwrap();
    let uniformity = &table.uniformity(4).unwrap()[0];
    assert_eq!(uniformity.histogram, [8, 4, 4, 4]);
    assert!((uniformity.test.statistic - 2.4).abs() < 1e-12);
    assert_eq!(uniformity.test.degrees_of_freedom, 3);
    assert!((uniformity.test.p_uneven - 0.493_634_6).abs() < 1e-7);
}

/// Counts 40, 10, 20, 30 by hand: expected 30, 20, 30, 20, so that chi-square is 50/3; the
/// joint frequencies lie 0.1 from the product of the marginals in every cell.
#[test]
fn a_joint_histogram_worked_by_hand() {
    let cells = [(0, 0, 40), (0, 1, 10), (1, 0, 20), (1, 1, 30)];
    let table = table_of_digests(
        cells.iter().flat_map(|&(row, column, count)| vec![[row << 63, column << 63]; count]),
    );
    let independence = &table.independence(2).unwrap()[0];
    assert_eq!(independence.joint, [[40, 10], [20, 30]]);
    assert_eq!(independence.test.degrees_of_freedom, 1);
    assert!((independence.test.statistic - 50.0 / 3.0).abs() < 1e-12);
    assert!((independence.mean_deviation() - 0.1).abs() < 1e-12);
    assert!((independence.deviations()[0][1] + 0.1).abs() < 1e-12);
    // For two columns of zeros and ones r² is chi-square / n.
    let r = table.correlation().unwrap().matrix[0][1];
    assert!((r * r - 1.0 / 6.0).abs() < 1e-12);
}

/// Upper percentage points as printed in the NIST/SEMATECH e-Handbook of Statistical Methods,
/// section 1.3.6.7.4, to three decimals; and far tails of large tables from SciPy.
#[test]
fn chi_square_agrees_with_published_tables() {
    for (degrees_of_freedom, points) in [
        (1, [2.706, 3.841, 6.635, 10.828]),
        (5, [9.236, 11.070, 15.086, 20.515]),
        (10, [15.987, 18.307, 23.209, 29.588]),
        (50, [63.167, 67.505, 76.154, 86.661]),
        (100, [118.498, 124.342, 135.807, 149.449]),
    ] {
        for (point, p) in points.into_iter().zip([0.1, 0.05, 0.01, 0.001]) {
            let test = ChiSquare::new(point, degrees_of_freedom);
            let relative = test.p_uneven / p - 1.0;
            assert!(relative.abs() < 1e-3, "{degrees_of_freedom}, {p}: {test:?}");
            assert!((test.p_uneven + test.p_even - 1.0).abs() < 1e-12);
        }
    }
    for (statistic, degrees_of_freedom, uneven) in [
        (176.391_860_037_086_6, 99, 2.805_994_576_962_911e-6),
        (1_244.844_463_024_897, 999, 1.536_761_980_924_471e-7),
        (10_776.778_567_459_916, 9_999, 3.975_925_021_763_885e-8),
    ] {
        let test = ChiSquare::new(statistic, degrees_of_freedom);
        assert!((test.p_uneven / uneven - 1.0).abs() < 1e-9, "{test:?}");
    }
    let test = ChiSquare::new(9_291.928_575_036_44, 9_999);
    assert!((test.p_even / 1.542_093_785_910_385e-7 - 1.0).abs() < 1e-9);
}

/// 1 − (1 − 0.001565)^45, the p-value being that of 3.1624 standard deviations.
#[test]
fn a_limit_of_one_hundredth_fails_perfect_families_in_seven_percent() {
    let probability = probability_of_correlation_above(0.01, 100_000, 45).unwrap();
    assert!((probability - 0.068_058).abs() < 1e-6, "{probability}");
}

/// The same by simulation, with fewer keys and the limit that goes with them. The share of 5,000
/// families has a standard deviation of 0.0035: six of them are 2e-9.
#[test]
fn the_probability_of_a_large_coefficient_is_that_of_simulation() {
    let limit = correlation_threshold(0.07, 400, 45).unwrap();
    let probability = probability_of_correlation_above(limit, 400, 45).unwrap();
    let above = perfect_tables(10, 400, 5_000)
        .filter(|table| table.correlation().unwrap().largest() >= limit)
        .count();
    let share = above as f64 / 5_000.0;
    assert!((share - probability).abs() < 0.021, "{share}, not {probability}");
}

/// p-values of perfect functions are uniform. Each of the three histograms of 4,000 p-values
/// fails by chance in 1e-6.
#[test]
fn under_the_null_p_values_are_uniform() {
    let mut histograms = [[0u64; 20]; 3];
    for table in perfect_tables(2, 1_000, 4_000) {
        let p_values = [
            table.uniformity(20).unwrap()[0].test.p_value(),
            table.correlation().unwrap().outcomes().next().unwrap().1,
            table.independence(5).unwrap()[0].test.p_value(),
        ];
        for (histogram, p_value) in histograms.iter_mut().zip(p_values) {
            histogram[((p_value * 20.0) as usize).min(19)] += 1;
        }
    }
    for histogram in histograms {
        let test = ChiSquare::of_counts(histogram.into_iter().map(|count| (count, 200.0)), 19);
        assert!(test.p_uneven > 1e-6, "{histogram:?}");
    }
}

/// A perfect family is failed with a probability of at most alpha, and not much less. Of 1,000
/// verdicts at 10%, about 100 are expected with a deviation of 9.5; five of them are 3e-7.
#[test]
fn the_family_wise_level_is_kept() {
    let plan = QualityPlan { bins: 20, joint_bins: 4, alpha: 0.1 };
    let failures = perfect_tables(4, 1_000, 1_000)
        .filter(|table| !table.assess(plan).unwrap().verdict.passes())
        .count();
    assert!((50..148).contains(&failures), "{failures}");
}

/// The mean over all cells of 45 pairs scatters by 1.3% at most: 10% is far beyond chance.
#[test]
fn deviations_are_those_of_chance() {
    let table = DigestTable::of_hashers(&members(Family::Farm, 10), 0..100_000u32).unwrap();
    for bins in [10, 30] {
        let independence = table.independence(bins).unwrap();
        let sum: f64 = independence.iter().map(Independence::mean_deviation).sum();
        let expected = expected_mean_deviation(100_000, bins).unwrap();
        let ratio = sum / independence.len() as f64 / expected;
        assert!((ratio - 1.0).abs() < 0.1, "{bins} bins: {ratio}");
    }
}

#[test]
fn sparse_bins_are_merged() {
    // The second function puts 99 of 100 keys into its first ten bins. The other ten, with five
    // keys each, are too sparse even together: they join the tenth.
    let table = linked(|digest, key| digest.rotate_left(32) >> u32::from(key % 100 != 0), 10_000);
    let independence = &table.independence(20).unwrap()[0];
    assert_eq!(independence.test.degrees_of_freedom, 19 * 9);
    assert!(independence.test.p_value() > 1e-6);
}

#[test]
fn verdicts_are_sentences() {
    let verdict = |outcomes: &[(Hypothesis, f64)]| {
        let verdict = QualityVerdict::new(outcomes.iter().copied(), 0.01).unwrap();
        verdict.to_string()
    };
    assert_eq!(
        verdict(&[(Hypothesis::Uniform(0), 0.42)]),
        "no failure in 1 comparison at a family-wise level of 0.01; the worst is the uniformity \
         of function 0, with an adjusted p-value of 0.420"
    );
    assert_eq!(
        verdict(&[(Hypothesis::Uncorrelated(0, 2), 1e-5), (Hypothesis::Independent(0, 2), 0.0)]),
        "2 of 2 comparisons fail at a family-wise level of 0.01; the worst is the independence of \
         functions 0 and 2, with an adjusted p-value below 1e-300"
    );
}

#[test]
fn bad_parameters_are_named() {
    let hashers = [KeyHasher::default()];
    let named = |error: ParameterError| (error.parameter, error.value);
    let table = |count: u32| DigestTable::of_hashers(&hashers, 0..count);
    assert_eq!(named(table(0).unwrap_err()), ("keys", "0".into()));
    let none = DigestTable::of_hashers(&[], 0..9u32).unwrap_err();
    assert_eq!(named(none), ("functions", "0".into()));

    let few = table(100).unwrap();
    for bins in [0, 1, 21, usize::MAX] {
        let error = few.uniformity(bins).unwrap_err();
        assert_eq!(named(error), ("bins", bins.to_string()));
    }
    assert!(few.uniformity(20).is_ok());
    for bins in [0, 1, 5, usize::MAX] {
        let error = few.independence(bins).unwrap_err();
        assert_eq!(named(error), ("bins", bins.to_string()));
        assert!(expected_mean_deviation(100, bins).is_err());
    }
    assert!(few.independence(4).is_ok());
    let three = table(3).unwrap().correlation().unwrap_err();
    assert_eq!(named(three), ("keys", "3".into()));

    let correlation = few.correlation().unwrap();
    let error = correlation_threshold(0.01, 100, 0).unwrap_err();
    assert_eq!(named(error), ("pairs", "0".into()));
    let error = QualityVerdict::new(correlation.outcomes(), 0.01).unwrap_err();
    assert_eq!(error.parameter, "comparisons");
    for alpha in [0.0, 1.0, -1.0, f64::NAN, f64::INFINITY] {
        let plan = QualityPlan { bins: 10, joint_bins: 2, alpha };
        assert_eq!(few.assess(plan).unwrap_err().parameter, "alpha");
        let error = correlation_threshold(alpha, 100, 1).unwrap_err();
        assert_eq!(error.parameter, "alpha");
        let error = probability_of_correlation_above(alpha, 100, 1).unwrap_err();
        assert_eq!(error.parameter, "limit");
    }
    for p_value in [-0.1, 1.1, f64::NAN] {
        assert_eq!(holm(&[0.5, p_value]).unwrap_err().parameter, "p_value");
    }
}

proptest! {
    #[test]
    fn holm_lies_between_the_p_values_and_bonferroni(
        p_values in prop::collection::vec(0.0..=1.0f64, 1..20),
    ) {
        let adjusted = holm(&p_values).unwrap();
        let count = p_values.len() as f64;
        for (p, adjusted) in p_values.iter().zip(&adjusted) {
            prop_assert!(p <= adjusted && *adjusted <= (p * count).min(1.0));
        }
        // The order is kept.
        for (a, b) in pairs(p_values.len()) {
            prop_assert!(p_values[a] > p_values[b] || adjusted[a] <= adjusted[b]);
        }
    }

    /// The threshold is where the first comparison fails, and its probability is alpha or a bit less.
    #[test]
    fn threshold_and_verdict_agree(
        alpha in 1e-6..0.9f64, key_count in 10usize..1_000_000, pair_count in 1usize..100,
    ) {
        let threshold = correlation_threshold(alpha, key_count, pair_count).unwrap();
        let probability = probability_of_correlation_above(threshold, key_count, pair_count).unwrap();
        let p = alpha / pair_count as f64;
        let expected = 1.0 - (1.0 - p).powi(pair_count as i32);
        prop_assert!((probability / expected - 1.0).abs() < 1e-6, "{} {}", probability, expected);
        prop_assert!(probability <= alpha * (1.0 + 1e-9));
    }

    #[test]
    fn any_digests_give_probabilities(
        rows in prop::collection::vec(any::<(u64, u8)>(), 50..200), shift in 0u32..64,
    ) {
        let table = table_of_digests(rows.iter().map(|row| [row.0 >> shift, row.1.into()]));
        let plan = QualityPlan { bins: 10, joint_bins: 3, alpha: 0.01 };
        // A verdict takes nothing but probabilities.
        let assessment = table.assess(plan).unwrap();
        prop_assert_eq!(assessment.verdict.comparisons.len(), 4);
    }
}
