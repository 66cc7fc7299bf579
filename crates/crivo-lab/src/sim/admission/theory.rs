//! The hit ratio of LRU, with and without a doorkeeper.
//!
//! Assume that requests are independent: each is for object i with probability p(i), and the others
//! are for objects that are requested once. An LRU cache of C objects keeps any object for about T
//! requests after its last one: T is the time in which C distinct objects are requested (Che's
//! approximation).
//!
//! ```text
//!   C = Σ (1 − e^(−p(i)·T)) + once · T             hit ratio = Σ p(i) · (1 − e^(−p(i)·T))
//! ```
//!
//! Each of the `once` objects occupies a place for the time T and is never hit. A doorkeeper removes
//! them from the sum. Behind it an object is written to the cache only at a miss that the doorkeeper
//! *knows*: the object's last miss was within its memory. Let k be the fraction of known misses
//! among the misses of an object. A known miss is followed by a/(1 − a) hits on average, with
//! a = 1 − e^(−p·T); an unknown one by none. Hence
//!
//! ```text
//!   hits of an object over its requests     h = k·a/(1 − a + k·a)
//!   C = Σ h(i) + once · fpr · T             hit ratio = Σ p(i)·h(i)      writes = Σ p·(1 − h)·k
//! ```
//!
//! where `fpr` is the false-positive rate of the doorkeeper, whose memory determines k. Let its filters
//! rotate every τ requests. After each of its misses an object is in the younger filter, whether it
//! was there before or has just been inserted; so at a part φ of a turn it is remembered for
//! (2 − φ)·τ more, and the next miss is known if it comes by then. φ is assumed to be uniform.
//!
//! ```text
//!   after a refusal        the next miss is the next request:      P(D ≤ t) = 1 − e^(−p·t)
//!   after an admission     it is the first request that the        P(D > t) = Σ_j (−p·e^(−p·T))^j·(t − j·T)^j / j!
//!                          cache has not waited for: a gap > T     over all j with j·T < t
//! ```
//!
//! (A miss at time t needs no miss before t − T, and then a gap of T and a request: the density of D
//! is p·e^(−p·T)·P(D > t − T), of which the sum is the solution.)
//!
//! # Limits
//! The formulas are for large caches in steady state. A cache of a few dozen objects, or a trace of a
//! few turns, differs from them by some percent.
//!
//! # References
//! - H. Che, Y. Tung, Z. Wang, *Hierarchical web caching systems*, JSAC 2002: the approximation.
//! - C. Fricker, P. Robert, J. Roberts, *A versatile and accurate approximation for LRU cache
//!   performance*, ITC 2012: why it is so accurate.
//! - M. Garetto, E. Leonardi, V. Martina, *A unified approach to the performance analysis of caching
//!   systems*, ToMPECS 2016: caches in front of caches, of which a doorkeeper is one.

/// The behaviour of an LRU cache in theory.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct LruTheory {
    /// Hits over requests.
    pub hit_ratio: f64,
    /// Objects written to the cache over requests.
    pub write_ratio: f64,
}

/// Plain LRU for `capacity` objects. `rates`: the probability of a request for each object that may
/// be requested again; the remainder to 1 is for objects that are requested once.
///
/// ```
/// use crivo_lab::sim::admission::theory;
///
/// // Ten equally popular objects, and room for five: every second request is a hit.
/// let expected = theory::lru(&[0.1; 10], 5.0);
/// assert_eq!(format!("{:.3}", expected.hit_ratio), "0.500");
/// ```
pub fn lru(rates: &[f64], capacity: f64) -> LruTheory {
    let once = once_share(rates);
    let inside = |rate: f64, stay: f64| -(-rate * stay).exp_m1();
    let stay = solve(|stay| {
        rates.iter().map(|&rate| inside(rate, stay)).sum::<f64>() + once * stay - capacity
    });
    let hit_ratio = rates.iter().map(|&rate| rate * inside(rate, stay)).sum::<f64>();
    LruTheory { hit_ratio, write_ratio: 1.0 - hit_ratio }
}

