//! What can be wrong with a file of patterns or exceptions, and with the name of a language.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// Text that is not what a file of patterns or exceptions may contain: where, and what was expected.
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
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ParseError {
    /// The file, where the text came from one.
    pub file: Option<PathBuf>,
    /// The line, counted from 1.
    pub line: usize,
    /// The column in characters, counted from 1.
    pub column: usize,
    /// What stands there.
    pub found: String,
    /// What should stand there, as the end of a sentence: "expected …".
    pub expected: &'static str,
}

impl ParseError {
    /// Says that `found` stands where `expected` should.
    pub fn new(
        line: usize,
        column: usize,
        found: impl Into<String>,
        expected: &'static str,
    ) -> Self {
        Self { file: None, line, column, found: found.into(), expected }
    }

    /// The same error, said of a file.
    pub fn in_file(self, file: impl Into<PathBuf>) -> Self {
        Self { file: Some(file.into()), ..self }
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, column, found, expected } = self;
        if let Some(file) = file {
            write!(f, "{}: ", file.display())?;
        }
        write!(f, "line {line}, column {column}: expected {expected}, found {found:?}")
    }
}

impl std::error::Error for ParseError {}

/// Why a file of patterns or exceptions could not be used.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReadError {
    /// The file could not be read.
    Io {
        /// The file.
        file: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file was read, but it is not what it should be.
    Parse(ParseError),
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { file, source } => write!(f, "{}: {source}", file.display()),
            Self::Parse(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ReadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            Self::Parse(error) => Some(error),
        }
    }
}

impl From<ParseError> for ReadError {
    fn from(error: ParseError) -> Self {
        Self::Parse(error)
    }
}
