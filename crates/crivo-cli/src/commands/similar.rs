//! `crivo similar`: clusters of files or lines that are nearly the same.
//!
//! ```text
//!   files or lines ──▶ sets of shingles ──▶ components of the similar pairs ──▶ clusters
//! ```

mod clusters;
mod texts;

use std::collections::HashMap;
use std::io::Write;
use std::path::PathBuf;

use clap::{Args, ValueHint};
use crivo_sketch::Shingles;
use serde::Serialize;

use self::clusters::RankedSets;
use self::texts::{Location, Texts};
use crate::error::Error;
use crate::human::{self, parse_bytes};
use crate::input::{FormatArgs, InputProgress};
use crate::output;
use crate::spill::DEFAULT_MEMORY;
use crate::status::Status;

/// Finds clusters of files, or lines, that are nearly the same
///
/// The similarity of two texts is the Jaccard similarity of their sets of shingles: of the runs of K
/// words, or characters, that occur in either, the share that occurs in both. Texts that are at least as
/// similar as the threshold are in the same cluster, and so are texts that are connected by a chain of
/// such pairs. The answer is exact.
///
/// Prints a line for each text that has a similar one: the number of its cluster, its similarity to the
/// first text of the cluster, its name, and the text if it is a line, separated by tabs. The largest
/// cluster comes first.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SimilarArgs {
    /// Files to compare, also compressed by gzip, zstd, xz or bzip2; `-` is standard input
    #[arg(value_name = "FILE", required = true, value_hint = ValueHint::FilePath)]
    files: Vec<PathBuf>,

    /// Compare the lines of all files instead of the files
    #[arg(long)]
    lines: bool,

    /// The minimum similarity, from 0 (nothing in common: all texts are one cluster) to 1 (the same
    /// shingles)
    #[arg(short, long, value_name = "S", default_value = "0.8", value_parser = parse_threshold)]
    #[arg(allow_negative_numbers = true)]
    threshold: f64,

    /// Shingles are runs of K words [default for files: 3]
    #[arg(long, value_name = "K", conflicts_with = "chars")]
    words: Option<usize>,

    /// Shingles are runs of K characters [default with --lines: 5]
    #[arg(long, value_name = "K")]
    chars: Option<usize>,

    /// The maximum memory for texts and shingles, about; more is an error
    #[arg(long, value_name = "SIZE", default_value = DEFAULT_MEMORY, value_parser = parse_bytes)]
    #[arg(allow_negative_numbers = true)]
    memory: u64,

    /// With --lines: the maximum length of a line; a longer one is an error
    #[arg(long, value_name = "SIZE", default_value = "1MB", value_parser = parse_bytes)]
    #[arg(requires = "lines", allow_negative_numbers = true)]
    max_line: u64,

    /// Do not print the number of clusters
    #[arg(short, long)]
    quiet: bool,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  crivo similar essays/*.txt                  files that share most runs of three words
  crivo similar --threshold 0.5 a.txt b.txt   those that share half of them
  crivo similar --lines --chars 4 names.txt   lines that are nearly the same
  crivo similar --lines app.log | cut -f 1 | uniq -c    how many lines are in each cluster
";

impl SimilarArgs {
    pub(crate) fn run(self) -> Result<Status, Error> {
        if self.files.len() < 2 && !self.lines {
            return Err(Error::new("there is only one file; name more, or use --lines"));
        }
        let mut texts = Texts::new(self.shingles()?, self.memory);
        let format = FormatArgs::default().format()?;
        if self.lines {
            let max_line = usize::try_from(self.max_line).unwrap_or(usize::MAX);
            texts.read_lines(&self.files, &format, max_line)?;
        } else {
            texts.read_files(&self.files, &format)?;
        }
        let clusters = self.clusters(&mut texts);
        match self.json {
            true => self.print_json(&texts, &clusters)?,
            false => print(&texts, &clusters)?,
        }
        if !self.quiet {
            self.summarise(&texts, &clusters);
        }
        Ok(Status::Success)
    }

    fn shingles(&self) -> Result<Shingles, Error> {
        Ok(match (self.words, self.chars) {
            (Some(length), _) => Shingles::words(length)?,
            (None, Some(length)) => Shingles::characters(length)?,
            (None, None) if self.lines => Shingles::characters(5)?,
            (None, None) => Shingles::words(3)?,
        })
    }

    /// The clusters of two texts or more: the largest first; of equals, in the order of the input.
    fn clusters(&self, texts: &mut Texts) -> Vec<Cluster> {
        let sets = texts.take_sets();
        let progress = InputProgress::comparing(sets.len() as u64);
        let sets = RankedSets::new(sets, crate::threads::count());
        let mut components = sets.components(self.threshold, &progress);
        progress.finish();
        let mut numbers = HashMap::new();
        let mut clusters: Vec<Cluster> = Vec::new();
        for (text, set) in texts.set_numbers().enumerate() {
            let number = *numbers.entry(components.find(set)).or_insert(clusters.len());
            if number == clusters.len() {
                clusters.push(Cluster::default());
            }
            let cluster = &mut clusters[number];
            let first = cluster.members.first().map_or(set, |first| texts.set_number(first.text));
            cluster.members.push(Member { text, similarity: sets.jaccard(first, set) });
        }
        clusters.retain(|cluster| cluster.members.len() > 1);
        clusters.sort_by_key(|cluster| std::cmp::Reverse(cluster.members.len()));
        clusters
    }

    fn print_json(&self, texts: &Texts, clusters: &[Cluster]) -> Result<(), Error> {
        let member = |member: &Member| MemberReport {
            similarity: member.similarity,
            location: texts.location(member.text),
        };
        output::print_json(&SimilarReport {
            threshold: self.threshold,
            texts: texts.count(),
            empty: texts.empty_count(),
            clusters: clusters
                .iter()
                .map(|cluster| cluster.members.iter().map(member).collect())
                .collect(),
        })
    }

    fn summarise(&self, texts: &Texts, clusters: &[Cluster]) {
        let noun = if self.lines { "line" } else { "file" };
        let members = clusters.iter().map(|cluster| cluster.members.len() as u64).sum();
        output::print_message(format_args!(
            "crivo: {} of {} in {}",
            human::count(members),
            human::counted(texts.count(), noun),
            human::counted(clusters.len() as u64, "cluster"),
        ));
        if texts.empty_count() > 0 {
            let empty = human::counted(texts.empty_count(), &format!("empty {noun}"));
            output::print_message(format_args!("crivo: {empty} left out"));
        }
    }
}

/// Texts that are connected by similar pairs, in the order of the input.
#[derive(Default)]
struct Cluster {
    members: Vec<Member>,
}

struct Member {
    text: usize,
    /// To the first member.
    similarity: f64,
}

fn parse_threshold(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|threshold| (0.0..=1.0).contains(threshold))
        .ok_or_else(|| format!("the threshold is {text}, but it must be a number from 0 to 1"))
}

/// Prints the members of clusters, a line each.
fn print(texts: &Texts, clusters: &[Cluster]) -> Result<(), Error> {
    let mut out = output::data();
    for (number, cluster) in (1..).zip(clusters) {
        for Member { text, similarity } in &cluster.members {
            let location = texts.location(*text);
            writeln!(out, "{number}\t{similarity:.4}\t{location}").map_err(Error::output)?;
        }
    }
    out.flush().map_err(Error::output)
}

#[derive(Serialize)]
struct SimilarReport<'a> {
    threshold: f64,
    texts: u64,
    empty: u64,
    clusters: Vec<Vec<MemberReport<'a>>>,
}

#[derive(Serialize)]
struct MemberReport<'a> {
    similarity: f64,
    #[serde(flatten)]
    location: Location<'a>,
}
