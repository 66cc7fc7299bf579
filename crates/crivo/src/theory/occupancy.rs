//! How many of m bits do t random throws set? The distribution behind every Bloom formula.
//!
//! The number X of set bits is the occupancy distribution of balls and bins. A Bloom filter asks
//! for E[(X/m)^k], the chance that k further throws all fall on set bits. Bose et al. write it as
//! an alternating sum of Stirling numbers, of which no digit survives in floating point. Here it
//! comes from a chain of *positive* numbers:
//!
//! ```text
//!   G(i, t) = P(i given, different bits are all set after t throws)
//!   G(i, t + 1) = (1 − i/m)·G(i, t) + (i/m)·G(i − 1, t)          G(0, ·) = 1, G(i, 0) = 0
//!
//!   E[(X/m)^k] = Σ_i P(k throws fall on i different bits)·G(i, t)
//! ```
//!
//! The last throw either misses the i given bits, or sets one of them and leaves i − 1 to be set
//! by the others. Adding and multiplying positive numbers loses nothing but the usual last bit.

/// P(k throws into m bits fall on exactly i different ones), for i = 0 … k.
pub(super) fn distinct_hits(m: u64, k: u32) -> Vec<f64> {
    let bits = m as f64;
    let mut hits = vec![0.0; k as usize + 1];
    hits[0] = 1.0;
    for throws in 1..hits.len() {
        for i in (1..=throws).rev() {
            let free = (bits - (i - 1) as f64).max(0.0) / bits;
            hits[i] = hits[i] * (i as f64 / bits) + hits[i - 1] * free;
        }
        hits[0] = 0.0;
    }
    hits
}

/// One more throw: turns G(·, t) into G(·, t + 1).
pub(super) fn throw(all_set: &mut [f64], m: u64) {
    for i in (1..all_set.len()).rev() {
        let hit = i as f64 / m as f64;
        all_set[i] = all_set[i] * (1.0 - hit).max(0.0) + all_set[i - 1] * hit;
    }
}

/// About how many operations [`mean_power`] takes.
pub(super) fn cost(throws: u128, k: u32) -> f64 {
    by_stepping(throws, k).min(by_squaring(throws, k))
}

fn by_stepping(throws: u128, k: u32) -> f64 {
    throws as f64 * f64::from(k)
}

fn by_squaring(throws: u128, k: u32) -> f64 {
    f64::from(k).powi(3) / 6.0 * (throws as f64).log2()
}

/// G(i, throws) for i = 0 … `most`, by whichever way is shorter.
fn all_set(m: u64, throws: u128, most: u32) -> Vec<f64> {
    if by_stepping(throws, most) > by_squaring(throws, most) {
        return all_set_by_squaring(m, throws, most);
    }
    let mut result = vec![0.0; most as usize + 1];
    result[0] = 1.0;
    (0..throws).for_each(|_| throw(&mut result, m));
    result
}

/// G(i, throws) for i = 0 … `most`, in about most³/6 · log2(throws) steps.
///
/// The single throw is a triangular matrix I + D; its powers come by repeated squaring. D is kept
/// without the 1 of the diagonal, because 1 − i/m would round away what counts when m is large.
fn all_set_by_squaring(m: u64, throws: u128, most: u32) -> Vec<f64> {
    let size = (u64::from(most).min(m) as usize) + 1;
    let mut result = vec![0.0; most as usize + 1];
    result[0] = 1.0;
    // power[i][l], l ≤ i: of i given bits, l are left to be set by the other throws; minus 1 on
    // the diagonal.
    let mut power: Vec<Vec<f64>> = (0..size)
        .map(|i| {
            let hit = i as f64 / m as f64;
            let mut row = vec![0.0; i + 1];
            row[i] = -hit;
            if i > 0 {
                row[i - 1] = hit;
            }
            row
        })
        .collect();
    let mut left = throws;
    while left > 0 {
        if left & 1 == 1 {
            for i in (1..size).rev() {
                let others: f64 = (0..i).map(|l| power[i][l] * result[l]).sum();
                result[i] += power[i][i] * result[i] + others;
            }
        }
        left >>= 1;
        if left > 0 {
            square(&mut power);
        }
    }
    result
}

/// (I + D)² = I + D·(2·I + D), in place, for a lower triangular D.
fn square(power: &mut [Vec<f64>]) {
    // Row i needs the old rows up to i only, so that the last row goes first.
    for i in (0..power.len()).rev() {
        let (earlier, rest) = power.split_at_mut(i);
        let row = &mut rest[0];
        let own = row[i];
        // Entry (i, l) reads the entries l … i of its own row: ascending l overwrites none of them.
        for l in 0..i {
            let between: f64 = (l + 1..i).map(|j| row[j] * earlier[j][l]).sum();
            row[l] = row[l] * (2.0 + own + earlier[l][l]) + between;
        }
        row[i] = own * (2.0 + own);
    }
}

/// E[(X/m)^k] after `throws` throws into m bits.
pub(super) fn mean_power(m: u64, throws: u128, k: u32) -> f64 {
    let covered = all_set(m, throws, k);
    let hits = distinct_hits(m, k);
    hits.iter().zip(&covered).map(|(p, g)| p * g).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The occupancy distribution itself, bit by bit: the slow oracle.
    fn mean_power_by_distribution(m: u64, throws: u32, k: u32) -> f64 {
        let mut set = vec![0.0; m as usize + 1];
        set[0] = 1.0;
        for _ in 0..throws {
            for x in (0..=m as usize).rev() {
                let stays = set[x] * x as f64 / m as f64;
                let grows =
                    if x > 0 { set[x - 1] * (m as usize - x + 1) as f64 / m as f64 } else { 0.0 };
                set[x] = stays + grows;
            }
        }
        let share = |x: usize| (x as f64 / m as f64).powi(k as i32);
        set.iter().enumerate().map(|(x, p)| p * share(x)).sum()
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes long there")]
    fn the_chain_agrees_with_the_distribution() {
        for (m, throws, k) in [
            (1, 3, 2),
            (2, 2, 2),
            (3, 7, 5),
            (10, 1, 3),
            (16, 40, 4),
            (100, 70, 7),
            (257, 1000, 12),
            (512, 360, 255),
        ] {
            let expected = mean_power_by_distribution(m, throws, k);
            let got = mean_power(m, throws.into(), k);
            assert!((got / expected - 1.0).abs() < 1e-12, "{m} {throws} {k}");
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes long there")]
    fn squaring_and_stepping_agree() {
        let mut stepped = vec![0.0; 10];
        stepped[0] = 1.0;
        for t in 1..=3000u128 {
            throw(&mut stepped, 512);
            if t % 371 == 0 {
                for (a, b) in stepped.iter().zip(all_set_by_squaring(512, t, 9)) {
                    assert!((a / b - 1.0).abs() < 1e-11, "{t}: {a} {b}");
                }
            }
        }
    }
}
