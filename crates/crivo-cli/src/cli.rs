//! The command line: its subcommands, and the exit status.

use std::num::NonZeroUsize;
use std::process::ExitCode;

use clap::builder::styling::{AnsiColor, Styles};
use clap::{ArgMatches, Args, CommandFactory, FromArgMatches, Parser, Subcommand};

#[cfg(feature = "parquet")]
use crate::commands::add_filters;
#[cfg(feature = "study")]
use crate::commands::study;
use crate::commands::{
    build, common, completions, count, dedup, diff, insert, inspect, join, man, merge, query,
    remove, similar, size, sync,
};
#[cfg(feature = "hyphen")]
use crate::commands::{hyphenate, languages};
use crate::error::Error;
use crate::input;
use crate::output;
use crate::status::Status;
use crate::threads;

/// Have I seen this line? Membership filters for people with files.
///
/// A filter remembers keys in a few bits each. It never misses a key that was inserted; for other
/// keys it errs at a false-positive rate (FPR) that you choose. Keys are the lines of files, or a
/// column of them. Data goes to standard output, messages to standard error.
#[derive(Debug, Parser)]
#[command(name = "crivo", version, arg_required_else_help = true)]
#[command(after_help = EXAMPLES, styles = STYLES, max_term_width = 100)]
struct Cli {
    #[command(flatten)]
    common: CommonOptions,

    #[command(subcommand)]
    command: Command,
}

/// The options of every command.
#[derive(Debug, Args)]
struct CommonOptions {
    /// Use at most this many threads for the work [default: one for each core]
    #[arg(long, value_name = "N", global = true, help_heading = EVERY_COMMAND)]
    threads: Option<NonZeroUsize>,

    /// Show no progress bar; there is none either with --quiet, or if standard error is no terminal
    #[arg(long, global = true, help_heading = EVERY_COMMAND)]
    no_progress: bool,
}

/// The heading in the help of these options.
const EVERY_COMMAND: &str = "Options of every command";

impl CommonOptions {
    fn apply(&self, is_quiet: bool) {
        if let Some(count) = self.threads {
            threads::set_count(count);
        }
        if self.no_progress || is_quiet {
            input::hide_progress();
        }
    }
}

/// Whether the subcommand was told to be quiet.
fn is_quiet(matches: &ArgMatches) -> bool {
    let quiet = |(_, command): (&str, &ArgMatches)| {
        command.try_get_one::<bool>("quiet").ok().flatten().copied()
    };
    matches.subcommand().and_then(quiet).unwrap_or(false)
}

