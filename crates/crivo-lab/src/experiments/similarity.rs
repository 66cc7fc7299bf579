//! Similarity: signatures and banding, compared with theory.

use crivo::ParameterError;
use crivo_sketch::SignatureBits;
use serde::{Deserialize, Serialize};

use super::Experiment;
use crate::StudyError;
use crate::context::Context;
use crate::data::Dataset;
use crate::plot::{
    Axis, Chart, Hue, Panel, Series, TickFormat, decimal, percent, points, thousands,
};
use crate::section::{Figure, Finding, Section, Source, Table, Verdict};
use crate::sim::similarity::{
    CandidateRate, EstimateAccuracy, PairPlan, candidate_rates, estimate_accuracy,
};
use crate::statistics::{
    CONFIDENCE, FALSE_ALARM, PointEstimate, deviation_interval, normal_interval, proportion,
};

/// MinHash and banding, compared with theory.
#[derive(Debug)]
pub(super) struct Similarity;

/// A point of a form's own curve.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Curve {
    form: String,
    similarity: f64,
    probability: f64,
}

/// A form of signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SignatureForm {
    Classic,
    FourBits,
    OneBit,
    OnePermutation,
}

impl SignatureForm {
    const ALL: [Self; 4] = [Self::Classic, Self::FourBits, Self::OneBit, Self::OnePermutation];

    const fn name(self) -> &'static str {
        match self {
            Self::Classic => "classic",
            Self::FourBits => "four bits of a value",
            Self::OneBit => "one bit of a value",
            Self::OnePermutation => "one permutation",
        }
    }

    const fn hue(self) -> Hue {
        match self {
            Self::Classic => Hue::Bloom,
            Self::FourBits => Hue::Blocked,
            Self::OneBit => Hue::Fuse,
            Self::OnePermutation => Hue::Cuckoo,
        }
    }

    /// Banding with these signatures, and small sets: only the similarity matters.
    fn plan(self, bands: u32, rows: u32) -> Result<PairPlan, ParameterError> {
        let classic = PairPlan { union: 18..=22, ..PairPlan::classic(bands, rows)? };
        let plan = match self {
            Self::Classic => classic,
            Self::FourBits => classic.shortened(SignatureBits::new(4)?),
            Self::OneBit => classic.shortened(SignatureBits::new(1)?),
            // Enough elements that hardly any bin is empty.
            Self::OnePermutation => PairPlan::one_permutation(bands, rows, 256)?,
        };
        Ok(PairPlan { form: self.name(), ..plan })
    }

    /// Bands whose curve rises in the middle.
    const fn bands(self) -> (u32, u32) {
        match self {
            // Bits agree by chance half of the time, so more of them are needed.
            Self::OneBit => (8, 8),
            _ => (8, 4),
        }
    }
}

/// The goal for classic signatures, and the pairs per bin that it requires.
const GOAL: f64 = 0.005;
const GOAL_PAIRS: u64 = 150_000;

impl Experiment for Similarity {
    fn name(&self) -> &'static str {
        "similarity"
    }

    fn run(&self, context: &Context<'_>, data: &mut Dataset) -> Result<(), StudyError> {
        let mut random = context.random("similarity seeds");
        let bin_count: u32 = context.pick(5, 10, 20);
        let pairs = context.pick(500, 12_000, GOAL_PAIRS);
        let estimate_pairs = context.pick(500, 4_000, 40_000);
        let steps = SignatureForm::ALL.len() as u64 * (u64::from(bin_count) + 1);
        let (mut rates, mut curves, mut accuracies) = (Vec::new(), Vec::new(), Vec::new());
        let mut done = 0;
        for form in SignatureForm::ALL {
            let (bands, rows) = form.bands();
            let plain = form.plan(bands, rows)?;
            for bin in 0..bin_count {
                let edge = |bin: u32| f64::from(bin) / f64::from(bin_count);
                let plan = PairPlan { pairs, seed: random.number(), ..plain.clone() };
                rates.extend(candidate_rates(&plan, &[(edge(bin), edge(bin + 1))])?);
                done += 1;
                context.step(done, steps);
            }
            let union = *plain.union.end();
            // A curve of 65 points is smooth.
            let step = (union / 64).max(1);
            for common in (0..=union).step_by(step as usize) {
                curves.push(Curve {
                    form: form.name().to_string(),
                    similarity: common as f64 / union as f64,
                    probability: plain.candidate_probability(common, union)?,
                });
            }

            let plan = form.plan(8, 8)?;
            let plan = PairPlan { pairs: estimate_pairs, seed: random.number(), ..plan };
            let union = *plan.union.end();
            let commons: Vec<u64> = (1..=9).map(|tenths| union * tenths / 10).collect();
            accuracies.extend(estimate_accuracy(&plan, &commons)?);
            done += 1;
            context.step(done, steps);
        }
        data.add("candidates", &rates)?;
        data.add("curves", &curves)?;
        data.add("estimates", &accuracies)
    }

    fn present(&self, data: &Dataset) -> Result<Section, StudyError> {
        Ok(Section {
            title: "Similar sets",
            introduction:
                "A signature of a few hundred bytes represents a set of any size, and banding \
                finds similar sets without comparing all pairs. Theory predicts how many pairs are \
                found, and how many candidates are not similar."
                    .to_string(),
            sources: &[
                Source::MartinsJesus2015,
                Source::Broder1997,
                Source::LiKonig2010,
                Source::Shrivastava2017,
                Source::Leskovec2014,
            ],
            figures: vec![
                candidate_figure(&data.rows("candidates")?, &data.rows("curves")?)?,
                estimate_figure(&data.rows("estimates")?),
            ],
        })
    }
}

