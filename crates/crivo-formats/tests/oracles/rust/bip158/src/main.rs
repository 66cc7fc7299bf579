//! Filters of BIP 158, by the crate `bitcoin`.

use std::{env, fs};

use bitcoin::bip158::{GcsFilterReader, GcsFilterWriter};

/// The hash of the block: bytes 0 to 15 are the key.
const KEY: [u64; 2] = [0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908];
const INVERSE_FPR: u64 = 784_931;
const REMAINDER_BITS: u8 = 19;

fn key(key_type: &str, number: u64) -> Vec<u8> {
    if key_type == "text" {
        return format!("ключ-{number}-é").into_bytes();
    }
    let tail = (0..number % 37).map(|j| (number * 31 + j * 17) as u8);
    (number as u32).to_le_bytes().into_iter().chain(tail).collect()
}

/// build FORMAT KEY-TYPE N FPR FILE, or ask FORMAT KEY-TYPE N FILE.
fn main() {
    let arguments: Vec<String> = env::args().collect();
    let n: u64 = arguments[4].parse().unwrap();
    if arguments[1] == "build" {
        let mut bytes = Vec::new();
        let mut writer =
            GcsFilterWriter::new(&mut bytes, KEY[0], KEY[1], INVERSE_FPR, REMAINDER_BITS);
        (0..n).for_each(|number| writer.add_element(&key(&arguments[3], number)));
        writer.finish().unwrap();
        fs::write(&arguments[6], bytes).unwrap();
        return;
    }
    let bytes = fs::read(&arguments[5]).unwrap();
    let reader = GcsFilterReader::new(KEY[0], KEY[1], INVERSE_FPR, REMAINDER_BITS);
    let answer = |number| {
        let element = key(&arguments[3], number);
        reader.match_any(&mut &bytes[..], [element].iter().map(Vec::as_slice)).unwrap()
    };
    let answers: String = (0..2 * n).map(|number| if answer(number) { '1' } else { '0' }).collect();
    println!("{answers}");
}
