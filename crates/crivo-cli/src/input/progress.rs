//! How far the reading is: bytes, rate, time left; on a terminal only.

use std::io::{self, IsTerminal, Read};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::is_standard_input;

/// What is done sooner than this needs no bar.
const PATIENCE: Duration = Duration::from_millis(500);

const DRAWS_PER_SECOND: u8 = 10;

const WITH_TOTAL: &str = "{bar:30} {percent:>3}%  {decimal_bytes} of {decimal_total_bytes}  {decimal_bytes_per_sec}  {eta} left";
const WITHOUT_TOTAL: &str = "{spinner} {decimal_bytes}  {decimal_bytes_per_sec}  {elapsed}";

/// A bar on standard error, or nothing.
#[derive(Debug, Clone)]
pub(crate) struct Progress(Option<Bar>);

#[derive(Debug, Clone)]
struct Bar {
    bar: ProgressBar,
    begun: Instant,
}

impl Progress {
    /// No bar.
    pub(crate) const NONE: Self = Self(None);

    /// A bar for reading these inputs, if standard error is a terminal.
    pub(crate) fn over(paths: &[PathBuf]) -> Self {
        let types_keys =
            paths.iter().any(|path| is_standard_input(path)) && io::stdin().is_terminal();
        if !io::stderr().is_terminal() || types_keys {
            return Self::NONE;
        }
        // Only regular files have a length. Compressed ones are counted as they are read.
        let length = |path: &PathBuf| {
            path.metadata()
                .ok()
                .filter(|metadata| metadata.is_file())
                .map(|metadata| metadata.len())
        };
        let total: Option<u64> = paths.iter().map(length).sum();
        let template = if total.is_some() { WITH_TOTAL } else { WITHOUT_TOTAL };
        let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::hidden());
        // A template that cannot be read would be seen by the first who tries it.
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        Self(Some(Bar { bar, begun: Instant::now() }))
    }

    /// A bar for reading these inputs, unless records are printed to the same terminal.
    pub(crate) fn beside_records(paths: &[PathBuf]) -> Self {
        if io::stdout().is_terminal() { Self::NONE } else { Self::over(paths) }
    }

    /// A reader that moves the bar.
    pub(super) fn watch<R: Read>(&self, reader: R) -> Watched<R> {
        Watched { reader, progress: self.clone() }
    }

    fn advance(&self, count: usize) {
        let Some(Bar { bar, begun }) = &self.0 else { return };
        if bar.is_hidden() && begun.elapsed() > PATIENCE {
            bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(DRAWS_PER_SECOND));
        }
        bar.inc(count as u64);
    }

    /// Takes the bar away: everything has been read.
    pub(super) fn finish(&self) {
        if let Some(Bar { bar, .. }) = &self.0 {
            bar.finish_and_clear();
        }
    }
}

/// A reader whose bytes are counted.
pub(super) struct Watched<R> {
    reader: R,
    progress: Progress,
}

impl<R: Read> Read for Watched<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        self.progress.advance(count);
        Ok(count)
    }
}