fn candidate_figure(rates: &[CandidateRate], curves: &[Curve]) -> Result<Figure, StudyError> {
    let confidence = 1.0 - FALSE_ALARM / rates.len().max(1) as f64;
    let mut against = 0;
    let mut table =
        Table::new(&["form", "similarity", "theory", "observed", "95% interval", "pairs"]);
    for rate in rates {
        let seen = proportion(rate.candidates, rate.pairs, CONFIDENCE)?;
        against += usize::from(
            !proportion(rate.candidates, rate.pairs, confidence)?.contains(rate.theory),
        );
        table.row([
            rate.form.clone(),
            decimal(rate.similarity, 3),
            percent(rate.theory, 3),
            percent(seen.value, 3),
            format!("{}–{}", percent(seen.low, 3), percent(seen.high, 3)),
            thousands(rate.pairs),
        ]);
    }
    let mut panels = Vec::new();
    for form in SignatureForm::ALL {
        let own = || rates.iter().filter(|rate| rate.form == form.name());
        let mut seen = Vec::new();
        for rate in own() {
            seen.push((rate.similarity, proportion(rate.candidates, rate.pairs, CONFIDENCE)?));
        }
        let curve = curves.iter().filter(|point| point.form == form.name());
        let (bands, rows) = form.bands();
        panels.push(Panel::Chart(Chart {
            title: format!("{}, {bands} bands of {rows}", form.name()),
            x: Axis::from_zero("similarity"),
            y: Axis::from_zero("pairs that become candidates").with_format(TickFormat::Percent),
            series: vec![
                Series::line(
                    "theory",
                    Hue::Theory,
                    curve.map(|point| (point.similarity, point.probability)),
                ),
                Series::dots(form.name(), form.hue(), seen),
            ],
        }));
    }
    let pairs = rates.iter().map(|rate| rate.pairs).min().unwrap_or(0);
    let farthest = rates
        .iter()
        .filter(|rate| rate.form == SignatureForm::Classic.name())
        .map(|rate| (rate.candidates as f64 / rate.pairs.max(1) as f64 - rate.theory).abs())
        .fold(0.0, f64::max);
    Ok(Figure {
        id: "similarity-candidates",
        title: "Pairs that become candidates".to_string(),
        question: "Does banding find pairs with the probability of the S-curve?".to_string(),
        method: format!(
            "{} pairs of random sets for each bin of similarities, sketched and compared band by band, \
             as the index does. Theory: 1 − (1 − pʳ)ᵇ for b bands of r values that agree with \
             probability p: the similarity s for whole values, s + (1 − s)/2ᵇⁱᵗˢ for short ones; for \
             one permutation, the curve for sampling without replacement. Bars: exact \
             95% intervals.",
            thousands(pairs),
        ),
        panels,
        table: Some(table),
        verdict: Verdict {
            finding: Finding::of(against == 0),
            sentence: format!(
                "{} Classic signatures are off by at most {}{}.",
                match against {
                    0 => "Every form agrees with its curve.".to_string(),
                    some => format!("{some} of {} bins contradict their curve.", rates.len()),
                },
                points(farthest),
                match pairs {
                    few if few < GOAL_PAIRS => format!(
                        "; to decide whether that is within the goal of {} takes {} pairs per bin",
                        points(GOAL),
                        thousands(GOAL_PAIRS)
                    ),
                    _ if farthest <= GOAL => format!(", within the goal of {}", points(GOAL)),
                    _ => format!(", beyond the goal of {}", points(GOAL)),
                }
            ),
            test: format!(
                "Test: theory within the exact interval in each of {} bins, corrected for their \
                 number (Bonferroni); probability of a false alarm at most {}%.",
                rates.len(),
                100.0 * FALSE_ALARM
            ),
        },
    })
}

