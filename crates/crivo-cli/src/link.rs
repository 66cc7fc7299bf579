//! Messages to and from the peer, over TCP, pipes or a child process.
//!
//! A message is preceded by its length in four bytes. Reading and writing have a thread each, so
//! that timeouts work on pipes as they do on sockets.

use std::cmp::Ordering;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, SyncSender};
use std::thread;
use std::time::Duration;

use clap::Args;
use clap::builder::RangedU64ValueParser;
use crivo_exchange::{ExchangeKey, Greeting, MAX_MESSAGE};

use crate::error::{Error, os_message};
use crate::output;

/// The bytes of the length before a message.
const HEAD: usize = 4;
/// How many messages are read ahead.
const AHEAD: usize = 2;
/// The arguments that exclude `--wait`.
const NOT_LISTENING: [&str; 3] = ["connect", "stdio", "run"];

/// How to reach the peer, and how long to wait for it.
#[derive(Debug, Args)]
pub(crate) struct PeerArgs {
    #[command(flatten)]
    transport: TransportArgs,

    /// With --listen: give up if no peer connects within this time [default: wait until interrupted]
    #[arg(long, value_name = "SECONDS", conflicts_with_all = NOT_LISTENING, value_parser = seconds())]
    wait: Option<u64>,

    /// Give up if the connected peer is silent for this time
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds())]
    timeout: u64,
}

