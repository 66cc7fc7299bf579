//! Comparable times.
//!
//! All contenders run in one process and take turns, round after round, each round in another order,
//! so that disturbances of the machine and the state of the caches affect all of them equally. The
//! result is the ratio to a baseline *within a round*; the raw samples are in the data files.
//!
//! Where the system supports it, time is the CPU time of this thread ([`Clock::Processor`]), which
//! excludes other programs.

use std::hint::black_box;
use std::sync::LazyLock;
use std::time::Duration;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::plot::percent;
use crate::statistics::{
    CONFIDENCE, FALSE_ALARM, PointEstimate, mean_interval, median_interval, median_miss,
};
use crate::{StudyError, random_stream};

/// A contender: a name, and a function that is called with the number of the phase and returns a
/// result to be checked.
pub struct Contender<'a> {
    /// Its name in the data.
    pub name: String,
    work: Box<dyn FnMut(usize) -> Result<u64, StudyError> + 'a>,
}

impl<'a> Contender<'a> {
    /// A contender of this name.
    pub fn new(
        name: impl Into<String>,
        work: impl FnMut(usize) -> Result<u64, StudyError> + 'a,
    ) -> Self {
        Self { name: name.into(), work: Box::new(work) }
    }
}

/// A part of each round that is timed separately.
#[derive(Debug, Clone, Copy)]
pub struct Phase<'a> {
    /// Its name in the data.
    pub task: &'a str,
    /// The number of operations.
    pub operations: usize,
    /// The expected result, if it is the same for all; otherwise each contender must return the same
    /// result in every round.
    pub expected: Option<u64>,
}

/// One timed round of one contender, as in the data files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// The task, with its conditions.
    pub task: String,
    /// The parameter that varies: number of keys, load, FPR…
    pub x: f64,
    /// The contender.
    pub contender: String,
    /// The round, from 0.
    pub round: u32,
    /// Nanoseconds per operation.
    pub nanoseconds: f64,
}

/// Which time is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// The CPU time of this thread, or wall-clock time where that is not available.
    Processor,
    /// Wall-clock time, which includes waiting for a disk.
    Wall,
}

/// Runs the contenders in turn for `rounds` rounds, each in a random order, after a round of warm-up.
/// In its turn a contender runs all phases, each timed separately.
///
/// # Errors
/// If a contender fails, or its result is not the expected one, or not that of its first round.
pub fn interleave(
    clock: Clock,
    x: f64,
    rounds: u32,
    phases: &[Phase<'_>],
    contenders: &mut [Contender<'_>],
) -> Result<Vec<Sample>, StudyError> {
    let count = contenders.len();
    let mut samples = vec![Vec::with_capacity(phases.len() * rounds as usize); count];
    let mut results = vec![None; count * phases.len()];
    let mut order: Vec<usize> = (0..count).collect();
    let mut random = random_stream(0, "turns");
    for round in 0..=rounds {
        // A contender that runs after one that fills the caches is slower: the order varies.
        random.shuffle(&mut order);
        for &place in &order {
            let contender = &mut contenders[place];
            for (number, phase) in phases.iter().enumerate() {
                let start = clock.now();
                let result = black_box((contender.work)(number)?);
                let elapsed = clock.now().saturating_sub(start);
                let first = results[place * phases.len() + number].get_or_insert(result);
                let expected = phase.expected.unwrap_or(*first);
                if result != expected {
                    let (name, task) = (&contender.name, phase.task);
                    return Err(StudyError::wrong(format_args!(
                        "{name} returned {result} in {task:?}, expected {expected}"
                    )));
                }
                if let Some(round) = round.checked_sub(1) {
                    samples[place].push(Sample {
                        task: phase.task.to_string(),
                        x,
                        contender: contender.name.clone(),
                        round,
                        nanoseconds: elapsed.as_nanos() as f64 / phase.operations.max(1) as f64,
                    });
                }
            }
        }
    }
    Ok(samples.concat())
}

impl Clock {
    /// The time since some fixed moment.
    fn now(self) -> Duration {
        static BEGINNING: LazyLock<Instant> = LazyLock::new(Instant::now);
        match self {
            #[cfg(target_os = "linux")]
            Self::Processor => {
                let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
                // The clock begins with the thread and is never negative.
                Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
            }
            _ => BEGINNING.elapsed(),
        }
    }
}

/// The result of a comparison of times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// Faster than the baseline.
    Faster,
    /// Slower than the baseline.
    Slower,
    /// Not significantly different.
    Open,
}

impl Comparison {
    /// From the interval of a ratio of times to those of the baseline.
    pub(crate) fn of(ratio: PointEstimate) -> Self {
        match ratio {
            PointEstimate { high, .. } if high < 1.0 => Self::Faster,
            PointEstimate { low, .. } if low > 1.0 => Self::Slower,
            _ => Self::Open,
        }
    }
}

/// A description of the test for the reader, for a number of comparisons of median ratios with 1 over
/// a number of rounds, with the probability of a false alarm in any of them.
pub(crate) fn describe_comparisons(comparisons: usize, rounds: usize) -> String {
    let probability = false_alarm_probability(comparisons, rounds);
    if !suffices(comparisons, rounds) {
        return format!(
            "Not a test: {rounds} rounds are too few for {comparisons} comparisons. “Faster” and “slower” \
             mean: in every round."
        );
    }
    format!(
        "Test: the interval of the median ratio over {rounds} rounds is entirely below or above 1, \
         corrected for {comparisons} {} (Bonferroni); probability of a false alarm at most {}.",
        if comparisons == 1 { "comparison" } else { "comparisons" },
        // Rounded up, because it is a bound.
        percent((probability * 1e3).ceil() / 1e3, 2),
    )
}

/// The probability of a false alarm in any of the comparisons.
fn false_alarm_probability(comparisons: usize, rounds: usize) -> f64 {
    comparisons as f64 * median_miss(rounds, corrected(comparisons))
}

/// Whether the rounds are enough for a test of this number of comparisons.
pub(crate) fn suffices(comparisons: usize, rounds: usize) -> bool {
    false_alarm_probability(comparisons, rounds) <= 0.05
}

/// The confidence of each of a number of comparisons.
pub(crate) fn corrected(comparisons: usize) -> f64 {
    1.0 - FALSE_ALARM / comparisons.max(1) as f64
}

/// The samples of a data file.
#[derive(Debug, Clone, Copy)]
pub struct Samples<'a>(pub &'a [Sample]);

