//! `crivo sync` and `crivo join`, as two processes.

#[cfg(unix)]
#[path = "../common/signals.rs"]
mod signals;

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;

use tempfile::TempDir;

fn command(args: &[&str], file: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crivo"));
    command.arg("sync").args(args).arg(file);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// A listening process, and its address.
fn listen(args: &[&str], file: &Path) -> (Child, String) {
    let mut command = command(&[&["--listen", "127.0.0.1:0"], args].concat(), file);
    #[cfg(unix)]
    signals::interruptible(&mut command);
    let mut child = command.spawn().unwrap();
    let address = address_of(&mut child);
    (child, address)
}

/// The address of a listening process.
fn address_of(child: &mut Child) -> String {
    let mut line = String::new();
    let stderr = child.stderr.as_mut().unwrap();
    // Byte by byte: what follows this line is read by others.
    while !line.ends_with('\n') {
        let mut byte = [0];
        stderr.read_exact(&mut byte).unwrap();
        line.push(char::from(byte[0]));
    }
    let address = line.trim().strip_prefix("listening at ").unwrap();
    address.strip_suffix("; waiting for a peer").unwrap().to_owned()
}

struct Files {
    dir: TempDir,
}

impl Files {
    fn new() -> Self {
        Self { dir: TempDir::new().unwrap() }
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.dir.path().join(name);
        fs::write(&path, bytes).unwrap();
        path
    }

    fn names(&self) -> BTreeSet<String> {
        let names = fs::read_dir(self.dir.path()).unwrap();
        names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }
}

fn lines(numbers: impl Iterator<Item = u32>) -> String {
    numbers.map(|number| format!("line number {number}\n")).collect()
}

fn stdout(output: &Output) -> BTreeSet<String> {
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    assert_eq!(text.lines().count(), text.lines().collect::<BTreeSet<_>>().len(), "{text}");
    text.lines().map(str::to_owned).collect()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn signed(sign: char, numbers: impl Iterator<Item = u32>) -> impl Iterator<Item = String> {
    numbers.map(move |number| format!("{sign}line number {number}"))
}

#[test]
fn two_hosts_find_and_exchange_their_difference() {
    let files = Files::new();
    // Repeated lines, and a last one without its line feed.
    let a = files.write("a", lines((0..5_000).chain(0..10)));
    let b = files.write("b", lines((40..5_020).chain(77..79)).trim_end());
    for apply in [false, true] {
        let before = [fs::read(&a).unwrap(), fs::read(&b).unwrap()];
        let args: &[&str] = if apply { &["--apply"] } else { &[] };
        let (listener, address) = listen(args, &b);
        let connecting = command(&[args, &["--connect", &address]].concat(), &a).output().unwrap();
        let listening = listener.wait_with_output().unwrap();
        for finished in [&connecting, &listening] {
            assert_eq!(finished.status.code(), Some(0), "{}", stderr(finished));
            assert!(stderr(finished).contains("sent "), "{}", stderr(finished));
        }
        let [only_a, only_b] = [0..40, 5_000..5_020];
        let at_a: BTreeSet<String> =
            signed('+', only_b.clone()).chain(signed('-', only_a.clone())).collect();
        let at_b: BTreeSet<String> = signed('+', only_a).chain(signed('-', only_b)).collect();
        assert_eq!((stdout(&connecting), stdout(&listening)), (at_a, at_b));
        let after = [fs::read(&a).unwrap(), fs::read(&b).unwrap()];
        assert_eq!(before == after, !apply);
        if apply {
            let set = |bytes: &[u8]| -> BTreeSet<Vec<u8>> {
                bytes
                    .strip_suffix(b"\n")
                    .unwrap()
                    .split(|b| *b == b'\n')
                    .map(<[u8]>::to_vec)
                    .collect()
            };
            assert_eq!(set(&after[0]), set(&after[1]));
            assert_eq!(set(&after[0]).len(), 5_020);
            // What was there is still there, in its order.
            assert!(after[0].starts_with(&before[0]) && after[1].starts_with(&before[1]));
        }
    }
    assert_eq!(files.names(), BTreeSet::from(["a".to_owned(), "b".to_owned()]));
}

#[test]
fn a_command_carries_the_exchange() {
    let files = Files::new();
    let a = files.write("a", "ana\nrui\n\n");
    let b = files.write("b", "rui\neva");
    let log = files.dir.path().join("log");
    let remote = format!(
        "'{}' sync --stdio --apply --output '{}' '{}'",
        env!("CARGO_BIN_EXE_crivo"),
        log.display(),
        b.display()
    );
    let finished = command(&["--apply", "--run", &remote], &a).output().unwrap();
    assert_eq!(finished.status.code(), Some(0), "{}", stderr(&finished));
    assert_eq!(finished.stdout, b"+eva\n-ana\n-\n");
    assert_eq!(fs::read(&a).unwrap(), b"ana\nrui\n\neva\n");
    assert_eq!(
        fs::read_to_string(&b).unwrap().lines().collect::<BTreeSet<_>>(),
        BTreeSet::from(["", "ana", "eva", "rui"])
    );
    let log = fs::read_to_string(&log).unwrap();
    assert_eq!(log.lines().collect::<BTreeSet<_>>(), BTreeSet::from(["+ana", "+", "-eva"]));
}

/// Relays the bytes of two processes, and kills the first after it has sent `limit` bytes. Returns
/// the number of bytes that both sent, and the output of the second.
fn relay(first: &mut Command, second: &mut Command, limit: usize) -> (usize, Output) {
    let mut first = first.stdin(Stdio::piped()).spawn().unwrap();
    let mut second = second.stdin(Stdio::piped()).spawn().unwrap();
    let (mut to_first, mut from_second) =
        (first.stdin.take().unwrap(), second.stdout.take().unwrap());
    let back = thread::spawn(move || {
        let (mut total, mut buffer) = (0, [0; 4096]);
        while let Ok(count @ 1..) = from_second.read(&mut buffer) {
            total += count;
            // The first may be gone.
            let _ = to_first.write_all(&buffer[..count]);
        }
        total
    });
    let (mut from_first, mut to_second) =
        (first.stdout.take().unwrap(), second.stdin.take().unwrap());
    let (mut total, mut buffer) = (0, [0; 4096]);
    while total < limit {
        let max = buffer.len().min(limit - total);
        match from_first.read(&mut buffer[..max]) {
            Ok(count @ 1..) => {
                total += count;
                let _ = to_second.write_all(&buffer[..count]);
            }
            _ => break,
        }
    }
    if total == limit {
        first.kill().unwrap();
    }
    drop(to_second);
    first.wait().unwrap();
    let finished = second.wait_with_output().unwrap();
    (total + back.join().unwrap(), finished)
}

#[test]
fn a_killed_peer_is_an_error_and_leaves_the_file_unchanged() {
    let files = Files::new();
    let a = files.write("a", lines(0..60_000));
    let b = files.write("b", lines(300..60_200));
    let peer = |file: &Path, apply: bool| {
        command(if apply { &["--stdio", "--apply"] } else { &["--stdio"] }, file)
    };
    // The undisturbed traffic: 500 lines of 17 bytes, and less than 60 bytes for each.
    let (whole, finished) = relay(&mut peer(&a, false), &mut peer(&b, false), usize::MAX);
    assert_eq!(finished.status.code(), Some(0), "{}", stderr(&finished));
    assert!(whole < 500 * (17 + 60), "{whole}");
    let before = fs::read(&b).unwrap();
    for limit in [0, 10, 25, 60, 1_000, 4_000] {
        let (_, finished) = relay(&mut peer(&a, true), &mut peer(&b, true), limit);
        assert_eq!(finished.status.code(), Some(2), "{limit}");
        let message = stderr(&finished);
        assert!(
            message.contains("the peer disconnected before the exchange was complete"),
            "{message}"
        );
        assert_eq!(fs::read(&b).unwrap(), before);
    }
    assert_eq!(files.names(), BTreeSet::from(["a".to_owned(), "b".to_owned()]));
}

#[test]
fn a_silent_peer_and_a_foreign_protocol_are_errors() {
    let files = Files::new();
    let a = files.write("a", "ana\n");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let finished = command(&["--timeout", "1", "--connect", &address], &a).output().unwrap();
    assert_eq!(finished.status.code(), Some(2));
    assert!(
        stderr(&finished).contains("the peer has sent nothing for 1 s"),
        "{}",
        stderr(&finished)
    );

    let (listener, address) = listen(&[], &a);
    let mut stranger = TcpStream::connect(address).unwrap();
    stranger.write_all(b"GET / HTTP/1.1\r\nHost: crivo.example\r\n\r\n").unwrap();
    let finished = listener.wait_with_output().unwrap();
    assert_eq!(finished.status.code(), Some(2));
    assert!(stderr(&finished).contains("does not speak this protocol"), "{}", stderr(&finished));

    // A message with an excessive length is rejected before memory is allocated.
    let (listener, address) = listen(&[], &a);
    let mut hostile = TcpStream::connect(address).unwrap();
    hostile.write_all(b"crivo-x\n\x01random number 16\xff\xff\xff\xff").unwrap();
    let finished = listener.wait_with_output().unwrap();
    assert_eq!(finished.status.code(), Some(2));
    assert!(stderr(&finished).contains("is too long"), "{}", stderr(&finished));
}

#[test]
fn a_listener_gives_up_or_can_be_interrupted() {
    let files = Files::new();
    let a = files.write("a", "ana\n");
    let (listener, _) = listen(&["--wait", "1", "--apply"], &a);
    let finished = listener.wait_with_output().unwrap();
    assert_eq!(finished.status.code(), Some(2));
    let message = stderr(&finished);
    assert!(message.contains("no peer connected") && message.contains("within 1 s"), "{message}");

    // --wait is for --listen only.
    let finished = command(&["--wait", "1", "--stdio"], &a).output().unwrap();
    assert_eq!(finished.status.code(), Some(2));
    assert!(stderr(&finished).contains("cannot be used with"), "{}", stderr(&finished));

    #[cfg(unix)]
    for signal in [libc::SIGINT, libc::SIGTERM] {
        use std::os::unix::process::ExitStatusExt;
        let (listener, _) = listen(&["--apply"], &a);
        signals::send(signal, &listener);
        assert_eq!(listener.wait_with_output().unwrap().status.signal(), Some(signal));
    }
    assert_eq!(fs::read(&a).unwrap(), b"ana\n");
    assert_eq!(files.names(), BTreeSet::from(["a".to_owned()]));
}

#[test]
fn compressed_files_are_rejected_before_listening() {
    let files = Files::new();
    for (name, first) in
        [("gzip", &b"\x1f\x8b\x08\0 and so on"[..]), ("zstd", b"\x28\xb5\x2f\xfd and so on")]
    {
        let file = files.write(name, first);
        let finished = command(&["--listen", "127.0.0.1:0"], &file).output().unwrap();
        assert_eq!(finished.status.code(), Some(2));
        let message = stderr(&finished);
        assert!(message.contains(&format!("is compressed with {name}")), "{message}");
        assert!(message.contains("decompress it first"), "{message}");
    }
}

#[test]
fn unusable_files_are_named() {
    let files = Files::new();
    for path in ["no-such-file", "."] {
        let path = files.dir.path().join(path);
        let finished = command(&["--connect", "127.0.0.1:1"], &path).output().unwrap();
        assert_eq!(finished.status.code(), Some(2));
        assert!(stderr(&finished).contains("cannot read"), "{}", stderr(&finished));
    }
    let a = files.write("a", "ana\n");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let free = listener.local_addr().unwrap().to_string();
    drop(listener);
    let finished = command(&["--connect", &free], &a).output().unwrap();
    assert_eq!(finished.status.code(), Some(2));
    assert!(stderr(&finished).contains("is the peer listening?"), "{}", stderr(&finished));
    let neither = command(&[], &a).output().unwrap();
    assert_eq!(neither.status.code(), Some(2));
}

#[test]
fn the_help_warns_that_tcp_is_not_authenticated() {
    let help = Command::new(env!("CARGO_BIN_EXE_crivo")).args(["sync", "--help"]).output().unwrap();
    let message = String::from_utf8(help.stdout).unwrap();
    let message = message.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(message.contains("there is no authentication and no encryption"), "{message}");
}

#[test]
fn a_join_prints_the_matching_records() {
    let files = Files::new();
    let customers: String = (0..20_000)
        .map(|i| format!("{i},\"name \"\"{i}\"\"\",a long address in a city\n"))
        .collect();
    let b = files.write("customers.csv", format!("id,name,address\n{customers}"));
    let a = files.write("orders.csv", "order,customer\r\n1,7\r\n2,19999\r\n3,7\r\n4,nobody\r\n");
    let remote = format!(
        "'{}' join --serve --stdio --csv --column id '{}'",
        env!("CARGO_BIN_EXE_crivo"),
        b.display()
    );
    let finished = Command::new(env!("CARGO_BIN_EXE_crivo"))
        .args(["join", "--csv", "--column", "customer", "--run", &remote])
        .arg(&a)
        .output()
        .unwrap();
    assert_eq!(finished.status.code(), Some(0), "{}", stderr(&finished));
    assert_eq!(
        String::from_utf8(finished.stdout.clone()).unwrap(),
        "id,name,address\n\
         7,\"name \"\"7\"\"\",a long address in a city\n\
         19999,\"name \"\"19999\"\"\",a long address in a city\n"
    );
    assert!(stderr(&finished).contains("of 20,000 records received"), "{}", stderr(&finished));

    // If both ask, neither waits forever.
    let (listener, address) = {
        let mut child = Command::new(env!("CARGO_BIN_EXE_crivo"))
            .args(["join", "--timeout", "1", "--listen", "127.0.0.1:0"])
            .arg(&a)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let address = address_of(&mut child);
        (child, address)
    };
    let finished = Command::new(env!("CARGO_BIN_EXE_crivo"))
        .args(["join", "--timeout", "1", "--connect", &address])
        .arg(&a)
        .output()
        .unwrap();
    assert_eq!(finished.status.code(), Some(2));
    assert_eq!(listener.wait_with_output().unwrap().status.code(), Some(2));
}
