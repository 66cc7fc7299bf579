use super::*;
use crate::theory::interval;

/// One filter of 200,000 keys for each rate, asked a million absent keys.
#[test]
fn the_observed_rate_is_that_of_theory() {
    for (seed, rate) in (0..).zip([0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.001, 1e-4]) {
        let n = 400_000;
        let mut filter = Blocked::with_hasher(n, rate, KeyHasher::xxh3(seed)).unwrap();
        for key in 0..n {
            filter.insert(&key).unwrap();
        }
        assert!((0..n).all(|key| filter.contains(&key)));
        let asked = 10_000_000;
        let hits = (n..n + asked).filter(|key| filter.contains(key)).count() as u64;
        println!(
            "{rate} k={} bits {:.3}: observed/theory {:.4} ± {:.4}; fill/theory {:.4}",
            filter.probes,
            filter.bits_per_key(),
            hits as f64 / asked as f64 / filter.expected_fpr(),
            1.0 / (hits as f64).sqrt(),
            filter.fill_fpr() / filter.expected_fpr()
        );
        assert!(interval::exact(hits, asked, 1.0 - 1e-5).unwrap().contains(filter.expected_fpr()));
    }
}
