//! What experiments on rates of wrong answers share.

use crate::seeded::SeededBloom;
use crivo::filter::{Bloom, DynamicFilter};
use crivo::hash::Family;
use crivo::theory::bloom;
use crivo::{Digest, KeyHasher};
use serde::{Deserialize, Serialize};

use crate::StudyError;
use crate::plot::{Axis, Chart, Format, Hue, Panel, Series};
use crate::random::RandomStrings;
use crate::report::Outcome;
use crate::statistics::{CONFIDENCE, Estimate, FALSE_ALARM, share, share_of_samples};
use crate::study::Context;

/// Wrong yeses among questions about absent keys, beside theory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Rate {
    /// Which filter.
    pub(super) filter: String,
    /// The parameter that varies.
    pub(super) x: f64,
    /// m.
    pub(super) bits: u64,
    /// n.
    pub(super) keys: u64,
    /// k.
    pub(super) probes: u32,
    /// How many filters were filled and asked.
    pub(super) filters: u32,
    /// How often an absent key was asked for.
    pub(super) asked: u64,
    /// How often it was taken for present.
    pub(super) wrong: u64,
    /// The sum over the filters of the squares of that.
    pub(super) wrong_squares: u64,
    /// The rate that theory gives.
    pub(super) theory: f64,
}

impl Rate {
    /// The observed rate with its exact interval of 95%.
    pub(super) fn observed(&self) -> Result<Estimate, StudyError> {
        Ok(share(self.wrong, self.asked, CONFIDENCE)?)
    }

    /// The observed rate with the interval that theory's mean is tested by: filters of one size
    /// have rates of their own, and these may scatter more than their questions do.
    pub(super) fn tested(&self, confidence: f64) -> Result<Estimate, StudyError> {
        let wrong = (self.wrong, self.wrong_squares);
        Ok(share_of_samples(self.filters, self.asked, wrong, confidence)?)
    }

    /// Adds what one more filter got wrong.
    pub(super) fn add(&mut self, wrong: u64) {
        self.wrong += wrong;
        self.wrong_squares += wrong * wrong;
    }
}

/// The two ways to k positions that are compared: k members of a hash family, as published, and
/// one digest that is stretched, as `Bloom` does it.
pub(super) const SEEDED: &str = "k FarmHash functions";
pub(super) const SINGLE: &str = "one XXH3 digest";

/// Fills Bloom filters of the dimensions (x, bits, k), in both ways, with fresh seeds and strings
/// in every repetition, and asks each for as many strangers as it has keys.
pub(super) fn measure_blooms(
    context: &Context<'_>,
    name: &str,
    keys: u64,
    dimensions: &[(f64, u64, u32)],
    step: impl Fn(u64),
) -> Result<Vec<Rate>, StudyError> {
    let repetitions = context.repetitions();
    let mut rates = Vec::new();
    for filter in [SEEDED, SINGLE] {
        for &(x, bits, probes) in dimensions {
            rates.push(Rate {
                filter: filter.to_string(),
                x,
                bits,
                keys,
                probes,
                filters: repetitions,
                asked: keys * u64::from(repetitions),
                wrong: 0,
                wrong_squares: 0,
                theory: bloom::rate_exact(bits, keys, probes)?,
            });
        }
    }
    let mut random = context.random(&format!("{name} seeds"));
    for repetition in 0..repetitions {
        let strings = context.strings(&format!("{name} {repetition}"));
        let sample = Keys::new(strings, keys, keys);
        let hasher = KeyHasher::xxh3(random.number());
        let (members, strangers) = sample.digests(hasher);
        for rate in &mut rates {
            let (bits, probes) = (rate.bits, rate.probes);
            rate.add(if rate.filter == SEEDED {
                let seed = random.number();
                let mut filter = SeededBloom::with_size(bits, probes, Family::Farm, seed)?;
                count_wrong_seeded(&mut filter, &sample)?
            } else {
                count_wrong(&mut Bloom::with_size(bits, probes, hasher)?, &members, &strangers)?
            });
        }
        step(u64::from(repetition) + 1);
    }
    Ok(rates)
}

/// Those of one way.
pub(super) fn of<'a>(rates: &'a [Rate], filter: &str) -> Vec<&'a Rate> {
    rates.iter().filter(|rate| rate.filter == filter).collect()
}

