//! FarmHash's portable 64-bit function, `farmhashna`.
//!
//! Written here because the crate of that name errs on lengths that are multiples of 64 from 128
//! on, and its seeded function is another variant. The function itself is Geoff Pike's (Google,
//! 2014); its value for every input is fixed, and the tests pin it with published vectors for
//! every length up to 800 bytes.

const K0: u64 = 0xc3a5_c85c_97cb_3127;
const K1: u64 = 0xb492_b66f_be98_f273;
const K2: u64 = 0x9ae1_6a3b_2f90_404f;

/// `Fingerprint64`, which is `farmhashna::Hash64`.
#[inline]
pub(super) fn fingerprint64(bytes: &[u8]) -> u64 {
    match bytes.len() {
        0..=16 => up_to_16(bytes),
        17..=32 => up_to_32(bytes),
        33..=64 => up_to_64(bytes),
        _ => longer(bytes),
    }
}

/// `farmhashna::Hash64WithSeed`: the fingerprint folded with the seed.
#[inline]
pub(super) fn hash64_with_seed(bytes: &[u8], seed: u64) -> u64 {
    fold(fingerprint64(bytes).wrapping_sub(K2), seed, 0x9ddf_ea08_eb38_2d69)
}

#[inline]
fn word(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(word)
}

#[inline]
fn half_word(bytes: &[u8], at: usize) -> u64 {
    let mut half = [0; 4];
    half.copy_from_slice(&bytes[at..at + 4]);
    u64::from(u32::from_le_bytes(half))
}

#[inline]
fn shift_mix(x: u64) -> u64 {
    x ^ (x >> 47)
}

/// 128 bits to 64.
#[inline]
fn fold(u: u64, v: u64, mul: u64) -> u64 {
    let a = shift_mix((u ^ v).wrapping_mul(mul));
    shift_mix((v ^ a).wrapping_mul(mul)).wrapping_mul(mul)
}

/// The multiplier of short inputs depends on their length, so that padding is noticed.
#[inline]
fn multiplier(length: usize) -> u64 {
    K2.wrapping_add(2 * length as u64)
}

#[inline]
fn up_to_16(bytes: &[u8]) -> u64 {
    let length = bytes.len();
    let mul = multiplier(length);
    match length {
        8.. => {
            let a = word(bytes, 0).wrapping_add(K2);
            let b = word(bytes, length - 8);
            let c = b.rotate_right(37).wrapping_mul(mul).wrapping_add(a);
            let d = a.rotate_right(25).wrapping_add(b).wrapping_mul(mul);
            fold(c, d, mul)
        }
        4..8 => {
            let first = half_word(bytes, 0) << 3;
            fold(first.wrapping_add(length as u64), half_word(bytes, length - 4), mul)
        }
        1..4 => {
            let y = u64::from(bytes[0]) + (u64::from(bytes[length / 2]) << 8);
            let z = length as u64 + (u64::from(bytes[length - 1]) << 2);
            shift_mix(y.wrapping_mul(K2) ^ z.wrapping_mul(K0)).wrapping_mul(K2)
        }
        0 => K2,
    }
}

/// What inputs of 17 to 32 and of 33 to 64 bytes have in common: the two words that are folded,
/// and the first product.
#[inline]
fn ends(bytes: &[u8], first_multiplier: u64) -> (u64, u64, u64) {
    let length = bytes.len();
    let mul = multiplier(length);
    let a = word(bytes, 0).wrapping_mul(first_multiplier);
    let b = word(bytes, 8);
    let c = word(bytes, length - 8).wrapping_mul(mul);
    let d = word(bytes, length - 16).wrapping_mul(K2);
    let u = a.wrapping_add(b).rotate_right(43).wrapping_add(c.rotate_right(30)).wrapping_add(d);
    let v = a.wrapping_add(b.wrapping_add(K2).rotate_right(18)).wrapping_add(c);
    (u, v, a)
}

