//! `crivo inspect`, `size`, `completions`, `man` and `--help`.

use std::process::Stdio;

use crivo::filter::{Capabilities, Spec};

use crate::support::{TestDir, kinds, kinds_that};

#[test]
fn inspect_describes_every_kind() {
    let dir = TestDir::new();
    dir.numbers("keys", 0..600);
    for kind in kinds() {
        let keys = if kind.ends_with("fuse") { "" } else { " --keys 1000" };
        dir.ok(&format!("build -o f --kind {kind} --seed 7{keys} keys"));
        let finished = dir.ok("inspect f");
        assert!(finished.err.is_empty(), "{finished:?}");
        for text in [
            &format!("f: a {kind} filter\n") as &str,
            "keys           600\n",
            "bits per key",
            "expected FPR",
            "fold64 with seed 7",
            "version 2",
            "(verified)",
        ] {
            assert!(finished.out.contains(text), "{text:?}: {finished:?}");
        }
        // Colours are for terminals.
        assert!(!finished.out.contains('\x1b'));
        let facts = dir.ok("inspect --json f").json();
        assert_eq!((&facts["kind"], &facts["keys"]), (&kind.into(), &600.into()));
        assert_eq!((&facts["hash"], &facts["seed"]), (&"fold64".into(), &7.into()));
        assert_eq!(facts["format_version"], 2);
        assert_eq!(facts["file_bytes"], dir.read("f").len());
        assert!(facts["expected_fpr"].as_f64() <= facts["expected_fpr_at_capacity"].as_f64());
        assert!(facts["payload_checksum"].as_str().unwrap().len() == 16);
    }
}

#[test]
fn bars_show_how_full_a_filter_is() {
    let dir = TestDir::new();
    dir.numbers("keys", 0..600);
    dir.ok("build -o f --keys 1000 keys");
    let finished = dir.ok("inspect f");
    let bar = format!("{}{} ", "█".repeat(24), "░".repeat(16));
    assert!(
        finished.out.contains(&bar) && finished.out.contains("60% of 1,000"),
        "{}",
        finished.out
    );
    // One bar per stage.
    dir.numbers("many", 0..10_000);
    dir.ok("build -o f --kind growing --keys 1024 many");
    let finished = dir.ok("inspect f");
    assert_eq!(finished.out.matches("100% of").count(), 3, "{}", finished.out);
    assert_eq!(dir.ok("inspect --json f").json()["stages"].as_array().unwrap().len(), 4);
}

#[test]
fn sizes_are_compared_with_the_limit() {
    let dir = TestDir::new();
    let finished = dir.ok("size --keys 1M --fpr 0.01");
    for text in
        ["1,000,000 keys at a false-positive rate of 1%", "6.64 bits per key", "blocked", "1.20 MB"]
    {
        assert!(finished.out.contains(text), "{text:?}: {}", finished.out);
    }
    for kind in kinds() {
        assert!(finished.out.contains(kind), "{kind}: {}", finished.out);
    }
    assert!(finished.out.contains("Keys come one by one: blocked. "));
    assert!(finished.out.contains("All keys are known in advance: fuse."));
    assert!(finished.err.is_empty() && !finished.out.contains('\x1b'));
}

#[test]
fn sizes_are_what_build_makes() {
    let dir = TestDir::new();
    dir.numbers("keys", 0..5_000);
    let table = dir.ok("size --keys 5000 --fpr 0.3% --json").json();
    assert_eq!(table["kinds"].as_array().unwrap().len(), kinds().count());
    for row in table["kinds"].as_array().unwrap() {
        let kind = row["kind"].as_str().unwrap();
        let built = dir.ok(&format!("build -o f --kind {kind} --fpr 0.003 --json keys")).json();
        assert_eq!(row["size_bytes"], built["size_bytes"], "{kind}");
        for fpr in ["expected_fpr", "expected_fpr_at_capacity"] {
            let [planned, actual] = [row, &built].map(|facts| facts[fpr].as_f64().unwrap());
            assert!((planned / actual - 1.0).abs() < 0.02, "{kind}: {fpr} {planned} {actual}");
        }
        assert!(row["times_limit"].as_f64().unwrap() > 1.0);
    }
}

