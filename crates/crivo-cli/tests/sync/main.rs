//! `crivo sync` and `crivo join`, as two real processes.

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

/// A process that listens, and where.
fn listen(args: &[&str], file: &Path) -> (Child, String) {
    let mut child = command(&[&["--listen", "127.0.0.1:0"], args].concat(), file).spawn().unwrap();
    let address = address_of(&mut child);
    (child, address)
}

/// Where a process that listens does so.
fn address_of(child: &mut Child) -> String {
    let mut line = String::new();
    let stderr = child.stderr.as_mut().unwrap();
    // Byte by byte: what comes after this line is read by others.
    while !line.ends_with('\n') {
        let mut byte = [0];
        stderr.read_exact(&mut byte).unwrap();
        line.push(char::from(byte[0]));
    }
    let address = line.trim().strip_prefix("listening at ").unwrap();
    address.strip_suffix("; waiting for a peer").unwrap().to_owned()
}

struct Files {
    folder: TempDir,
}

impl Files {
    fn new() -> Self {
        Self { folder: TempDir::new().unwrap() }
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        path
    }

    fn names(&self) -> BTreeSet<String> {
        let names = fs::read_dir(self.folder.path()).unwrap();
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
fn two_hosts_find_what_differs_and_take_it() {
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
        for ended in [&connecting, &listening] {
            assert_eq!(ended.status.code(), Some(0), "{}", stderr(ended));
            assert!(stderr(ended).contains("sent "), "{}", stderr(ended));
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
fn a_command_such_as_ssh_carries_it() {
    let files = Files::new();
    let a = files.write("a", "ana\nrui\n\n");
    let b = files.write("b", "rui\neva");
    let log = files.folder.path().join("log");
    let remote = format!(
        "'{}' sync --stdio --apply --output '{}' '{}'",
        env!("CARGO_BIN_EXE_crivo"),
        log.display(),
        b.display()
    );
    let ended = command(&["--apply", "--run", &remote], &a).output().unwrap();
    assert_eq!(ended.status.code(), Some(0), "{}", stderr(&ended));
    assert_eq!(ended.stdout, b"+eva\n-ana\n-\n");
    assert_eq!(fs::read(&a).unwrap(), b"ana\nrui\n\neva\n");
    assert_eq!(
        fs::read_to_string(&b).unwrap().lines().collect::<BTreeSet<_>>(),
        BTreeSet::from(["", "ana", "eva", "rui"])
    );
    let log = fs::read_to_string(&log).unwrap();
    assert_eq!(log.lines().collect::<BTreeSet<_>>(), BTreeSet::from(["+ana", "+", "-eva"]));
}

/// Two processes whose bytes pass through this one. After `limit` bytes from the first, it is killed.
/// The bytes that both sent, and how the second ended.
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
        let most = buffer.len().min(limit - total);
        match from_first.read(&mut buffer[..most]) {
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
    let ended = second.wait_with_output().unwrap();
    (total + back.join().unwrap(), ended)
}

#[test]
fn a_peer_that_is_killed_half_way_leaves_the_other_with_an_error_and_its_file_as_it_was() {
    let files = Files::new();
    let a = files.write("a", lines(0..60_000));
    let b = files.write("b", lines(300..60_200));
    let peer = |file: &Path, apply: bool| {
        command(if apply { &["--stdio", "--apply"] } else { &["--stdio"] }, file)
    };
    // How long it takes undisturbed: 500 lines of 17 bytes, and less than 60 bytes for each.
    let (whole, ended) = relay(&mut peer(&a, false), &mut peer(&b, false), usize::MAX);
    assert_eq!(ended.status.code(), Some(0), "{}", stderr(&ended));
    assert!(whole < 500 * (17 + 60), "{whole}");
    let before = fs::read(&b).unwrap();
    for limit in [0, 10, 25, 60, 1_000, 4_000] {
        let (_, ended) = relay(&mut peer(&a, true), &mut peer(&b, true), limit);
        assert_eq!(ended.status.code(), Some(2), "{limit}");
        let words = stderr(&ended);
        assert!(words.contains("the peer went away before the exchange was complete"), "{words}");
        assert_eq!(fs::read(&b).unwrap(), before);
    }
    assert_eq!(files.names(), BTreeSet::from(["a".to_owned(), "b".to_owned()]));
}

#[test]
fn a_silent_peer_and_a_stranger_are_errors() {
    let files = Files::new();
    let a = files.write("a", "ana\n");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let ended = command(&["--timeout", "1", "--connect", &address], &a).output().unwrap();
    assert_eq!(ended.status.code(), Some(2));
    assert!(stderr(&ended).contains("the peer has said nothing for 1 s"), "{}", stderr(&ended));

    let (listener, address) = listen(&[], &a);
    let mut stranger = TcpStream::connect(address).unwrap();
    stranger.write_all(b"GET / HTTP/1.1\r\nHost: crivo.example\r\n\r\n").unwrap();
    let ended = listener.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(2));
    assert!(stderr(&ended).contains("does not speak this protocol"), "{}", stderr(&ended));

    // A message that claims to be longer than any is refused before memory is asked for.
    let (listener, address) = listen(&[], &a);
    let mut hostile = TcpStream::connect(address).unwrap();
    hostile.write_all(b"crivo-x\n\x01random number 16\xff\xff\xff\xff").unwrap();
    let ended = listener.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(2));
    assert!(stderr(&ended).contains("is too long"), "{}", stderr(&ended));
}

#[test]
fn whoever_waits_in_vain_gives_up_or_can_be_interrupted() {
    let files = Files::new();
    let a = files.write("a", "ana\n");
    let (listener, _) = listen(&["--wait", "1", "--apply"], &a);
    let ended = listener.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(2));
    let words = stderr(&ended);
    assert!(words.contains("no peer came") && words.contains("within 1 s"), "{words}");

    // --wait is about --listen alone.
    let ended = command(&["--wait", "1", "--stdio"], &a).output().unwrap();
    assert_eq!(ended.status.code(), Some(2));
    assert!(stderr(&ended).contains("cannot be used with"), "{}", stderr(&ended));

    #[cfg(unix)]
    {
        let (listener, _) = listen(&["--apply"], &a);
        // Not SIGINT, which shells let programs in the background ignore.
        let sent = Command::new("kill").args(["-TERM", &listener.id().to_string()]).status();
        assert!(sent.unwrap().success());
        assert!(!listener.wait_with_output().unwrap().status.success());
    }
    assert_eq!(fs::read(&a).unwrap(), b"ana\n");
    assert_eq!(files.names(), BTreeSet::from(["a".to_owned()]));
}

#[test]
fn compressed_files_are_refused_before_anyone_waits() {
    let files = Files::new();
    for (name, first) in
        [("gzip", &b"\x1f\x8b\x08\0 and so on"[..]), ("zstd", b"\x28\xb5\x2f\xfd and so on")]
    {
        let file = files.write(name, first);
        let ended = command(&["--listen", "127.0.0.1:0"], &file).output().unwrap();
        assert_eq!(ended.status.code(), Some(2));
        let words = stderr(&ended);
        assert!(words.contains(&format!("is compressed by {name}")), "{words}");
        assert!(words.contains("decompress it first"), "{words}");
    }
}

#[test]
fn files_that_cannot_be_used_are_named() {
    let files = Files::new();
    for path in ["no-such-file", "."] {
        let path = files.folder.path().join(path);
        let ended = command(&["--connect", "127.0.0.1:1"], &path).output().unwrap();
        assert_eq!(ended.status.code(), Some(2));
        assert!(stderr(&ended).contains("cannot read"), "{}", stderr(&ended));
    }
    let a = files.write("a", "ana\n");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let free = listener.local_addr().unwrap().to_string();
    drop(listener);
    let ended = command(&["--connect", &free], &a).output().unwrap();
    assert_eq!(ended.status.code(), Some(2));
    assert!(stderr(&ended).contains("does the peer listen?"), "{}", stderr(&ended));
    let neither = command(&[], &a).output().unwrap();
    assert_eq!(neither.status.code(), Some(2));
}

#[test]
fn the_help_says_that_tcp_is_not_authenticated() {
    let help = Command::new(env!("CARGO_BIN_EXE_crivo")).args(["sync", "--help"]).output().unwrap();
    let words = String::from_utf8(help.stdout).unwrap();
    let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("nobody is authenticated and nothing is encrypted"), "{words}");
}

#[test]
fn a_join_prints_the_records_that_have_a_partner() {
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
    let ended = Command::new(env!("CARGO_BIN_EXE_crivo"))
        .args(["join", "--csv", "--column", "customer", "--run", &remote])
        .arg(&a)
        .output()
        .unwrap();
    assert_eq!(ended.status.code(), Some(0), "{}", stderr(&ended));
    assert_eq!(
        String::from_utf8(ended.stdout.clone()).unwrap(),
        "id,name,address\n\
         7,\"name \"\"7\"\"\",a long address in a city\n\
         19999,\"name \"\"19999\"\"\",a long address in a city\n"
    );
    assert!(stderr(&ended).contains("of 20,000 records came"), "{}", stderr(&ended));

    // Both ask: neither waits for ever.
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
    let ended = Command::new(env!("CARGO_BIN_EXE_crivo"))
        .args(["join", "--timeout", "1", "--connect", &address])
        .arg(&a)
        .output()
        .unwrap();
    assert_eq!(ended.status.code(), Some(2));
    assert_eq!(listener.wait_with_output().unwrap().status.code(), Some(2));
}
