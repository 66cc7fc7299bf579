//! `crivo man`: the manual, made from the same words as `--help`.

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

use clap::{Args, Command, CommandFactory, ValueHint};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

use crate::cli::Cli;
use crate::outcome::{Error, Outcome};
use crate::output;

/// Prints a manual page, or writes all of them to a folder
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ManArgs {
    /// The command to print the page of; that of crivo itself if none is named
    #[arg(conflicts_with = "output")]
    command: Option<String>,

    /// Write a page for every command to this folder, which is made if need be
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
        // `crivo help` is no command with a page of its own.
        let mut cli = Cli::command().disable_help_subcommand(true);
        // Gives subcommands their full names.
        cli.build();
        if let Some(folder) = self.output {
            fs::create_dir_all(&folder).map_err(Error::writing(&folder))?;
            for command in std::iter::once(&cli).chain(cli.get_subcommands()) {
                let path = folder.join(page_of(command).get_filename());
                render(command)
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
        render(command)
            .and_then(|page| out.write_all(&page))
            .and_then(|()| out.flush())
            .map_err(Error::output)?;
        Ok(Outcome::Done)
    }
}

fn page_of(command: &Command) -> Man {
    let version = env!("CARGO_PKG_VERSION");
    Man::new(command.clone().version(version))
        .source(format!("crivo {version}"))
        .manual("The crivo manual")
}

/// The sections that follow from the arguments, then those that the help ends with.
fn render(command: &Command) -> io::Result<Vec<u8>> {
    let page = page_of(command);
    let mut text = Vec::new();
    page.render_title(&mut text)?;
    page.render_name_section(&mut text)?;
    page.render_synopsis_section(&mut text)?;
    page.render_description_section(&mut text)?;
    page.render_options_section(&mut text)?;
    if command.has_subcommands() {
        page.render_subcommands_section(&mut text)?;
    }
    let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let mut roff = Roff::new();
    help.split("\n\n").for_each(|paragraph| add_section(&mut roff, paragraph));
    add_see_also(&mut roff, command);
    roff.to_writer(&mut text)?;
    Ok(text)
}

/// `Heading: words`, or `Heading:` and lines that are shown as they are.
fn add_section(roff: &mut Roff, paragraph: &str) {
    let Some((heading, body)) = paragraph.split_once(':') else { return };
    roff.control("SH", [heading.to_uppercase().as_str()]);
    match body.strip_prefix('\n') {
        None => {
            roff.text([roman(body.trim())]);
        }
        Some(lines) => {
            roff.control("nf", []);
            for line in lines.lines() {
                roff.text([roman(line.strip_prefix("  ").unwrap_or(line))]);
            }
            roff.control("fi", []);
        }
    }
}

/// The other pages: of crivo those of all commands, of a command that of crivo.
fn add_see_also(roff: &mut Roff, command: &Command) {
    let names: Vec<_> = match command.has_subcommands() {
        true => command.get_subcommands().filter_map(Command::get_display_name).collect(),
        false => vec!["crivo"],
    };
    let mut line = Vec::new();
    for name in names {
        if !line.is_empty() {
            line.push(roman(", "));
        }
        line.extend([bold(name), roman("(1)")]);
    }
    roff.control("SH", ["SEE ALSO"]);
    roff.text(line);
}
