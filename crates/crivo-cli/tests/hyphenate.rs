//! `crivo hyphenate` and `crivo languages`.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

fn crivo(arguments: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_crivo"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    let writer = std::thread::spawn(move || {
        // A command with invalid arguments does not read.
        let _ = stdin.write_all(&input);
    });
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    output
}

fn printed(arguments: &[&str], input: &[u8]) -> Vec<u8> {
    let output = crivo(arguments, input);
    let words = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), &*words), (Some(0), ""));
    output.stdout
}

fn error(arguments: &[&str]) -> String {
    let output = crivo(arguments, b"");
    assert_eq!((output.status.code(), output.stdout), (Some(2), Vec::new()));
    String::from_utf8(output.stderr).unwrap()
}

struct TestDir(tempfile::TempDir);

impl TestDir {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn write(&self, name: &str, bytes: &[u8]) -> String {
        let path: PathBuf = self.0.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_owned()
    }
}

#[test]
fn arguments_are_text() {
    let text = printed(&["hyphenate", "-s", "-", "the", "hyphenation of words"], b"");
    assert_eq!(text, b"the hy-phen-a-tion of words\n");
}

#[test]
fn only_words_are_changed() {
    let input = b"Hyphenation,\r\n\thyphenation; 1st https://example.org/hyphenation \xff\n\nend";
    let text = "Hy\u{ad}phen\u{ad}a\u{ad}tion,\r\n\thy\u{ad}phen\u{ad}a\u{ad}tion; 1st \
                https://example.org/hyphenation ";
    let expected = [text.as_bytes(), b"\xff\n\nend"].concat();
    let utf8 = ["hyphenate", "--encoding", "utf-8"];
    assert_eq!(printed(&utf8, input), expected);
    let dir = TestDir::new();
    let file = dir.write("text.txt", input);
    assert_eq!(printed(&[&utf8[..], &["--file", &file]].concat(), b""), expected);
    let twice = printed(&[&utf8[..], &["--file", &file, "--file", "-"]].concat(), input);
    assert_eq!(twice, [&expected[..], &expected].concat());
}

#[test]
fn compressed_files_are_decompressed() {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(b"hyphenation\n").unwrap();
    let dir = TestDir::new();
    let file = dir.write("text.gz", &gzip.finish().unwrap());
    assert_eq!(printed(&["hyphenate", "-s=-", "-f", &file], b""), b"hy-phen-a-tion\n");
}

#[test]
fn languages_minima_and_exceptions_are_respected() {
    let german = ["hyphenate", "-s", "-", "--lang", "de-1996", "Silbentrennung"];
    assert_eq!(printed(&german, b""), b"Sil-ben-tren-nung\n");
    let careful = ["hyphenate", "-s", "-", "--left", "3", "hyphenation"];
    assert_eq!(printed(&careful, b""), b"hyphen-a-tion\n");
    let long = ["hyphenate", "-s", "-", "--min-word-length", "11", "hyphenation table"];
    assert_eq!(printed(&long, b""), b"hy-phen-a-tion table\n");
    for (tag, expected) in
        [("en", "ex-ten-sive"), ("en-GB", "ex-tens-ive"), ("de-AT", "Sil-ben-tren-nung")]
    {
        let word = expected.replace('-', "");
        let divided = printed(&["hyphenate", "-s", "-", "-l", tag, &word], b"");
        assert_eq!(String::from_utf8(divided).unwrap().trim_end(), expected);
    }

    let dir = TestDir::new();
    let list = dir.write("words.txt", b"hyph-en-ation\n");
    let own = ["hyphenate", "-s", "-", "--exceptions", &list, "HYPHENATION", "table"];
    assert_eq!(printed(&own, b""), b"HYPH-EN-ATION ta-ble\n");

    let patterns = dir.write("own.pat.txt", b"1ta\n");
    let own = ["hyphenate", "-s", "-", "--patterns", &patterns, "hyphenatation"];
    assert_eq!(printed(&own, b""), b"hyphena-tation\n");
}

