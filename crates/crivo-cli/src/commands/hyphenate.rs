//! `crivo hyphenate`: marks where words may be divided.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use clap::{Args, ValueHint};
use crivo_hyphen::exceptions::MemoryExceptions;
use crivo_hyphen::text::{self, Encoding, EncodingError, Html};
use crivo_hyphen::{Exception, Hyphenator, Language, SystemPatterns, UnincludedLanguage};

use crate::error::Error;
use crate::input::{InputBytes, InputProgress};
use crate::output;
use crate::status::Status;

/// Marks where words may be divided
///
/// Only words are changed: without the separators, the output is the input. URLs, words with digits,
/// and words that already contain soft hyphens are left unchanged.
///
/// A break that changes the spelling, by a dictionary of LibreOffice, is written in that spelling if the
/// separator is visible, and left out if it is a soft hyphen.
///
/// Exceptions are used exactly as listed, even where a part is shorter than the language's minima;
/// --left and --right apply to them as well.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct HyphenateArgs {
    /// The text [default: the files of --file, or standard input]
    #[arg(value_name = "TEXT", conflicts_with = "files")]
    text: Vec<String>,

    /// Hyphenate these files, also compressed by gzip or zstd; `-` is standard input
    #[arg(short, long = "file", value_name = "FILE", value_hint = ValueHint::FilePath, num_args = 1..)]
    files: Vec<PathBuf>,

    /// The language: a code that `crivo languages` lists, or a tag such as en, de-AT or pt-BR. Others
    /// are found where TeX or LibreOffice have them installed [default: en-us]
    #[arg(short, long = "lang", value_name = "CODE")]
    language: Option<String>,

    /// The separator at possible breaks [default: a soft hyphen, U+00AD; `&shy;` in HTML that is not
    /// in UTF-8]
    #[arg(short, long, value_name = "STR")]
    separator: Option<String>,

    /// The minimum number of letters before a break, also in exceptions [default: the language's]
    #[arg(long, value_name = "N")]
    left: Option<usize>,

    /// The minimum number of letters after a break, also in exceptions [default: the language's]
    #[arg(long, value_name = "N")]
    right: Option<usize>,

    /// Do not divide words with fewer letters
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    min_word_length: usize,

    /// The text is HTML: leave tags, entities and code unchanged. Text with another `lang` is
    /// hyphenated in that language, or left unchanged if it is unknown
    #[arg(long)]
    html: bool,

    /// The text is Markdown: leave code, front matter, tags and addresses unchanged
    #[arg(long, conflicts_with = "html")]
    markdown: bool,

    /// Take all soft hyphens out instead; in HTML those of the text, also as `&shy;`
    #[arg(long, conflicts_with_all = ["language", "separator", "left", "right", "exceptions", "patterns"])]
    remove: bool,

    /// Do not divide words that begin with a capital letter, such as names
    #[arg(long)]
    skip_capitalised: bool,

    /// The encoding of the text, such as latin1 or koi8-r; invalid bytes are left unchanged
    /// [default: the one that an HTML page names, or UTF-8]
    #[arg(long, value_name = "NAME", value_parser = Encoding::from_label)]
    encoding: Option<Encoding>,

    /// Leave HTML elements with this class unchanged, as those with the class nohyphen
    #[arg(long, value_name = "CLASS", requires = "html")]
    ignore_class: Vec<String>,

    /// Exceptions with their breaks, as `ta-ble`: one per line, or a TeX file. They override the
    /// language's exceptions; of several files, the last wins
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    exceptions: Vec<PathBuf>,

    /// Use the patterns, exceptions and minima in this file instead of the language's: a file of TeX
    /// patterns, or a dictionary of LibreOffice (.dic). With --lang, that is their language
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    patterns: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  crivo hyphenate --separator - \"the hyphenation of words\"
  crivo hyphenate --lang de --file brief.txt > getrennt.txt
  crivo hyphenate --html --separator '&shy;' < page.html > soft.html
  crivo hyphenate --markdown --file README.md > soft.md
  crivo hyphenate --left 3 --right 4 --exceptions house-style.txt --file book.txt
";

impl HyphenateArgs {
    pub(crate) fn run(self) -> Result<Status, Error> {
        let hyphenator = self.hyphenator()?;
        let mut out = output::data();
        if !self.text.is_empty() {
            let line = self.text.join(" ") + "\n";
            self.copy(&hyphenator, None, line.as_bytes(), &mut out)?;
        } else {
            let standard_input = [PathBuf::from("-")];
            let files = if self.files.is_empty() { &standard_input[..] } else { &self.files };
            let progress = InputProgress::beside_records(files);
            for file in files {
                self.copy(&hyphenator, Some(file), InputBytes::open(file, &progress)?, &mut out)?;
            }
        }
        out.flush().map_err(Error::output)?;
        Ok(Status::Success)
    }

    fn hyphenator(&self) -> Result<Hyphenator, Error> {
        let mut hyphenator = match &self.patterns {
            Some(file) => Hyphenator::from_file(file).map_err(Error::new)?,
            None => find_language(self.language())?,
        };
        for file in &self.exceptions {
            let list = Exception::read_list(file).map_err(Error::new)?;
            hyphenator = hyphenator.with_exceptions(MemoryExceptions::new(list));
        }
        Ok(self.limit(hyphenator))
    }