/// LRU behind a [`SecondRequest`](crivo_sketch::admission::SecondRequest) with this window and FPR.
///
/// ```
/// use crivo_lab::sim::admission::theory;
///
/// // Half of the requests are for a hundred objects, half for objects that are requested once.
/// let rates = [0.005; 100];
/// let (plain, door) =
///     (theory::lru(&rates, 50.0), theory::second_request_lru(&rates, 50.0, 500.0, 0.01));
/// assert!(door.hit_ratio > 1.3 * plain.hit_ratio);
/// assert!(door.write_ratio < 0.5 * plain.write_ratio);
/// ```
pub fn second_request_lru(rates: &[f64], capacity: f64, window: f64, fpr: f64) -> LruTheory {
    let once = once_share(rates);
    let groups = grouped(rates);
    // Each filter has half of the FPR. The older one is full; the younger one's FPR grows like a high
    // power of its fill, and is an eighth of the full one's on average.
    let mean_fpr = fpr / 2.0 * 1.125;
    // The time to fill a filter depends on the misses of the cache, and these on that time.
    let mut turn = window;
    let mut expected = LruTheory { hit_ratio: 0.0, write_ratio: 0.0 };
    for _ in 0..8 {
        let visits = |rate, stay| Visits { rate, stay, turn, fpr: mean_fpr };
        let stay = solve(|stay| {
            let inside = groups.iter().map(|&(rate, count)| count * visits(rate, stay).hits());
            inside.sum::<f64>() + once * mean_fpr * stay - capacity
        });
        let (mut entering, mut write_ratio, mut hit_ratio) = (once, once * mean_fpr, 0.0);
        for &(rate, count) in &groups {
            let visits = visits(rate, stay);
            let (requests, hits) = (rate * count, visits.hits());
            hit_ratio += requests * hits;
            write_ratio += requests * (1.0 - hits) * visits.known();
            entering += requests * (1.0 - hits) * visits.entering();
        }
        turn = window / entering.max(f64::MIN_POSITIVE);
        expected = LruTheory { hit_ratio, write_ratio };
    }
    expected
}

/// Groups of nearly equal rates, as their mean and their number: a few hundred for any catalogue. The
/// result is smooth in the rate, so that 1% makes no visible difference.
fn grouped(rates: &[f64]) -> Vec<(f64, f64)> {
    let mut sorted: Vec<f64> = rates.iter().copied().filter(|&rate| rate > 0.0).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted
        .chunk_by(|&one, &other| group_of(one) == group_of(other))
        .map(|chunk| (chunk.iter().sum::<f64>() / chunk.len() as f64, chunk.len() as f64))
        .collect()
}

fn group_of(rate: f64) -> i64 {
    (100.0 * rate.ln()) as i64
}

/// The requests for one object behind a doorkeeper.
#[derive(Debug, Clone, Copy)]
struct Visits {
    /// Requests for the object over all requests.
    rate: f64,
    /// The number of requests for which it stays in the cache after its last one.
    stay: f64,
    /// The number of requests after which filters rotate.
    turn: f64,
    /// The mean false-positive rate of the doorkeeper.
    fpr: f64,
}

impl Visits {
    /// Hits over requests.
    fn hits(&self) -> f64 {
        let stays = -(-self.rate * self.stay).exp_m1();
        let known = self.known();
        known * stays / (1.0 - stays + known * stays)
    }

    /// Misses that the doorkeeper knows, over misses.
    fn known(&self) -> f64 {
        let with_false_positives = |known: f64| known + (1.0 - known) * self.fpr;
        let after_refusal = with_false_positives(self.mean(2.0, Self::again_after_refusal));
        let after_admission = with_false_positives(self.mean(2.0, Self::again_after_admission));
        after_refusal / (1.0 - after_admission + after_refusal)
    }

    /// Misses that are inserted into the younger filter, over misses.
    fn entering(&self) -> f64 {
        let known = self.known();
        1.0 - (1.0 - known) * self.mean(1.0, Self::again_after_refusal)
            - known * self.mean(1.0, Self::again_after_admission)
    }

