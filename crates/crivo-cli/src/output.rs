//! Data on standard output, words on standard error.

use std::fmt;
use std::io::{self, BufWriter, StdoutLock, Write};

use anstyle::{AnsiColor, Style};
use serde::Serialize;

use crate::outcome::Error;
use crate::signals;

/// Standard output, as the process was started with it.
#[derive(Debug)]
pub(crate) struct Data(StdoutLock<'static>);

impl Write for Data {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        check_open()?;
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

fn check_open() -> io::Result<()> {
    match signals::lacks_standard_output() {
        true => Err(io::Error::other("it is closed")),
        false => Ok(()),
    }
}

/// Standard output for data, buffered. Who writes to it must flush it.
pub(crate) fn data() -> BufWriter<Data> {
    BufWriter::with_capacity(1 << 16, Data(io::stdout().lock()))
}

/// Writes text for people to standard output; its colours only reach a terminal.
pub(crate) fn print(text: &str) -> Result<(), Error> {
    let mut out = anstream::stdout().lock();
    check_open()
        .and_then(|()| out.write_all(text.as_bytes()))
        .and_then(|()| out.flush())
        .map_err(Error::output)
}

/// Writes one JSON object for programs to standard output.
pub(crate) fn print_json(value: &impl Serialize) -> Result<(), Error> {
    let mut out = data();
    serde_json::to_writer_pretty(&mut out, value)
        .map_err(io::Error::from)
        .and_then(|()| writeln!(out))
        .and_then(|()| out.flush())
        .map_err(Error::output)
}

/// Says a line on standard error.
pub(crate) fn say(words: impl fmt::Display) {
    // Nobody listens if that fails, and the work is done all the same.
    let _ = writeln!(anstream::stderr(), "{words}");
}

/// Says what is worth attention.
pub(crate) fn warn(words: impl fmt::Display) {
    tagged("warning", AnsiColor::Yellow, &words);
}

/// Says why the command stops.
pub(crate) fn complain(words: impl fmt::Display) {
    tagged("error", AnsiColor::Red, &words);
}

fn tagged(tag: &str, colour: AnsiColor, words: &dyn fmt::Display) {
    let style = Style::new().bold().fg_color(Some(colour.into()));
    say(format_args!("crivo: {style}{tag}{style:#}: {words}"));
}
