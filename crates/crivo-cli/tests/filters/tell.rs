//! `crivo inspect`, `size`, `completions`, `man` and `--help`: what the command tells.

use std::process::Stdio;

use crate::support::{Folder, KINDS};

#[test]
fn inspection_tells_what_there_is() {
    let folder = Folder::new();
    folder.numbers("keys", 0..600);
    for kind in KINDS {
        let keys = if kind == "fuse" { "" } else { " --keys 1000" };
        folder.ok(&format!("build -o f --kind {kind} --seed 7{keys} keys"));
        let told = folder.ok("inspect f");
        assert!(told.err.is_empty(), "{told:?}");
        for words in [
            &format!("f: a {kind} filter\n") as &str,
            "keys           600\n",
            "bits per key",
            "expected rate",
            "xxh3 with seed 7",
            "version 1",
            "(verified)",
        ] {
            assert!(told.out.contains(words), "{words:?}: {told:?}");
        }
        // Colours are for terminals.
        assert!(!told.out.contains('\x1b'));
        let facts = folder.ok("inspect --json f").json();
        assert_eq!((&facts["kind"], &facts["keys"]), (&kind.into(), &600.into()));
        assert_eq!((&facts["hash"], &facts["seed"]), (&"xxh3".into(), &7.into()));
        assert_eq!(facts["format_version"], 1);
        assert_eq!(facts["file_bytes"], folder.read("f").len());
        assert!(facts["expected_rate"].as_f64() <= facts["expected_rate_at_capacity"].as_f64());
        assert!(facts["payload_checksum"].as_str().unwrap().len() == 16);
    }
}

#[test]
fn the_picture_shows_how_full_it_is() {
    let folder = Folder::new();
    folder.numbers("keys", 0..600);
    folder.ok("build -o f --keys 1000 keys");
    let told = folder.ok("inspect f");
    let bar = format!("{}{} ", "█".repeat(24), "░".repeat(16));
    assert!(told.out.contains(&bar) && told.out.contains("60% of 1,000"), "{}", told.out);
    // A bar for every stage.
    folder.numbers("many", 0..10_000);
    folder.ok("build -o f --kind growing --keys 1024 many");
    let told = folder.ok("inspect f");
    assert_eq!(told.out.matches("100% of").count(), 3, "{}", told.out);
    assert_eq!(folder.ok("inspect --json f").json()["stages"].as_array().unwrap().len(), 4);
}

#[test]
fn sizes_are_compared_with_the_limit() {
    let folder = Folder::new();
    let told = folder.ok("size --keys 1M --rate 0.01");
    for words in ["1,000,000 keys at a rate of 1%", "6.64 bits per key", "blocked", "1.20 MB"] {
        assert!(told.out.contains(words), "{words:?}: {}", told.out);
    }
    for kind in KINDS {
        assert!(told.out.contains(kind), "{kind}: {}", told.out);
    }
    assert!(told.out.contains("Keys come one by one: blocked. A question reads one cache line"));
    assert!(told.out.contains("All keys are there at once: fuse."));
    assert!(told.err.is_empty() && !told.out.contains('\x1b'));
}

#[test]
fn sizes_are_what_build_makes() {
    let folder = Folder::new();
    folder.numbers("keys", 0..5_000);
    let table = folder.ok("size --keys 5000 --rate 0.3% --json").json();
    assert_eq!(table["kinds"].as_array().unwrap().len(), KINDS.len());
    for row in table["kinds"].as_array().unwrap() {
        let kind = row["kind"].as_str().unwrap();
        let built = folder.ok(&format!("build -o f --kind {kind} --rate 0.003 --json keys")).json();
        assert_eq!(row["size_bytes"], built["size_bytes"], "{kind}");
        for rate in ["expected_rate", "expected_rate_at_capacity"] {
            let [told, kept] = [row, &built].map(|facts| facts[rate].as_f64().unwrap());
            assert!((told / kept - 1.0).abs() < 0.02, "{kind}: {rate} {told} {kept}");
        }
        assert!(row["times_limit"].as_f64().unwrap() > 1.0);
    }
}

#[test]
fn needs_narrow_the_choice() {
    let folder = Folder::new();
    for (needs, kinds, choice) in [
        ("--remove", &["quotient", "cuckoo", "counting"][..], "cuckoo"),
        ("--remove --merge", &["quotient", "counting"], "quotient"),
        ("--count-copies", &["quotient", "counting"], "counting"),
        ("--merge", &["bloom", "quotient", "blocked", "counting"], "blocked"),
    ] {
        let table = folder.ok(&format!("size --keys 1M --json {needs}")).json();
        let rows = table["kinds"].as_array().unwrap();
        let names: Vec<_> = rows.iter().map(|row| row["kind"].as_str().unwrap()).collect();
        assert_eq!(names, kinds, "{needs}");
        assert_eq!(table["choose"]["keys_come_one_by_one"]["kind"], choice, "{needs}");
        assert!(table["choose"]["all_keys_at_once"].is_null());
        assert!(folder.ok(&format!("size --keys 1M {needs}")).out.contains("Choose: "));
    }
    // A rate that a kind cannot reach.
    let told = folder.ok("size --keys 1M --rate 1e-12");
    assert!(told.out.contains("rate is 0.000000000001, but it must be"), "{}", told.out);
    folder.fails("size --keys 0", &["number of keys, from 1 on"]);
    folder.fails("size --keys 10 --rate 2", &["strictly between 0 and 1"]);
}