impl Samples<'_> {
    /// The times of a contender, by round.
    pub fn times(&self, task: &str, x: f64, contender: &str) -> Vec<f64> {
        let wanted = |sample: &&Sample| {
            sample.task == task && sample.x == x && sample.contender == contender
        };
        let mut found: Vec<_> = self.0.iter().filter(wanted).collect();
        found.sort_by_key(|sample| sample.round);
        found.into_iter().map(|sample| sample.nanoseconds).collect()
    }

    /// The mean time of a contender with its 95% interval.
    pub fn mean(&self, task: &str, x: f64, contender: &str) -> Option<PointEstimate> {
        let times = self.times(task, x, contender);
        (!times.is_empty()).then(|| mean_interval(&times, CONFIDENCE))
    }

    /// The median time of a contender with its 95% interval.
    pub fn median(&self, task: &str, x: f64, contender: &str) -> Option<PointEstimate> {
        let times = self.times(task, x, contender);
        (!times.is_empty()).then(|| median_interval(&times, CONFIDENCE))
    }

    /// The median over the rounds of a contender's time over the baseline's in the same round.
    pub fn ratio(
        &self,
        task: &str,
        x: f64,
        contender: &str,
        baseline: &str,
        confidence: f64,
    ) -> Option<PointEstimate> {
        let times = self.times(task, x, contender);
        let baselines = self.times(task, x, baseline);
        let ratios: Vec<f64> = times.iter().zip(&baselines).map(|(a, b)| a / b).collect();
        (!ratios.is_empty()).then(|| median_interval(&ratios, confidence))
    }

    /// Whether a contender is faster or slower than the baseline: the interval of the median ratio,
    /// at this confidence, is entirely below or above 1.
    pub fn compare(
        &self,
        task: &str,
        x: f64,
        contender: &str,
        baseline: &str,
        confidence: f64,
    ) -> Option<Comparison> {
        let ratio = self.ratio(task, x, contender, baseline, confidence)?;
        Some(Comparison::of(ratio))
    }

    /// The contender with the lowest median ratio to the baseline, that ratio, and the contenders
    /// than which it is not significantly faster.
    pub fn fastest(
        &self,
        task: &str,
        x: f64,
        baseline: &str,
        confidence: f64,
    ) -> Option<(String, f64, Vec<String>)> {
        let ratio = |name: &String| {
            Some((name.clone(), self.ratio(task, x, name, baseline, CONFIDENCE)?.value))
        };
        let names = self.contenders(task);
        let (best, ratio) = names.iter().filter_map(ratio).min_by(|a, b| a.1.total_cmp(&b.1))?;
        let is_beaten = |name: &String| {
            self.compare(task, x, &best, name, confidence) == Some(Comparison::Faster)
        };
        let rivals = names.iter().filter(|name| **name != best && !is_beaten(name)).cloned();
        Some((best.clone(), ratio, rivals.collect()))
    }

    /// The minimum number of rounds of any contender in a task.
    pub fn rounds(&self, task: &str) -> usize {
        let rounds = self.xs(task).into_iter().flat_map(|x| {
            let names = self.contenders(task).into_iter();
            names.map(move |name| self.times(task, x, &name).len()).filter(|count| *count > 0)
        });
        rounds.min().unwrap_or(0)
    }

    /// Every x of a task, in ascending order.
    pub fn xs(&self, task: &str) -> Vec<f64> {
        let mut xs: Vec<f64> =
            self.0.iter().filter(|sample| sample.task == task).map(|sample| sample.x).collect();
        xs.sort_by(f64::total_cmp);
        xs.dedup();
        xs
    }

    /// Every contender of a task, in the order of their first sample.
    pub fn contenders(&self, task: &str) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for sample in self.0.iter().filter(|sample| sample.task == task) {
            if !names.contains(&sample.contender) {
                names.push(sample.contender.clone());
            }
        }
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contenders_take_turns_and_are_checked() {
        let order = std::cell::RefCell::new(String::new());
        let mut contenders = ["a", "b", "c"].map(|name| {
            let order = &order;
            Contender::new(name, move |_| {
                order.borrow_mut().push_str(name);
                Ok(7)
            })
        });
        let phase = Phase { task: "task", operations: 10, expected: Some(7) };
        let samples = interleave(Clock::Processor, 1.0, 20, &[phase], &mut contenders).unwrap();
        // All contenders run in every round, in varying order.
        let order = order.take();
        for round in order.as_bytes().chunks(3) {
            assert!(b"abc".iter().all(|name| round.contains(name)), "{order}");
        }
        for pair in ["ab", "ac", "ba", "bc", "ca", "cb"] {
            assert!(
                order
                    .as_bytes()
                    .chunks(3)
                    .any(|round| { std::str::from_utf8(round).unwrap().contains(pair) }),
                "{order}"
            );
        }
        assert_eq!(samples.len(), 60);
        let samples = Samples(&samples);
        assert_eq!(samples.xs("task"), [1.0]);
        assert_eq!(samples.times("task", 1.0, "b").len(), 20);
        assert!(samples.ratio("task", 1.0, "a", "a", 0.95).unwrap().contains(1.0));
        assert!(samples.mean("task", 2.0, "b").is_none());

        assert_eq!(samples.rounds("task"), 20);

        let wrong = Phase { expected: Some(8), ..phase };
        let error = interleave(Clock::Processor, 1.0, 2, &[wrong], &mut contenders).unwrap_err();
        assert!(error.to_string().contains("returned 7 in \"task\", expected 8"), "{error}");

        // Without an expected result, the first one must be repeated.
        let (free, mut result) = (Phase { expected: None, ..phase }, 0);
        let counting = Contender::new("counts", |_| {
            result += 1;
            Ok(result)
        });
        assert!(interleave(Clock::Processor, 1.0, 1, &[free], &mut [counting]).is_err());
    }

    #[test]
    fn ratios_are_compared() {
        let times = [("slow", 2.0), ("fast", 1.0), ("other", 1.0), ("base", 1.5)];
        let sample = |round: u32, (name, time): (&str, f64)| Sample {
            task: "task".to_string(),
            x: 1.0,
            contender: name.to_string(),
            round,
            // Each contender is slightly slower in some rounds.
            nanoseconds: time + 0.01 * f64::from((round + name.len() as u32) % 3),
        };
        let rows: Vec<Sample> =
            (0..30).flat_map(|round| times.map(|each| sample(round, each))).collect();
        let samples = Samples(&rows);
        let compare = |name| samples.compare("task", 1.0, name, "base", 0.99).unwrap();
        assert_eq!(compare("slow"), Comparison::Slower);
        assert_eq!(compare("fast"), Comparison::Faster);
        assert_eq!(compare("base"), Comparison::Open);
        let (best, ratio, rivals) = samples.fastest("task", 1.0, "base", 0.99).unwrap();
        assert!(["fast", "other"].contains(&best.as_str()) && ratio < 0.7, "{best} {ratio}");
        assert_eq!(rivals.len(), 1, "{rivals:?}");
        assert!(describe_comparisons(4, 30).starts_with("Test"));
        assert!(describe_comparisons(100, 7).starts_with("Not a test"));
    }
}
