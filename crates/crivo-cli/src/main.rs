//! The `crivo` command: membership filters for people with files.
//!
//! Data goes to standard output, messages to standard error. The exit status is 0 for success, 2
//! for an error, and 1 if a command found nothing ([`status::Status::NothingFound`]).
//!
//! Every command goes one way: [`cli`] parses the arguments, the command in [`commands`] validates
//! them, runs, and reports. Modules below `commands` know nothing of commands.

mod cli;
mod commands;
mod describe;
mod distinct;
mod error;
mod filter_file;
#[cfg(feature = "formats")]
mod foreign;
mod human;
mod input;
mod link;
mod mapped;
mod output;
#[cfg(feature = "formats")]
mod parquet;
mod secret;
mod signals;
mod spill;
mod status;
mod table;
mod threads;
mod update;

use std::process::ExitCode;

fn main() -> ExitCode {
    signals::ignore_file_size_signal();
    cli::run()
}
