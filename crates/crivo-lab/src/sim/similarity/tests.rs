use super::*;
use crivo_sketch::lender;

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

/// Holds signatures of which many bins borrow to the curve of the order in which these look for a
/// lender, instead of the mean over all orders. The pairs have this union.
///
/// That curve has no formula that could be summed up: it is drawn, 600,000 times, from what theory
/// says of bins, without any digest or signature. Both together have a standard error of at most
/// 0.145 points, so that half a point is exceeded with a probability of 5.6e-4 in a bin at worst.
fn lies_on_the_curve_of_its_order(setup: &Setup, bins: &[(f64, f64)]) {
    let (union, mut random) = (*setup.union.end(), Random::new(99));
    for &bin in bins {
        let shapes = Shape::within(&setup.union, bin.0, bin.1).unwrap();
        for shape in shapes {
            let narrow = shape.similarity() - 1e-9..shape.similarity() + 1e-9;
            let row = candidate_rates(setup, &[(narrow.start, narrow.end)]).unwrap()[0];
            let draws = 600_000;
            let found = (0..draws)
                .filter(|_| draw_candidate(setup.banding, shape.common, union, &mut random))
                .count();
            let off = row.observed() - found as f64 / draws as f64;
            assert!(off.abs() < 0.005, "{row:?} is off by {off}");
        }
    }
}

/// Throws `union` balls into bins, of which `common` are common to both sets: the lowest of a bin is
/// the first that fell into it. Empty bins borrow; whether some band is all common then.
fn draw_candidate(banding: Banding, common: u64, union: u64, random: &mut Random) -> bool {
    let length = banding.value_count();
    let mut is_filled = vec![false; length as usize];
    let mut agrees = vec![false; length as usize];
    let (mut left_common, mut left) = (common, union);
    while left > 0 {
        let is_common = random.below(left) < left_common;
        left_common -= u64::from(is_common);
        left -= 1;
        let bin = random.below(u64::from(length)) as usize;
        if !is_filled[bin] {
            (is_filled[bin], agrees[bin]) = (true, is_common);
        }
    }
    let agrees_in = |bin: usize| match is_filled[bin] {
        true => agrees[bin],
        false => agrees[lender(bin as u64, &is_filled)],
    };
    let rows = banding.rows() as usize;
    (0..banding.bands() as usize).any(|band| (band * rows..(band + 1) * rows).all(agrees_in))
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
    // Half of the bins borrow.
    lies_on_the_curve_of_its_order(&Setup::one_permutation(8, 4, 20).unwrap(), &bins);
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
