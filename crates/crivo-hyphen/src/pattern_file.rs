//! A file of patterns with everything that it says.

use std::path::Path;

use crate::{Automaton, Exception, Hyphenator, ParseError, Patterns, ReadError, tex};

/// The patterns, exceptions and minima of a file of TeX patterns, such as those of hyph-utf8.
///
/// ```
/// use crivo_hyphen::{Hyphenator, PatternFile};
///
/// let file = PatternFile::parse(
///     "% hyphenmins:\n%     typesetting:\n%         left: 1\n%         right: 2\n\\
///      \\patterns{1na}\n\\hyphenation{bana-na}\n",
/// )?;
/// assert_eq!(file.minima, Some((1, 2)));
/// let hyphenator = Hyphenator::from_pattern_file(&file);
/// assert_eq!(hyphenator.hyphenate("banana", "-"), "bana-na");
/// assert_eq!(hyphenator.hyphenate("anana", "-"), "a-na-na");
/// # Ok::<(), crivo_hyphen::ParseError>(())
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PatternFile {
    /// The patterns.
    pub patterns: Patterns,
    /// The words of its groups `\hyphenation{…}`.
    pub exceptions: Vec<Exception>,
    /// The minimum numbers of letters before and after a break, if it states them in the comment at
    /// its beginning.
    pub minima: Option<(usize, usize)>,
}

impl PatternFile {
    /// Reads the text of a file.
    ///
    /// # Errors
    /// If a pattern or an exception is malformed, or there are no patterns.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let patterns = Patterns::parse(text)?;
        Ok(Self { patterns, exceptions: exceptions(text)?, minima: tex::minima(text) })
    }

    /// Reads a file, and those that it includes by `\input`.
    ///
    /// # Errors
    /// If a file cannot be read, is not UTF-8, or something in it is malformed.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, ReadError> {
        let path = path.as_ref();
        let parse = |text: &str| {
            Ok(Self {
                patterns: Patterns::parse_some(text)?,
                exceptions: exceptions(text)?,
                minima: tex::minima(text),
            })
        };
        let mut all = Self { patterns: Patterns::default(), exceptions: Vec::new(), minima: None };
        let mut patterns = Vec::new();
        for part in tex::read(path, parse)? {
            patterns.push(part.patterns);
            all.exceptions.extend(part.exceptions);
            all.minima = part.minima.or(all.minima);
        }
        all.patterns = Patterns::of_files(patterns, path)?;
        Ok(all)
    }
}

/// The exceptions of a text that has groups; a plain list of patterns has none.
fn exceptions(text: &str) -> Result<Vec<Exception>, ParseError> {
    match text.contains("\\hyphenation") {
        true => Exception::parse_list(text),
        false => Ok(Vec::new()),
    }
}

impl Hyphenator {
    /// A hyphenator with the patterns, exceptions and minima of a file; without minima, they are those
    /// of [`from_patterns`](Self::from_patterns).
    pub fn from_pattern_file(file: &PatternFile) -> Self {
        let automaton = Automaton::with_exceptions(&file.patterns, &file.exceptions);
        let hyphenator = Self::from_automaton(automaton);
        match file.minima {
            Some((left, right)) => hyphenator.with_default_minima(left, right),
            None => hyphenator,
        }
    }
}
