//! `crivo languages`: lists the languages of `hyphenate`.

use clap::Args;
use crivo_hyphen::Language;
use serde::Serialize;

use crate::error::Error;
use crate::output;
use crate::status::Status;
use crate::table::{Align, TextTable};

/// Lists the languages that `hyphenate` supports
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct LanguagesArgs {
    /// Print a list in JSON
    #[arg(long)]
    json: bool,

    /// Print the notices of the patterns: authors, copyright and licence
    #[arg(long, conflicts_with = "json")]
    notices: bool,
}

const EXAMPLES: &str = "\
Examples:
  crivo languages                    code, name, minima, exceptions, licence
  crivo languages --json | jq -r '.[].code'
  crivo languages --notices > NOTICES.txt
";

/// With `--json`.
#[derive(Serialize)]
struct LanguageEntry {
    code: &'static str,
    name: &'static str,
    left: usize,
    right: usize,
    has_exceptions: bool,
    licence: &'static str,
}

impl LanguagesArgs {
    pub(crate) fn run(self) -> Result<Status, Error> {
        if self.notices {
            let notice = |language: Language| {
                format!("{language} ({})\n\n{}\n", language.code(), language.notice().trim_end())
            };
            output::print(&Language::all().map(notice).collect::<Vec<_>>().join("\n"))?;
            return Ok(Status::Success);
        }
        let entries = Language::all().map(|language| {
            let (left, right) = language.minima();
            LanguageEntry {
                code: language.code(),
                name: language.name(),
                left,
                right,
                has_exceptions: language.has_exceptions(),
                licence: language.licence(),
            }
        });
        if self.json {
            output::print_json(&entries.collect::<Vec<_>>())?;
            return Ok(Status::Success);
        }
        let mut table = TextTable::new([
            ("code", Align::Left),
            ("language", Align::Left),
            ("minimum letters", Align::Left),
            ("exceptions", Align::Left),
            ("licence", Align::Left),
        ]);
        for LanguageEntry { code, name, left, right, has_exceptions, licence } in entries {
            let exceptions = if has_exceptions { "yes" } else { "" };
            let letters = format!("{left} before, {right} after");
            table.row([code, name, &letters, exceptions, licence].map(str::to_owned));
        }
        output::print(&table.to_string())?;
        Ok(Status::Success)
    }
}
