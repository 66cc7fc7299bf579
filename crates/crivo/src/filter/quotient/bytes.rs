//! Words read and written as bytes: 57 bits and more from any bit on, in one access.

#![allow(unsafe_code)]

/// The bits that any access reaches, wherever it begins.
pub(super) const BITS: u32 = 57;

/// Where bits begin: a bit of a byte, counted from the lowest of the first word on.
#[derive(Clone, Copy)]
pub(super) struct Position {
    byte: usize,
    bit: u32,
}

impl Position {
    /// The bit this many bits behind the beginning of a word.
    #[inline(always)]
    pub(super) fn new(word: usize, bits: usize) -> Self {
        Self { byte: word.wrapping_mul(8).wrapping_add(bits / 8), bit: bits as u32 % 8 }
    }
}

/// The bits from there on: [`BITS`] of them, or more.
///
/// # Panics
/// If the eight bytes from there on are not within the words.
#[inline(always)]
pub(super) fn read(words: &[u64], from: Position) -> u64 {
    let Position { byte, bit } = from;
    if cfg!(target_endian = "little") {
        check(words, byte);
        // SAFETY: these eight bytes are within the words, and any bytes are valid.
        unsafe { words.as_ptr().byte_add(byte).read_unaligned() >> bit }
    } else {
        let shift = byte as u32 % 8 * 8 + bit;
        words[byte / 8] >> shift | words[byte / 8 + 1] << 1 << (63 - shift)
    }
}

/// Puts bits in the place of those from there on that are ones of `mask`, which has none above
/// [`BITS`]; `bits` has none where the mask has none.
///
/// # Panics
/// If the eight bytes from there on are not within the words.
#[inline(always)]
pub(super) fn write(words: &mut [u64], from: Position, mask: u64, bits: u64) {
    let Position { byte, bit } = from;
    if cfg!(target_endian = "little") {
        check(words, byte);
        // SAFETY: these eight bytes are within the words.
        unsafe {
            let place = words.as_mut_ptr().byte_add(byte);
            place.write_unaligned(place.read_unaligned() & !(mask << bit) | bits << bit);
        }
    } else {
        let shift = byte as u32 % 8 * 8 + bit;
        let (mask, bits) = (u128::from(mask) << shift, u128::from(bits) << shift);
        words[byte / 8] = words[byte / 8] & !(mask as u64) | bits as u64;
        let next = &mut words[byte / 8 + 1];
        *next = *next & !((mask >> 64) as u64) | (bits >> 64) as u64;
    }
}

#[inline(always)]
fn check(words: &[u64], byte: usize) {
    // There is no sum that could be too large.
    let length = size_of_val(words);
    assert!(byte < length && length - byte >= 8, "the bits lie behind the last word");
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From every bit that eight bytes follow, bit by bit.
    #[test]
    fn bits_are_read_and_written_where_they_are() {
        let words = [0x9ddf_ea08_eb38_2d69, 0x1357_9bdf_0246_8ace, 0xfeed_face_cafe_beef];
        let bit = |words: &[u64], at: usize| words[at / 64] >> (at % 64) & 1;
        for at in 0..=128 {
            let from = Position::new(at / 64, at % 64);
            let found = read(&words, from);
            assert!((0..57).all(|i| found >> i & 1 == bit(&words, at + i)), "{at}");
            for (mask, bits) in [((1 << BITS) - 1, 0x0055_5aaa_5a5a_1234), (0x7f0, 0x2a0), (0, 0)] {
                let mut changed = words;
                write(&mut changed, from, mask, bits);
                for i in 0..192 {
                    let inside = i >= at && i < at + 57 && mask >> (i - at) & 1 == 1;
                    let expected = if inside { bits >> (i - at) & 1 } else { bit(&words, i) };
                    assert_eq!(bit(&changed, i), expected, "bit {i} from {at} on");
                }
            }
        }
    }

    #[test]
    fn there_is_nothing_behind_the_last_word() {
        for word in [2, 3, usize::MAX / 8, usize::MAX / 4] {
            let from = Position::new(word, 8);
            assert!(std::panic::catch_unwind(|| read(&[1, 2, 3], from)).is_err(), "{word}");
        }
    }
}
