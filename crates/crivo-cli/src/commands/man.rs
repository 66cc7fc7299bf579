//! `crivo man`: manual pages, generated from the same text as `--help`.

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

use clap::{Arg, ArgAction, Args, Command, ValueHint};
use clap_mangen::Man;
use clap_mangen::roff::{Inline, Roff, bold, italic, roman};

use crate::error::Error;
use crate::output;
use crate::status::Status;

/// Prints a manual page, or writes all of them to a directory
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ManArgs {
    /// The command whose page to print [default: crivo itself]
    #[arg(conflicts_with = "output")]
    command: Option<String>,

    /// Write a page for every command to this directory, which is created if necessary
    #[arg(short, long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    output: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  crivo man build | man -l -
  crivo man -o ~/.local/share/man/man1
";

impl ManArgs {
    pub(crate) fn run(self, cli: Command) -> Result<Status, Error> {
        // `crivo help` has no page of its own.
        let mut cli = cli.disable_help_subcommand(true);
        // This gives subcommands their full names.
        cli.build();
        if let Some(directory) = self.output {
            fs::create_dir_all(&directory).map_err(Error::writing(&directory))?;
            for command in std::iter::once(&cli).chain(cli.get_subcommands()) {
                let path = directory.join(page_of(command).get_filename());
                output::replace_file(&path, |mut out| {
                    render(command)
                        .and_then(|page| out.write_all(&page))
                        .and_then(|()| out.flush())
                        .map_err(Error::writing(&path))
                })?;
            }
            return Ok(Status::Success);
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
        Ok(Status::Success)
    }
}

fn page_of(command: &Command) -> Man {
    let version = env!("CARGO_PKG_VERSION");
    Man::new(command.clone().version(version))
        .source(format!("crivo {version}"))
        .manual("The crivo manual")
}

/// The exit status of commands whose help does not describe it.
const EXIT_STATUS: &str = "Exit status: 0 success, 2 error.";

/// The sections that clap generates, with a synopsis of ours, then those at the end of the help.
fn render(command: &Command) -> io::Result<Vec<u8>> {
    let page = page_of(command);
    let mut text = Vec::new();
    page.render_title(&mut text)?;
    page.render_name_section(&mut text)?;
    let mut synopsis = Roff::new();
    add_synopsis(&mut synopsis, command);
    synopsis.to_writer(&mut text)?;
    page.render_description_section(&mut text)?;
    page.render_options_section(&mut text)?;
    if command.has_subcommands() {
        page.render_subcommands_section(&mut text)?;
    }
    let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let mut roff = Roff::new();
    let default = (!help.contains("Exit status:")).then_some(EXIT_STATUS);
    let paragraphs = help.split("\n\n").chain(default);
    paragraphs.for_each(|paragraph| add_section(&mut roff, paragraph));
    add_see_also(&mut roff, command);
    roff.to_writer(&mut text)?;
    Ok(text)
}

/// The name and all arguments, with their values.
fn add_synopsis(roff: &mut Roff, command: &Command) {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name());
    let mut line = vec![bold(name.replace('-', " "))];
    let is_shown = |argument: &&Arg| !argument.is_hide_set();
    let (positional, options): (Vec<_>, Vec<_>) =
        command.get_arguments().filter(is_shown).partition(|argument| argument.is_positional());
    // As in the help: options, then the others.
    for argument in options.into_iter().chain(positional) {
        line.push(roman(" "));
        add_argument(&mut line, argument);
    }
    if command.has_subcommands() {
        line.extend([roman(" "), italic("COMMAND")]);
    }
    roff.control("SH", ["SYNOPSIS"]);
    // Not spread to the margin, and no words divided.
    roff.control("ad", ["l"]);
    roff.control("nh", []);
    roff.text(line);
    roff.control("ad", ["b"]);
    roff.control("hy", []);
}

/// `[-o, --output FILE]` or `FILE...`.
fn add_argument(line: &mut Vec<Inline>, argument: &Arg) {
    let is_required = argument.is_required_set();
    let has_value = matches!(argument.get_action(), ArgAction::Set | ArgAction::Append);
    if !is_required {
        line.push(roman("["));
    }
    let short = argument.get_short().map(|short| format!("-{short}"));
    let long = argument.get_long().map(|long| format!("--{long}"));
    let flags: Vec<String> = short.into_iter().chain(long).collect();
    if !flags.is_empty() {
        line.push(bold(flags.join(", ")));
    }
    if has_value {
        let names = argument.get_value_names().unwrap_or_default();
        let names: Vec<&str> = names.iter().map(|name| name.as_str()).collect();
        if !flags.is_empty() {
            line.push(roman(" "));
        }
        line.push(italic(names.join(" ")));
    }
    if !is_required {
        line.push(roman("]"));
    }
    if matches!(argument.get_action(), ArgAction::Append) {
        line.push(roman("..."));
    }
}

/// A paragraph is `Heading: text`, or `Heading:` followed by preformatted lines.
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

/// The page of crivo refers to the pages of all commands, and each of them to it.
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
