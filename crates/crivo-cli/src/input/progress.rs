//! A progress bar for reading: bytes, speed, time left. It is shown on a terminal only.

use std::io::{self, IsTerminal, Read};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::standard::is_standard_input;

/// The bar appears only if reading takes longer than this.
const DELAY: Duration = Duration::from_millis(500);

const DRAWS_PER_SECOND: u8 = 10;

const WITH_TOTAL: &str = "{bar:30} {percent:>3}%  {decimal_bytes} of {decimal_total_bytes}  {decimal_bytes_per_sec}  {eta} left";
const WITHOUT_TOTAL: &str = "{spinner} {decimal_bytes}  {decimal_bytes_per_sec}  {elapsed}";

/// A bar on standard error, or nothing.
#[derive(Debug, Clone)]
pub(crate) struct InputProgress(Option<Bar>);

#[derive(Debug, Clone)]
struct Bar {
    bar: ProgressBar,
    started: Instant,
}

impl InputProgress {
    /// No bar.
    pub(crate) const NONE: Self = Self(None);

    /// A bar for reading these inputs, if standard error is a terminal.
    pub(crate) fn over(paths: &[PathBuf]) -> Self {
        let is_typed =
            paths.iter().any(|path| is_standard_input(path)) && io::stdin().is_terminal();
        if !io::stderr().is_terminal() || is_typed {
            return Self::NONE;
        }
        // Only regular files have a known length. Compressed bytes are counted.
        let length = |path: &PathBuf| {
            path.metadata()
                .ok()
                .filter(|metadata| metadata.is_file())
                .map(|metadata| metadata.len())
        };
        let total: Option<u64> = paths.iter().map(length).sum();
        let template = if total.is_some() { WITH_TOTAL } else { WITHOUT_TOTAL };
        let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::hidden());
        // The template is constant and valid.
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        Self(Some(Bar { bar, started: Instant::now() }))
    }

    /// As [`over`](Self::over), but no bar if records are printed to the same terminal.
    pub(crate) fn beside_records(paths: &[PathBuf]) -> Self {
        if io::stdout().is_terminal() { Self::NONE } else { Self::over(paths) }
    }

    /// A reader that advances the bar.
    pub(super) fn watch<R: Read>(&self, reader: R) -> Watched<R> {
        Watched { reader, progress: self.clone() }
    }

    fn advance(&self, count: usize) {
        let Some(Bar { bar, started }) = &self.0 else { return };
        if bar.is_hidden() && started.elapsed() > DELAY {
            bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(DRAWS_PER_SECOND));
        }
        bar.inc(count as u64);
    }

    /// Removes the bar: everything has been read.
    pub(super) fn finish(&self) {
        if let Some(Bar { bar, .. }) = &self.0 {
            bar.finish_and_clear();
        }
    }
}

/// A reader whose bytes are counted.
pub(super) struct Watched<R> {
    reader: R,
    progress: InputProgress,
}

impl<R: Read> Read for Watched<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        self.progress.advance(count);
        Ok(count)
    }
}
