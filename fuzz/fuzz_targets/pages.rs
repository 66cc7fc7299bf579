//! Random pages and texts for the hyphenator: without what was inserted the output is the input, and
//! nothing is inserted in tags, comments, attributes, scripts or code, as html5ever finds them.

#![no_main]

use std::sync::LazyLock;

use crivo_hyphen::text::{Encoding, Html, remove_soft_hyphens_from_html};
use crivo_hyphen::{Hyphenator, Patterns};
use libfuzzer_sys::fuzz_target;

#[path = "../../crates/crivo-hyphen/src/text/html/oracle/sink.rs"]
mod sink;

/// Divides before every letter.
static EVERYWHERE: LazyLock<Hyphenator> = LazyLock::new(|| {
    let patterns: String = ('a'..='z').map(|letter| format!("1{letter} ")).collect();
    let patterns = Patterns::parse(&patterns).expect("patterns");
    Hyphenator::from_patterns(&patterns).with_minima(1, 1)
});

/// A separator that is in no input.
const MARK: &str = "\u{1}";

fuzz_target!(|input: &[u8]| {
    let stream = |bytes: &[u8]| {
        let mut out = Vec::new();
        EVERYWHERE.hyphenate_stream(bytes, &mut out, MARK, Some(Encoding::UTF_8)).expect("no I/O");
        out
    };
    let plain: Vec<u8> = input.iter().copied().filter(|&byte| byte != 1).collect();
    assert_eq!(without_mark(stream(&plain)), plain);
    let latin1 = Encoding::from_label("latin1").expect("an encoding");
    let options =
        Html { separator: MARK, language: Some("en"), encoding: Some(latin1), ..Html::default() };
    let page = EVERYWHERE.hyphenate_html_bytes(&plain, &options).expect("one byte per character");
    assert_eq!(without_mark(page.bytes), plain);

    let Ok(text) = String::from_utf8(plain) else { return };
    let options = Html { separator: MARK, language: Some("en"), ..Html::default() };
    let page = EVERYWHERE.hyphenate_html(&text, &options);
    assert_eq!(page.replace(MARK, ""), text);
    let markdown = EVERYWHERE.hyphenate_markdown(&text, MARK);
    assert_eq!(markdown.replace(MARK, ""), text);
    let soft = EVERYWHERE.hyphenate_html(&text, &Html { separator: "\u{ad}", ..options });
    let removed =
        |page: &str| remove_soft_hyphens_from_html(page.as_bytes(), Some(Encoding::UTF_8));
    assert_eq!(removed(&soft), removed(&text), "what was inserted can be removed");

    // XML is not read by HTML's rules, tags in markers of templates are not read at all, and a number
    // may be that of the mark.
    let is_xml = text.trim_start_matches('\u{feff}').trim_start().starts_with("<?xml");
    if !is_xml && !["{{", "{%", "<%", "${", "&#"].iter().any(|marker| text.contains(marker)) {
        check_tree(&page);
    }
});

/// Elements whose text is not changed.
const HIDDEN: [&str; 19] = [
    "code",
    "pre",
    "kbd",
    "samp",
    "var",
    "tt",
    "listing",
    "option",
    "math",
    "svg",
    "script",
    "style",
    "textarea",
    "title",
    "xmp",
    "iframe",
    "noembed",
    "noframes",
    "plaintext",
];

fn check_tree(page: &str) {
    let nodes = sink::parse(page);
    for node in &nodes {
        assert!(!node.comment.contains(MARK), "in a comment");
        for attribute in &node.attributes {
            let is_marked = attribute.value.contains(MARK) || attribute.name.local.contains(MARK);
            assert!(!is_marked, "in an attribute");
        }
        assert!(node.name.as_ref().is_none_or(|name| !name.local.contains(MARK)), "in a tag");
        if !node.text.contains(MARK) {
            continue;
        }
        let mut above = node.parent;
        while let Some(index) = above {
            let name = nodes[index].name.as_ref().map(|name| name.local.to_ascii_lowercase());
            assert!(
                name.is_none_or(|name| !HIDDEN.contains(&&*name)),
                "in {:?}",
                nodes[index].name
            );
            above = nodes[index].parent;
        }
    }
}

fn without_mark(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.retain(|&byte| byte != 1);
    bytes
}
