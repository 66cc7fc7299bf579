//! The hit ratio of LRU, with and without a doorkeeper.
//!
//! Take requests to be independent: each is for object i with probability p(i), and the rest are
//! for objects that come once. An LRU cache of C objects keeps an object for about T requests after
//! its last one, whatever the object: T is the time in which C different ones pass by (Che's
//! approximation).
//!
//! ```text
//!   C = Σ (1 − e^(−p(i)·T)) + once · T             hit ratio = Σ p(i) · (1 − e^(−p(i)·T))
//! ```
//!
//! Each of the `once` objects takes a place for the time T, and gives nothing back. A doorkeeper
//! takes them out of the sum. Behind it an object is written to the cache only at a miss that the
//! doorkeeper *knows*: the object's last miss was within its memory. Let k be the share of known
//! ones among the misses of an object. A known miss is followed by a/(1 − a) hits on average, with
//! a = 1 − e^(−p·T); an unknown one by none. Hence
//!
//! ```text
//!   hits of an object over its requests     h = k·a/(1 − a + k·a)
//!   C = Σ h(i) + once · wrong · T           hit ratio = Σ p(i)·h(i)      writes = Σ p·(1 − h)·k
//! ```
//!
//! where `wrong` is the rate at which the doorkeeper errs. What k is follows from its memory. Let
//! filters change places every τ requests. At each of its misses an object is in the younger filter
//! afterwards, whether it was there before or has just come; so at a part φ of a turn it is remembered
//! for (2 − φ)·τ more, and the next miss is known if it comes by then. φ is taken to be uniform.
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
//! Formulas are about caches that have been at work for long, and have room for many objects. A
//! cache of a few dozen objects, or a trace of a few turns, differ from them by some percent.
//!
//! # References
//! - H. Che, Y. Tung, Z. Wang, *Hierarchical web caching systems*, JSAC 2002: the approximation.
//! - C. Fricker, P. Robert, J. Roberts, *A versatile and accurate approximation for LRU cache
//!   performance*, ITC 2012: why it is so good.
//! - M. Garetto, E. Leonardi, V. Martina, *A unified approach to the performance analysis of caching
//!   systems*, ToMPECS 2016: caches before caches, of which a doorkeeper is one.

/// What LRU is expected to do.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Expected {
    /// Hits over requests.
    pub hit_ratio: f64,
    /// Objects written to the cache over requests.
    pub write_ratio: f64,
    /// For how many requests an object stays in the cache after its last one.
    pub stay: f64,
}

/// Plain LRU for `capacity` objects. `rates`: the probability of a request for each object that may
/// come again; what is missing to 1 goes to objects that come once.
///
/// ```
/// use crivo_lab::sim::admission::theory;
///
/// // Ten objects, all alike, and room for five: every second request is a hit.
/// let expected = theory::lru(&[0.1; 10], 5.0);
/// assert_eq!(format!("{:.3}", expected.hit_ratio), "0.500");
/// ```
pub fn lru(rates: &[f64], capacity: f64) -> Expected {
    let once = once_share(rates);
    let inside = |rate: f64, stay: f64| -(-rate * stay).exp_m1();
    let stay = solve(|stay| {
        rates.iter().map(|&rate| inside(rate, stay)).sum::<f64>() + once * stay - capacity
    });
    let hit_ratio = rates.iter().map(|&rate| rate * inside(rate, stay)).sum::<f64>();
    Expected { hit_ratio, write_ratio: 1.0 - hit_ratio, stay }
}

