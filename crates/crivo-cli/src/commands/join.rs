//! `crivo join`: the records of another host that go with the keys here.

use std::collections::HashSet;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::PathBuf;

use clap::{Args, ValueHint};
use crivo_exchange::join::{Answerer, Asker, JoinReport};
use crivo_exchange::{Action, ExchangeKey, MAX_MESSAGE};

use crate::human;
use crate::input::{Chunk, FormatArgs, InputArgs, in_parallel};
use crate::link::{Link, PeerArgs};
use crate::outcome::{Error, Outcome};
use crate::output;

/// Prints the records of a file on another host whose keys are in a file here
///
/// One host asks, the other serves (--serve). Instead of all keys one way, or all records the
/// other, a Bloom filter of the keys is sent, if a sample of the records says that this pays; a few
/// records come in vain and are dropped. The answer is exact: the records are printed as they are, in
/// their order, after the CSV header of the file that is served, if it has one. How much was sent,
/// and how much it would have been without a filter, goes to standard error.
///
/// It takes the memory of the different keys of FILE. The file that is served is read twice, and
/// must be a regular one.
///
/// --listen and --connect use plain TCP: nobody is authenticated and nothing is encrypted. Use them
/// on networks that you trust, or let ssh carry the exchange by --run.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct JoinArgs {
    /// A file with keys; with --serve, a file with records
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    file: PathBuf,

    /// Send records to the peer, instead of asking for them
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
    pub(crate) fn run(self) -> Result<Outcome, Error> {
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
            Ok(()) => link.close().map(|_| Outcome::Done),
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
        // The header comes before everything else; none is an empty message.
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
        say(&asker.report());
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

    /// Visits every record with its key, as it is sent. The header, which is no record.
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

/// The seed of both sides, which nobody can know before.
fn seed(key: ExchangeKey) -> u64 {
    key.id(b"seed of a join").get() as u64
}

/// Prints the rows of a message that have a partner.
fn receive(
    asker: &mut Asker,
    message: &[u8],
    keys: &HashSet<Vec<u8>>,
    out: &mut impl Write,
) -> Result<(), Error> {
    let mut result = Ok(());
    let taken = asker.receive(message, |row| {
        let Some((key, record)) = row::read(row) else {
            result = Err(Error::new("the peer sent a row that is none"));
            return false;
        };
        let has_partner = keys.contains(key);
        if has_partner && result.is_ok() {
            result = out.write_all(record).map_err(Error::output);
        }
        has_partner
    });
    taken.map_err(Error::new)?;
    result
}

fn say(report: &JoinReport) {
    let JoinReport { rows, rows_sent, rows_matched, bytes, .. } = *report;
    let share = |all: u64| human::percent(bytes as f64 / all.max(1) as f64);
    output::say(format_args!(
        "{} of {} came, {} in vain; {} were exchanged{}: {} of all records ({}), {} of an exact \
         semi-join ({})",
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

/// A record on its way: where its key lies in it, then the record with its end of line.
mod row {
    use memchr::memmem;

    /// Replaces `row` by a record. A key that is not found in it as it is, such as one with doubled
    /// quotes in CSV, is put before it.
    pub(super) fn write(row: &mut Vec<u8>, key: &[u8], record: &[u8]) {
        row.clear();
        let start = memmem::find(record, key);
        put(row, start.map_or(0, |start| start + 1));
        put(row, key.len());
        if start.is_none() {
            row.extend_from_slice(key);
        }
        row.extend_from_slice(record);
        // The last line of a file may lack its end.
        if !record.ends_with(b"\n") && !record.ends_with(b"\0") {
            row.push(b'\n');
        }
    }

    /// The key and the record.
    pub(super) fn read(row: &[u8]) -> Option<(&[u8], &[u8])> {
        let (start, rest) = take(row)?;
        let (length, rest) = take(rest)?;
        match start.checked_sub(1) {
            None => rest.split_at_checked(length),
            Some(start) => Some((rest.get(start..start.checked_add(length)?)?, rest)),
        }
    }

    /// Appends seven bits a byte, the lowest first; the top bit says that more follow.
    fn put(row: &mut Vec<u8>, mut number: usize) {
        while number >= 0x80 {
            row.push(number as u8 | 0x80);
            number >>= 7;
        }
        row.push(number as u8);
    }

    fn take(mut row: &[u8]) -> Option<(usize, &[u8])> {
        let mut number = 0usize;
        for shift in (0..usize::BITS - 7).step_by(7) {
            let (&byte, rest) = row.split_first()?;
            row = rest;
            number |= usize::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some((number, row));
            }
        }
        None
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn records_come_back_with_their_keys_and_their_ends() {
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
                    // Whatever comes out of it, it comes out.
                    let _ = read(&row[..cut]);
                }
            }
        }
    }
}
