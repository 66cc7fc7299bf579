//! `crivo sync`: reconciles the lines of two files over a network.

mod lines;

use std::collections::HashSet;
use std::io::{self, Seek, Write};
use std::path::PathBuf;

use clap::{Args, ValueHint};
use crivo_core::spill::{SpillError, SpoolReader};
use crivo_exchange::{Action, ExchangeKey, Id, Session, Traffic};

use self::lines::{LineFile, ReceivedLines};
use crate::error::Error;
use crate::human;
use crate::input::RecordEnd;
use crate::link::{Agreement, Link, PeerArgs};
use crate::output;
use crate::status::Status;

/// Finds the lines that two files on two hosts do not share, and can exchange them
///
/// Both hosts run this command, each with its own file; the order and the repetition of lines do not
/// matter. The traffic is proportional to the difference, not to the files: about 35 bytes for each
/// differing line, plus the lines themselves. Prints `+` and the line for each line that was missing
/// here, then `-` and the line for each that was missing there. The number of bytes sent is printed
/// to standard error.
///
/// It needs 16 bytes of memory per line of FILE. FILE is changed only with --apply, atomically and at
/// the very end: an error or interruption before that leaves it unchanged.
///
/// --listen and --connect use plain TCP: there is no authentication and no encryption. Anyone who can
/// reach the port can read and add lines. Use them on trusted networks, or run the exchange over ssh:
/// crivo sync FILE --run 'ssh HOST crivo sync --stdio FILE'.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SyncArgs {
    /// A file of lines, not compressed
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    file: PathBuf,

    #[command(flatten)]
    peer: PeerArgs,

    /// Keep a carriage return (CR) at the end of a line as part of the line. By default CR LF ends a
    /// line as LF does, and lines are sent without it. Both hosts must say the same
    #[arg(long)]
    keep_cr: bool,

    /// Append the lines that were missing here to FILE, atomically
    #[arg(long)]
    apply: bool,

    /// Write the differing lines to this file instead of standard output, which --stdio uses for the
    /// exchange
    #[arg(short, long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  crivo sync --listen 0.0.0.0:4000 urls.txt            on one host, and
  crivo sync --connect other:4000 urls.txt             on another: print the difference
  crivo sync --apply --connect other:4000 urls.txt     and append what was missing here
  crivo sync --run 'ssh other crivo sync --stdio urls.txt' urls.txt
";

impl SyncArgs {
    pub(crate) fn run(self) -> Result<Status, Error> {
        let end = if self.keep_cr { RecordEnd::LineFeed } else { RecordEnd::Line };
        let file = LineFile::open(&self.file, end)?;
        let mut link = self.peer.link()?;
        let mut received_lines = ReceivedLines::default();
        let found = match reconcile(&file, &mut link, &mut received_lines) {
            Ok(found) => found,
            Err(error) => {
                link.abandon();
                return Err(error);
            }
        };
        let (sent, received) = link.close()?;
        let mut received_lines = received_lines.into_reader()?;
        if self.apply {
            file.append(&mut received_lines)?;
        }
        let traffic = found.traffic;
        let missing_there = found.missing_there.len() as u64;
        self.print(&file, &mut received_lines, found)?;
        output::print_message(format_args!(
            "sent {}, received {}; {} missing here ({}), {} missing there",
            human::bytes(sent),
            human::bytes(received),
            human::counted(traffic.items_received, "line"),
            human::bytes(traffic.item_bytes_received),
            human::counted(missing_there, "line"),
        ));
        Ok(Status::Success)
    }

    fn print(
        &self,
        file: &LineFile,
        received_lines: &mut SpoolReader,
        found: SyncResult,
    ) -> Result<(), Error> {
        match &self.output {
            Some(path) => output::replace_file(path, |out| {
                print_difference(out, file, received_lines, found, Error::writing(path))
            }),
            // Standard output carries the exchange.
            None if self.peer.uses_standard_output() => Ok(()),
            None => print_difference(output::data(), file, received_lines, found, Error::output),
        }
    }
}

/// The result of an exchange, besides the received lines.
struct SyncResult {
    key: ExchangeKey,
    missing_there: HashSet<Id>,
    traffic: Traffic,
}

/// Runs the whole exchange. The received lines must not be used unless it succeeds.
fn reconcile(
    file: &LineFile,
    link: &mut Link,
    received_lines: &mut ReceivedLines,
) -> Result<SyncResult, Error> {
    let Agreement { is_initiator, key } = link.agree()?;
    let set = file.ids(key)?;
    let mut session = if is_initiator { Session::initiator(set) } else { Session::responder(set) };
    loop {
        match session.action().map_err(Error::new)? {
            Action::Send(message) => link.send(message)?,
            Action::Receive => {
                let message = link.receive()?;
                let mut kept = Ok(());
                let taken = session.receive(&message, |line| {
                    if kept.is_ok() {
                        kept = received_lines.push(line);
                    }
                });
                kept?;
                taken.map_err(Error::new)?;
            }
            Action::Provide => {
                file.each(|line| {
                    session.provide(line);
                    while let Some(message) = session.ready().map_err(Error::new)? {
                        link.send(message)?;
                    }
                    Ok(())
                })?;
                session.provided().map_err(Error::new)?;
            }
            Action::Finished => break,
        }
    }
    let missing_there = session.lacked_there().iter().copied().collect();
    Ok(SyncResult { key, missing_there, traffic: session.traffic() })
}

/// Prints `+` and each line that was missing here, `-` and each that was missing there.
fn print_difference(
    mut out: impl Write,
    file: &LineFile,
    received_lines: &mut SpoolReader,
    found: SyncResult,
    cannot: impl Fn(io::Error) -> Error,
) -> Result<(), Error> {
    let mut print = |sign: &[u8], line: &[u8]| {
        [sign, line, b"\n"].iter().try_for_each(|piece| out.write_all(piece)).map_err(&cannot)
    };
    received_lines.rewind().map_err(SpillError::from)?;
    lines::each_line(received_lines, |line| print(b"+", line))?;
    let SyncResult { key, mut missing_there, .. } = found;
    if !missing_there.is_empty() {
        file.each(|line| {
            // A repeated line is printed once.
            if missing_there.remove(&key.id(line)) { print(b"-", line) } else { Ok(()) }
        })?;
    }
    out.flush().map_err(&cannot)
}