#[test]
fn files_of_patterns_bring_their_exceptions_and_minima() {
    let dir = TestDir::new();
    dir.write("hyph-xx.tex", b"\\patterns{1ta 1te}\n");
    let text = b"% hyphenmins:\n%     typesetting:\n%         left: 1\n%         right: 2\n\\
        \\input hyph-xx.tex\n\\hyphenation{tate}\n";
    let tex = dir.write("hyph-yy.tex", text);
    let own = ["hyphenate", "-s", "-", "--patterns", &tex, "atate", "tate"];
    assert_eq!(printed(&own, b""), b"a-ta-te tate\n");
    // With a language, only text in that language is theirs.
    let page = b"<p lang=yy>atate <i lang=en>hyphenation</i>";
    let html = ["hyphenate", "-s", "-", "--html", "--patterns", &tex];
    assert_eq!(printed(&html, page), b"<p lang=yy>a-ta-te <i lang=en>hyphenation</i>");
    let named = [&html[..], &["--lang", "yy"]].concat();
    assert_eq!(printed(&named, page), b"<p lang=yy>a-ta-te <i lang=en>hy-phen-a-tion</i>");
}

#[test]
fn dictionaries_of_libreoffice_change_the_spelling_where_it_shows() {
    let dir = TestDir::new();
    let dictionary = dir.write("hyph_hu.dic", b"UTF-8\n1to\ns3sz/sz=,1,1\nn3ny/ny=,1,1\n");
    let own = ["hyphenate", "--patterns", &dictionary, "asszonnyal", "asszonyto"];
    assert_eq!(printed(&own, b""), "asszonnyal asszony\u{ad}to\n".as_bytes());
    let visible = [&own[..], &["-s", "-"]].concat();
    assert_eq!(printed(&visible, b""), b"asz-szony-nyal asz-szony-to\n");
}

#[test]
fn pages_keep_their_tags() {
    let page = b"<p class=\"hyphenation\">Hyphenation <code>hyphenation</code> \
                 <i lang=\"xx\">hyphenation</i> &amp;</p>";
    let soft = printed(&["hyphenate", "--html", "--separator", "&shy;"], page);
    assert_eq!(
        String::from_utf8(soft).unwrap(),
        "<p class=\"hyphenation\">Hy&shy;phen&shy;a&shy;tion <code>hyphenation</code> \
         <i lang=\"xx\">hyphenation</i> &amp;</p>"
    );
}

#[test]
fn pages_switch_between_languages() {
    let page = b"<p>extensive <i lang=en-GB>extensive</i> <i lang=it>dell'amore</i> \
                 <i class=brand>extensive</i>";
    let arguments = ["hyphenate", "--html", "-s", "-", "--ignore-class", "brand"];
    assert_eq!(
        String::from_utf8(printed(&arguments, page)).unwrap(),
        "<p>ex-ten-sive <i lang=en-GB>ex-tens-ive</i> <i lang=it>del-l'a-mo-re</i> \
         <i class=brand>extensive</i>"
    );
}

#[test]
fn a_page_of_an_unknown_language_gives_a_note() {
    let page = b"<html lang=tlh><p>hyphenation";
    let output = crivo(&["hyphenate", "--html"], page);
    assert_eq!((output.status.code(), &*output.stdout), (Some(0), &page[..]));
    let note = String::from_utf8(output.stderr).unwrap();
    assert!(note.contains("note") && note.contains("\"tlh\""), "{note}");
}

#[test]
fn other_encodings_are_read_or_refused_but_never_mixed() {
    let latin1 = b"un \xe9l\xe9phant";
    let french = ["hyphenate", "--lang", "fr"];
    let output = crivo(&french, latin1);
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(message.contains("byte 3 is 0xe9") && message.contains("--encoding"), "{message}");
    let named = [&french[..], &["--encoding", "latin1"]].concat();
    assert_eq!(printed(&named, latin1), b"un \xe9l\xe9\xadphant");
    let html = [&french[..], &["--html"]].concat();
    let page = |label: &str| [format!("<meta charset={label}>").as_bytes(), latin1].concat();
    let expected = [&b"<meta charset=iso-8859-1>un \xe9l\xe9&shy;phant"[..]].concat();
    assert_eq!(printed(&html, &page("iso-8859-1")), expected);
    for label in ["shift_jis", "gbk", "martian"] {
        assert_eq!(crivo(&html, &page(label)).status.code(), Some(2), "{label}");
    }
    assert!(error(&["hyphenate", "--encoding", "utf-16", "a"]).contains("UTF-8 first"));
}

