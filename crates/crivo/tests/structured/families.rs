//! Keys as programs have them: counters, addresses, times, text. A family begins with key 0.
//!
//! The list is what a hash family must pass to be the default. It needs nothing but the standard library,
//! since the tests of another crate read this file, too.

use std::net::Ipv4Addr;

/// The bytes of key i.
pub(crate) type MakeKey = fn(u64) -> Vec<u8>;

fn word(key: u64) -> Vec<u8> {
    key.to_le_bytes().to_vec()
}

fn letters(mut i: u64) -> Vec<u8> {
    let mut letter = || {
        let letter = b'a' + (i % 26) as u8;
        i /= 26;
        letter
    };
    (0..8).map(|_| letter()).collect()
}

/// A number with four of its bits turned over: choice i of four among 64.
fn four_bits(mut i: u64) -> u64 {
    let choices = |of: u64, bits: u64| (0..bits).fold(1, |product, j| product * (of - j) / (j + 1));
    let mut key = 0x0123_4567_89ab_cdef;
    for bits in (1..=4).rev() {
        let bit = (bits - 1..64).take_while(|&bit| choices(bit, bits) <= i).last().unwrap();
        i -= choices(bit, bits);
        key ^= 1 << bit;
    }
    key
}

/// A number for each 65 keys, far from the others, and the 64 numbers that differ from it in one bit.
fn neighbour(i: u64) -> u64 {
    let base = (i / 65).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    base ^ 1u64.checked_shl((i % 65) as u32).unwrap_or(0)
}

/// 45 of them, each with its name. The first 600,000 keys of each are different.
pub(crate) const FAMILIES: &[(&str, MakeKey)] = &[
    ("a counter", |i| word(i)),
    ("a counter from 2^40 on", |i| word((1 << 40) + i)),
    ("a counter of 32 bits", |i| (i as u32).to_le_bytes().to_vec()),
    ("a counter downwards", |i| word(0u64.wrapping_sub(i))),
    ("a counter, big-endian", |i| word(i.swap_bytes())),
    ("Gray codes", |i| word(i ^ i >> 1)),
    ("multiples of 2^8", |i| word(i << 8)),
    ("multiples of 2^16", |i| word(i << 16)),
    ("multiples of 2^20", |i| word(i << 20)),
    ("multiples of 2^32", |i| word(i << 32)),
    ("multiples of 2^44", |i| word(i << 44)),
    ("multiples of 10", |i| word(i * 10)),
    ("multiples of 10^3", |i| word(i * 1_000)),
    ("multiples of 10^6", |i| word(i * 1_000_000)),
    ("multiples of 10^9", |i| word(i * 1_000_000_000)),
    ("multiples of 10^12", |i| word(i * 1_000_000_000_000)),
    ("IPv4 addresses", |i| Ipv4Addr::from_bits(0x0a00_0000 + i as u32).octets().to_vec()),
    ("seconds", |i| word(1_700_000_000 + i)),
    ("milliseconds, in nanoseconds", |i| word((1_700_000_000_000 + i) * 1_000_000)),
    ("microseconds, every 250", |i| word(1_700_000_000_000_000 + 250 * i)),
    ("pointers to 16 bytes", |i| word(0x7f3a_5c00_0000 + 16 * i)),
    ("pointers to 64 bytes", |i| word(0x5581_0000_0010 + 64 * i)),
    ("whole floats", |i| word((i as f64).to_bits())),
    ("hundredths as floats", |i| word((i as f64 / 100.0).to_bits())),
    ("two counters of 32 bits", |i| word(((i / 1024) << 32) + i % 1024)),
    ("two counters of 48 and 16 bits", |i| word(((i / 1000) << 16) + i % 1000)),
    ("four counters of 16 bits", |i| {
        word(i & 31 | (i >> 5 & 31) << 16 | (i >> 10 & 31) << 32 | (i >> 15) << 48)
    }),
    ("four bits of 64", |i| word(four_bits(i))),
    ("numbers and their 64 neighbours in one bit", |i| word(neighbour(i))),
    ("8 digits", |i| format!("{i:08}").into_bytes()),
    ("8 letters", letters),
    ("decimal text", |i| i.to_string().into_bytes()),
    ("12 bytes", |i| [word(77), (i as u32).to_le_bytes().to_vec()].concat()),
    ("two counters of 64 bits", |i| [word(i / 1024), word(i % 1024)].concat()),
    ("a time and a node", |i| [word((1 << 44) + 10_000 * i), word(0x8000_1234_5678_9abc)].concat()),
    ("URLs", |i| format!("https://www.example.com/articles/{i}").into_bytes()),
    ("long URLs", |i| format!("https://example.com/{:0>80}/{}.html", i / 64, i % 64).into_bytes()),
    ("1 to 3 bytes", |i| {
        let significant = (64 - (i + 1).leading_zeros()).div_ceil(8);
        word(i + 1)[..significant as usize].to_vec()
    }),
    ("zeros of 97 lengths and a counter", |i| {
        [vec![0; 1 + (i % 97) as usize], ((i / 97) as u32).to_le_bytes().to_vec()].concat()
    }),
    ("UUIDs as text", |i| format!("{:08x}-0000-4000-8000-{:012x}", i >> 8, i & 255).into_bytes()),
    ("40 hexadecimal digits", |i| format!("{i:040x}").into_bytes()),
    ("three counters of 64 bits", |i| [word(i & 63), word(i >> 6 & 63), word(i >> 12)].concat()),
    ("a counter amid 64 bytes", |i| {
        [vec![7; 28], (i as u32).to_le_bytes().to_vec(), vec![7; 32]].concat()
    }),
    ("a counter before 192 bytes", |i| [word(i), vec![9; 192]].concat()),
    ("a counter amid 200 bytes", |i| [vec![9; 90], word(i), vec![9; 102]].concat()),
];
