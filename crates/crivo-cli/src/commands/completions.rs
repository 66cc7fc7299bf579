//! `crivo completions`: completion scripts for shells.

use std::io::Write;

use clap::{Args, Command};
use clap_complete::Shell;

use crate::error::Error;
use crate::output;
use crate::status::Status;

/// Prints the completions for a shell
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CompletionsArgs {
    /// Which shell
    #[arg(value_enum)]
    shell: Shell,
}

const EXAMPLES: &str = "\
Examples:
  crivo completions bash > ~/.local/share/bash-completion/completions/crivo
  crivo completions zsh > ~/.zfunc/_crivo
  crivo completions fish > ~/.config/fish/completions/crivo.fish
";

impl CompletionsArgs {
    pub(crate) fn run(self, cli: Command) -> Result<Status, Error> {
        let mut cli = with_values(cli);
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut cli, "crivo", &mut script);
        if self.shell == Shell::Fish {
            script.extend(fish_values(&cli).bytes());
        }
        let mut out = output::data();
        out.write_all(&script).and_then(|()| out.flush()).map_err(Error::output)?;
        Ok(Status::Success)
    }
}

/// The values of arguments without an option, which clap leaves out for fish.
fn fish_values(cli: &Command) -> String {
    let mut lines = String::new();
    for command in cli.get_subcommands() {
        for argument in command.get_positionals() {
            let values = argument.get_possible_values();
            let values: Vec<&str> = values.iter().map(|value| value.get_name()).collect();
            if !values.is_empty() {
                lines.push_str(&format!(
                    "complete -c crivo -n \"__fish_crivo_using_subcommand {}\" -f -a \"{}\"\n",
                    command.get_name(),
                    values.join(" ")
                ));
            }
        }
    }
    lines
}

/// The commands with the values that scripts offer. Some arguments accept more than these.
fn with_values(cli: Command) -> Command {
    #[cfg(feature = "hyphen")]
    let cli = offer(cli, "hyphenate", "language", crivo_hyphen::Language::all().map(|l| l.code()));
    #[cfg(feature = "study")]
    let cli = offer(cli, "study", "experiments", crivo_lab::experiments::names());
    cli
}

#[cfg(any(feature = "hyphen", feature = "study"))]
fn offer(
    cli: Command,
    command: &str,
    argument: &'static str,
    values: impl IntoIterator<Item = &'static str>,
) -> Command {
    let values = clap::builder::PossibleValuesParser::new(values);
    cli.mut_subcommand(command, |command| {
        command.mut_arg(argument, |argument| argument.value_parser(values))
    })
}
