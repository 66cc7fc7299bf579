//! `crivo hyphenate`: marks where words may be divided.

use std::io::{Read, Write};
use std::path::PathBuf;

use clap::{Args, ValueHint};
use crivo_hyphen::exceptions::MemoryExceptions;
use crivo_hyphen::text::Html;
use crivo_hyphen::{Exception, Hyphenator, Language, Patterns};

use crate::error::Error;
use crate::input::{InputBytes, InputProgress};
use crate::output;
use crate::status::Status;

/// Marks where words may be divided
///
/// Only words are changed: without the separators, the output is the input. URLs, words with digits,
/// words that already contain soft hyphens, and bytes that are not UTF-8 are left unchanged.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct HyphenateArgs {
    /// The text [default: the files of --file, or standard input]
    #[arg(value_name = "TEXT", conflicts_with = "files")]
    text: Vec<String>,

    /// Hyphenate these files, also compressed by gzip or zstd; `-` is standard input
    #[arg(short, long = "file", value_name = "FILE", value_hint = ValueHint::FilePath, num_args = 1..)]
    files: Vec<PathBuf>,

    /// The language: a code that `crivo languages` lists, or a tag such as en, de-AT or pt-BR
    #[arg(short, long = "lang", value_name = "CODE", default_value = "en-us")]
    language: String,

    /// The separator at possible breaks [default: a soft hyphen, U+00AD]
    #[arg(short, long, value_name = "STR", default_value = "\u{ad}", hide_default_value = true)]
    separator: String,

    /// The minimum number of letters before a break [default: the language's]
    #[arg(long, value_name = "N")]
    left: Option<usize>,

    /// The minimum number of letters after a break [default: the language's]
    #[arg(long, value_name = "N")]
    right: Option<usize>,

    /// Do not divide words with fewer letters
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    min_word_length: usize,

    /// The text is HTML: leave tags, entities, code, and text in other languages unchanged
    #[arg(long)]
    html: bool,

    /// Exceptions with their breaks, as `ta-ble`: one per line, or a TeX file. They override the
    /// language's exceptions; of several files, the last wins
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    exceptions: Vec<PathBuf>,

    /// Use the TeX patterns in this file instead of the language's
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "language")]
    patterns: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  crivo hyphenate --separator - \"the hyphenation of words\"
  crivo hyphenate --lang de --file brief.txt > getrennt.txt
  crivo hyphenate --html --separator '&shy;' < page.html > soft.html
  crivo hyphenate --left 3 --right 4 --exceptions house-style.txt --file book.txt
";

impl HyphenateArgs {
    pub(crate) fn run(self) -> Result<Status, Error> {
        let hyphenator = self.hyphenator()?;
        let mut out = output::data();
        if !self.text.is_empty() {
            let line = self.text.join(" ") + "\n";
            self.copy(&hyphenator, line.as_bytes(), &mut out)?;
        } else {
            let standard_input = [PathBuf::from("-")];
            let files = if self.files.is_empty() { &standard_input[..] } else { &self.files };
            let progress = InputProgress::beside_records(files);
            for file in files {
                self.copy(&hyphenator, InputBytes::open(file, &progress)?, &mut out)?;
            }
        }
        out.flush().map_err(Error::output)?;
        Ok(Status::Success)
    }

    fn hyphenator(&self) -> Result<Hyphenator, Error> {
        let mut hyphenator = match &self.patterns {
            Some(file) => Hyphenator::from_patterns(&Patterns::read(file).map_err(Error::new)?),
            None => Hyphenator::new(Language::from_code(&self.language).map_err(|error| {
                Error::new(format_args!("{error}; `crivo languages` lists them all"))
            })?),
        };
        for file in &self.exceptions {
            let list = Exception::read_list(file).map_err(Error::new)?;
            hyphenator = hyphenator.with_exceptions(MemoryExceptions::new(list));
        }
        if self.left.is_some() || self.right.is_some() {
            let (left, right) = hyphenator.minima();
            hyphenator =
                hyphenator.with_minima(self.left.unwrap_or(left), self.right.unwrap_or(right));
        }
        Ok(hyphenator.with_min_word_length(self.min_word_length))
    }

    fn copy(
        &self,
        hyphenator: &Hyphenator,
        mut text: impl Read,
        out: &mut impl Write,
    ) -> Result<(), Error> {
        if !self.html {
            return hyphenator.hyphenate_stream(text, out, &self.separator).map_err(Error::output);
        }
        // The meaning of a tag may depend on everything before it, so that a page is read as a whole.
        let mut page = Vec::new();
        text.read_to_end(&mut page).map_err(Error::output)?;
        let language = self.patterns.is_none().then_some(&*self.language);
        let options = Html { separator: &self.separator, language };
        out.write_all(&hyphenator.hyphenate_html_bytes(&page, &options)).map_err(Error::output)
    }
}
