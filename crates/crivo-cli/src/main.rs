//! The `crivo` command: membership filters for people with files.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::run()
}