#[test]
fn shells_complete_and_there_is_a_manual() {
    let folder = Folder::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = folder.ok(&format!("completions {shell}"));
        assert!(script.out.contains("crivo") && script.out.contains("count-copies"), "{shell}");
    }
    folder.fails("completions tcsh", &["bash", "zsh"]);
    assert!(folder.ok("man").out.contains(".TH crivo 1"));
    let page = folder.ok("man build").out;
    assert!(page.contains(".TH crivo-build 1") && page.contains(".SH EXAMPLES"), "{page}");
    folder.fails("man bake", &["no command", "bake"]);
    folder.write("file", "");
    folder.fails("man -o file", &["cannot write file"]);
    folder.ok("man -o share/man1");
    let count = std::fs::read_dir(folder.path("share/man1")).unwrap().count();
    let help = folder.ok("--help").out;
    let commands = help.lines().filter(|line| {
        line.starts_with("  ")
            && !line.starts_with("   ")
            && !line.starts_with("  crivo")
            && !line.starts_with("  help ")
            && !line.starts_with("  -")
    });
    assert_eq!(count, 1 + commands.count());
    assert!(
        folder.path("share/man1/crivo-merge.1").exists()
            && folder.path("share/man1/crivo.1").exists()
    );
}

/// As `man` shows it, where there is one.
#[test]
fn manual_pages_show_examples_line_by_line() {
    let folder = Folder::new();
    folder.ok("man -o .");
    for (page, words) in [
        (
            "crivo-build.1",
            &[
                "EXAMPLES\n",
                "  crivo build -o seen.crivo urls.txt                  every line; 1 wrong yes in 100\n",
                "  zcat *.log.gz | crivo build -o ips.crivo --field 1 --delimiter ' ' --size 64MB\n",
                "SEE ALSO\n",
                "  crivo(1)\n",
            ][..],
        ),
        ("crivo-query.1", &["  crivo query -q seen.crivo - <<< \"$url\" && echo"]),
        ("crivo.1", &["EXIT STATUS\n", "  0 success, 1 nothing found", "crivo-dedup(1)"]),
    ] {
        let source = String::from_utf8(folder.read(page)).unwrap();
        assert!(source.contains(".SH EXAMPLES\n.nf\n") && source.contains("\n.fi\n"), "{source}");
        assert!(!source.contains("EXTRA"), "{source}");
        let shown = folder.shell(&format!("MANWIDTH=120 LC_ALL=C.UTF-8 man -l {page} | col -bx"));
        if shown.status != 0 || shown.out.is_empty() {
            continue;
        }
        for words in words {
            assert!(shown.out.contains(words), "{words:?}: {}", shown.out);
        }
    }
}

#[test]
fn help_has_examples_and_no_command_is_an_error() {
    let folder = Folder::new();
    let help = folder.ok("--help").out;
    assert!(help.contains("Examples:") && help.contains("Exit status"), "{help}");
    for arguments in ["build --help", "help build"] {
        assert!(folder.ok(arguments).out.contains("crivo build -o seen.crivo urls.txt"));
    }
    folder.fails("bake", &["bake"]);
    let none = folder.in_folder(env!("CARGO_BIN_EXE_crivo"), &[]).output().unwrap();
    assert_eq!(none.status.code(), Some(2));
}

#[test]
fn colours_are_for_terminals_and_who_asks_for_them() {
    let folder = Folder::new();
    let colours = |variable: &str| {
        let mut command = folder.crivo("size --keys 1000");
        let told = command.env(variable, "1").output().unwrap();
        String::from_utf8(told.stdout).unwrap().contains('\x1b')
    };
    assert!(colours("CLICOLOR_FORCE"));
    assert!(!colours("NO_COLOR"));
}

#[test]
fn a_broken_pipe_is_no_error() {
    let folder = Folder::new();
    folder.write("words", "ana\n");
    folder.ok("build -o f words");
    for arguments in [
        "size --keys 1000",
        "size --keys 1000 --json",
        "completions zsh",
        "man build",
        "inspect f",
        "--help",
    ] {
        let mut command = folder.crivo(arguments);
        let mut child =
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs");
        // Nobody reads: the pipe breaks before the first word.
        drop(child.stdout.take());
        let ended = child.wait_with_output().unwrap();
        let said = String::from_utf8(ended.stderr).unwrap();
        assert_eq!((ended.status.code(), said.as_str()), (Some(0), ""), "{arguments}");
    }
}
