//! Packs the pattern files of `data/patterns` into `data/packed`, which the library embeds.
//!
//! To add a language: put its files into `data/patterns` and its notice into `data/notices`, list it
//! in `src/language/table.rs` and `data/README.md`, create an empty file for it in `data/packed`, and
//! run this program:
//!
//! ```text
//! cargo run -p crivo-hyphen --example pack
//! ```
//!
//! A packed file is a deflate stream of the patterns and the lists of exceptions, with a zero byte
//! between any two texts.

use std::path::Path;
use std::{fs, io};

use crivo_hyphen::Language;

fn main() -> io::Result<()> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("data");
    let mut total = 0;
    for language in Language::all() {
        let code = language.code();
        let source = |kind| data.join(format!("patterns/hyph-{code}.{kind}.txt"));
        let mut texts = vec![fs::read_to_string(source("pat"))?];
        if source("hyp").exists() {
            texts.push(fs::read_to_string(source("hyp"))?);
        }
        if language == Language::EnglishUs {
            texts.push(fs::read_to_string(data.join("ushyphex.tex"))?);
        }
        let packed = miniz_oxide::deflate::compress_to_vec(texts.join("\0").as_bytes(), 10);
        total += packed.len();
        fs::write(data.join(format!("packed/{code}.z")), packed)?;
    }
    println!("{total} bytes for {} languages", Language::all().len());
    Ok(())
}
