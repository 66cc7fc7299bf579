//! The `crivo` command: membership filters for people with files.
//!
//! Data goes to standard output, words to standard error. The exit status is 0 for success, 2 for
//! an error, and 1 only where a command found nothing to do ([`outcome::Outcome::Nothing`]).

mod cli;
mod commands;
mod describe;
mod distinct;
mod human;
mod input;
mod link;
mod mapped;
mod outcome;
mod output;
mod secret;
mod signals;
mod spill;
mod table;
mod update;

use std::process::ExitCode;

fn main() -> ExitCode {
    signals::outlive_file_size_limits();
    cli::run()
}
