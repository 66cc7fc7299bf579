//! Common parts of experiments on false-positive rates.

use crivo::filter::{Bloom, DynamicFilter};
use crivo::hash::Family;
use crivo::theory::bloom;
use crivo::{Digest, KeyHasher};
use serde::{Deserialize, Serialize};

use crate::StudyError;
use crate::context::Context;
use crate::plot::{Axis, Chart, Hue, Panel, Series, TickFormat};
use crate::random::RandomStrings;
use crate::section::Finding;
use crate::seeded::SeededBloom;
use crate::statistics::{
    CONFIDENCE, FALSE_ALARM, PointEstimate, proportion, proportion_of_samples,
};

/// False positives among queries of absent keys, and the rate in theory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct ObservedFpr {
    /// The filter.
    pub(super) filter: String,
    /// The parameter that varies.
    pub(super) x: f64,
    /// m.
    pub(super) bits: u64,
    /// n.
    pub(super) keys: u64,
    /// k.
    pub(super) probes: u32,
    /// The number of filters.
    pub(super) filters: u32,
    /// Queries of absent keys, over all filters.
    pub(super) queries: u64,
    /// How many of them were false positives.
    pub(super) false_positives: u64,
    /// The sum of the squares of each filter's false positives.
    pub(super) false_positive_squares: u64,
    /// The false-positive rate in theory.
    pub(super) theory: f64,
}

impl ObservedFpr {
    /// The observed rate with its exact 95% interval.
    pub(super) fn observed(&self) -> Result<PointEstimate, StudyError> {
        Ok(proportion(self.false_positives, self.queries, CONFIDENCE)?)
    }

    /// The observed rate with the interval for the test against theory: filters of the same size
    /// have different rates, which may vary more than independent queries would.
    pub(super) fn tested(&self, confidence: f64) -> Result<PointEstimate, StudyError> {
        let false_positives = (self.false_positives, self.false_positive_squares);
        Ok(proportion_of_samples(self.filters, self.queries, false_positives, confidence)?)
    }

    /// Adds the false positives of one more filter.
    pub(super) fn add(&mut self, false_positives: u64) {
        self.false_positives += false_positives;
        self.false_positive_squares += false_positives * false_positives;
    }
}

/// The two ways to derive k positions: k functions of a hash family, as published, and one digest
/// that is expanded, as in `Bloom`.
pub(super) const SEEDED: &str = "k FarmHash functions";
pub(super) const SINGLE: &str = "one XXH3 digest";

/// Fills Bloom filters of the dimensions (x, bits, k), in both ways, with new seeds and strings in
/// every repetition, and queries each with as many absent keys as it has keys.
pub(super) fn measure_blooms(
    context: &Context<'_>,
    name: &str,
    keys: u64,
    dimensions: &[(f64, u64, u32)],
    step: impl Fn(u64),
) -> Result<Vec<ObservedFpr>, StudyError> {
    let repetitions = context.repetitions();
    let mut rates = Vec::new();
    for filter in [SEEDED, SINGLE] {
        for &(x, bits, probes) in dimensions {
            rates.push(ObservedFpr {
                filter: filter.to_string(),
                x,
                bits,
                keys,
                probes,
                filters: repetitions,
                queries: keys * u64::from(repetitions),
                false_positives: 0,
                false_positive_squares: 0,
                theory: bloom::fpr_exact(bits, keys, probes)?,
            });
        }
    }
    let mut random = context.random(&format!("{name} seeds"));
    for repetition in 0..repetitions {
        let strings = context.strings(&format!("{name} {repetition}"));
        let sample = Keys::new(strings, keys, keys);
        let hasher = KeyHasher::xxh3(random.number());
        let (members, absent) = sample.digests(hasher);
        for row in &mut rates {
            let (bits, probes) = (row.bits, row.probes);
            row.add(if row.filter == SEEDED {
                let seed = random.number();
                let mut filter = SeededBloom::with_size(bits, probes, Family::Farm, seed)?;
                count_false_positives_seeded(&mut filter, &sample)?
            } else {
                count_false_positives(
                    &mut Bloom::with_size(bits, probes, hasher)?,
                    &members,
                    &absent,
                )?
            });
        }
        step(u64::from(repetition) + 1);
    }
    Ok(rates)
}

/// The rows of one filter.
pub(super) fn of<'a>(rates: &'a [ObservedFpr], filter: &str) -> Vec<&'a ObservedFpr> {
    rates.iter().filter(|row| row.filter == filter).collect()
}