/// The bias: the mean estimate minus the similarity.
fn bias(row: &EstimateAccuracy, confidence: f64) -> PointEstimate {
    let error = row.deviation / (row.pairs as f64).sqrt();
    normal_interval(row.mean - row.similarity, error, confidence)
}

/// The standard deviation of the estimates: the number of agreeing values is binomial.
fn error(row: &EstimateAccuracy, confidence: f64) -> PointEstimate {
    let variance = row.agreement * (1.0 - row.agreement);
    let kurtosis = (1.0 - 6.0 * variance) / (f64::from(row.values) * variance);
    deviation_interval(row.deviation, row.pairs, kurtosis, confidence)
}

fn estimate_figure(accuracies: &[EstimateAccuracy]) -> Figure {
    let tested = accuracies.iter().filter(|each| each.independent).count();
    let comparisons = accuracies.len() + tested;
    let confidence = 1.0 - FALSE_ALARM / comparisons.max(1) as f64;
    let biased = accuracies.iter().filter(|each| !bias(each, confidence).contains(0.0)).count();
    let differing = accuracies
        .iter()
        .filter(|each| each.independent && !error(each, confidence).contains(each.theory))
        .count();
    let mut table = Table::new(&[
        "form",
        "similarity",
        "mean estimate",
        "standard error, theory",
        "observed",
        "95% interval",
    ]);
    let (mut errors, mut biases) = (Vec::new(), Vec::new());
    for form in SignatureForm::ALL {
        let own: Vec<&EstimateAccuracy> =
            accuracies.iter().filter(|each| each.form == form.name()).collect();
        for each in &own {
            let seen = error(each, CONFIDENCE);
            table.row([
                each.form.clone(),
                decimal(each.similarity, 3),
                decimal(each.mean, 4),
                decimal(each.theory, 3),
                decimal(seen.value, 3),
                format!("{}–{}", decimal(seen.low, 3), decimal(seen.high, 3)),
            ]);
        }
        let theory = own.iter().map(|each| (each.similarity, each.theory));
        if form != SignatureForm::OnePermutation {
            errors.push(Series::line("theory", Hue::Theory, theory));
        }
        let seen = own.iter().map(|each| (each.similarity, error(each, CONFIDENCE)));
        errors.push(Series::dots(form.name(), form.hue(), seen));
        let bias = own.iter().map(|each| (each.similarity, bias(each, CONFIDENCE)));
        biases.push(Series::dots(form.name(), form.hue(), bias));
    }
    biases.insert(0, Series::line("theory", Hue::Theory, [(0.1, 0.0), (0.9, 0.0)]));
    let first = accuracies.first();
    // Sampling without replacement has a smaller variance: by how much, on average?
    let ratios: Vec<f64> = accuracies
        .iter()
        .filter(|each| !each.independent)
        .map(|each| each.deviation / each.theory)
        .collect();
    Figure {
        id: "similarity-estimates",
        title: "Accuracy of similarity estimates".to_string(),
        question: "Are estimates unbiased, and does their standard error agree with theory?"
            .to_string(),
        method: format!(
            "{} pairs for each similarity, signatures of {} values. Theory: √(p(1 − p)/k)/(1 − 2⁻ᵇ) \
             for k independent values of b bits that agree with probability p. Values of one \
             permutation are sampled without replacement, and not independent. Bars: 95% intervals \
             of mean and standard deviation.",
            thousands(first.map_or(0, |each| each.pairs)),
            first.map_or(0, |each| each.values),
        ),
        panels: vec![
            Panel::Chart(Chart {
                title: "standard error".to_string(),
                x: Axis::from_zero("similarity"),
                y: Axis::from_zero("standard error of an estimate"),
                series: errors,
            }),
            Panel::Chart(Chart {
                title: "bias".to_string(),
                x: Axis::from_zero("similarity"),
                y: Axis::linear("mean estimate − similarity"),
                series: biases,
            }),
        ],
        table: Some(table),
        verdict: Verdict {
            finding: Finding::of(biased + differing == 0),
            sentence: format!(
                "{} {} The standard error of one permutation is {} times that of independent values.",
                match biased {
                    0 => "No estimate is significantly biased.".to_string(),
                    some => format!("{some} of {} means are biased.", accuracies.len()),
                },
                match differing {
                    0 => "Standard errors agree with theory.".to_string(),
                    some => format!("{some} of {tested} standard errors differ from theory."),
                },
                decimal(crate::statistics::mean(&ratios), 2),
            ),
            test: format!(
                "Test: {} means and {tested} standard deviations (not those of one permutation) \
                 within their intervals, corrected for their number (Bonferroni); probability of a \
                 false alarm at most {}%, for large samples.",
                accuracies.len(),
                100.0 * FALSE_ALARM
            ),
        },
    }
}