/// The table, the recommendation and the filter that is built say the same, also for few keys.
#[test]
fn the_recommendation_is_a_row_of_the_table() {
    let dir = TestDir::new();
    for keys in [1, 8, 1_000] {
        dir.numbers("keys", 0..keys);
        for needs in ["--fpr 1%", "--remove", "--fpr 0.0001", "--fpr 1e-9 --remove"] {
            let table = dir.ok(&format!("size --keys {keys} --json {needs}")).json();
            let rows = table["kinds"].as_array().unwrap();
            let choices = table["choose"].as_object().unwrap();
            for choice in choices.values().filter(|choice| !choice.is_null()) {
                let row = rows.iter().find(|row| row["kind"] == choice["kind"]).unwrap();
                assert_eq!(row["bits_per_key"], choice["bits_per_key"], "{keys} {needs}");
                assert!(row["impossible"].is_null(), "{keys} {needs}");
            }
        }
        // Without --kind, build takes what is recommended for keys that come one by one.
        for fpr in ["1%", "0.0001"] {
            let table = dir.ok(&format!("size --keys {keys} --fpr {fpr} --json")).json();
            let built = dir.ok(&format!("build -o f --fpr {fpr} --json keys")).json();
            assert_eq!(built["kind"], table["choose"]["keys_come_one_by_one"]["kind"], "{keys}");
        }
    }
}

/// These took minutes once.
#[test]
fn extreme_sizes_are_found_or_refused() {
    let dir = TestDir::new();
    dir.ok("size --keys 1000G --fpr 1%");
    dir.ok("size --keys 1000G --fpr 1e-6 --json");
    dir.fails("size --keys 1000G --fpr 1e-7 --json", &["at least n/2^63 for n keys"]);
    dir.fails(
        "size --keys 1M --fpr 1e-300",
        &["no filter can do that", "because digests have only 64 bits"],
    );
    dir.fails("build --keys 1M --fpr 1e-300 -o f", &["because digests have only 64 bits"]);
}

#[test]
fn required_abilities_narrow_the_choice() {
    let dir = TestDir::new();
    type Can = fn(Capabilities) -> bool;
    for (needs, can, choice) in [
        ("--remove", (|can| can.remove) as Can, "cuckoo"),
        ("--remove --merge", |can| can.remove && can.merge, "quotient"),
        ("--count-copies", |can| can.count, "counting"),
        ("--merge", |can| can.merge, "blocked"),
    ] {
        let table = dir.ok(&format!("size --keys 1M --json {needs}")).json();
        let rows = table["kinds"].as_array().unwrap();
        let mut names: Vec<_> = rows.iter().map(|row| row["kind"].as_str().unwrap()).collect();
        let spec = |name: &str| Spec::for_fpr(name.parse().unwrap(), 1_000_000, 0.01).unwrap();
        assert!(names.is_sorted_by_key(|name| spec(name).size_in_bits()), "{names:?}");
        names.sort_unstable();
        let mut expected: Vec<_> = kinds_that(can).collect();
        expected.sort_unstable();
        assert_eq!(names, expected, "{needs}");
        assert_eq!(table["choose"]["keys_come_one_by_one"]["kind"], choice, "{needs}");
        assert!(table["choose"]["all_keys_at_once"].is_null());
        assert!(dir.ok(&format!("size --keys 1M {needs}")).out.contains("Choose: "));
    }
    // An FPR that a kind cannot reach.
    let finished = dir.ok("size --keys 1M --fpr 1e-12");
    assert!(finished.out.contains("fpr is 1e-12, but it must be"), "{}", finished.out);
    dir.fails("size --keys 0", &["number of keys, which is at least 1"]);
    dir.fails("size --keys 10 --fpr 2", &["strictly between 0 and 1"]);
}