#[test]
fn given_minima_apply_to_exceptions() {
    let dir = TestDir::new();
    let list = dir.write("words.txt", b"a-bou-t\n");
    let listed = ["hyphenate", "-s", "-", "--exceptions", &list];
    assert_eq!(printed(&[&listed[..], &["about"]].concat(), b""), b"a-bou-t\n");
    assert_eq!(printed(&[&listed[..], &["--left", "2", "about"]].concat(), b""), b"about\n");
    assert_eq!(printed(&[&listed[..], &["--left", "1", "about"]].concat(), b""), b"a-bout\n");
}

#[test]
fn lines_of_a_pipe_are_hyphenated_as_they_come() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_crivo"))
        .args(["hyphenate", "-s", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    for _ in 0..3 {
        stdin.write_all(b"hyphenation\n").unwrap();
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        assert_eq!(line, "hy-phen-a-tion\n");
    }
    drop(stdin);
    assert!(child.wait().unwrap().success());
}

#[test]
fn markdown_keeps_code_and_links() {
    let text =
        b"---\ntitle: hyphenation\n---\n# Hyphenation of `hyphenation`\n\n    hyphenation\n\n\
        A [writing](hyphenation.md) {{ hyphenation }}\n";
    let found = printed(&["hyphenate", "--markdown", "-s", "-"], text);
    assert_eq!(
        String::from_utf8(found).unwrap(),
        "---\ntitle: hyphenation\n---\n# Hy-phen-a-tion of `hyphenation`\n\n    hyphenation\n\n\
         A [writ-ing](hyphenation.md) {{ hyphenation }}\n"
    );
}

#[test]
fn soft_hyphens_are_removed_on_request() {
    let text = "Hyphenation of\r\nwords\n".as_bytes();
    let soft = printed(&["hyphenate"], text);
    assert_ne!(soft, text);
    assert_eq!(printed(&["hyphenate", "--remove"], &soft), text);
    let page = b"<p title='a&shy;b'>a&shy;b</p>";
    assert_eq!(printed(&["hyphenate", "--html", "--remove"], page), b"<p title='a&shy;b'>ab</p>");
}

#[test]
fn capitalised_words_are_skipped_on_request() {
    let arguments = ["hyphenate", "-s", "-", "--skip-capitalised", "Hyphenation hyphenation"];
    assert_eq!(printed(&arguments, b""), b"Hyphenation hy-phen-a-tion\n");
}

#[test]
fn errors_are_explained() {
    let unknown = error(&["hyphenate", "--lang", "german", "word"]);
    assert!(unknown.contains("\"de-1996\"") && unknown.contains("crivo languages"), "{unknown}");
    let unlike = error(&["hyphenate", "--lang", "qqq", "word"]);
    assert!(!unlike.contains("nearest"), "{unlike}");
    let missing = error(&["hyphenate", "--file", "no-such-file.txt"]);
    assert!(missing.contains("no-such-file.txt"), "{missing}");
    let dir = TestDir::new();
    let list = dir.write("words.txt", b"ta-ble\nta1ble\n");
    let wrong = error(&["hyphenate", "--exceptions", &list, "word"]);
    assert!(wrong.contains("words.txt: line 2, column 3"), "{wrong}");
    let both = error(&["hyphenate", "word", "--file", &list]);
    assert!(both.contains("cannot be used with"), "{both}");
}

#[test]
fn every_listed_language_works() {
    let list = printed(&["languages", "--json"], b"");
    let list: serde_json::Value = serde_json::from_slice(&list).unwrap();
    let codes: Vec<&str> =
        list.as_array().unwrap().iter().map(|entry| entry["code"].as_str().unwrap()).collect();
    assert!(codes.len() >= 70 && codes.contains(&"en-us"), "{codes:?}");
    let table = String::from_utf8(printed(&["languages"], b"")).unwrap();
    assert!(codes.iter().all(|code| table.contains(code)));
    for code in ["en-us", "de-1996", "pt", "ta"] {
        printed(&["hyphenate", "--lang", code, "word"], b"");
    }
    let notices = String::from_utf8(printed(&["languages", "--notices"], b"")).unwrap();
    let has_notice = |code: &&str| notices.contains(&format!("({code})\n\n"));
    assert!(codes.iter().all(has_notice) && notices.contains("Copyright (C)"));
}
