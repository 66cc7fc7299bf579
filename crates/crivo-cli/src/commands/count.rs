//! `crivo count`: how many records, or keys, are distinct.
//!
//! [`exact`](CountArgs::count_exactly) by a set of hashes, which spills to disk beyond its memory; or
//! by a [sketch](sketch) of a few kilobytes, which can be saved and merged.

mod sketch;

use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use clap::{Args, ValueHint};
use serde::Serialize;

use self::sketch::DistinctSketch;
use super::records::HashedRecords;
use crate::error::Error;
use crate::human::{self, parse_bytes};
use crate::input::{Chunk, InputArgs, in_parallel};
use crate::output;
use crate::spill::{DEFAULT_MEMORY, DistinctCounter, RecordHasher};
use crate::status::Status;

/// Counts the distinct records of files, or the distinct keys
///
/// The answer is exact: records are stored as 128-bit hashes in about 20 bytes each, on disk (TMPDIR)
/// beyond --memory. With --approx it is an estimate by HyperLogLog in a few kilobytes, whatever the
/// size of the input. The sketch of an estimate can be saved; sketches of several inputs can be merged,
/// and what several of them have is counted once.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CountArgs {
    #[command(flatten)]
    input: InputArgs,

    /// The maximum memory for hashes; the rest goes to temporary files
    #[arg(long, value_name = "SIZE", default_value = DEFAULT_MEMORY, value_parser = parse_bytes)]
    #[arg(conflicts_with_all = ["approx", "merge"], allow_negative_numbers = true)]
    memory: u64,

    /// Estimate the number by HyperLogLog
    #[arg(long)]
    approx: bool,

    /// With --approx: the standard error of the estimate, from 0.08% to 25%
    #[arg(long, value_name = "E", default_value = "1%", value_parser = sketch::parse_error)]
    #[arg(requires = "approx", conflicts_with = "merge", allow_negative_numbers = true)]
    error: f64,

    /// With --approx or --merge: save the sketch to this file. It is a HyperLogLog sketch of Apache
    /// DataSketches, which other programs can read
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,

    /// The inputs are sketches, saved by --output: estimate the number of distinct records of all of
    /// them together
    #[arg(long, conflicts_with_all = ["approx", "field", "csv", "json_key", "null", "keep_cr"])]
    merge: bool,

    /// Do not print the error of an estimate
    #[arg(short, long)]
    quiet: bool,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  crivo count access.log                       how many lines are different
  crivo count --field 1 -d ' ' access.log      how many addresses
  crivo count --csv --column email users.csv
  crivo count --approx -o monday.hll monday.log          in a few kilobytes, and
  crivo count --merge monday.hll tuesday.hll             of both days
";

/// With `--json`.
#[derive(Serialize)]
struct CountReport {
    /// Unknown for merged sketches.
    #[serde(skip_serializing_if = "Option::is_none")]
    records: Option<u64>,
    distinct: u64,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    estimate: Option<EstimateReport>,
}

#[derive(Serialize)]
struct EstimateReport {
    standard_error: f64,
    /// Of a 95% confidence interval.
    lower_bound: u64,
    upper_bound: u64,
}

impl CountArgs {
    pub(crate) fn run(self) -> Result<Status, Error> {
        if self.output.is_some() && !self.approx && !self.merge {
            return Err(Error::new("--output saves a sketch; it needs --approx or --merge"));
        }
        let report = if self.merge {
            let mut merged = sketch::load(&self.merged_paths()?)?;
            self.estimate(None, &mut merged)?
        } else if self.approx {
            let (records, mut sketch) = self.sketch()?;
            self.estimate(Some(records), &mut sketch)?
        } else {
            self.count_exactly()?
        };
        match self.json {
            true => output::print_json(&report)?,
            false => output::print(&format!("{}\n", report.distinct))?,
        }
        if let (false, false, Some(estimate)) = (self.json, self.quiet, &report.estimate) {
            output::print_message(format_args!(
                "crivo: an estimate with a standard error of {}; with 95% confidence between {} and {}",
                human::percentage(estimate.standard_error),
                human::count(estimate.lower_bound),
                human::count(estimate.upper_bound),
            ));
        }
        Ok(Status::Success)
    }

    fn merged_paths(&self) -> Result<Vec<PathBuf>, Error> {
        match self.input.inputs.is_empty() {
            true => Err(Error::new("--merge needs the names of sketches")),
            false => Ok(self.input.inputs.clone()),
        }
    }

    fn count_exactly(&self) -> Result<CountReport, Error> {
        let chunks = self.input.chunks()?;
        let length = chunks.length();
        let hasher = RecordHasher::new();
        let mut counter = DistinctCounter::with_memory(self.memory);
        let mut records = 0;
        in_parallel(
            chunks,
            move |chunk: &Chunk, hashed: &mut HashedRecords| hashed.hash(chunk, hasher),
            |chunk, hashed| {
                counter.add_all(&hashed.digests)?;
                if records == 0 {
                    // Extrapolate from the first chunk.
                    let share = length / chunk.bytes().len().max(1) as u64;
                    counter.expect(counter.count_in_memory().saturating_mul(share));
                }
                records += hashed.digests.len() as u64;
                Ok(ControlFlow::Continue(()))
            },
        )?;
        Ok(CountReport { records: Some(records), distinct: counter.finish()?, estimate: None })
    }

    /// The number of records, and a sketch of them.
    fn sketch(&self) -> Result<(u64, DistinctSketch), Error> {
        let mut sketch = DistinctSketch::with_error(self.error);
        let mut records = 0;
        in_parallel(
            self.input.chunks()?,
            |chunk: &Chunk, coupons: &mut Vec<sketch::Coupon>| {
                coupons.clear();
                chunk.each(|_, key| coupons.push(sketch::coupon(key)));
            },
            |_, coupons| {
                records += coupons.len() as u64;
                sketch.add_all(coupons);
                Ok(ControlFlow::Continue(()))
            },
        )?;
        Ok((records, sketch))
    }

    /// Reports an estimate, and saves its sketch if that was asked for.
    fn estimate(
        &self,
        records: Option<u64>,
        sketch: &mut DistinctSketch,
    ) -> Result<CountReport, Error> {
        if let Some(path) = &self.output {
            save(path, sketch)?;
        }
        let estimate = EstimateReport {
            standard_error: sketch.standard_error(),
            lower_bound: sketch.lower_bound(),
            upper_bound: sketch.upper_bound(),
        };
        Ok(CountReport { records, distinct: sketch.estimate(), estimate: Some(estimate) })
    }
}

fn save(path: &Path, sketch: &DistinctSketch) -> Result<(), Error> {
    output::replace_file(path, |mut out| {
        out.write_all(&sketch.to_bytes()).and_then(|()| out.flush()).map_err(Error::writing(path))
    })
}
