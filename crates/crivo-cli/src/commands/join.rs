//! `crivo join`: the records on another host whose keys are in a local file.

use std::collections::HashSet;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::PathBuf;

use clap::{Args, ValueHint};
use crivo_exchange::join::{Answerer, Asker, JoinReport};
use crivo_exchange::{Action, ExchangeKey, MAX_MESSAGE};

use crate::error::Error;
use crate::human;
use crate::input::{Chunk, FormatArgs, InputArgs, in_parallel};
use crate::link::{Link, PeerArgs};
use crate::output;
use crate::status::Status;

/// Prints the records of a file on another host whose keys are in a file here
///
/// One host asks, the other serves (--serve). Instead of sending all keys, or all records, a Bloom
/// filter of the keys is sent if a sample of the records shows that this costs less; the few records
/// that are false positives are dropped on arrival. The answer is exact: the records are printed
/// unchanged, in their order, after the CSV header of the served file, if it has one. The bytes that
/// were sent, and those that would have been sent without a filter, are printed to standard error.
///
/// It needs memory for the distinct keys of FILE. The served file is read twice and must be a
/// regular file.
///
/// --listen and --connect use plain TCP: there is no authentication and no encryption. Use them on
/// trusted networks, or run the exchange over ssh with --run.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct JoinArgs {
    /// A file with keys; with --serve, a file with records
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    file: PathBuf,

    /// Send records to the peer instead of asking for them
    #[arg(long)]
    serve: bool,

    #[command(flatten)]
    peer: PeerArgs,

    #[command(flatten)]
    format: FormatArgs,
}

const EXAMPLES: &str = "\
Examples:
  crivo join --serve --listen 0.0.0.0:4000 --csv --column id customers.csv     on one host, and
  crivo join --connect other:4000 --csv --column customer orders.csv           on another
  crivo join --run 'ssh other crivo join --serve --stdio all.txt' mine.txt
";

impl JoinArgs {
    pub(crate) fn run(self) -> Result<Status, Error> {
        if self.peer.uses_standard_output() && !self.serve {
            return Err(Error::new("--stdio leaves no output for records; use it with --serve"));
        }
        if !self.file.is_file() {
            return Err(Error::new(format_args!(
                "cannot read {}: there is no such regular file",
                self.file.display()
            )));
        }
        let mut link = self.peer.link()?;
        let done = if self.serve { self.serve(&mut link) } else { self.ask(&mut link) };
        match done {
            Ok(()) => link.close().map(|_| Status::Success),
            Err(error) => {
                link.abandon();
                Err(error)
            }
        }
    }

    fn input(&self) -> InputArgs {
        InputArgs { inputs: vec![self.file.clone()], format: self.format.clone() }
    }

    fn ask(&self, link: &mut Link) -> Result<(), Error> {
        let mut asker = Asker::new(seed(link.agree()?.key));
        let mut keys = HashSet::new();
        self.input().each_key(|key| {
            asker.insert(key);
            if !keys.contains(key) {
                keys.insert(key.to_vec());
            }
            Ok(())
        })?;
        let mut out = output::data();
        // The first message is the header; it is empty if there is none.
        out.write_all(&link.receive()?).map_err(Error::output)?;
        loop {
            match asker.action() {
                Action::Send(message) => link.send(message)?,
                Action::Finished => break,
                Action::Receive | Action::Provide => {
                    let message = link.receive()?;
                    receive(&mut asker, &message, &keys, &mut out)?;
                }
            }
        }
        out.flush().map_err(Error::output)?;
        print_report(&asker.report());
        Ok(())
    }

    fn serve(&self, link: &mut Link) -> Result<(), Error> {
        let mut answerer = Answerer::new(seed(link.agree()?.key));
        let header = self.each_row(|key, row| {
            answerer.survey(key, row.len());
            Ok(())
        })?;
        if header.len() > MAX_MESSAGE {
            return Err(Error::new(format_args!(
                "the header of {} is longer than {MAX_MESSAGE} bytes",
                self.file.display()
            )));
        }
        link.send(header)?;
        loop {
            match answerer.action() {
                Action::Send(message) => link.send(message)?,
                Action::Receive => answerer.receive(&link.receive()?).map_err(Error::new)?,
                Action::Provide => {
                    self.each_row(|key, row| {
                        answerer.provide(key, row);
                        while let Some(message) = answerer.ready() {
                            link.send(message)?;
                        }
                        Ok(())
                    })?;
                    answerer.provided();
                }
                Action::Finished => return Ok(()),
            }
        }
    }

