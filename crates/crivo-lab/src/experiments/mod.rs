//! The experiments, in the order of the report.

mod admission;
mod best_k;
mod best_m;
mod big_small;
mod cassandra;
mod compaction;
mod counting;
mod dictionaries;
mod exchange;
mod filters;
mod fpr;
mod hash_quality;
mod hyphenation;
mod join;
mod routing;
mod similarity;
mod wallet;

use std::fmt::Debug;

use crate::StudyError;
use crate::context::Context;
use crate::data::Dataset;
use crate::section::Section;
use crate::settings::Options;

/// An experiment: its measurement, and its section of the report.
pub trait Experiment: Debug + Sync {
    /// Its name on the command line and in files.
    fn name(&self) -> &'static str;

    /// Measures, and adds tables to `data`.
    ///
    /// # Errors
    /// If a structure cannot be built, or gives a wrong answer.
    fn run(&self, context: &Context<'_>, data: &mut Dataset) -> Result<(), StudyError>;

    /// Whether data of the same settings have all that these options ask for.
    fn is_measured(&self, data: &Dataset, options: &Options) -> bool {
        let _ = (data, options);
        true
    }

    /// The section of the report, from the data alone.
    ///
    /// # Errors
    /// If a table is missing or has other columns than [`run`](Self::run) writes.
    fn present(&self, data: &Dataset) -> Result<Section, StudyError>;
}

/// Every experiment, in the order of the report.
pub const ALL: &[&dyn Experiment] = &[
    &hyphenation::Hyphenation,
    &hash_quality::HashQuality,
    &best_k::BestK,
    &best_m::BestM,
    &big_small::BigSmall,
    &counting::Counting,
    &compaction::Compaction,
    &filters::Filters,
    &dictionaries::Dictionaries,
    &exchange::Exchange,
    &routing::Routing,
    &admission::Admission,
    &similarity::Similarity,
    &wallet::Wallet,
    &cassandra::Cassandra,
    &join::Join,
];

/// The names of all experiments.
pub fn names() -> impl Iterator<Item = &'static str> {
    ALL.iter().map(|experiment| experiment.name())
}

/// The experiment of this name.
///
/// # Errors
/// If there is none; the error suggests the nearest.
pub fn find(name: &str) -> Result<&'static dyn Experiment, StudyError> {
    ALL.iter().copied().find(|experiment| experiment.name() == name).ok_or_else(|| {
        let nearest = names().min_by_key(|known| distance(known, name));
        let near = |known: &&str| distance(known, name) <= 1 + known.len() / 3;
        StudyError::UnknownExperiment {
            name: name.to_string(),
            nearest: nearest.filter(near),
            names: names().collect(),
        }
    })
}

/// The Levenshtein distance.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut costs: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = costs[0];
        costs[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = costs[j + 1];
            costs[j + 1] = replaced.min(costs[j] + 1).min(diagonal + 1);
        }
    }
    costs[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_count_letters() {
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("best-k", "best-k"), 0);
    }

    #[test]
    fn every_experiment_is_found_by_its_name_and_no_other() {
        for experiment in ALL {
            assert_eq!(find(experiment.name()).unwrap().name(), experiment.name());
        }
        let error = find("bestk").unwrap_err();
        assert_eq!(error.to_string(), "there is no experiment \"bestk\"; did you mean \"best-k\"?");
        assert!(
            find("astronomy")
                .unwrap_err()
                .to_string()
                .contains("there are hyphenation, hash-quality")
        );
    }
}
