//! What the command accepts.

use std::process::ExitCode;

use clap::Parser;

/// Have I seen this line? Membership filters for people with files.
#[derive(Debug, Parser)]
#[command(name = "crivo", version)]
struct Cli {}

/// Reads the arguments and does what they say.
pub(crate) fn run() -> ExitCode {
    let Cli {} = Cli::parse();
    ExitCode::SUCCESS
}
