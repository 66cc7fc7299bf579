//! Which pairs are worth comparing? Bands of rows, and a planner for them.
//!
//! A signature is cut into b bands of r values. Two sets are *candidates* if all values of any one
//! band agree: that is one lookup in a table for each band, not a comparison with every other set.
//!
//! ```text
//!   signature   3 1 4 1 5 9 2 6 5 3 5 8        a band agrees with probability s^r,
//!   bands       [3 1 4][1 5 9][2 6 5][3 5 8]   any of b with 1 − (1 − s^r)^b
//!
//!   P ▲ 1           ▁▄▇███                     The S-curve. Its steepest place lies near
//!     │            ▃                           s = (1/b)^(1/r); b and r move it, and
//!     │          ▁▆                            b·r makes it steep.
//!     └─────▁▁▂▃────────▶ s
//! ```
//!
//! The planner takes the steepest curve that the signature affords and that still has the wanted
//! recall at the threshold:
//!
//! ```
//! use crivo_sketch::Goal;
//!
//! let plan = Goal { max_values: 128, ..Goal::new(0.8, 0.95) }.plan()?;
//! assert_eq!((plan.banding.bands(), plan.banding.rows()), (13, 7));
//! assert!(plan.recall >= 0.95);                                 // of pairs just at the threshold
//! assert_eq!(format!("{:.3}", plan.false_positive_mass), "0.157"); // below it, and candidates
//! assert_eq!(format!("{:.4}", plan.false_negative_mass), "0.0012"); // above it, and missed
//! # Ok::<(), crivo_sketch::GoalError>(())
//! ```

use super::SignatureBits;
use super::sketcher::MAX_VALUES;
use crate::signature::Signature;
use crivo::ParameterError;
use crivo_core::check::{check_open_unit, check_range};

/// The minimum number of bits of a band: unrelated sets share one of b bits once in 2^b.
pub(super) const MIN_BAND_BITS: u32 = 8;

/// The number of bands of a signature, and the number of values of each.
///
/// ```
/// use crivo_sketch::Banding;
///
/// let banding = Banding::new(20, 5)?;
/// assert_eq!(banding.value_count(), 100);
/// assert_eq!(format!("{:.2}", banding.midpoint()), "0.51");
/// # Ok::<(), crivo::ParameterError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Banding {
    bands: u32,
    rows: u32,
}

impl Banding {
    /// `bands` bands of `rows` values each.
    ///
    /// ```
    /// use crivo_sketch::Banding;
    ///
    /// assert!(Banding::new(20, 5).is_ok());
    /// assert!(Banding::new(0, 5).is_err());
    /// ```
    ///
    /// # Errors
    /// If either is 0, or they need more than 4,096 values.
    pub fn new(bands: u32, rows: u32) -> Result<Self, ParameterError> {
        check_range("bands", bands, 1..=MAX_VALUES, "from 1 to 4096")?;
        check_range("rows", rows, 1..=MAX_VALUES / bands, "at least 1, at most 4096 over bands")?;
        Ok(Self { bands, rows })
    }

    /// The number of bands, b.
    ///
    /// ```
    /// assert_eq!(crivo_sketch::Banding::new(20, 5)?.bands(), 20);
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    pub fn bands(&self) -> u32 {
        self.bands
    }