    /// Visits every record with its key, as it is sent. Returns the header.
    fn each_row(
        &self,
        mut visit: impl FnMut(&[u8], &[u8]) -> Result<(), Error>,
    ) -> Result<Vec<u8>, Error> {
        let (mut header, mut row) = (Vec::new(), Vec::new());
        in_parallel(
            self.input().chunks()?,
            |_, (): &mut ()| (),
            |chunk: &Chunk, ()| {
                header.extend_from_slice(chunk.header());
                let mut result = Ok(());
                chunk.each(|record, key| {
                    if result.is_ok() {
                        row::write(&mut row, key, &chunk.bytes()[record]);
                        result = visit(key, &row);
                    }
                });
                result.map(ControlFlow::Continue)
            },
        )?;
        if !header.is_empty() && !header.ends_with(b"\n") {
            header.push(b'\n');
        }
        Ok(header)
    }
}

/// The seed of both sides, which cannot be predicted.
fn seed(key: ExchangeKey) -> u64 {
    key.id(b"seed of a join").get() as u64
}

/// Prints the rows of a message whose key is here.
fn receive(
    asker: &mut Asker,
    message: &[u8],
    keys: &HashSet<Vec<u8>>,
    out: &mut impl Write,
) -> Result<(), Error> {
    let mut result = Ok(());
    let taken = asker.receive(message, |row| {
        let Some((key, record)) = row::read(row) else {
            result = Err(Error::new("the peer sent an invalid row"));
            return false;
        };
        let is_match = keys.contains(key);
        if is_match && result.is_ok() {
            result = out.write_all(record).map_err(Error::output);
        }
        is_match
    });
    taken.map_err(Error::new)?;
    result
}

fn print_report(report: &JoinReport) {
    let JoinReport { rows, rows_sent, rows_matched, bytes, .. } = *report;
    let share = |all: u64| human::percent(bytes as f64 / all.max(1) as f64);
    output::print_message(format_args!(
        "{} of {} received, {} of them false positives; {} exchanged{}: {} of all records ({}), {} of \
         an exact semi-join ({})",
        human::count(rows_sent),
        human::counted(rows, "record"),
        human::count(rows_sent - rows_matched),
        human::bytes(bytes),
        if report.filter_bytes == 0 { ", without a filter" } else { "" },
        share(report.everything_bytes),
        human::bytes(report.everything_bytes),
        share(report.semi_join_bytes),
        human::bytes(report.semi_join_bytes),
    ));
}

/// A record in transit: the position of its key, then the record with its line end.
mod row {
    use crivo_core::wire::{Reader, put_number};
    use memchr::memmem;

    /// Encodes a record into `row`. A key that does not occur in it verbatim, such as one with doubled
    /// quotes in CSV, is put before it.
    pub(super) fn write(row: &mut Vec<u8>, key: &[u8], record: &[u8]) {
        row.clear();
        let start = memmem::find(record, key);
        put_number(row, start.map_or(0, |start| start as u64 + 1));
        put_number(row, key.len() as u64);
        if start.is_none() {
            row.extend_from_slice(key);
        }
        row.extend_from_slice(record);
        // The last line of a file may lack its line feed.
        if !record.ends_with(b"\n") && !record.ends_with(b"\0") {
            row.push(b'\n');
        }
    }

    /// Decodes the key and the record.
    pub(super) fn read(row: &[u8]) -> Option<(&[u8], &[u8])> {
        let mut reader = Reader::new(row);
        let start = usize::try_from(reader.number().ok()?).ok()?;
        let length = usize::try_from(reader.number().ok()?).ok()?;
        let rest = reader.rest();
        match start.checked_sub(1) {
            None => rest.split_at_checked(length),
            Some(start) => Some((rest.get(start..start.checked_add(length)?)?, rest)),
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn decoding_restores_keys_and_records() {
            let mut row = Vec::new();
            let long = [b'x'; 300];
            for (key, record, printed) in [
                (&b"ana"[..], &b"7\tana\tx\n"[..], &b"7\tana\tx\n"[..]),
                (b"a\"b", b"7,\"a\"\"b\"\n", b"7,\"a\"\"b\"\n"),
                (b"", b"", b"\n"),
                (b"end", b"the end", b"the end\n"),
                (&long, &long, &[&long[..], b"\n"].concat()),
            ] {
                write(&mut row, key, record);
                assert_eq!(read(&row), Some((key, printed)));
                for cut in 0..row.len() {
                    // Any result is allowed, but no panic.
                    let _ = read(&row[..cut]);
                }
            }
        }
    }
}
