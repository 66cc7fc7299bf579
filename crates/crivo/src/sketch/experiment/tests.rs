use super::*;

/// Bins of a tenth.
fn tenths() -> Vec<(f64, f64)> {
    (0..10).map(|bin| (f64::from(bin) / 10.0, f64::from(bin + 1) / 10.0)).collect()
}

/// Holds every bin to its curve within half a percentage point.
///
/// With 150,000 pairs a standard error is at most 0.129 points, so that a bin of a right curve fails
/// with a probability of at most 1.1e-4, and mostly far less.
fn lies_on_its_curve(setup: &Setup, bins: &[(f64, f64)]) {
    lies_within(0.005, setup, bins);
}

fn lies_within(tolerance: f64, setup: &Setup, bins: &[(f64, f64)]) {
    assert!(setup.pairs >= 150_000);
    for row in candidate_rates(setup, bins).unwrap() {
        let off = row.observed() - row.expected;
        assert!(off.abs() < tolerance, "{:?}: {row:?} is off by {off}", setup.sketcher);
    }
}

/// Ten bins, of which eight are far from ½: the chance of failing is below 3e-4.
#[test]
fn classic_signatures_lie_on_the_s_curve() {
    let setup = Setup { union: 18..=22, ..Setup::classic(8, 4).unwrap() };
    lies_on_its_curve(&setup, &tenths());
}

/// Two unions and four widths, three bins each: the chance of failing is below 18 · 1.1e-4.
#[test]
fn other_forms_lie_on_their_own_curves() {
    // Many elements for each bin, and about one, so that a quarter of the bins borrow.
    let bins = [(0.3, 0.35), (0.5, 0.55), (0.7, 0.75)];
    for union in [256, 40] {
        lies_on_its_curve(&Setup::one_permutation(8, 4, union).unwrap(), &bins);
    }
    // Half of the bins borrow, always in the same order, of which the curve is the mean: six
    // random orders in a simulation were up to 1.6 points off.
    lies_within(0.02, &Setup::one_permutation(8, 4, 20).unwrap(), &bins);
    for (bits, rows) in [(1, 8), (2, 6), (4, 4), (8, 4)] {
        let bits = SignatureBits::new(bits).unwrap();
        let setup = Setup { union: 20..=20, ..Setup::classic(8, rows).unwrap() };
        lies_on_its_curve(&setup.shortened(bits), &bins);
    }
}

/// The whole of it: twenty bins, 20 bands of 5, larger sets, and values cut short in bins.
#[test]
#[ignore = "takes minutes"]
fn every_form_lies_on_its_curve_in_twenty_bins() {
    let twentieths: Vec<_> =
        (0..20).map(|bin| (f64::from(bin) / 20.0, f64::from(bin + 1) / 20.0)).collect();
    lies_on_its_curve(&Setup::classic(20, 5).unwrap(), &twentieths);
    lies_on_its_curve(&Setup::one_permutation(20, 5, 1_000).unwrap(), &twentieths);
    lies_within(0.02, &Setup::one_permutation(20, 5, 100).unwrap(), &twentieths);
    let short = SignatureBits::new(4).unwrap();
    lies_on_its_curve(&Setup::classic(20, 5).unwrap().shortened(short), &twentieths);
}

/// Means within five standard errors, of 24 (6e-7 each), and deviations as stated within 5%: the
/// deviation of 20,000 nearly normal estimates has a relative error of 0.5%.
#[test]
fn estimates_are_unbiased_and_err_as_they_say() {
    let setups = [
        Setup::classic(16, 4).unwrap(),
        Setup::classic(16, 8).unwrap().shortened(SignatureBits::new(1).unwrap()),
        Setup::classic(16, 4).unwrap().shortened(SignatureBits::new(4).unwrap()),
        Setup::one_permutation(16, 4, 1_000).unwrap(),
        Setup::one_permutation(16, 4, 60).unwrap(),
        Setup::one_permutation(16, 4, 20).unwrap(),
    ];
    for setup in setups {
        let setup = Setup { pairs: 20_000, ..setup };
        let union = *setup.union.end();
        let commons = [union / 5, union / 2, union * 9 / 10, union];
        for row in estimate_quality(&setup, &commons).unwrap() {
            let error_of_mean = row.deviation / (row.pairs as f64).sqrt();
            assert!((row.mean - row.similarity).abs() <= 5.0 * error_of_mean + 1e-12, "{row:?}");
            let ratio = row.stated_error / row.deviation;
            assert!(row.deviation == 0.0 || (0.95..1.05).contains(&ratio), "{setup:?} {row:?}");
            if setup.sketcher.form() == Form::Classic && row.deviation > 0.0 {
                let ratio = row.expected_error / row.deviation;
                assert!((0.97..1.03).contains(&ratio), "{setup:?} {row:?}");
            }
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_rows() {
    let setup = Setup { pairs: 500, ..Setup::classic(4, 2).unwrap() };
    let bins = tenths();
    assert_eq!(candidate_rates(&setup, &bins), candidate_rates(&setup, &bins));
    let other = Setup { seed: 2, ..setup.clone() };
    assert_ne!(candidate_rates(&setup, &bins), candidate_rates(&other, &bins));
}

#[test]
fn setups_that_make_no_sense_are_refused() {
    let setup = Setup::classic(4, 2).unwrap();
    let parameter = |setup: Setup, bin| candidate_rates(&setup, &[bin]).unwrap_err().parameter;
    assert_eq!(parameter(Setup { pairs: 0, ..setup.clone() }, (0.0, 1.0)), "pairs");
    assert_eq!(parameter(Setup { union: 1..=5, ..setup.clone() }, (0.0, 1.0)), "union");
    assert_eq!(parameter(setup.clone(), (0.5, 0.5)), "bin");
    let long = Setup { sketcher: Sketcher::classic(7).unwrap(), ..setup.clone() };
    assert_eq!(parameter(long, (0.0, 1.0)), "bands × rows");
    assert!(estimate_quality(&setup, &[61]).is_err());
}
