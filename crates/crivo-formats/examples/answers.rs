//! Makes filters of any format, and asks them: our side of the two-way tests in `tests/oracles`.
//!
//! ```text
//!   answers formats                            the formats and their key types, one pair a line
//!   answers build FORMAT KEY-TYPE N FPR FILE   makes a filter of keys 0 to N
//!   answers ask FORMAT KEY-TYPE N FILE         prints 0 or 1 for each of the keys 0 to 2N
//! ```

use std::error::Error;
use std::{env, fs};

use crivo_formats::{Create, FORMATS, Format, FormatOptions, KeyType, by_name};

#[path = "../tests/keys/mod.rs"]
mod keys;

use keys::Key;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match &arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["formats"] => {
            for format in FORMATS {
                for key_type in format.key_types {
                    println!("{} {key_type}", format.name);
                }
            }
            Ok(())
        }
        ["build", format, key_type, n, fpr, file] => {
            let keys = (0..n.parse()?).map(|number| Ok(Key::new(key_type.parse()?, number)));
            let keys = keys.collect::<Result<Vec<_>, Box<dyn Error>>>()?;
            fs::write(file, build(named(format)?, &keys, fpr.parse()?)?)?;
            Ok(())
        }
        ["ask", format, key_type, n, file] => {
            let answers = ask(named(format)?, key_type.parse()?, n.parse()?, &fs::read(file)?)?;
            println!("{answers}");
            Ok(())
        }
        _ => Err("usage: answers formats | build … | ask …".into()),
    }
}

/// What the other programs take for the hash of a block.
fn options() -> FormatOptions {
    let mut options = FormatOptions::default();
    options.block_hash = Some(std::array::from_fn(|i| i as u8));
    options
}

fn named(name: &str) -> Result<&'static Format, String> {
    by_name(name).ok_or_else(|| format!("there is no format {name}"))
}

fn build(format: &Format, keys: &[Key], fpr: f64) -> Result<Vec<u8>, Box<dyn Error>> {
    match format.create {
        Create::Empty(create) => {
            let mut filter = create(keys.len() as u64, fpr)?;
            for key in keys {
                filter.insert_key(&key.get())?;
            }
            Ok(filter.to_bytes())
        }
        Create::FromKeys(create) => {
            let keys: Vec<_> = keys.iter().map(Key::get).collect();
            Ok(create(&keys, &options())?.to_bytes())
        }
        _ => Err("such a filter cannot be made".into()),
    }
}

fn ask(format: &Format, key_type: KeyType, n: u64, bytes: &[u8]) -> Result<String, Box<dyn Error>> {
    let filter = (format.read)(bytes, &options())?;
    let answer = |number| filter.contains_key(&Key::new(key_type, number).get());
    let answers = (0..2 * n).map(|number| answer(number).map(|hit| if hit { '1' } else { '0' }));
    Ok(answers.collect::<Result<String, _>>()?)
}
