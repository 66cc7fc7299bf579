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
//! takes them out of the sum; but an object that is not in the cache enters only if it was asked
//! for within the doorkeeper's memory of M requests, with probability q(i) = 1 − e^(−p(i)·M). Then
//! it is in the cache with probability h(i), which is its hit ratio:
//!
//! ```text
//!   a(i) = 1 − e^(−p(i)·T)        h(i) = a(i)·(h(i) + (1 − h(i))·q(i)) = a·q/(1 − a + a·q)
//!   C = Σ h(i)                    hit ratio = Σ p(i) · h(i)
//! ```
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

/// LRU behind a doorkeeper that remembers the objects of the last `memory` requests, and wrongly
/// admits `wrong` of those it does not remember.
pub fn admitted_lru(rates: &[f64], capacity: f64, memory: f64, wrong: f64) -> Expected {
    let once = once_share(rates);
    let known = |rate: f64| {
        let remembered = -(-rate * memory).exp_m1();
        remembered + (1.0 - remembered) * wrong
    };
    let inside = |rate: f64, stay: f64| {
        let (stays, known) = (-(-rate * stay).exp_m1(), known(rate));
        stays * known / (1.0 - stays + stays * known)
    };
    let stay = solve(|stay| {
        rates.iter().map(|&rate| inside(rate, stay)).sum::<f64>() + once * wrong * stay - capacity
    });
    let (mut hit_ratio, mut write_ratio) = (0.0, once * wrong);
    for &rate in rates {
        let inside = inside(rate, stay);
        hit_ratio += rate * inside;
        write_ratio += rate * (1.0 - inside) * known(rate);
    }
    Expected { hit_ratio, write_ratio, stay }
}

/// For how many requests a pair of rotating filters remembers, on average: until between one and
/// two windows of new objects have been put into it.
///
/// A miss is put in unless the younger filter knows it. `expected` is what the cache behind does;
/// the answer is a fixed point of the two, found by repetition in [`second_request_lru`].
fn memory_of(rates: &[f64], window: f64, hit: impl Fn(f64) -> f64) -> f64 {
    let once = once_share(rates);
    // The younger filter is half full on average: it knows the objects of half a window's time.
    let mut memory = window;
    for _ in 0..50 {
        let entering = rates
            .iter()
            .map(|&rate| rate * (1.0 - hit(rate)) * (-rate * memory / 3.0).exp())
            .sum::<f64>()
            + once;
        // One window and a half.
        memory = 1.5 * window / entering.max(1e-12);
    }
    memory
}

/// LRU behind a [`SecondRequest`](crate::admit::SecondRequest) with this window and rate.
pub fn second_request_lru(rates: &[f64], capacity: f64, window: f64, rate: f64) -> Expected {
    let mut expected = lru(rates, capacity);
    for _ in 0..20 {
        let stay = expected.stay;
        let memory = memory_of(rates, window, |rate| -(-rate * stay).exp_m1());
        // Filters are between empty and full, and the rate grows steeply: a third of the worst.
        expected = admitted_lru(rates, capacity, memory, rate / 3.0);
    }
    expected
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
    for _ in 0..100 {
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
    fn a_doorkeeper_that_knows_everything_is_plain_lru() {
        let rates: Vec<f64> = (1..200).map(|rank| 0.1 / f64::from(rank)).collect();
        let plain = lru(&rates, 20.0);
        let open = admitted_lru(&rates, 20.0, 1e12, 1.0);
        assert!((plain.hit_ratio - open.hit_ratio).abs() < 1e-9);
        assert!((plain.write_ratio - open.write_ratio).abs() < 1e-9);
    }

    #[test]
    fn a_cache_for_everything_hits_everything_that_comes_again() {
        let rates = [0.05; 10];
        assert!((lru(&rates, 1e9).hit_ratio - 0.5).abs() < 1e-6);
        assert!((admitted_lru(&rates, 20.0, 1e9, 0.0).hit_ratio - 0.5).abs() < 1e-6);
    }
}