/// Two panels for two filters over one parameter: their rates with the curve of theory, and the
/// rates divided by theory, where the intervals are visible. Dots are shifted by `nudge`.
pub(super) fn panels(
    x: &str,
    first: (&str, &[&ObservedFpr]),
    second: (&str, &[&ObservedFpr]),
    nudge: f64,
) -> Result<Vec<Panel>, StudyError> {
    let theory = second.1.iter().map(|row| (row.x, row.theory));
    let dots =
        |rates: &[&ObservedFpr], nudge: f64, over_theory: bool| -> Result<Vec<_>, StudyError> {
            let dot = |row: &&ObservedFpr| {
                let scale = if over_theory { 1.0 / row.theory } else { 1.0 };
                Ok((row.x + nudge, row.observed()?.scaled(scale)))
            };
            rates.iter().map(dot).collect()
        };
    let both = |over_theory: bool| -> Result<[Series; 2], StudyError> {
        Ok([
            Series::dots(first.0, Hue::Cuckoo, dots(first.1, -nudge, over_theory)?),
            Series::dots(second.0, Hue::Bloom, dots(second.1, nudge, over_theory)?),
        ])
    };
    let label = "theory, exact for independent positions";
    let ends = [second.1.first(), second.1.last()];
    let ones = ends.into_iter().flatten().map(|row| (row.x, 1.0));
    let [a, b] = both(false)?;
    let [c, d] = both(true)?;
    Ok(vec![
        Panel::Chart(Chart {
            title: "FPR".to_string(),
            x: Axis::linear(x),
            y: Axis::logarithmic("false-positive rate").with_format(TickFormat::Percent),
            series: vec![Series::line(label, Hue::Theory, theory), a, b],
        }),
        Panel::Chart(Chart {
            title: "FPR over theory".to_string(),
            x: Axis::linear(x),
            y: Axis::linear("observed over theory"),
            series: vec![Series::line(label, Hue::Theory, ones), c, d],
        }),
    ])
}

/// The rates that contradict theory: it is outside of their interval, whose confidence is corrected
/// such that a false alarm anywhere has a probability of at most [`FALSE_ALARM`].
pub(super) fn contradictions(rates: &[ObservedFpr]) -> Result<Vec<&ObservedFpr>, StudyError> {
    let confidence = 1.0 - FALSE_ALARM / rates.len().max(1) as f64;
    let mut found = Vec::new();
    for row in rates {
        if !row.tested(confidence)?.contains(row.theory) {
            found.push(row);
        }
    }
    Ok(found)
}

/// A description of the test of [`contradictions`] for the reader.
pub(super) fn describe_test(comparisons: usize) -> String {
    let wide = 100.0 * (1.0 - FALSE_ALARM / comparisons.max(1) as f64);
    format!(
        "Test: theory must be within the interval of each of {comparisons} rates, the wider of the \
         exact interval and Student’s interval over the filters; at {wide:.3}% each (Bonferroni), the \
         probability of a false alarm anywhere is at most {}%.",
        100.0 * FALSE_ALARM
    )
}

/// `Agrees` if nothing contradicts theory.
pub(super) fn finding(contradictions: &[&ObservedFpr]) -> Finding {
    Finding::of(contradictions.is_empty())
}

/// Keys for one filter: inserted and absent ones, all distinct.
struct Keys {
    members: Vec<String>,
    absent: Vec<String>,
}

impl Keys {
    /// The first strings are inserted, the next are absent.
    fn new(mut strings: RandomStrings, members: u64, absent: u64) -> Self {
        let mut take =
            |from: u64, to: u64| (from..to).map(|i| strings.get(i).to_string()).collect();
        Self { members: take(0, members), absent: take(members, members + absent) }
    }

    /// The same as digests.
    fn digests(&self, hasher: KeyHasher) -> (Vec<Digest>, Vec<Digest>) {
        let digests = |keys: &[String]| keys.iter().map(|key| hasher.digest(key)).collect();
        (digests(&self.members), digests(&self.absent))
    }
}

/// Fills a filter and counts the absent keys that it accepts.
///
/// # Errors
/// If a key cannot be inserted, or is not found afterwards.
pub(super) fn count_false_positives(
    filter: &mut impl DynamicFilter,
    members: &[Digest],
    absent: &[Digest],
) -> Result<u64, StudyError> {
    for &member in members {
        filter.insert_digest(member)?;
    }
    if let Some(missed) = members.iter().find(|&&member| !filter.contains_digest(member)) {
        return Err(StudyError::wrong(format_args!(
            "false negative: a filter rejects its key {missed:?}"
        )));
    }
    Ok(absent.iter().filter(|&&key| filter.contains_digest(key)).count() as u64)
}

/// The same for a filter with k functions of one hash family.
fn count_false_positives_seeded(filter: &mut SeededBloom, keys: &Keys) -> Result<u64, StudyError> {
    for member in &keys.members {
        filter.insert(member);
    }
    if let Some(missed) = keys.members.iter().find(|member| !filter.contains(*member)) {
        return Err(StudyError::wrong(format_args!(
            "false negative: a filter rejects its key {missed:?}"
        )));
    }
    Ok(keys.absent.iter().filter(|key| filter.contains(*key)).count() as u64)
}
