//! A big filter and a small one.
//!
//! The report repeated here asked a filter of 97,661 strings, made for p = 1e-4, for 96,872
//! others, and counted 12 wrong yeses. That fits 1e-4; it would also fit twice as much. Here the
//! sample is larger, and so are the filters; and the smallest has five keys.

use crivo::KeyHasher;
use crivo::filter::{Bloom, Filter};
use crivo::theory::bloom;
use serde::{Deserialize, Serialize};

use super::Experiment;
use super::rates::count_wrong;
use crate::StudyError;
use crate::data::Dataset;
use crate::plot::{Axis, Chart, Format, Hue, Panel, Series, decimal, percent, thousands};
use crate::report::{Figure, Outcome, Section, Source, Table, Verdict};
use crate::statistics::{CONFIDENCE, Estimate, FALSE_ALARM, share, share_of_samples};
use crate::study::Context;

/// The rate that all filters are made for.
const TARGET: f64 = 1e-4;

/// What was published: 12 wrong yeses among 96,872 strangers.
const PUBLISHED: (u64, u64) = (12, 96_872);

/// From five keys to ten million.
#[derive(Debug)]
pub(super) struct BigSmall;

/// One filter that was filled and asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Run {
    keys: u64,
    bits: u64,
    probes: u32,
    members_found: u64,
    asked: u64,
    wrong: u64,
}

impl Experiment for BigSmall {
    fn name(&self) -> &'static str {
        "big-small"
    }

    fn run(&self, context: &Context<'_>, data: &mut Dataset) -> Result<(), StudyError> {
        let repetitions = context.repetitions();
        // Keys, filters, questions to each: the smaller the filter, the more filters it takes,
        // for the rate of a small one scatters.
        let plan = [
            (5, context.pick(50, 400, 2_000), context.pick(2_000, 10_000, 20_000)),
            (1_000, context.pick(5, 20, 100), context.pick(2_000, 20_000, 50_000)),
            (
                context.pick(5_000, 100_000, 100_000),
                repetitions,
                context.pick(5_000, 100_000, 100_000),
            ),
            (
                context.pick(20_000, 10_000_000, 10_000_000),
                context.pick(1, 1, 3),
                context.pick(20_000, 10_000_000, 10_000_000),
            ),
        ];
        let mut runs = Vec::new();
        let mut random = context.random("big-small seeds");
        let steps: u64 =
            plan.iter().map(|(keys, filters, asked)| (keys + asked) * u64::from(*filters)).sum();
        let mut done = 0;
        for (keys, filters, asked) in plan {
            for number in 0..filters {
                let hasher = KeyHasher::xxh3(random.number());
                let mut strings = context.strings(&format!("big-small {keys} {number}"));
                let mut digests = |from: u64, to: u64| -> Vec<_> {
                    (from..to).map(|i| hasher.digest(strings.get(i))).collect()
                };
                let (members, strangers) = (digests(0, keys), digests(keys, keys + asked));
                let mut filter = Bloom::with_hasher(keys, TARGET, hasher)?;
                let wrong = count_wrong(&mut filter, &members, &strangers)?;
                runs.push(Run {
                    keys,
                    bits: filter.size_in_bits(),
                    probes: filter.probes(),
                    members_found: keys,
                    asked,
                    wrong,
                });
                done += keys + asked;
                context.step(done, steps);
            }
        }
        data.set_parameter("target", TARGET);
        data.add("runs", &runs)
    }

    fn present(&self, data: &Dataset) -> Result<Section, StudyError> {
        let runs: Vec<Run> = data.rows("runs")?;
        Ok(Section {
            title: "Big filters and small ones",
            introduction:
                "A practical test: make a filter for one wrong yes in ten thousand, fill \
                it, find every member again, and count the strangers it accepts. The smaller the \
                filter, the more its own rate scatters around theory’s mean, so that small ones \
                are built many times over."
                    .to_string(),
            sources: &[Source::MartinsJesus2015, Source::Bloom1970],
            figures: vec![figure(&runs)?],
        })
    }
}

/// All filters of one size.
struct Group {
    keys: u64,
    bits: u64,
    probes: u32,
    filters: usize,
    asked: u64,
    wrong: u64,
    theory: f64,
    observed: Estimate,
    /// The same with the confidence of the test.
    tested: Estimate,
}

