//! How everything here is measured.
//!
//! All contenders live in one process and take turns, round after round, each round in another
//! order, so that what the machine does in the meantime, and what a contender leaves behind in the
//! caches, falls on all nearly alike; under a heavy load of other work nothing helps but to repeat. A
//! result is the median over the rounds, and what counts is its ratio to the reference; absolute
//! times mean little on a shared machine. Every answer is checked.

use std::fmt::Write as _;
use std::time::Instant;

use crivo_core::mix::{GOLDEN, mix};

pub mod cores;
pub mod filters;
pub mod memory;
pub mod processes;

/// Something measured: a name, and the work, which gives a reading.
pub struct Contender<'a> {
    pub name: String,
    pub work: Box<dyn FnMut() -> u64 + 'a>,
}

impl<'a> Contender<'a> {
    pub fn new(name: impl Into<String>, work: impl FnMut() -> u64 + 'a) -> Self {
        Self { name: name.into(), work: Box::new(work) }
    }
}

/// Nanoseconds per operation of each contender: the median of `rounds` interleaved rounds.
///
/// # Panics
/// If a contender's reading is not what is expected, where anything is: its answers are wrong.
pub fn interleave(
    contenders: &mut [Contender<'_>],
    operations: usize,
    rounds: usize,
    expected: Option<u64>,
) -> Vec<f64> {
    interleave_with(0, contenders, operations, rounds, expected)
}

/// [`interleave`] of work that allocates: so many bytes are [at hand](memory) before each turn.
///
/// # Panics
/// Likewise, and if there is not so much memory.
pub fn interleave_with(
    bytes: usize,
    contenders: &mut [Contender<'_>],
    operations: usize,
    rounds: usize,
    expected: Option<u64>,
) -> Vec<f64> {
    let mut times = vec![Vec::with_capacity(rounds); contenders.len()];
    let mut order: Vec<usize> = (0..contenders.len()).collect();
    for round in 0..rounds + 1 {
        shuffle_by(round as u64, &mut order);
        for &i in &order {
            memory::warm(bytes);
            let start = Instant::now();
            let reading = std::hint::black_box((contenders[i].work)());
            let elapsed = start.elapsed();
            if let Some(expected) = expected {
                assert_eq!(reading, expected, "{} gives wrong answers", contenders[i].name);
            }
            // The first round warms caches and page tables up.
            if round > 0 {
                times[i].push(elapsed.as_nanos() as f64 / operations as f64);
            }
        }
    }
    times.into_iter().map(median).collect()
}

/// The middle value.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// A stream of 64-bit numbers: distinct for distinct positions.
pub fn number(position: u64) -> u64 {
    mix(position.wrapping_mul(GOLDEN))
}

/// Shuffles in place, always in the same way.
pub fn shuffle<T>(items: &mut [T]) {
    shuffle_by(0, items);
}

/// Shuffles in place, for each seed in another way.
fn shuffle_by<T>(seed: u64, items: &mut [T]) {
    for i in (1..items.len()).rev() {
        let random = number((seed << 32) + i as u64);
        items.swap(i, (random % (i as u64 + 1)) as usize);
    }
}

/// A table with aligned columns, for people.
pub fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns)
        .map(|c| rows.iter().filter_map(|row| row.get(c)).map(|s| s.chars().count()).max())
        .map(|width| width.unwrap_or(0))
        .collect();
    let mut text = String::new();
    for row in rows {
        for (c, cell) in row.iter().enumerate() {
            let width = widths[c];
            let _ = if c == 0 {
                write!(text, "{cell:<width$}")
            } else {
                write!(text, "  {cell:>width$}")
            };
        }
        text.push('\n');
    }
    text
}

/// The same rows for programs. No cell has a quotation mark.
pub fn csv(rows: &[Vec<String>]) -> String {
    let quoted = |cell: &String| {
        if cell.contains(',') { format!("\"{cell}\"") } else { cell.clone() }
    };
    let line = |row: &Vec<String>| row.iter().map(quoted).collect::<Vec<_>>().join(",") + "\n";
    rows.iter().map(line).collect()
}

/// The rows that [`csv`] wrote.
pub fn rows_of(csv: &str) -> Vec<Vec<String>> {
    let cells = |line: &str| {
        let mut cells = vec![String::new()];
        let mut quoted = false;
        for letter in line.chars() {
            match letter {
                '"' => quoted = !quoted,
                ',' if !quoted => cells.push(String::new()),
                _ => cells.last_mut().expect("a cell").push(letter),
            }
        }
        cells
    };
    csv.lines().map(cells).collect()
}