const EXAMPLES: &str = "\
Examples:
  crivo build -o seen.crivo urls.txt           remember every line
  crivo query --absent seen.crivo new.txt      lines that are certainly new
  crivo dedup access.log > once.log            drop repeated lines, keep the order
  crivo diff all.txt done.txt                  lines of one file and not of the other
  crivo count --field 1 -d ' ' access.log      how many different addresses
  crivo similar essays/*.txt                   files that are nearly the same
  crivo sync --connect host:4000 mine.txt      which lines do the two files not share?
  crivo size --keys 1M --fpr 0.001             which filter, and how large?

Exit status: 0 success, 1 nothing found (query, remove; diff and common with --quiet), 2 error.
";

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

#[derive(Debug, Subcommand)]
enum Command {
    Build(build::BuildArgs),
    Query(query::QueryArgs),
    Insert(insert::InsertArgs),
    Remove(remove::RemoveArgs),
    Merge(merge::MergeArgs),
    Inspect(inspect::InspectArgs),
    #[cfg(feature = "parquet")]
    AddFilters(add_filters::AddFiltersArgs),
    Size(size::SizeArgs),
    Similar(similar::SimilarArgs),
    Dedup(dedup::DedupArgs),
    Diff(diff::DiffArgs),
    Common(common::CommonArgs),
    Count(count::CountArgs),
    #[cfg(feature = "hyphen")]
    Hyphenate(hyphenate::HyphenateArgs),
    #[cfg(feature = "hyphen")]
    Languages(languages::LanguagesArgs),
    Sync(sync::SyncArgs),
    Join(join::JoinArgs),
    #[cfg(feature = "study")]
    Study(study::StudyArgs),
    Completions(completions::CompletionsArgs),
    Man(man::ManArgs),
}

impl Command {
    fn run(self) -> Result<Status, Error> {
        match self {
            Self::Build(args) => args.run(),
            Self::Query(args) => args.run(),
            Self::Insert(args) => args.run(),
            Self::Remove(args) => args.run(),
            Self::Merge(args) => args.run(),
            Self::Inspect(args) => args.run(),
            #[cfg(feature = "parquet")]
            Self::AddFilters(args) => args.run(),
            Self::Size(args) => args.run(),
            Self::Similar(args) => args.run(),
            Self::Dedup(args) => args.run(),
            Self::Diff(args) => args.run(),
            Self::Common(args) => args.run(),
            Self::Count(args) => args.run(),
            #[cfg(feature = "hyphen")]
            Self::Hyphenate(args) => args.run(),
            #[cfg(feature = "hyphen")]
            Self::Languages(args) => args.run(),
            Self::Sync(args) => args.run(),
            Self::Join(args) => args.run(),
            #[cfg(feature = "study")]
            Self::Study(args) => args.run(),
            Self::Completions(args) => args.run(Cli::command()),
            Self::Man(args) => args.run(Cli::command()),
        }
    }
}

/// Parses the arguments and runs the command.
pub(crate) fn run() -> ExitCode {
    let parsed = Cli::command().try_get_matches().and_then(|matches| {
        let cli = Cli::from_arg_matches(&matches)?;
        cli.common.apply(is_quiet(&matches));
        Ok(cli)
    });
    let result = match parsed {
        Ok(cli) => crivo::check_simd().map_err(Error::new).and_then(|()| cli.command.run()),
        // Help and the version are data like any other.
        Err(help) if !help.use_stderr() => {
            output::print(&help.render().ansi().to_string()).map(|()| Status::Success)
        }
        // Invalid arguments: exits with status 2.
        Err(error) => error.exit(),
    };
    match result {
        Ok(outcome) => outcome.into(),
        Err(Error::BrokenPipe) => ExitCode::SUCCESS,
        Err(error) => {
            output::print_error(error);
            ExitCode::from(2)
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::ValueHint;

    use super::*;

    #[test]
    fn argument_definitions_are_consistent() {
        Cli::command().debug_assert();
    }

    /// The arguments of every call of crivo in a line of shell.
    fn calls(line: &str) -> Vec<Vec<String>> {
        let line = line.trim_start();
        // Two spaces precede the explanation.
        let line = line.split("  ").next().unwrap_or(line);
        let calls = line.split(['|', '&']).map(str::trim).filter(|call| call.starts_with("crivo"));
        calls
            .map(|call| {
                let call = call.split(['<', '>']).next().unwrap_or(call);
                let mut arguments = vec![String::new()];
                let mut is_quoted = false;
                for letter in call.trim().chars() {
                    match letter {
                        '\'' | '"' => is_quoted = !is_quoted,
                        ' ' if !is_quoted => arguments.push(String::new()),
                        letter => arguments.last_mut().unwrap().push(letter),
                    }
                }
                arguments
            })
            .collect()
    }

    #[test]
    fn every_example_parses() {
        let cli = Cli::command();
        let mut count = 0;
        for command in std::iter::once(&cli).chain(cli.get_subcommands()) {
            let help = command.get_after_help().unwrap_or_default().to_string();
            for call in help.lines().filter(|line| line.starts_with("  ")).flat_map(calls) {
                count += 1;
                if let Err(error) = Cli::try_parse_from(&call) {
                    panic!("{call:?}: {error}");
                }
            }
        }
        assert!(count > 20, "{count}");
    }

    /// A script of completions offers files where an argument names one.
    #[test]
    fn arguments_that_name_files_complete_files() {
        for command in Cli::command().get_subcommands() {
            for argument in command.get_arguments() {
                let names = argument.get_value_names().unwrap_or_default();
                let is_path = |name: &str| ["FILE", "DIR", "INPUT", "A", "B"].contains(&name);
                if names.iter().any(|name| is_path(name)) {
                    let hint = argument.get_value_hint();
                    let is_file = matches!(hint, ValueHint::FilePath | ValueHint::DirPath);
                    assert!(is_file, "{} {}", command.get_name(), argument.get_id());
                }
            }
        }
    }

    #[test]
    fn every_command_shows_examples() {
        for command in Cli::command().get_subcommands() {
            let help = command.get_after_help().unwrap_or_default().to_string();
            let call = format!("crivo {}", command.get_name());
            assert!(help.contains("Examples:") && help.contains(&call), "{call}: {help:?}");
        }
    }
}