fn groups(runs: &[Run]) -> Result<Vec<Group>, StudyError> {
    let mut sizes: Vec<u64> = runs.iter().map(|run| run.keys).collect();
    sizes.dedup();
    let confidence = 1.0 - FALSE_ALARM / sizes.len().max(1) as f64;
    let mut groups = Vec::new();
    for keys in sizes {
        let of_size: Vec<&Run> = runs.iter().filter(|run| run.keys == keys).collect();
        let Some(first) = of_size.first() else { continue };
        let asked = of_size.iter().map(|run| run.asked).sum();
        let wrong = of_size.iter().map(|run| run.wrong).sum();
        let squares = of_size.iter().map(|run| run.wrong * run.wrong).sum();
        // The scatter between filters counts where filters are small; where they are large it
        // vanishes beside chance.
        let estimate = |confidence| {
            share_of_samples(of_size.len() as u32, asked, (wrong, squares), confidence)
        };
        groups.push(Group {
            keys,
            bits: first.bits,
            probes: first.probes,
            filters: of_size.len(),
            asked,
            wrong,
            theory: bloom::rate_exact(first.bits, keys, first.probes)?,
            observed: estimate(CONFIDENCE)?,
            tested: estimate(confidence)?,
        });
    }
    Ok(groups)
}

fn figure(runs: &[Run]) -> Result<Figure, StudyError> {
    let groups = groups(runs)?;
    let mut table = Table::new(&["keys", "m, k", "filters", "asked", "wrong"]);
    for group in &groups {
        table.row([
            thousands(group.keys),
            format!("{}, {}", thousands(group.bits), group.probes),
            thousands(group.filters as u64),
            thousands(group.asked),
            thousands(group.wrong),
        ]);
    }
    let published = share(PUBLISHED.0, PUBLISHED.1, CONFIDENCE)?;
    table.row([
        "97\u{202f}661 (2015)".to_string(),
        String::new(),
        "1".to_string(),
        thousands(PUBLISHED.1),
        PUBLISHED.0.to_string(),
    ]);
    let off: Vec<&Group> =
        groups.iter().filter(|group| !group.tested.holds(group.theory)).collect();
    let members: u64 = runs.iter().map(|run| run.keys).sum();
    let found: u64 = runs.iter().map(|run| run.members_found.min(run.keys)).sum();
    let is_whole = members == found;
    let largest = groups.iter().max_by_key(|group| group.keys);
    let largest = largest.map_or(String::new(), |group| {
        format!(
            " At {} keys the observed rate is {} ({} to {}).",
            thousands(group.keys),
            percent(group.observed.value, 3),
            percent(group.observed.low, 3),
            percent(group.observed.high, 3),
        )
    });
    let agreement = match off.len() {
        0 => format!("The rates of all {} sizes agree with theory", groups.len()),
        some => format!("The rates of {some} of {} sizes contradict theory", groups.len()),
    };
    let found = match members - found {
        0 => format!("all {} members were found", thousands(members)),
        missed => format!("{} of {} members were missed", thousands(missed), thousands(members)),
    };
    let sentence = format!(
        "{agreement}, and {found}.{largest} The published run, {} of {}, fits any rate from {} to {}.",
        PUBLISHED.0,
        thousands(PUBLISHED.1),
        percent(published.low, 2),
        percent(published.high, 2),
    );
    let names = groups.iter().map(|group| thousands(group.keys));
    let names: Vec<String> = names.chain(["published".to_string()]).collect();
    let at = |i: usize| i as f64;
    let ends = [(-0.4, TARGET), (groups.len() as f64 + 0.4, TARGET)];
    Ok(Figure {
        id: "big-small-rates",
        title: "Wrong yeses of filters made for one in ten thousand".to_string(),
        question: "Is every member found, and is the rate the one asked for, at every size?"
            .to_string(),
        method: format!(
            "Filters sized for ε = {}, filled with random strings, all distinct; then every member \
             and other strings are asked for. Bars: 95% intervals, the wider of the exact one and \
             Student’s over the filters, as small filters have rates of their own. The last column is \
             what was published in 2015.",
            decimal(TARGET, 1)
        ),
        panels: vec![Panel::Chart(Chart {
            title: String::new(),
            x: Axis::categories("keys in the filter", names),
            y: Axis::from_zero("rate of wrong yeses").with_format(Format::Percent),
            series: vec![
                Series::dashed("asked for", Hue::Limit, ends),
                Series::new(
                    "theory for the filter as built",
                    Hue::Theory,
                    crate::plot::Look::Dots,
                    groups
                        .iter()
                        .enumerate()
                        .map(|(i, group)| crate::plot::Point {
                            x: at(i) - 0.12,
                            y: group.theory,
                            interval: None,
                        })
                        .collect(),
                ),
                Series::dots(
                    "observed",
                    Hue::Bloom,
                    groups.iter().enumerate().map(|(i, group)| (at(i) + 0.12, group.observed)),
                ),
                Series::dots("published in 2015", Hue::Plain, [(at(groups.len()), published)]),
            ],
        })],
        table: Some(table),
        verdict: Verdict {
            outcome: Outcome::of(off.is_empty() && is_whole),
            sentence,
            test: format!(
                "Test: theory within the interval of each of {} sizes, corrected for their number \
                 (Bonferroni); a false alarm has a probability of at most {}%.",
                groups.len(),
                100.0 * FALSE_ALARM
            ),
        },
    })
}
