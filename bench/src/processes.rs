//! The same measurement in several processes.
//!
//! Where a process's code and tables happen to lie is worth some percent to one contender or another,
//! round after round. Only another process draws again.

use std::process::Command;

use crate::{median, rows_of};

/// Takes `--processes N` out of the arguments of this process.
///
/// # Errors
/// If N is missing or no number above 0.
pub fn take_option(arguments: &mut Vec<String>) -> Result<Option<usize>, String> {
    let Some(at) = arguments.iter().position(|argument| argument == "--processes") else {
        return Ok(None);
    };
    let count = arguments.get(at + 1).and_then(|number| number.parse().ok()).filter(|&n| n > 0);
    let count = count.ok_or("--processes needs a number above 0")?;
    arguments.drain(at..at + 2);
    Ok(Some(count))
}

/// Runs this program that many times, one after another, with these arguments and a file for its
/// results: the rows of each, the header first.
///
/// # Errors
/// If a process fails, or its results cannot be read.
pub fn run(count: usize, arguments: &[String]) -> Result<Vec<Vec<Vec<String>>>, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let directory = tempfile::tempdir().map_err(|error| error.to_string())?;
    let file = directory.path().join("results.csv");
    (1..=count)
        .map(|process| {
            eprintln!("process {process} of {count}");
            let output = Command::new(&program).args(arguments).arg("--csv").arg(&file).output();
            let output = output.map_err(|error| error.to_string())?;
            if !output.status.success() {
                return Err(String::from_utf8_lossy(&output.stderr).into_owned());
            }
            let text = std::fs::read_to_string(&file).map_err(|error| error.to_string())?;
            Ok(rows_of(&text))
        })
        .collect()
}

/// The rows with the median over the processes in place of every number. All have the same rows.
pub fn medians(processes: &[Vec<Vec<String>>]) -> Vec<Vec<String>> {
    let mut rows = processes[0].clone();
    for (r, row) in rows.iter_mut().enumerate() {
        for (c, cell) in row.iter_mut().enumerate() {
            let number = cell.trim_end_matches(['%', '×']);
            if number.parse::<f64>().is_err() {
                continue;
            }
            let decimals = number.split_once('.').map_or(0, |(_, decimals)| decimals.len());
            let unit = cell[number.len()..].to_string();
            let values = processes.iter().map(|rows| parse(&rows[r][c])).collect();
            *cell = format!("{:.decimals$}{unit}", median(values));
        }
    }
    rows
}

/// The number in a cell, whatever its unit; NaN if there is none.
pub fn parse(cell: &str) -> f64 {
    cell.trim_end_matches(['%', '×']).parse().unwrap_or(f64::NAN)
}