fn seconds() -> RangedU64ValueParser {
    clap::value_parser!(u64).range(1..=1_000_000)
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct TransportArgs {
    /// Wait for one peer at this address: localhost:4000, or just 4000 for this port on every network
    /// of this host. Port 0 takes a free one
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,

    /// Connect to a peer that listens, such as host:4000, or just 4000 for this host
    #[arg(long, value_name = "ADDRESS")]
    connect: Option<String>,

    /// Use standard input and output, which another program connects to the peer
    #[arg(long)]
    stdio: bool,

    /// Run this command and use its standard input and output
    #[arg(long, value_name = "COMMAND")]
    run: Option<String>,
}

impl PeerArgs {
    /// Whether standard output carries the exchange.
    pub(crate) fn uses_standard_output(&self) -> bool {
        self.transport.stdio
    }

    pub(crate) fn link(&self) -> Result<Link, Error> {
        let timeout = Duration::from_secs(self.timeout);
        match &self.transport {
            TransportArgs { listen: Some(address), .. } => {
                let address = with_host(address, "0.0.0.0");
                Link::listen(&address, self.wait.map(Duration::from_secs), timeout)
            }
            TransportArgs { connect: Some(address), .. } => {
                Link::connect(&with_host(address, "localhost"), timeout)
            }
            TransportArgs { run: Some(command), .. } => Link::run(command, timeout),
            _ => Ok(Link::standard(timeout)),
        }
    }
}

/// The address with this host if it is only a port: `4000` or `:4000`.
fn with_host(address: &str, host: &str) -> String {
    let port = address.strip_prefix(':').unwrap_or(address);
    match port.parse::<u16>() {
        Ok(_) => format!("{host}:{port}"),
        Err(_) => address.to_owned(),
    }
}

/// A connection to the peer.
pub(crate) struct Link {
    timeout: Duration,
    incoming: Receiver<io::Result<Vec<u8>>>,
    outgoing: Sender<Vec<u8>>,
    written: Receiver<io::Result<()>>,
    child: Option<Child>,
    sent: u64,
    received: u64,
}

impl Link {
    /// Waits for one peer, without limit if `wait` is `None`.
    fn listen(address: &str, wait: Option<Duration>, timeout: Duration) -> Result<Self, Error> {
        let cannot = |error: io::Error| {
            Error::new(format_args!("cannot listen at {address}: {}", os_message(&error)))
        };
        let listener = TcpListener::bind(address).map_err(cannot)?;
        let address = listener.local_addr().map_err(cannot)?;
        output::print_message(format_args!("listening at {address}; waiting for a peer"));
        let accepted = match wait {
            None => listener.accept(),
            Some(wait) => accept_within(listener, wait).ok_or_else(|| {
                let seconds = wait.as_secs();
                Error::new(format_args!(
                    "no peer connected to {address} within {seconds} s; raise --wait"
                ))
            })?,
        };
        let (stream, _) = accepted.map_err(cannot)?;
        Self::over(stream, timeout).map_err(cannot)
    }

    fn connect(address: &str, timeout: Duration) -> Result<Self, Error> {
        let cannot = |error: io::Error| {
            let message = os_message(&error);
            Error::new(format_args!(
                "cannot connect to {address}: {message}; is the peer listening?"
            ))
        };
        let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
        for resolved in address.to_socket_addrs().map_err(cannot)? {
            match TcpStream::connect_timeout(&resolved, timeout) {
                Ok(stream) => return Self::over(stream, timeout).map_err(cannot),
                Err(error) => last = error,
            }
        }
        Err(cannot(last))
    }

    fn over(stream: TcpStream, timeout: Duration) -> io::Result<Self> {
        // A request is one small message, which must not wait for more data.
        stream.set_nodelay(true)?;
        Ok(Self::new(stream.try_clone()?, stream, timeout))
    }

    /// Runs a shell command and connects to its standard input and output.
    fn run(command: &str, timeout: Duration) -> Result<Self, Error> {
        let (shell, flag) = if cfg!(windows) { ("cmd", "/C") } else { ("sh", "-c") };
        let mut child = Command::new(shell)
            .args([flag, command])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| {
                Error::new(format_args!("cannot run {command:?}: {}", os_message(&error)))
            })?;
        let pipes = child.stdout.take().zip(child.stdin.take());
        let (reader, writer) =
            pipes.ok_or_else(|| Error::new(format_args!("cannot connect to {command:?}")))?;
        Ok(Self { child: Some(child), ..Self::new(reader, writer, timeout) })
    }

    fn standard(timeout: Duration) -> Self {
        Self::new(io::stdin(), io::stdout(), timeout)
    }

    fn new(
        reader: impl Read + Send + 'static,
        writer: impl Write + Send + 'static,
        timeout: Duration,
    ) -> Self {
        let (send_incoming, incoming) = mpsc::sync_channel(AHEAD);
        let (outgoing, to_write) = mpsc::channel();
        let (send_written, written) = mpsc::channel();
        thread::spawn(move || read_all(reader, &send_incoming));
        thread::spawn(move || write_all(writer, &to_write, &send_written));
        Self { timeout, incoming, outgoing, written, child: None, sent: 0, received: 0 }
    }

    /// Agrees with the peer on a key and on the initiator.
    pub(crate) fn agree(&mut self) -> Result<Agreement, Error> {
        let mut contribution = [0; 16];
        getrandom::fill(&mut contribution).map_err(|error| {
            Error::new(format_args!("the system provides no random numbers: {error}"))
        })?;
        let ours = Greeting::new(contribution);
        self.write(ours.to_bytes().to_vec())?;
        let bytes = self.receive()?;
        self.received -= HEAD as u64; // a greeting has a fixed length and no length before it
        // The reader thread sends a greeting first.
        let bytes = bytes.as_slice().try_into().map_err(|_| ended())?;
        let theirs = Greeting::from_bytes(bytes).map_err(Error::new)?;
        // The larger contribution initiates, so that it does not matter which side listens.
        match ours.to_bytes().cmp(&theirs.to_bytes()) {
            Ordering::Less => {
                Ok(Agreement { is_initiator: false, key: ours.key_as_responder(&theirs) })
            }
            Ordering::Greater => {
                Ok(Agreement { is_initiator: true, key: ours.key_as_initiator(&theirs) })
            }
            Ordering::Equal => Err(Error::new("the peer is this process itself; name another")),
        }
    }

    pub(crate) fn send(&mut self, message: Vec<u8>) -> Result<(), Error> {
        let mut framed = Vec::with_capacity(HEAD + message.len());
        framed.extend((message.len() as u32).to_le_bytes());
        framed.extend(message);
        self.write(framed)
    }

    fn write(&mut self, bytes: Vec<u8>) -> Result<(), Error> {
        self.sent += bytes.len() as u64;
        // If the thread has ended, it has sent its error.
        let _ = self.outgoing.send(bytes);
        match self.written.recv_timeout(self.timeout) {
            Ok(result) => result.map_err(|error| lost(&error)),
            Err(RecvTimeoutError::Timeout) => Err(self.timed_out("received nothing")),
            Err(RecvTimeoutError::Disconnected) => Err(ended()),
        }
    }

    pub(crate) fn receive(&mut self) -> Result<Vec<u8>, Error> {
        match self.incoming.recv_timeout(self.timeout) {
            Ok(Ok(message)) => {
                self.received += (HEAD + message.len()) as u64;
                Ok(message)
            }
            Ok(Err(error)) if error.kind() == io::ErrorKind::UnexpectedEof => Err(ended()),
            Ok(Err(error)) => Err(lost(&error)),
            Err(RecvTimeoutError::Timeout) => Err(self.timed_out("sent nothing")),
            Err(RecvTimeoutError::Disconnected) => Err(ended()),
        }
    }

    fn timed_out(&self, what: &str) -> Error {
        let seconds = self.timeout.as_secs();
        Error::new(format_args!(
            "the peer has {what} for {seconds} s; nothing was changed; raise --timeout"
        ))
    }

    /// Ends the exchange. Returns the numbers of bytes sent and received.
    pub(crate) fn close(self) -> Result<(u64, u64), Error> {
        let Self { sent, received, child, outgoing, .. } = self;
        drop(outgoing);
        if let Some(mut child) = child {
            let status = child.wait().map_err(|error| {
                Error::new(format_args!("cannot wait for the command: {error}"))
            })?;
            if !status.success() {
                output::print_warning(format_args!("the command ended with {status}"));
            }
        }
        Ok((sent, received))
    }

    /// Ends a failed exchange.
    pub(crate) fn abandon(self) {
        if let Some(mut child) = self.child {
            // It may have exited by itself.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The first connection, if there is one in time.
fn accept_within(
    listener: TcpListener,
    wait: Duration,
) -> Option<io::Result<(TcpStream, SocketAddr)>> {
    let (send, accepted) = mpsc::channel();
    // `accept` has no timeout; the waiting thread ends with the process.
    thread::spawn(move || send.send(listener.accept()));
    accepted.recv_timeout(wait).ok()
}

/// What two peers agree on before the exchange.
pub(crate) struct Agreement {
    /// Whether this side is the initiator.
    pub(crate) is_initiator: bool,
    /// A fresh key.
    pub(crate) key: ExchangeKey,
}

fn ended() -> Error {
    Error::new("the peer disconnected before the exchange was complete; nothing was changed")
}

fn lost(error: &io::Error) -> Error {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset};
    if matches!(error.kind(), BrokenPipe | ConnectionAborted | ConnectionReset) {
        return ended();
    }
    Error::new(format_args!(
        "the connection to the peer failed: {}; nothing was changed",
        os_message(error)
    ))
}

/// The reader thread: reads until an error, the end, or the receiver is gone.
fn read_all(mut reader: impl Read, messages: &SyncSender<io::Result<Vec<u8>>>) {
    let mut greeting = vec![0; Greeting::LENGTH];
    let first = reader.read_exact(&mut greeting).map(|()| greeting);
    let mut has_failed = first.is_err();
    let mut is_received = messages.send(first).is_ok();
    while is_received && !has_failed {
        let message = read_message(&mut reader);
        has_failed = message.is_err();
        is_received = messages.send(message).is_ok();
    }
}

fn read_message(reader: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut length = [0; HEAD];
    reader.read_exact(&mut length)?;
    let length = u32::from_le_bytes(length) as usize;
    if length > MAX_MESSAGE {
        return Err(io::Error::other(format!("a message of {length} bytes is too long")));
    }
    let mut message = vec![0; length];
    reader.read_exact(&mut message)?;
    Ok(message)
}

/// The writer thread: writes until an error, or the sender is gone.
fn write_all(mut writer: impl Write, pieces: &Receiver<Vec<u8>>, written: &Sender<io::Result<()>>) {
    for piece in pieces {
        let result = writer.write_all(&piece).and_then(|()| writer.flush());
        let has_failed = result.is_err();
        if written.send(result).is_err() || has_failed {
            return;
        }
    }
}