    /// Whether some band of both signatures agrees: what the index looks up, without its tables.
    ///
    /// ```
    /// use crivo_sketch::{Banding, Sketcher};
    ///
    /// let (sketcher, banding) = (Sketcher::classic(100)?, Banding::new(20, 5)?);
    /// let of = |range| sketcher.sketch_keys::<u32>(range).expect("there are keys");
    /// assert!(banding.share_a_band(&of(0..1_000), &of(50..1_000)));
    /// assert!(!banding.share_a_band(&of(0..1_000), &of(1_000..2_000)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn share_a_band(&self, one: &Signature, other: &Signature) -> bool {
        let rows = self.rows() as usize;
        (0..self.bands() as usize).any(|band| {
            (band * rows..(band + 1) * rows).all(|index| one.value(index) == other.value(index))
        })
    }

    /// The number of values in a band, r.
    ///
    /// ```
    /// assert_eq!(crivo_sketch::Banding::new(20, 5)?.rows(), 5);
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    pub fn rows(&self) -> u32 {
        self.rows
    }

    /// The number of values of a signature that are used: b·r.
    ///
    /// ```
    /// assert_eq!(crivo_sketch::Banding::new(20, 5)?.value_count(), 100);
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    pub fn value_count(&self) -> u32 {
        self.bands * self.rows
    }

    /// The probability 1 − (1 − p^r)^b that two signatures become candidates, if each place agrees
    /// with probability p, independently of the others. For classic signatures with all their bits
    /// p is the similarity; otherwise it is [`SignatureBits::agreement`].
    ///
    /// ```
    /// use crivo_sketch::Banding;
    ///
    /// let banding = Banding::new(20, 5)?;
    /// assert_eq!(format!("{:.4}", banding.candidate_probability(0.8)), "0.9996");
    /// assert_eq!(format!("{:.4}", banding.candidate_probability(0.2)), "0.0064");
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    pub fn candidate_probability(&self, agreement: f64) -> f64 {
        -(f64::from(self.bands) * self.ln_band_differs(agreement)).exp_m1()
    }

    /// The probability p at which half of the pairs are candidates.
    ///
    /// ```
    /// let banding = crivo_sketch::Banding::new(20, 5)?;
    /// assert!((banding.candidate_probability(banding.midpoint()) - 0.5).abs() < 1e-9);
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    pub fn midpoint(&self) -> f64 {
        let band = -(0.5f64.ln() / f64::from(self.bands)).exp_m1();
        band.powf(1.0 / f64::from(self.rows))
    }

    fn ln_band_differs(&self, agreement: f64) -> f64 {
        (-agreement.powi(self.rows as i32)).ln_1p()
    }
}

/// The requirements on bands.
///
/// ```
/// use crivo_sketch::Goal;
///
/// // Of pairs that are 80% similar, find 95%, with at most 64 values.
/// let plan = Goal { max_values: 64, ..Goal::new(0.8, 0.95) }.plan()?;
/// assert!(plan.banding.value_count() <= 64);
/// assert!(plan.banding.candidate_probability(0.8) >= 0.95);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Goal {
    /// Pairs with at least this similarity should be found.
    pub threshold: f64,
    /// The fraction of pairs exactly at the threshold that must become candidates; for more similar
    /// pairs it is higher.
    pub recall: f64,
    /// The maximum number of values of a signature.
    pub max_values: u32,
    /// The number of bits of each value.
    pub bits: SignatureBits,
}

/// Why there are no bands for a [`Goal`].
///
/// ```
/// use crivo_sketch::Goal;
///
/// // A single value cannot do it.
/// assert!(Goal { max_values: 1, ..Goal::new(0.5, 0.99) }.plan().is_err());
/// ```
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum GoalError {
    /// A number is out of range.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    /// No bands of that many values have the recall at the threshold.
    #[error(
        "no bands of at most {max_values} values have this recall at this threshold; allow more values, raise the threshold or lower the recall"
    )]
    OutOfReach {
        /// The maximum number of values.
        max_values: u32,
    },
}

impl Goal {
    /// Requirements for signatures of up to 256 whole values.
    ///
    /// ```
    /// let goal = crivo_sketch::Goal::new(0.8, 0.95);
    /// assert_eq!((goal.threshold, goal.recall, goal.max_values), (0.8, 0.95, 256));
    /// ```
    pub const fn new(threshold: f64, recall: f64) -> Self {
        Self { threshold, recall, max_values: 256, bits: SignatureBits::ALL }
    }

