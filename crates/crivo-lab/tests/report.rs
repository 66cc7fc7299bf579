//! The report is complete, well-formed and self-contained.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use crivo_lab::{Options, Scale, Study, experiments};
use roxmltree::Document;

/// A tiny study of all experiments.
fn tiny() -> (tempfile::TempDir, String) {
    let directory = tempfile::tempdir().unwrap();
    let options = Options { scale: Scale::Tiny, seed: 7, ..Options::default() };
    let page = Study::new(&[] as &[&str], options).unwrap().run(directory.path(), &()).unwrap();
    let html = fs::read_to_string(page).unwrap();
    (directory, html)
}

/// The text between each `start` and the next `end`.
fn between<'a>(text: &'a str, start: &str, end: &str) -> Vec<&'a str> {
    text.split(start)
        .skip(1)
        .filter_map(|rest| rest.split_once(end).map(|(inner, _)| inner))
        .collect()
}

#[test]
fn the_report_is_complete() {
    let (directory, html) = tiny();
    for name in experiments::names() {
        assert!(html.contains(&format!("<section id=\"{name}\"")), "{name} is missing");
        assert!(directory.path().join(format!("data/{name}.json")).exists());
    }
    every_figure_is_present(directory.path(), &html);
    drawings_are_well_formed(directory.path(), &html);
    nothing_comes_from_the_network(&html);
    links_have_targets(directory.path(), &html);
}

fn every_figure_is_present(directory: &Path, html: &str) {
    let figures = between(html, "<figure id=\"", "</figure>");
    assert!(figures.len() >= 20, "{} figures", figures.len());
    let mut ids = HashSet::new();
    for figure in figures {
        let (id, body) = figure.split_once('"').unwrap();
        assert!(ids.insert(id), "two figures are called {id}");
        for part in [
            "<figcaption>",
            "<dt>Question</dt><dd>",
            "<dt>Method</dt><dd>",
            "<svg viewBox",
            "class=\"verdict ",
        ] {
            assert!(body.contains(part), "{id} lacks {part}");
        }
        for placeholder in ["NaN", ">inf", "inf%", "inf×", "{}", "^["] {
            assert!(!body.contains(placeholder), "{id} has {placeholder}");
        }
        // It is in the summary.
        assert!(html.contains(&format!("<td><a href=\"#{id}\">")), "{id} is not in the summary");
        let png = fs::read(directory.join(format!("figures/{id}.png"))).unwrap();
        assert!(png.starts_with(b"\x89PNG\r\n\x1a\n") && png.len() > 5_000, "{id}.png");
    }
}

fn drawings_are_well_formed(directory: &Path, html: &str) {
    for drawing in between(html, "<svg ", "</svg>") {
        let svg = format!("<svg {drawing}</svg>");
        Document::parse(&svg).unwrap_or_else(|error| panic!("{error} in {svg}"));
    }
    let files: Vec<_> =
        fs::read_dir(directory.join("figures")).unwrap().map(|file| file.unwrap().path()).collect();
    let drawings =
        files.iter().filter(|path| path.extension().is_some_and(|extension| extension == "svg"));
    for path in drawings {
        let text = fs::read_to_string(path).unwrap();
        let document =
            Document::parse(&text).unwrap_or_else(|error| panic!("{error} in {}", path.display()));
        let root = document.root_element();
        assert_eq!(root.tag_name().namespace(), Some("http://www.w3.org/2000/svg"));
        // A separate file has no page that defines CSS variables.
        assert!(!text.contains("var("), "{}", path.display());
        let marks = root
            .descendants()
            .filter(|node| ["path", "circle", "rect", "line"].contains(&node.tag_name().name()));
        assert!(marks.count() > 5, "{} is empty", path.display());
        for text in root
            .descendants()
            .filter(|node| node.has_tag_name(("http://www.w3.org/2000/svg", "text")))
        {
            assert!(!text.text().unwrap_or("").contains("NaN"));
        }
    }
}

fn nothing_comes_from_the_network(html: &str) {
    for loader in ["<script", "<iframe", "<img", "<object", "<embed", "@import", "url(", "src="] {
        assert!(!html.contains(loader), "the page has {loader}");
    }
    for href in between(html, "href=\"", "\"") {
        assert!(!href.contains("//"), "{href}");
    }
}

fn links_have_targets(directory: &Path, html: &str) {
    for href in between(html, "href=\"", "\"") {
        match href.strip_prefix('#') {
            Some(id) => assert!(html.contains(&format!("id=\"{id}\"")), "#{id} has no target"),
            None if href == "data:," => {}
            None => assert!(directory.join(href).exists(), "{href} is missing"),
        }
    }
}
