//! Many p-values, one answer.

use std::fmt;

use crivo::ParameterError;

use super::check_alpha;

/// One thing that holds for a perfect family. The numbers are columns of the table, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Hypothesis {
    /// The function fills all bins equally.
    Uniform(usize),
    /// The two functions have a correlation of 0.
    Uncorrelated(usize, usize),
    /// The index under one function tells nothing about the index under the other.
    Independent(usize, usize),
}

impl fmt::Display for Hypothesis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uniform(function) => write!(f, "uniformity of function {function}"),
            Self::Uncorrelated(first, second) => {
                write!(f, "correlation of functions {first} and {second}")
            }
            Self::Independent(first, second) => {
                write!(f, "independence of functions {first} and {second}")
            }
        }
    }
}

/// One hypothesis within a [`QualityVerdict`].
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct HypothesisTest {
    /// What was tested.
    pub hypothesis: Hypothesis,
    /// The p-value of this test alone.
    pub p_value: f64,
    /// The p-value [adjusted](holm) for all the tests of the verdict.
    pub adjusted_p_value: f64,
}

/// Which comparisons fail, where a perfect family fails *any* with a probability of at most `alpha`.
///
/// As text it is a sentence:
///
/// ```
/// use crivo_lab::quality::{Hypothesis, QualityVerdict};
///
/// let outcomes = [(Hypothesis::Uniform(0), 0.2), (Hypothesis::Uniform(1), 0.001)];
/// let verdict = QualityVerdict::new(outcomes, 0.01)?;
/// assert!(!verdict.passes());
/// assert_eq!(
///     verdict.to_string(),
///     "1 of 2 comparisons fails at a family-wise level of 0.01; the worst is the uniformity of \
///      function 1, with an adjusted p-value of 0.002",
/// );
/// # Ok::<(), crivo::ParameterError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct QualityVerdict {
    /// The probability that a perfect family fails any comparison, at most.
    pub alpha: f64,
    /// All comparisons, in the order given; at least one.
    pub comparisons: Vec<HypothesisTest>,
}

impl QualityVerdict {
    /// Judges `outcomes`, hypotheses with their p-values, together.
    ///
    /// # Errors
    /// If there is nothing to judge, if a p-value is not within 0 and 1, or if `alpha` is not
    /// strictly between them.
    pub fn new(
        outcomes: impl IntoIterator<Item = (Hypothesis, f64)>,
        alpha: f64,
    ) -> Result<Self, ParameterError> {
        check_alpha(alpha)?;
        let (hypotheses, p_values): (Vec<_>, Vec<_>) = outcomes.into_iter().unzip();
        if p_values.is_empty() {
            return Err(ParameterError::new(
                "comparisons",
                0,
                "at least one; pairs take two functions",
            ));
        }
        let adjusted = holm(&p_values)?;
        let comparisons = hypotheses.into_iter().zip(p_values).zip(adjusted);
        Ok(Self {
            alpha,
            comparisons: comparisons
                .map(|((hypothesis, p_value), adjusted_p_value)| HypothesisTest {
                    hypothesis,
                    p_value,
                    adjusted_p_value,
                })
                .collect(),
        })
    }

    /// Whether no comparison fails.
    pub fn passes(&self) -> bool {
        self.failures().next().is_none()
    }

    /// The comparisons whose adjusted p-value is at most `alpha`.
    pub fn failures(&self) -> impl Iterator<Item = &HypothesisTest> {
        self.comparisons.iter().filter(|comparison| comparison.adjusted_p_value <= self.alpha)
    }
}

impl fmt::Display for QualityVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.comparisons.len();
        let plural = if count == 1 { "" } else { "s" };
        match self.failures().count() {
            0 => write!(f, "no failure in {count} comparison{plural}")?,
            1 => write!(f, "1 of {count} comparison{plural} fails")?,
            failures => write!(f, "{failures} of {count} comparisons fail")?,
        }
        // As `Debug` writes it: 1e-6, not 0.000001.
        write!(f, " at a family-wise level of {:?}", self.alpha)?;
        // By the p-values themselves: adjusted ones are often equal.
        let worst = self.comparisons.iter().min_by(|a, b| a.p_value.total_cmp(&b.p_value));
        let Some(worst) = worst else { return Ok(()) };
        write!(f, "; the worst is the {}", worst.hypothesis)?;
        f.write_str(", with an adjusted p-value ")?;
        match worst.adjusted_p_value {
            0.0 => f.write_str("below 1e-300"),
            p if p < 0.001 => write!(f, "of {p:.1e}"),
            p => write!(f, "of {p:.3}"),
        }
    }
}

/// Holm's adjusted p-values, in the order given.
///
/// The smallest of m p-values is multiplied by m, the next by m − 1, and so on; none comes out
/// below its predecessor or above 1. Rejecting what is at most `alpha` then errs with a probability of
/// at most `alpha`, however the tests depend on each other.
///
/// ```
/// use crivo_lab::quality::holm;
///
/// assert_eq!(holm(&[0.25, 0.0625, 0.125])?, [0.25, 0.1875, 0.25]);
/// # Ok::<(), crivo::ParameterError>(())
/// ```
///
/// # Errors
/// If a p-value is not within 0 and 1.
pub fn holm(p_values: &[f64]) -> Result<Vec<f64>, ParameterError> {
    if let Some(p_value) = p_values.iter().find(|p| !(0.0..=1.0).contains(*p)) {
        return Err(ParameterError::new("p_value", p_value, "from 0 to 1"));
    }
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|&a, &b| p_values[a].total_cmp(&p_values[b]));
    let mut adjusted = vec![0.0; p_values.len()];
    let mut largest = 0.0_f64;
    for (rank, &position) in order.iter().enumerate() {
        let remaining = (p_values.len() - rank) as f64;
        largest = largest.max(remaining * p_values[position]).min(1.0);
        adjusted[position] = largest;
    }
    Ok(adjusted)
}
