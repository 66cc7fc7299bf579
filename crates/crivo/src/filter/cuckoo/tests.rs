use super::*;

#[test]
#[ignore = "measures"]
fn measure_loads() {
    for width in [4, 5, 6, 7, 8, 12, 16, 20] {
        for log in [10, 14, 18, 20, 22] {
            if log == 22 && width > 8 { continue; }
            let slots = 1u64 << log;
            let trials = (1u64 << 22 >> log).clamp(1, 50);
            let mut least = 1.0f64;
            let mut sum = 0.0;
            for seed in 0..trials {
                let hasher = KeyHasher::xxh3(seed);
                let mut filter = Cuckoo::with_fingerprint_bits((slots as f64 * 0.9499) as u64, width, hasher).unwrap();
                let mut key = 0u64;
                while filter.insert(&key).is_ok() { key += 1; }
                least = least.min(filter.load());
                sum += filter.load();
            }
            println!("f={width} slots=2^{log} trials={trials} min {least:.4} mean {:.4}", sum / trials as f64);
        }
    }
}
