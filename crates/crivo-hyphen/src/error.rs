//! Errors in files of patterns and exceptions.

use std::io;
use std::path::PathBuf;

/// The text of a pattern or exception list is malformed: where, and what was expected.
///
/// ```
/// use crivo_hyphen::Patterns;
///
/// let error = Patterns::parse("a1b\nc2.d").unwrap_err();
/// assert_eq!((error.line, error.column), (2, 3));
/// assert_eq!(
///     error.to_string(),
///     "line 2, column 3: expected a dot only at an end of the pattern, found \"c2.d\""
/// );
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}line {line}, column {column}: expected {expected}, found {found:?}", prefix(file))]
#[non_exhaustive]
pub struct ParseError {
    /// The file, if the text was read from one.
    pub file: Option<PathBuf>,
    /// The line, counted from 1.
    pub line: usize,
    /// The column in characters, counted from 1.
    pub column: usize,
    /// The text found there.
    pub found: String,
    /// What was expected there, as the end of a sentence: "expected …".
    pub expected: &'static str,
}

impl ParseError {
    /// An error at a place that has `found` instead of `expected`.
    pub fn new(
        line: usize,
        column: usize,
        found: impl Into<String>,
        expected: &'static str,
    ) -> Self {
        Self { file: None, line, column, found: found.into(), expected }
    }

    /// The same error, with the name of the file.
    pub fn in_file(self, file: impl Into<PathBuf>) -> Self {
        Self { file: Some(file.into()), ..self }
    }
}

fn prefix(file: &Option<PathBuf>) -> String {
    file.as_ref().map_or(String::new(), |file| format!("{}: ", file.display()))
}

/// A file of patterns or exceptions could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The file could not be read.
    #[error("{}: {error}", file.display())]
    Io {
        /// The file.
        file: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The content of the file is malformed.
    #[error(transparent)]
    Parse(#[from] ParseError),
}