    /// The bands that reach the goal with the fewest false candidates. Of equals, the fewest values.
    ///
    /// For every r the minimum b that has the recall is considered.
    ///
    /// ```
    /// let plan = crivo_sketch::Goal::new(0.8, 0.95).plan()?;
    /// assert!(plan.banding.candidate_probability(0.8) >= 0.95);
    /// assert!(plan.banding.candidate_probability(0.3) < 0.001);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the threshold is not above 0 and at most 1, the recall is not strictly between 0 and 1,
    /// or no bands within `max_values` reach it.
    pub fn plan(&self) -> Result<BandingPlan, GoalError> {
        let Self { threshold, recall, max_values, bits } = *self;
        if !(threshold > 0.0 && threshold <= 1.0) {
            let error = ParameterError::of_real("threshold", threshold, "above 0 and at most 1");
            return Err(error.into());
        }
        check_open_unit("recall", recall)?;
        check_range("max values", max_values, 1..=MAX_VALUES, "from 1 to 4096")?;
        let min_rows = MIN_BAND_BITS.div_ceil(bits.get());
        (min_rows..=max_values)
            .map_while(|rows| self.min_bands(rows))
            .map(|banding| self.assess(banding))
            .min_by(|a, b| a.false_positive_mass.total_cmp(&b.false_positive_mass))
            .ok_or(GoalError::OutOfReach { max_values })
    }

    /// The minimum number of bands of `rows` values that have the recall, if there are enough values.
    /// The more rows, the more values it takes.
    fn min_bands(&self, rows: u32) -> Option<Banding> {
        let one = Banding { bands: 1, rows };
        let agreement = self.bits.agreement(self.threshold);
        let needed = (-self.recall).ln_1p() / one.ln_band_differs(agreement);
        let most = self.max_values / rows;
        // Rounding may leave it just short of the recall.
        let enough =
            |&bands: &u32| Banding { bands, rows }.candidate_probability(agreement) >= self.recall;
        let start = (needed.ceil() as u32).max(1);
        (start..=most.min(start.saturating_add(1)))
            .find(enough)
            .map(|bands| Banding { bands, rows })
    }

    /// What to expect of these bands, whether or not they reach the goal.
    ///
    /// ```
    /// use crivo_sketch::{Banding, Goal};
    ///
    /// let expected = Goal::new(0.5, 0.9).assess(Banding::new(20, 5)?);
    /// assert!(expected.recall < 0.5); // too strict for this goal
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    pub fn assess(&self, banding: Banding) -> BandingPlan {
        let candidate = |s: f64| banding.candidate_probability(self.bits.agreement(s));
        let threshold = self.threshold.clamp(0.0, 1.0);
        BandingPlan {
            banding,
            recall: candidate(threshold),
            unrelated: candidate(0.0),
            false_positive_mass: integral(0.0, threshold, candidate),
            false_negative_mass: integral(threshold, 1.0, |s| 1.0 - candidate(s)),
        }
    }
}

/// Bands, and what to expect of them by the S-curve.
///
/// A *mass* is the fraction of all pairs, if pairs of every similarity from 0 to 1 were equally
/// frequent: an area under the curve. In most collections nearly all pairs are unrelated, so that
/// the number of false candidates is mainly [`unrelated`](Self::unrelated) times the number of pairs.
///
/// ```
/// use crivo_sketch::{Banding, Goal};
///
/// let goal = Goal::new(0.8, 0.95);
/// let best = goal.plan()?;
/// assert_eq!(goal.assess(best.banding), best);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct BandingPlan {
    /// The bands.
    pub banding: Banding,
    /// The probability that a pair just at the threshold becomes a candidate.
    pub recall: f64,
    /// The probability that a pair with nothing in common becomes one: 0 unless values are cut
    /// short.
    pub unrelated: f64,
    /// ∫ P(s) ds from 0 to the threshold: candidates that should be none.
    pub false_positive_mass: f64,
    /// ∫ (1 − P(s)) ds from the threshold to 1: pairs that are missed.
    pub false_negative_mass: f64,
}