/// LRU behind a [`SecondRequest`](crivo_sketch::admission::SecondRequest) with this window and rate.
///
/// ```
/// use crivo_lab::sim::admission::theory;
///
/// // Half of the requests go to a hundred objects, half to objects that come once.
/// let rates = [0.005; 100];
/// let (plain, door) =
///     (theory::lru(&rates, 50.0), theory::second_request_lru(&rates, 50.0, 500.0, 0.01));
/// assert!(door.hit_ratio > 1.3 * plain.hit_ratio);
/// assert!(door.write_ratio < 0.5 * plain.write_ratio);
/// ```
pub fn second_request_lru(rates: &[f64], capacity: f64, window: f64, rate: f64) -> Expected {
    let once = once_share(rates);
    let groups = grouped(rates);
    // The older filter is full. The younger one's rate grows like a high power of its fill: an
    // eighth of the full one's on average.
    let wrong = rate / 2.0 * 1.125;
    // How long a filter takes to fill depends on what the cache lets through, and that on it.
    let mut turn = window;
    let mut expected = Expected { hit_ratio: 0.0, write_ratio: 0.0, stay: 0.0 };
    for _ in 0..8 {
        let visits = |rate, stay| Visits { rate, stay, turn, wrong };
        let stay = solve(|stay| {
            let inside = groups.iter().map(|&(rate, count)| count * visits(rate, stay).hits());
            inside.sum::<f64>() + once * wrong * stay - capacity
        });
        let (mut entering, mut write_ratio, mut hit_ratio) = (once, once * wrong, 0.0);
        for &(rate, count) in &groups {
            let visits = visits(rate, stay);
            let (requests, hits) = (rate * count, visits.hits());
            hit_ratio += requests * hits;
            write_ratio += requests * (1.0 - hits) * visits.known();
            entering += requests * (1.0 - hits) * visits.entering();
        }
        turn = window / entering.max(f64::MIN_POSITIVE);
        expected = Expected { hit_ratio, write_ratio, stay };
    }
    expected
}

/// Rates that are alike, as their mean and their number: a few hundred for any catalogue. What
/// follows is smooth in the rate, so that 1% makes no difference that could be seen.
fn grouped(rates: &[f64]) -> Vec<(f64, f64)> {
    let mut sorted: Vec<f64> = rates.iter().copied().filter(|&rate| rate > 0.0).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted
        .chunk_by(|&one, &other| alike(one) == alike(other))
        .map(|chunk| (chunk.iter().sum::<f64>() / chunk.len() as f64, chunk.len() as f64))
        .collect()
}

fn alike(rate: f64) -> i64 {
    (100.0 * rate.ln()) as i64
}

/// What becomes of the requests for one object behind a doorkeeper.
#[derive(Debug, Clone, Copy)]
struct Visits {
    /// Requests for the object over all requests.
    rate: f64,
    /// For how many requests it stays in the cache after its last one.
    stay: f64,
    /// After how many requests filters change places.
    turn: f64,
    /// How often the doorkeeper errs.
    wrong: f64,
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
        let mistaken = |known: f64| known + (1.0 - known) * self.wrong;
        let after_refusal = mistaken(self.mean(2.0, Self::again_after_refusal));
        let after_admission = mistaken(self.mean(2.0, Self::again_after_admission));
        after_refusal / (1.0 - after_admission + after_refusal)
    }

    /// Misses that the younger filter does not know, so that it takes them in, over misses.
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
        // Beyond this it is certain, but for 1e-8, and the sum would lose its digits.
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
    fn a_doorkeeper_that_lets_everybody_in_is_plain_lru() {
        // It would have to err always: a rate beyond what a filter can have.
        let rates: Vec<f64> = (1..200).map(|rank| 0.1 / f64::from(rank)).collect();
        let plain = lru(&rates, 20.0);
        let open = second_request_lru(&rates, 20.0, 1e9, 2.0 / 1.125);
        // Rates are taken together where they are alike.
        assert!((plain.hit_ratio - open.hit_ratio).abs() < 1e-5);
        assert!((plain.write_ratio - open.write_ratio).abs() < 1e-5);
    }

    /// 200,000 times from one miss to the next, drawn request by request: standard errors are below
    /// 0.0012, and six of them are allowed.
    #[test]
    fn the_time_to_the_next_miss_is_what_the_sum_says() {
        let mut random = crivo_core::Random::new(5);
        let runs = 200_000;
        for (rate, stay) in [(1.0, 0.3), (1.0, 1.0), (1.0, 2.5)] {
            let visits = Visits { rate, stay, turn: 1.0, wrong: 0.0 };
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
    fn a_cache_for_everything_hits_everything_that_comes_again() {
        let rates = [0.05; 10];
        assert!((lru(&rates, 1e9).hit_ratio - 0.5).abs() < 1e-6);
        let door = second_request_lru(&rates, 20.0, 1e9, 1e-9);
        assert!((door.hit_ratio - 0.5).abs() < 1e-6);
    }
}
