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
//! where `wrong` is the rate at which the doorkeeper errs. What k is follows from its memory, of
//! one to two turns of its filters, and from how long the object stayed in the cache meanwhile.
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
/// use crivo::admit::theory;
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

/// LRU behind a [`SecondRequest`](crate::admit::SecondRequest) with this window and rate.
///
/// ```
/// use crivo::admit::theory;
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
    // The older filter is full. The younger one's rate grows like a high power of its fill: an
    // eighth of the full one's on average.
    let wrong = rate / 2.0 * 1.125;
    // How long a filter takes to fill depends on what the cache lets through, and that on it.
    let mut turn = window;
    let mut expected = Expected { hit_ratio: 0.0, write_ratio: 0.0, stay: 0.0 };
    for _ in 0..8 {
        let stay = solve(|stay| {
            let inside = rates.iter().map(|&rate| Visits::of(rate, stay, turn, wrong).hits);
            inside.sum::<f64>() + once * wrong * stay - capacity
        });
        let (mut entering, mut write_ratio, mut hit_ratio) = (once, once * wrong, 0.0);
        for &rate in rates {
            let visits = Visits::of(rate, stay, turn, wrong);
            hit_ratio += rate * visits.hits;
            write_ratio += rate * (1.0 - visits.hits) * visits.known;
            entering += rate * (1.0 - visits.hits) * visits.entering;
        }
        turn = window / entering.max(f64::MIN_POSITIVE);
        expected = Expected { hit_ratio, write_ratio, stay };
    }
    expected
}

/// What becomes of the requests for one object behind a doorkeeper.
struct Visits {
    /// Hits over requests.
    hits: f64,
    /// Misses that the doorkeeper knows, over misses.
    known: f64,
    /// Misses that the younger filter does not know, so that it takes them in, over misses.
    entering: f64,
}

impl Visits {
    /// An object with this rate of requests stays in the cache for `stay` requests after its last
    /// one; filters change places every `turn` requests.
    fn of(rate: f64, stay: f64, turn: f64, wrong: f64) -> Self {
        let x = rate * turn;
        let forgotten_in_a_turn = (-x).exp();
        // The mean of e^(−rate·u) over the age u of the younger filter, from 0 to a turn.
        let not_in_younger = if x > 0.0 { -(-x).exp_m1() / x } else { 1.0 };
        let known_after_refusal = 1.0 - forgotten_in_a_turn * not_in_younger;
        // After an admission the doorkeeper hears of the object only when it has left the cache: a
        // stay at least, and then at random, such that the mean is that of all gaps up to the first
        // which is longer than a stay.
        let until_miss = (rate * stay).exp() / rate;
        let known_after_admission = if 1.5 * turn > stay {
            -(-(1.5 * turn - stay) / (until_miss - stay)).exp_m1()
        } else {
            0.0
        };
        let mistaken = |known: f64| known + (1.0 - known) * wrong;
        let (first, again) = (mistaken(known_after_refusal), mistaken(known_after_admission));
        let known = first / (1.0 - again + first);
        let stays = -(-rate * stay).exp_m1();
        let hits = known * stays / (1.0 - stays + known * stays);
        let in_younger = (1.0 - not_in_younger).min(known_after_refusal);
        let entering = 1.0 - known * in_younger / known_after_refusal.max(f64::MIN_POSITIVE);
        Self { hits, known, entering }
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
        assert!((plain.hit_ratio - open.hit_ratio).abs() < 1e-9);
        assert!((plain.write_ratio - open.write_ratio).abs() < 1e-9);
    }

    #[test]
    fn a_cache_for_everything_hits_everything_that_comes_again() {
        let rates = [0.05; 10];
        assert!((lru(&rates, 1e9).hit_ratio - 0.5).abs() < 1e-6);
        let door = second_request_lru(&rates, 20.0, 1e9, 1e-9);
        assert!((door.hit_ratio - 0.5).abs() < 1e-6);
    }
}