    fn language(&self) -> &str {
        self.language.as_deref().unwrap_or("en-us")
    }

    /// The limits that the arguments set for every language.
    fn limit(&self, mut hyphenator: Hyphenator) -> Hyphenator {
        if self.left.is_some() || self.right.is_some() {
            let (left, right) = hyphenator.minima();
            hyphenator =
                hyphenator.with_minima(self.left.unwrap_or(left), self.right.unwrap_or(right));
        }
        if self.skip_capitalised {
            hyphenator = hyphenator.skipping_capitalised();
        }
        hyphenator.with_min_word_length(self.min_word_length)
    }

    fn copy(
        &self,
        hyphenator: &Hyphenator,
        file: Option<&Path>,
        text: impl Read,
        out: &mut impl Write,
    ) -> Result<(), Error> {
        if self.html || self.markdown || self.remove {
            return self.copy_whole(hyphenator, file, text, out);
        }
        let separator = self.separator.as_deref().unwrap_or(SOFT_HYPHEN);
        hyphenator.hyphenate_stream(text, out, separator, self.encoding).map_err(
            |error| match error.get_ref().and_then(|cause| cause.downcast_ref()) {
                Some(cause) => encoding_error(file, cause),
                None => Error::output(error),
            },
        )
    }

    /// Copies what must be read as a whole, because the meaning of a place may depend on everything
    /// before it.
    fn copy_whole(
        &self,
        hyphenator: &Hyphenator,
        file: Option<&Path>,
        mut text: impl Read,
        out: &mut impl Write,
    ) -> Result<(), Error> {
        let mut whole = Vec::new();
        text.read_to_end(&mut whole).map_err(Error::output)?;
        let copied = match (self.remove, self.html) {
            (true, true) => text::remove_soft_hyphens_from_html(&whole, self.encoding),
            (true, false) => text::remove_soft_hyphens_from_bytes(&whole, self.encoding),
            (false, true) => self.hyphenate_page(hyphenator, file, &whole),
            (false, false) => {
                let separator = self.separator.as_deref().unwrap_or(SOFT_HYPHEN);
                hyphenator.hyphenate_markdown_bytes(&whole, separator, self.encoding)
            }
        };
        let copied = copied.map_err(|error| encoding_error(file, &error))?;
        out.write_all(&copied).map_err(Error::output)
    }

    fn hyphenate_page(
        &self,
        hyphenator: &Hyphenator,
        file: Option<&Path>,
        page: &[u8],
    ) -> Result<Vec<u8>, EncodingError> {
        let encoding = match self.encoding {
            Some(encoding) => Some(encoding),
            None => Encoding::of_html(page)?,
        };
        let is_utf8 = encoding.is_none_or(|encoding| encoding == Encoding::UTF_8);
        let soft_hyphen = if is_utf8 { SOFT_HYPHEN } else { "&shy;" };
        let find = |tag: &str| find_language(tag).ok().map(|found| self.limit(found));
        // Patterns of an unknown language apply to every text.
        let language =
            (self.patterns.is_none() || self.language.is_some()).then(|| self.language());
        let classes: Vec<&str> = self.ignore_class.iter().map(String::as_str).collect();
        let options = Html {
            separator: self.separator.as_deref().unwrap_or(soft_hyphen),
            language,
            languages: Some(&find),
            ignored_classes: &classes,
            encoding,
        };
        let hyphenated = hyphenator.hyphenate_html_bytes(page, &options)?;
        if hyphenated.bytes == page && !hyphenated.skipped_languages.is_empty() {
            output::print_note(format_args!(
                "{}nothing was hyphenated: there are no patterns for lang={:?}",
                place(file),
                hyphenated.skipped_languages.join(", ")
            ));
        }
        Ok(hyphenated.bytes)
    }
}

const SOFT_HYPHEN: &str = "\u{ad}";

/// A hyphenator for a language that is included, or that the system has.
fn find_language(tag: &str) -> Result<Hyphenator, Error> {
    let error = match Language::from_code(tag) {
        Ok(language) => return Ok(Hyphenator::new(language)),
        Err(error) => error,
    };
    if let Some(found) = SystemPatterns::default().hyphenator(tag) {
        return found.map_err(Error::new);
    }
    Err(match UnincludedLanguage::find(tag) {
        Some(UnincludedLanguage { name, package, .. }) => Error::new(format_args!(
            "the patterns for {name} cannot be included, because of their licence; on Debian and Ubuntu, \
             the package {package} has them, and --patterns names a file"
        )),
        None => Error::new(format_args!("{error}; `crivo languages` lists them all")),
    })
}

fn encoding_error(file: Option<&Path>, error: &EncodingError) -> Error {
    let help = match error {
        EncodingError::NotUtf8 { .. } => {
            "; --encoding names another encoding, such as latin1, and --encoding utf-8 leaves such \
             bytes unchanged"
        }
        _ => "",
    };
    Error::new(format_args!("{}{error}{help}", place(file)))
}

/// The beginning of a message about a file.
fn place(file: Option<&Path>) -> String {
    file.filter(|file| file.as_os_str() != "-")
        .map_or_else(String::new, |file| format!("{}: ", file.display()))
}