    /// The mean of a probability over times from `turns` − 1 to `turns` turns.
    fn mean(&self, turns: f64, probability: fn(&Self, f64) -> f64) -> f64 {
        const POINTS: u32 = 8;
        let at = |point: u32| (turns - (f64::from(point) + 0.5) / f64::from(POINTS)) * self.turn;
        (0..POINTS).map(|point| probability(self, at(point))).sum::<f64>() / f64::from(POINTS)
    }

    /// The probability that a miss follows within this time on one that was refused.
    fn again_after_refusal(&self, time: f64) -> f64 {
        -(-self.rate * time).exp_m1()
    }

    /// The probability that a miss follows within this time on one that was admitted.
    fn again_after_admission(&self, time: f64) -> f64 {
        let Self { rate, stay, .. } = *self;
        let pace = rate * (-rate * stay).exp();
        // Beyond this it is certain but for 1e-8, and the sum would lose its precision.
        if pace * time > 20.0 {
            return 1.0;
        }
        let (mut not_yet, mut factorial) = (1.0, 1.0);
        for j in 1..100 {
            let left = time - f64::from(j) * stay;
            if left <= 0.0 {
                break;
            }
            factorial *= f64::from(j);
            let term = (pace * left).powi(j) / factorial;
            not_yet += if j % 2 == 0 { term } else { -term };
        }
        (1.0 - not_yet).clamp(0.0, 1.0)
    }
}

fn once_share(rates: &[f64]) -> f64 {
    (1.0 - rates.iter().sum::<f64>()).max(0.0)
}

/// Where an increasing function passes 0, or the end of the range if it does not.
fn solve(function: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    while function(high) < 0.0 && high < 1e15 {
        high *= 2.0;
    }
    while high - low > 1e-9 * high {
        let middle = (low + high) / 2.0;
        if function(middle) < 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_doorkeeper_that_admits_everything_is_plain_lru() {
        // An FPR beyond 1, so that the mean over both filters is 1.
        let rates: Vec<f64> = (1..200).map(|rank| 0.1 / f64::from(rank)).collect();
        let plain = lru(&rates, 20.0);
        let open = second_request_lru(&rates, 20.0, 1e9, 2.0 / 1.125);
        // Nearly equal rates are grouped.
        assert!((plain.hit_ratio - open.hit_ratio).abs() < 1e-5);
        assert!((plain.write_ratio - open.write_ratio).abs() < 1e-5);
    }

    /// 200,000 times from one miss to the next, drawn request by request: standard errors are below
    /// 0.0012, and six of them are allowed.
    #[test]
    fn the_time_to_the_next_miss_has_the_distribution_of_the_sum() {
        let mut random = crivo_core::Random::new(5);
        let runs = 200_000;
        for (rate, stay) in [(1.0, 0.3), (1.0, 1.0), (1.0, 2.5)] {
            let visits = Visits { rate, stay, turn: 1.0, fpr: 0.0 };
            let until_miss: Vec<f64> = (0..runs)
                .map(|_| {
                    let mut time = 0.0;
                    loop {
                        let gap = -(1.0 - random.unit()).ln() / rate;
                        time += gap;
                        if gap > stay {
                            break time;
                        }
                    }
                })
                .collect();
            for time in [0.2, 0.8, 1.5, 3.0, 6.0, 20.0] {
                let seen = until_miss.iter().filter(|&&until| until <= time).count();
                let off = seen as f64 / f64::from(runs) - visits.again_after_admission(time);
                assert!(off.abs() < 0.007, "{stay}, {time}: {off}");
            }
        }
    }

    #[test]
    fn a_cache_for_everything_hits_every_repeated_request() {
        let rates = [0.05; 10];
        assert!((lru(&rates, 1e9).hit_ratio - 0.5).abs() < 1e-6);
        let door = second_request_lru(&rates, 20.0, 1e9, 1e-9);
        assert!((door.hit_ratio - 0.5).abs() < 1e-6);
    }
}
