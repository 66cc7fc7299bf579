//! `crivo sync`: two files become the same set of lines, over a network.

mod lines;

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use clap::{Args, ValueHint};
use crivo_exchange::{Action, ExchangeKey, Id, Session, Traffic};

use self::lines::{LineFile, Spool};
use crate::human;
use crate::link::{Agreement, Link, PeerArgs};
use crate::outcome::{Error, Outcome};
use crate::output;

/// Finds out which lines two files on two hosts do not share, and can exchange them
///
/// Both hosts run this command, each with its own file; the order of lines and repeated lines do not
/// matter. What is sent is in proportion to what is different, not to the files: about 35 bytes for
/// each differing line, beside the lines themselves. Prints `+` and the line for each line that
/// was missing here, then `-` and the line for each that was missing there. The bytes that were
/// sent go to standard error.
///
/// It takes 16 bytes of memory per line of FILE. FILE is only changed with --apply, in one step at
/// the very end: whatever goes wrong before, Ctrl-C included, leaves it as it was.
///
/// --listen and --connect use plain TCP: nobody is authenticated and nothing is encrypted. Whoever
/// can reach the port can learn and add lines. Use them on networks that you trust, or let ssh carry
/// the exchange: crivo sync FILE --run 'ssh HOST crivo sync --stdio FILE'.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SyncArgs {
    /// A file of lines, not compressed
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    file: PathBuf,

    #[command(flatten)]
    peer: PeerArgs,

    /// Add the lines that were missing here to FILE, at its end, in one step
    #[arg(long)]
    apply: bool,

    /// Write the differing lines to this file instead of standard output, which with --stdio belongs
    /// to the exchange
    #[arg(short, long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  crivo sync --listen 0.0.0.0:4000 urls.txt            on one host, and
  crivo sync --connect other:4000 urls.txt             on another: print what differs
  crivo sync --apply --connect other:4000 urls.txt     and take what was missing here
  crivo sync --run 'ssh other crivo sync --stdio urls.txt' urls.txt
";

impl SyncArgs {
    pub(crate) fn run(self) -> Result<Outcome, Error> {
        let file = LineFile::open(&self.file)?;
        let mut link = self.peer.link()?;
        let mut learnt = Spool::new()?;
        let found = match reconcile(&file, &mut link, &mut learnt) {
            Ok(found) => found,
            Err(error) => {
                link.abandon();
                return Err(error);
            }
        };
        let (sent, received) = link.close()?;
        if self.apply {
            file.append(learnt.reader()?)?;
        }
        let traffic = found.traffic;
        let missing_there = found.lacked_there.len() as u64;
        self.print(&file, &mut learnt, found)?;
        output::say(format_args!(
            "sent {}, received {}; {} missing here ({}), {} missing there",
            human::bytes(sent),
            human::bytes(received),
            human::counted(traffic.items_received, "line"),
            human::bytes(traffic.item_bytes_received),
            human::counted(missing_there, "line"),
        ));
        Ok(Outcome::Done)
    }

    fn print(&self, file: &LineFile, learnt: &mut Spool, found: Found) -> Result<(), Error> {
        match &self.output {
            Some(path) => {
                let out = File::create(path).map_err(Error::writing(path))?;
                print_difference(BufWriter::new(out), file, learnt, found, Error::writing(path))
            }
            // Standard output belongs to the exchange.
            None if self.peer.uses_standard_output() => Ok(()),
            None => print_difference(output::data(), file, learnt, found, Error::output),
        }
    }
}

/// What an exchange has found out, beside the lines that it has learnt.
struct Found {
    key: ExchangeKey,
    lacked_there: HashSet<Id>,
    traffic: Traffic,
}

/// Runs the whole exchange. Nothing that was learnt counts before it ends without an error.
fn reconcile(file: &LineFile, link: &mut Link, learnt: &mut Spool) -> Result<Found, Error> {
    let Agreement { begins, key } = link.agree()?;
    let set = file.ids(key)?;
    let mut session = if begins { Session::initiator(set) } else { Session::responder(set) };
    loop {
        match session.action().map_err(Error::new)? {
            Action::Send(message) => link.send(message)?,
            Action::Receive => {
                let message = link.receive()?;
                let mut kept = Ok(());
                let taken = session.receive(&message, |line| {
                    if kept.is_ok() {
                        kept = learnt.push(line);
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
    let lacked_there = session.lacked_there().iter().copied().collect();
    Ok(Found { key, lacked_there, traffic: session.traffic() })
}

/// `+` and what was missing here, `-` and what was missing there.
fn print_difference(
    mut out: impl Write,
    file: &LineFile,
    learnt: &mut Spool,
    found: Found,
    cannot: impl Fn(io::Error) -> Error,
) -> Result<(), Error> {
    let mut print = |sign: &[u8], line: &[u8]| {
        [sign, line, b"\n"].iter().try_for_each(|piece| out.write_all(piece)).map_err(&cannot)
    };
    lines::each_line(learnt.reader()?, |line| print(b"+", line))?;
    let Found { key, mut lacked_there, .. } = found;
    if !lacked_there.is_empty() {
        file.each(|line| {
            // A line that is in the file more than once is printed once.
            if lacked_there.remove(&key.id(line)) { print(b"-", line) } else { Ok(()) }
        })?;
    }
    out.flush().map_err(&cannot)
}
