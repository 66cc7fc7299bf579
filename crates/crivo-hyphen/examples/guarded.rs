//! Bloom's example of 1970: exceptions on disk, and a filter that saves disk accesses.
//!
//! ```sh
//! cargo run --release --features stored --example guarded [text file]
//! ```
//!
//! It puts the English exceptions into a store, hyphenates a text with every kind of filter in front
//! of the store and with none, and prints how often the store was accessed.

use std::error::Error;
use std::sync::Arc;
use std::time::Instant;
use std::{env, fs};

use crivo::filter::Kind;
use crivo_hyphen::exceptions::{GuardOptions, StoredExceptions};
use crivo_hyphen::{Exception, Hyphenator, Language};

/// Bloom's example in a few words, two of which are exceptions.
const TEXT: &str = "A program that hyphenates has simple rules for most words, and a dictionary \
    for those few that the rules get wrong. The dictionary is too large for the memory, so that \
    every word costs an access to the disk, although nearly all of them are not in it. A small \
    table in the memory tells which words need no lookup: it may let a few words through that are \
    not in the dictionary, which costs a useless access, but it never rejects a word that is in the \
    dictionary, such as anachronism or bathyscaphe.\n";

const FPR: f64 = 0.05;

fn main() -> Result<(), Box<dyn Error>> {
    let text = match env::args_os().nth(1) {
        Some(path) => fs::read_to_string(path)?,
        None => TEXT.repeat(100),
    };
    let directory = tempfile::tempdir()?;
    let path = directory.path().join("words.redb");
    let patterns = Language::EnglishUs.patterns();
    let mut first = None;

    println!("guard, FPR 5% bits/key questions     stopped  false+  found     ms");
    for kind in Kind::ALL.map(Some).into_iter().chain([None]) {
        let guard = kind.map(|kind| GuardOptions::new(kind, FPR)).transpose()?;
        let words = Arc::new(StoredExceptions::open(&path, guard)?);
        if words.key_count()? == 0 {
            words.insert(Language::EnglishUs.exceptions())?;
        }

        // Without exceptions of its own, so that all of them come from the store.
        let english = Hyphenator::from_patterns(&patterns).with_exceptions(Arc::clone(&words));
        let start = Instant::now();
        let hyphenated = english.hyphenate_text(&text, "\u{ad}");
        let time = start.elapsed().as_secs_f64() * 1e3;
        // The guard changes the cost, never the result.
        assert_eq!(first.get_or_insert_with(|| hyphenated.clone()), &hyphenated);

        let counters = words.counters();
        let bits = words.guard_status().map_or(0, |status| status.size_in_bits);
        println!(
            "{:12} {:9.1} {:8} {:12} {:8} {:6} {:6.1}",
            kind.map_or("none", Kind::name),
            bits as f64 / words.key_count()? as f64,
            counters.questions,
            counters.stopped,
            counters.false_positives,
            counters.found,
            time,
        );
    }

    // A new word: on disk and in the guard before the call returns.
    let guard = Some(GuardOptions::new(Kind::Cuckoo, FPR)?);
    StoredExceptions::open(&path, guard.clone())?.insert([Exception::parse("Cri-vo")?])?;
    let words = StoredExceptions::open(&path, guard)?;
    let breaks = words.get("CRIVO")?.unwrap_or_default();
    println!("\nafter a restart: {}", breaks.join("CRIVO", "-"));
    Ok(())
}
