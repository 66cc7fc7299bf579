//! `crivo man`: the manual, made from the same words as `--help`.

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

use clap::{Args, Command, CommandFactory, ValueHint};
use clap_mangen::Man;

use crate::cli::Cli;
use crate::outcome::{Error, Outcome};
use crate::output;

/// Prints a manual page, or writes all of them to a directory
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ManArgs {
    /// The command to print the page of; that of crivo itself if none is named
    #[arg(conflicts_with = "output")]
    command: Option<String>,

    /// Write a page for every command to this directory
    #[arg(short, long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    output: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  crivo man build | man -l -
  crivo man -o ~/.local/share/man/man1
";

impl ManArgs {
    pub(crate) fn run(self) -> Result<Outcome, Error> {
        let mut cli = Cli::command();
        // Gives subcommands their full names.
        cli.build();
        if let Some(folder) = self.output {
            for command in std::iter::once(&cli).chain(cli.get_subcommands()) {
                let page = page_of(command);
                let path = folder.join(page.get_filename());
                render(&page)
                    .and_then(|page| fs::write(&path, page))
                    .map_err(Error::writing(&path))?;
            }
            return Ok(Outcome::Done);
        }
        let command = match &self.command {
            None => &cli,
            Some(name) => cli.find_subcommand(name).ok_or_else(|| {
                Error::new(format_args!("there is no command {name:?}; `crivo --help` lists them"))
            })?,
        };
        let mut out = output::data();
        render(&page_of(command))
            .and_then(|page| out.write_all(&page))
            .and_then(|()| out.flush())
            .map_err(Error::output)?;
        Ok(Outcome::Done)
    }
}

fn page_of(command: &Command) -> Man {
    Man::new(command.clone().version(env!("CARGO_PKG_VERSION")))
}

fn render(page: &Man) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    page.render(&mut text)?;
    Ok(text)
}