/// Two panels for two filters over one parameter: their rates with theory's curve, and the rates
/// over theory, where their intervals can be seen. Dots are set apart by `nudge`.
pub(super) fn panels(
    x: &str,
    first: (&str, &[&Rate]),
    second: (&str, &[&Rate]),
    nudge: f64,
) -> Result<Vec<Panel>, StudyError> {
    let theory = second.1.iter().map(|rate| (rate.x, rate.theory));
    let dots = |rates: &[&Rate], nudge: f64, over_theory: bool| -> Result<Vec<_>, StudyError> {
        let dot = |rate: &&Rate| {
            let scale = if over_theory { 1.0 / rate.theory } else { 1.0 };
            Ok((rate.x + nudge, rate.observed()?.scaled(scale)))
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
    let ones = ends.into_iter().flatten().map(|rate| (rate.x, 1.0));
    let [a, b] = both(false)?;
    let [c, d] = both(true)?;
    Ok(vec![
        Panel::Chart(Chart {
            title: "rate".to_string(),
            x: Axis::linear(x),
            y: Axis::logarithmic("rate of wrong yeses").with_format(Format::Percent),
            series: vec![Series::line(label, Hue::Theory, theory), a, b],
        }),
        Panel::Chart(Chart {
            title: "rate over theory".to_string(),
            x: Axis::linear(x),
            y: Axis::linear("observed over theory"),
            series: vec![Series::line(label, Hue::Theory, ones), c, d],
        }),
    ])
}

/// The rates that contradict theory: it lies outside of the interval that they are tested by, which
/// is so wide that all of them together hold theory but for a chance of [`FALSE_ALARM`].
pub(super) fn contradictions(rates: &[Rate]) -> Result<Vec<&Rate>, StudyError> {
    let confidence = 1.0 - FALSE_ALARM / rates.len().max(1) as f64;
    let mut found = Vec::new();
    for rate in rates {
        if !rate.tested(confidence)?.holds(rate.theory) {
            found.push(rate);
        }
    }
    Ok(found)
}

/// What [`contradictions`] does, for the reader.
pub(super) fn describe_test(comparisons: usize) -> String {
    let wide = 100.0 * (1.0 - FALSE_ALARM / comparisons.max(1) as f64);
    format!(
        "Test: theory must lie within the interval of each of {comparisons} rates, the wider of the \
         exact one and Student’s over the filters, whose own rates differ; at {wide:.3}% each \
         (Bonferroni), a false alarm anywhere has a probability of at most {}%.",
        100.0 * FALSE_ALARM
    )
}

/// `Agrees` if nothing contradicts theory.
pub(super) fn outcome(contradictions: &[&Rate]) -> Outcome {
    Outcome::of(contradictions.is_empty())
}

/// Keys for one filter: members and strangers, all distinct.
struct Keys {
    members: Vec<String>,
    strangers: Vec<String>,
}

impl Keys {
    /// The first strings are members, the next are strangers.
    fn new(mut strings: RandomStrings, members: u64, strangers: u64) -> Self {
        let mut take =
            |from: u64, to: u64| (from..to).map(|i| strings.get(i).to_string()).collect();
        Self { members: take(0, members), strangers: take(members, members + strangers) }
    }

    /// The same as digests.
    fn digests(&self, hasher: KeyHasher) -> (Vec<Digest>, Vec<Digest>) {
        let digests = |keys: &[String]| keys.iter().map(|key| hasher.digest(key)).collect();
        (digests(&self.members), digests(&self.strangers))
    }
}

/// Fills a filter and counts the strangers it accepts.
///
/// # Errors
/// If it does not take a member, or does not know it afterwards.
pub(super) fn count_wrong(
    filter: &mut impl DynamicFilter,
    members: &[Digest],
    strangers: &[Digest],
) -> Result<u64, StudyError> {
    for &member in members {
        filter.insert_digest(member)?;
    }
    if let Some(missed) = members.iter().find(|&&member| !filter.contains_digest(member)) {
        return Err(StudyError::wrong(format_args!("a filter denies its member {missed:?}")));
    }
    Ok(strangers.iter().filter(|&&stranger| filter.contains_digest(stranger)).count() as u64)
}

/// The same for a filter with k functions of one family.
fn count_wrong_seeded(filter: &mut SeededBloom, keys: &Keys) -> Result<u64, StudyError> {
    for member in &keys.members {
        filter.insert(member);
    }
    if let Some(missed) = keys.members.iter().find(|member| !filter.contains(*member)) {
        return Err(StudyError::wrong(format_args!("a filter denies its member {missed:?}")));
    }
    Ok(keys.strangers.iter().filter(|stranger| filter.contains(*stranger)).count() as u64)
}