/// ∫ of a smooth function, by Simpson's rule with enough steps that an S-curve of 4,096 values is
/// right to six digits.
fn integral(from: f64, to: f64, function: impl Fn(f64) -> f64) -> f64 {
    const STEPS: u32 = 2_048;
    let step = (to - from) / f64::from(STEPS);
    let weighted = |i: u32| {
        let weight = match i {
            0 | STEPS => 1.0,
            odd if odd % 2 == 1 => 4.0,
            _ => 2.0,
        };
        weight * function(from + f64::from(i) * step)
    };
    (0..=STEPS).map(weighted).sum::<f64>() * step / 3.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_curve_of_the_textbook() {
        // Leskovec, Rajaraman and Ullman, Mining of Massive Datasets, section 3.4.2: b = 20, r = 5.
        let banding = Banding::new(20, 5).unwrap();
        for (s, expected) in
            [(0.2, 0.006), (0.3, 0.047), (0.4, 0.186), (0.5, 0.470), (0.6, 0.802), (0.7, 0.975)]
        {
            let found = banding.candidate_probability(s);
            assert!((found - expected).abs() < 6e-4, "{s}: {found}");
        }
        assert_eq!(banding.candidate_probability(0.0), 0.0);
        assert_eq!(banding.candidate_probability(1.0), 1.0);
        assert!((banding.candidate_probability(banding.midpoint()) - 0.5).abs() < 1e-12);
    }

    #[test]
    fn masses_are_areas() {
        // One band of r values: P = s^r, whose area is 1/(r + 1); b bands of one value: 1 − (1 − s)^b.
        let goal = Goal::new(0.6, 0.5);
        let steep = goal.assess(Banding::new(1, 500).unwrap());
        assert!((steep.false_positive_mass - 0.6f64.powi(501) / 501.0).abs() < 1e-12);
        assert!((steep.false_negative_mass - (0.4 - 1.0 / 501.0)).abs() < 1e-7);
        let flat = goal.assess(Banding::new(9, 1).unwrap());
        assert!((flat.false_negative_mass - 0.4f64.powi(10) / 10.0).abs() < 1e-12);
    }

    #[test]
    fn bad_goals_are_named() {
        let parameter = |goal: Goal| match goal.plan() {
            Err(GoalError::Parameter(error)) => error.parameter,
            other => panic!("{other:?}"),
        };
        assert_eq!(parameter(Goal::new(0.0, 0.9)), "threshold");
        assert_eq!(parameter(Goal::new(f64::NAN, 0.9)), "threshold");
        assert_eq!(parameter(Goal::new(0.5, 1.0)), "recall");
        assert_eq!(parameter(Goal { max_values: 0, ..Goal::new(0.5, 0.9) }), "max values");
        // ln(0.001)/ln(0.99) = 687 bands of one value.
        let out_of_reach = GoalError::OutOfReach { max_values: 256 };
        assert_eq!(Goal { max_values: 256, ..Goal::new(0.01, 0.999) }.plan(), Err(out_of_reach));
        assert!(Goal { max_values: 688, ..Goal::new(0.01, 0.999) }.plan().is_ok());
        assert!(Banding::new(4_096, 2).is_err() && Banding::new(0, 1).is_err());
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes long there")]
    fn equal_sets_alone_need_one_band() {
        let plan = Goal { max_values: 64, ..Goal::new(1.0, 0.99) }.plan().unwrap();
        assert_eq!((plan.banding.bands(), plan.banding.rows()), (1, 64));
        assert_eq!(plan.false_negative_mass, 0.0);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 1 } else { 64 }))]

        /// No other bands within the budget have the recall and fewer false candidates.
        #[test]
        #[cfg_attr(miri, ignore = "takes long there")]
        fn a_plan_is_the_best_there_is(
            threshold in 0.05..1.0f64, recall in 0.5..0.999f64, max_values in 1u32..30,
            power in 0u32..=6,
        ) {
            let bits = SignatureBits::new(1 << power).unwrap();
            let goal = Goal { threshold, recall, max_values, bits };
            let reaching = (1..=max_values)
                .flat_map(|bands| (1..=max_values / bands).map(move |rows| (bands, rows)))
                .filter(|(_, rows)| rows * bits.get() >= MIN_BAND_BITS)
                .map(|(bands, rows)| goal.assess(Banding::new(bands, rows).unwrap()))
                .filter(|plan| plan.recall >= recall)
                .min_by(|a, b| a.false_positive_mass.total_cmp(&b.false_positive_mass));
            match (goal.plan(), reaching) {
                (Ok(plan), Some(best)) => {
                    prop_assert!(plan.recall >= recall);
                    prop_assert!(plan.banding.value_count() <= max_values);
                    prop_assert!(plan.false_positive_mass <= best.false_positive_mass + 1e-12);
                }
                (Err(error), None) => prop_assert_eq!(error, GoalError::OutOfReach { max_values }),
                (plan, best) => prop_assert!(false, "{plan:?}, but {best:?}"),
            }
        }
    }
}
