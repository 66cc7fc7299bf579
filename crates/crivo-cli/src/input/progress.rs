//! A progress bar for reading and other work: how much, how fast, time left. It is shown on a terminal
//! only, and one at a time: the commands of a pipe share a terminal, and bars that overwrite each other
//! cannot be read.

use std::fs::{File, TryLockError};
use std::io::{self, IsTerminal, Read};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::standard::is_standard_input;

/// The bar appears only if the work takes longer than this, and not before the bar of another command
/// is gone. After this time it is tried again.
const DELAY: Duration = Duration::from_millis(500);

const DRAWS_PER_SECOND: u8 = 10;

/// The file that is standard error.
const TERMINAL: &str = "/dev/stderr";

const WITH_TOTAL: &str = "{bar:30} {percent:>3}%  {decimal_bytes} of {decimal_total_bytes}  {decimal_bytes_per_sec}  {eta} left";
const STEPS: &str = "{bar:30} {percent:>3}%  {human_pos} of {human_len} compared  {eta} left";
const WITHOUT_TOTAL: &str = "{spinner} {decimal_bytes}  {decimal_bytes_per_sec}  {elapsed}";

/// Whether there is never a bar.
static IS_HIDDEN: AtomicBool = AtomicBool::new(false);

/// Shows no bar from now on.
pub(crate) fn hide() {
    IS_HIDDEN.store(true, Ordering::Relaxed);
}

/// Whether a bar may be shown.
fn may_show() -> bool {
    !IS_HIDDEN.load(Ordering::Relaxed) && io::stderr().is_terminal()
}

/// A bar on standard error, or nothing.
#[derive(Debug, Clone)]
pub(crate) struct InputProgress(Option<Bar>);

#[derive(Debug, Clone)]
struct Bar {
    bar: ProgressBar,
    state: Arc<Mutex<BarState>>,
}

#[derive(Debug)]
struct BarState {
    /// When to try to show it.
    due: Instant,
    /// The terminal, locked while the bar is shown.
    terminal: Option<File>,
}

impl Bar {
    /// Shows it, unless it is too early or another command shows one.
    #[cold]
    fn try_to_show(&self) {
        let mut state = self.state();
        let now = Instant::now();
        if now < state.due {
            return;
        }
        // A new handle: locks of the inherited one are shared with the other commands.
        state.terminal = File::open(TERMINAL).ok();
        let locked = state.terminal.as_ref().map(File::try_lock);
        if matches!(locked, Some(Err(TryLockError::WouldBlock))) {
            state.terminal = None;
            state.due = now + DELAY;
            return;
        }
        // Where a terminal cannot be locked, all bars are shown.
        self.bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(DRAWS_PER_SECOND));
    }

    fn state(&self) -> MutexGuard<'_, BarState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl InputProgress {
    /// No bar.
    pub(crate) const NONE: Self = Self(None);

    /// A bar for reading these inputs, if standard error is a terminal.
    pub(crate) fn over(paths: &[PathBuf]) -> Self {
        let is_typed =
            paths.iter().any(|path| is_standard_input(path)) && io::stdin().is_terminal();
        if !may_show() || is_typed {
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
        Self::with_template(total, if total.is_some() { WITH_TOTAL } else { WITHOUT_TOTAL })
    }

    /// A bar for comparing this many items, if standard error is a terminal.
    pub(crate) fn comparing(count: u64) -> Self {
        match may_show() {
            true => Self::with_template(Some(count), STEPS),
            false => Self::NONE,
        }
    }

    fn with_template(total: Option<u64>, template: &str) -> Self {
        let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::hidden());
        // The template is constant and valid.
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        let state = BarState { due: Instant::now() + DELAY, terminal: None };
        Self(Some(Bar { bar, state: Arc::new(Mutex::new(state)) }))
    }

    /// As [`over`](Self::over), but no bar if records are printed to the same terminal.
    pub(crate) fn beside_records(paths: &[PathBuf]) -> Self {
        if io::stdout().is_terminal() { Self::NONE } else { Self::over(paths) }
    }

    /// A reader that advances the bar.
    pub(super) fn watch<R: Read>(&self, reader: R) -> Watched<R> {
        Watched { reader, progress: self.clone() }
    }

    /// Advances the bar.
    pub(crate) fn advance(&self, count: usize) {
        let Some(bar) = &self.0 else { return };
        if bar.bar.is_hidden() {
            bar.try_to_show();
        }
        bar.bar.inc(count as u64);
    }

    /// Removes the bar: all is done.
    pub(crate) fn finish(&self) {
        if let Some(bar) = &self.0 {
            bar.bar.finish_and_clear();
            bar.state().terminal = None;
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