fn up_to_32(bytes: &[u8]) -> u64 {
    let (u, v, _) = ends(bytes, K1);
    fold(u, v, multiplier(bytes.len()))
}

fn up_to_64(bytes: &[u8]) -> u64 {
    let length = bytes.len();
    let mul = multiplier(length);
    let (y, v, a) = ends(bytes, K2);
    let z = fold(y, v, mul);
    let e = word(bytes, 16).wrapping_mul(mul);
    let f = word(bytes, 24);
    let g = y.wrapping_add(word(bytes, length - 32)).wrapping_mul(mul);
    let h = z.wrapping_add(word(bytes, length - 24)).wrapping_mul(mul);
    let u = e.wrapping_add(f).rotate_right(43).wrapping_add(g.rotate_right(30)).wrapping_add(h);
    fold(u, e.wrapping_add(f.wrapping_add(a).rotate_right(18)).wrapping_add(g), mul)
}

/// 56 bytes of state, stirred with 64 bytes of input at a time.
struct State {
    x: u64,
    y: u64,
    z: u64,
    v: (u64, u64),
    w: (u64, u64),
}

impl State {
    /// `widening` is 1 but for the last block, where it is 9.
    #[inline]
    fn stir(&mut self, block: &[u8], mul: u64, widening: u64) {
        let Self { x, y, z, v, w } = self;
        *x = x.wrapping_add(*y).wrapping_add(v.0).wrapping_add(word(block, 8));
        *x = x.rotate_right(37).wrapping_mul(mul) ^ w.1.wrapping_mul(widening);
        *y = y.wrapping_add(v.1).wrapping_add(word(block, 48)).rotate_right(42).wrapping_mul(mul);
        *y = y.wrapping_add(v.0.wrapping_mul(widening)).wrapping_add(word(block, 40));
        *z = z.wrapping_add(w.0).rotate_right(33).wrapping_mul(mul);
        *v = weak_hash_of_32(block, 0, v.1.wrapping_mul(mul), x.wrapping_add(w.0));
        *w = weak_hash_of_32(block, 32, z.wrapping_add(w.1), y.wrapping_add(word(block, 16)));
        std::mem::swap(z, x);
    }
}

#[inline]
fn weak_hash_of_32(bytes: &[u8], at: usize, a: u64, b: u64) -> (u64, u64) {
    let first = a.wrapping_add(word(bytes, at));
    let last = word(bytes, at + 24);
    let sum = first.wrapping_add(word(bytes, at + 8)).wrapping_add(word(bytes, at + 16));
    let b = b.wrapping_add(first).wrapping_add(last).rotate_right(21);
    (sum.wrapping_add(last), b.wrapping_add(sum.rotate_right(44)).wrapping_add(first))
}

fn longer(bytes: &[u8]) -> u64 {
    const SEED: u64 = 81;
    let length = bytes.len();
    let y = SEED.wrapping_mul(K1).wrapping_add(113);
    let mut state = State {
        x: SEED.wrapping_mul(K2).wrapping_add(word(bytes, 0)),
        y,
        z: shift_mix(y.wrapping_mul(K2).wrapping_add(113)).wrapping_mul(K2),
        v: (0, 0),
        w: (0, 0),
    };
    // Every whole block but the last one; then the last 64 bytes, which may overlap.
    for block in bytes[..length - 1].chunks_exact(64) {
        state.stir(block, K1, 1);
    }
    let mul = K1.wrapping_add((state.z & 0xff) << 1);
    state.w.0 = state.w.0.wrapping_add((length as u64 - 1) & 63);
    state.v.0 = state.v.0.wrapping_add(state.w.0);
    state.w.0 = state.w.0.wrapping_add(state.v.0);
    state.stir(&bytes[length - 64..], mul, 9);
    let State { x, y, z, v, w } = state;
    let left = fold(v.0, w.0, mul).wrapping_add(shift_mix(y).wrapping_mul(K0)).wrapping_add(z);
    fold(left, fold(v.1, w.1, mul).wrapping_add(x), mul)
}