#[test]
fn there_are_completions_and_manual_pages() {
    let dir = TestDir::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = dir.ok(&format!("completions {shell}"));
        assert!(script.out.contains("crivo") && script.out.contains("count-copies"), "{shell}");
        // Other shells have no place for the values of arguments.
        if ["bash", "zsh", "fish"].contains(&shell) {
            let offers = |text| script.out.contains(text);
            assert!(!cfg!(feature = "hyphen") || offers("de-1996"), "{shell}");
            assert!(!cfg!(feature = "study") || offers("best-k"), "{shell}");
        }
    }
    dir.fails("completions tcsh", &["bash", "zsh"]);
    assert!(dir.ok("man").out.contains(".TH crivo 1"));
    let page = dir.ok("man build").out;
    assert!(page.contains(".TH crivo-build 1") && page.contains(".SH EXAMPLES"), "{page}");
    // The synopsis has the values of options.
    let page = dir.ok("man diff").out;
    for text in [r"[\fB\-\-memory\fR \fISIZE\fR]", r"[\fB\-c, \-\-count\fR]", r"\fIA\fR \fIB\fR..."]
    {
        assert!(page.contains(text), "{text}: {page}");
    }
    dir.fails("man bake", &["no command", "bake"]);
    dir.write("file", "");
    dir.fails("man -o file", &["cannot write file"]);
    dir.ok("man -o share/man1");
    let count = std::fs::read_dir(dir.path("share/man1")).unwrap().count();
    let help = dir.ok("--help").out;
    let commands = help.lines().filter(|line| {
        line.starts_with("  ")
            && !line.starts_with("   ")
            && !line.starts_with("  crivo")
            && !line.starts_with("  help ")
            && !line.starts_with("  -")
    });
    assert_eq!(count, 1 + commands.count());
    assert!(
        dir.path("share/man1/crivo-merge.1").exists() && dir.path("share/man1/crivo.1").exists()
    );
}

/// As `man` shows them, where it is installed.
#[test]
fn manual_pages_show_examples_line_by_line() {
    let dir = TestDir::new();
    dir.ok("man -o .");
    for (page, texts) in [
        (
            "crivo-build.1",
            &[
                "EXAMPLES\n",
                "  crivo build -o seen.crivo urls.txt                  every line; FPR 1%\n",
                "  zcat *.log.gz | crivo build -o ips.crivo --field 1 --delimiter ' ' --size 64MB\n",
                "SEE ALSO\n",
                "  crivo(1)\n",
            ][..],
        ),
        (
            "crivo-query.1",
            &["  crivo query -q seen.crivo - <<< \"$url\" && echo", "1 if there are none"],
        ),
        ("crivo-diff.1", &["EXIT STATUS\n", "with --quiet 1 if there is nothing to print"]),
        ("crivo-count.1", &["EXIT STATUS\n", "0 success, 2 error"]),
        ("crivo.1", &["EXIT STATUS\n", "  0 success, 1 nothing found", "crivo-dedup(1)"]),
    ] {
        let source = String::from_utf8(dir.read(page)).unwrap();
        assert!(source.contains(".SH EXAMPLES\n.nf\n") && source.contains("\n.fi\n"), "{source}");
        assert!(!source.contains("EXTRA"), "{source}");
        let shown = dir.shell(&format!("MANWIDTH=120 LC_ALL=C.UTF-8 man -l {page} | col -bx"));
        if shown.status != 0 || shown.out.is_empty() {
            continue;
        }
        for text in texts {
            assert!(shown.out.contains(text), "{text:?}: {}", shown.out);
        }
    }
}

#[test]
fn help_has_examples_and_no_command_is_an_error() {
    let dir = TestDir::new();
    let help = dir.ok("--help").out;
    assert!(help.contains("Examples:") && help.contains("Exit status"), "{help}");
    for arguments in ["build --help", "help build"] {
        assert!(dir.ok(arguments).out.contains("crivo build -o seen.crivo urls.txt"));
    }
    dir.fails("bake", &["bake"]);
    let none = dir.in_dir(env!("CARGO_BIN_EXE_crivo"), &[]).output().unwrap();
    assert_eq!(none.status.code(), Some(2));
}

#[test]
fn colours_are_for_terminals_or_on_request() {
    let dir = TestDir::new();
    let colours = |variable: &str| {
        let mut command = dir.crivo("size --keys 1000");
        let finished = command.env(variable, "1").output().unwrap();
        String::from_utf8(finished.stdout).unwrap().contains('\x1b')
    };
    assert!(colours("CLICOLOR_FORCE"));
    assert!(!colours("NO_COLOR"));
}

#[test]
fn a_broken_pipe_is_no_error() {
    let dir = TestDir::new();
    dir.write("words", "ana\n");
    dir.ok("build -o f words");
    for arguments in [
        "size --keys 1000",
        "size --keys 1000 --json",
        "completions zsh",
        "man build",
        "inspect f",
        "--help",
    ] {
        let mut command = dir.crivo(arguments);
        let mut child =
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs");
        // The pipe is closed before the first byte.
        drop(child.stdout.take());
        let ended = child.wait_with_output().unwrap();
        let stderr = String::from_utf8(ended.stderr).unwrap();
        assert_eq!((ended.status.code(), stderr.as_str()), (Some(0), ""), "{arguments}");
    }
}
