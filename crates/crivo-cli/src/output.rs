//! Data on standard output, messages on standard error.

use std::fmt;
use std::fs::File;
use std::io::{self, BufWriter, StdoutLock, Write};
use std::path::Path;

use anstyle::{AnsiColor, Style};
use crivo_core::file;
use serde::Serialize;

use crate::error::Error;
use crate::signals;

/// Where data goes.
#[derive(Debug)]
pub(crate) enum Data {
    /// Standard output, as the process was started with it.
    StandardOutput(StdoutLock<'static>),
    /// A file.
    File(File),
}

impl Write for Data {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::StandardOutput(out) => {
                check_open()?;
                out.write(bytes)
            }
            Self::File(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::StandardOutput(out) => out.flush(),
            Self::File(file) => file.flush(),
        }
    }
}

fn check_open() -> io::Result<()> {
    match signals::lacks_standard_output() {
        true => Err(io::Error::other("it is closed")),
        false => Ok(()),
    }
}

/// Buffered standard output for data. The caller must flush it.
pub(crate) fn data() -> BufWriter<Data> {
    BufWriter::with_capacity(1 << 16, Data::StandardOutput(io::stdout().lock()))
}

/// The file `path` with what `write` writes and flushes: it replaces an old one when it is complete, or
/// not at all.
pub(crate) fn replace_file<T>(
    path: &Path,
    write: impl FnOnce(BufWriter<Data>) -> Result<T, Error>,
) -> Result<T, Error> {
    let mut result = None;
    let replaced = file::replace(path, |file| {
        let out = BufWriter::with_capacity(1 << 16, Data::File(file.try_clone()?));
        match result.insert(write(out)) {
            Ok(_) => Ok(()),
            Err(_) => Err(io::ErrorKind::Other.into()),
        }
    });
    match (result, replaced) {
        (Some(Err(error)), _) => Err(error),
        (_, Err(error)) => Err(Error::writing(path)(error)),
        (Some(Ok(value)), Ok(())) => Ok(value),
        // A file that is replaced was written.
        (None, Ok(())) => Err(Error::writing(path)(io::ErrorKind::Other.into())),
    }
}

/// Prints text to standard output. Colours are stripped unless it is a terminal.
pub(crate) fn print(text: &str) -> Result<(), Error> {
    let mut out = anstream::stdout().lock();
    check_open()
        .and_then(|()| out.write_all(text.as_bytes()))
        .and_then(|()| out.flush())
        .map_err(Error::output)
}

/// Prints one JSON value to standard output.
pub(crate) fn print_json(value: &impl Serialize) -> Result<(), Error> {
    let mut out = data();
    serde_json::to_writer_pretty(&mut out, value)
        .map_err(io::Error::from)
        .and_then(|()| writeln!(out))
        .and_then(|()| out.flush())
        .map_err(Error::output)
}

/// Prints a line to standard error.
pub(crate) fn print_message(message: impl fmt::Display) {
    // If standard error is closed, there is nowhere to report it, and the work is done anyway.
    let _ = writeln!(anstream::stderr(), "{message}");
}

/// Prints a warning to standard error.
pub(crate) fn print_warning(message: impl fmt::Display) {
    print_tagged("warning", AnsiColor::Yellow, &message);
}

/// Prints a note to standard error.
#[cfg(feature = "hyphen")]
pub(crate) fn print_note(message: impl fmt::Display) {
    print_tagged("note", AnsiColor::Cyan, &message);
}

/// Prints an error to standard error.
pub(crate) fn print_error(message: impl fmt::Display) {
    print_tagged("error", AnsiColor::Red, &message);
}

fn print_tagged(tag: &str, colour: AnsiColor, message: &dyn fmt::Display) {
    let style = Style::new().bold().fg_color(Some(colour.into()));
    print_message(format_args!("crivo: {style}{tag}{style:#}: {message}"));
}
