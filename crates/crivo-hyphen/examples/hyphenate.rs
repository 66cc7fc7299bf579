//! Hyphenates the words given as arguments, or standard input:
//!
//! ```text
//! $ cargo run --example hyphenate -- en hyphenation Massachusetts
//! hy-phen-a-tion
//! Mass-a-chu-setts
//! $ echo "Silbentrennung, wie sie im Buche steht" | cargo run --example hyphenate -- de
//! Sil-ben-tren-nung, wie sie im Bu-che steht
//! $ cargo run --example hyphenate
//! usage: hyphenate LANGUAGE [WORD…]
//! …
//! ```

use std::io::{self, Write};
use std::process::ExitCode;

use crivo_hyphen::{Hyphenator, Language};

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(code) = arguments.next() else {
        eprintln!("usage: hyphenate LANGUAGE [WORD…]\n");
        for language in Language::all() {
            eprintln!("{:16}{language}", language.code());
        }
        return ExitCode::from(2);
    };
    let language = match Language::from_code(&code) {
        Ok(language) => language,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(2);
        }
    };
    match hyphenate(&Hyphenator::new(language), arguments.collect()) {
        // A closed pipe is not an error.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
        _ => ExitCode::SUCCESS,
    }
}

fn hyphenate(hyphenator: &Hyphenator, words: Vec<String>) -> io::Result<()> {
    let mut output = io::stdout().lock();
    if words.is_empty() {
        return hyphenator.hyphenate_stream(io::stdin().lock(), output, "-", None);
    }
    for word in words {
        writeln!(output, "{}", hyphenator.hyphenate(&word, "-"))?;
    }
    Ok(())
}
