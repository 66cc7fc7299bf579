use crivo_sketch::lender;

use super::*;

/// Bins of a tenth.
fn tenths() -> Vec<(f64, f64)> {
    (0..10).map(|bin| (f64::from(bin) / 10.0, f64::from(bin + 1) / 10.0)).collect()
}

/// Asserts that every bin is within half a percentage point of its curve.
///
/// With 150,000 pairs a standard error is at most 0.129 points, so that a bin fails by chance
/// with a probability of at most 1.1e-4, and mostly far less.
fn lies_on_its_curve(plan: &PairPlan, bins: &[(f64, f64)]) {
    lies_within(0.005, plan, bins);
}

fn lies_within(tolerance: f64, plan: &PairPlan, bins: &[(f64, f64)]) {
    assert!(plan.pairs >= 150_000);
    for row in candidate_rates(plan, bins).unwrap() {
        let off = row.observed() - row.theory;
        assert!(off.abs() < tolerance, "{:?}: {row:?} is off by {off}", plan.sketcher);
    }
}

/// Compares signatures in which many bins borrow with the curve for the order in which they search
/// for a lender, instead of the mean over all orders. All unions have the same size.
///
/// That curve has no practical formula: it is estimated from 600,000 draws of bins, without any
/// digest or signature. Both together have a standard error of at most
/// 0.145 points, so that half a point is exceeded with a probability of 5.6e-4 in a bin at worst.
fn lies_on_the_curve_of_its_order(plan: &PairPlan, bins: &[(f64, f64)]) {
    let (union, mut random) = (*plan.union.end(), Random::new(99));
    for &bin in bins {
        let shapes = PairShape::within(&plan.union, bin.0, bin.1).unwrap();
        for shape in shapes {
            let narrow = shape.similarity() - 1e-9..shape.similarity() + 1e-9;
            let row = candidate_rates(plan, &[(narrow.start, narrow.end)]).unwrap().remove(0);
            let draws = 600_000;
            let found = (0..draws)
                .filter(|_| draw_candidate(plan.banding, shape.common, union, &mut random))
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

/// Ten bins, of which eight are far from ½: the probability of failing is below 3e-4.
#[test]
fn classic_signatures_lie_on_the_s_curve() {
    let plan = PairPlan { union: 18..=22, ..PairPlan::classic(8, 4).unwrap() };
    lies_on_its_curve(&plan, &tenths());
}

/// Two unions and four widths, three bins each: the probability of failing is below 18 · 1.1e-4.
#[test]
fn other_forms_lie_on_their_own_curves() {
    // Many elements for each bin, and about one, so that a quarter of the bins borrow.
    let bins = [(0.3, 0.35), (0.5, 0.55), (0.7, 0.75)];
    for union in [256, 40] {
        lies_on_its_curve(&PairPlan::one_permutation(8, 4, union).unwrap(), &bins);
    }
    // Half of the bins borrow.
    lies_on_the_curve_of_its_order(&PairPlan::one_permutation(8, 4, 20).unwrap(), &bins);
    for (bits, rows) in [(1, 8), (2, 6), (4, 4), (8, 4)] {
        let bits = SignatureBits::new(bits).unwrap();
        let plan = PairPlan { union: 20..=20, ..PairPlan::classic(8, rows).unwrap() };
        lies_on_its_curve(&plan.shortened(bits), &bins);
    }
}

/// The long version: twenty bins, 20 bands of 5, larger sets, and values cut short in bins.
#[test]
#[ignore = "takes minutes"]
fn every_form_lies_on_its_curve_in_twenty_bins() {
    let twentieths: Vec<_> =
        (0..20).map(|bin| (f64::from(bin) / 20.0, f64::from(bin + 1) / 20.0)).collect();
    lies_on_its_curve(&PairPlan::classic(20, 5).unwrap(), &twentieths);
    lies_on_its_curve(&PairPlan::one_permutation(20, 5, 1_000).unwrap(), &twentieths);
    lies_within(0.02, &PairPlan::one_permutation(20, 5, 100).unwrap(), &twentieths);
    let short = SignatureBits::new(4).unwrap();
    lies_on_its_curve(&PairPlan::classic(20, 5).unwrap().shortened(short), &twentieths);
}

/// Means within five standard errors, of 24 (6e-7 each), and deviations as stated within 5%: the
/// deviation of 20,000 nearly normal estimates has a relative error of 0.5%.
#[test]
fn estimates_are_unbiased_and_state_their_error() {
    let plans = [
        PairPlan::classic(16, 4).unwrap(),
        PairPlan::classic(16, 8).unwrap().shortened(SignatureBits::new(1).unwrap()),
        PairPlan::classic(16, 4).unwrap().shortened(SignatureBits::new(4).unwrap()),
        PairPlan::one_permutation(16, 4, 1_000).unwrap(),
        PairPlan::one_permutation(16, 4, 60).unwrap(),
        PairPlan::one_permutation(16, 4, 20).unwrap(),
    ];
    for plan in plans {
        let plan = PairPlan { pairs: 20_000, ..plan };
        let union = *plan.union.end();
        let commons = [union / 5, union / 2, union * 9 / 10, union];
        for row in estimate_accuracy(&plan, &commons).unwrap() {
            let error_of_mean = row.deviation / (row.pairs as f64).sqrt();
            assert!((row.mean - row.similarity).abs() <= 5.0 * error_of_mean + 1e-12, "{row:?}");
            let ratio = row.stated_error / row.deviation;
            assert!(row.deviation == 0.0 || (0.95..1.05).contains(&ratio), "{plan:?} {row:?}");
            if plan.sketcher.form() == Form::Classic && row.deviation > 0.0 {
                let ratio = row.theory / row.deviation;
                assert!((0.97..1.03).contains(&ratio), "{plan:?} {row:?}");
            }
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_rows() {
    let plan = PairPlan { pairs: 500, ..PairPlan::classic(4, 2).unwrap() };
    let bins = tenths();
    assert_eq!(candidate_rates(&plan, &bins), candidate_rates(&plan, &bins));
    let other = PairPlan { seed: 2, ..plan.clone() };
    assert_ne!(candidate_rates(&plan, &bins), candidate_rates(&other, &bins));
}

#[test]
fn invalid_plans_are_rejected() {
    let plan = PairPlan::classic(4, 2).unwrap();
    let parameter = |plan: PairPlan, bin| candidate_rates(&plan, &[bin]).unwrap_err().parameter;
    assert_eq!(parameter(PairPlan { pairs: 0, ..plan.clone() }, (0.0, 1.0)), "pairs");
    assert_eq!(parameter(PairPlan { union: 1..=5, ..plan.clone() }, (0.0, 1.0)), "union");
    assert_eq!(parameter(plan.clone(), (0.5, 0.5)), "bin");
    let long = PairPlan { sketcher: Sketcher::classic(7).unwrap(), ..plan.clone() };
    assert_eq!(parameter(long, (0.0, 1.0)), "bands × rows");
    assert!(estimate_accuracy(&plan, &[61]).is_err());
}
