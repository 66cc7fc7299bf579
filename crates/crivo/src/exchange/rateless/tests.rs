use super::*;
use crate::exchange::{ExchangeKey, IdSet};

/// Random-looking ids: `common` of both, then those of one side only.
fn sets(key: ExchangeKey, common: u64, here: u64, there: u64) -> (IdSet, IdSet) {
    let item = |number: u64| key.id(&number.to_le_bytes());
    let both = || (0..common).map(item);
    let first = both().chain((common..common + here).map(item)).collect();
    let second = both().chain((common + here..common + here + there).map(item)).collect();
    (IdSet::of_ids(key, first, 0), IdSet::of_ids(key, second, 0))
}

#[test]
#[ignore = "prints the table of overheads that the documentation and the planner have"]
fn measure_overhead() {
    let mut seed = 0u64;
    for d in [
        1u64, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 512, 1024, 4096,
        16384, 65536, 262144,
    ] {
        let runs = (200_000 / d).clamp(2, 5_000);
        let (mut sum, mut squares) = (0.0, 0.0);
        for _ in 0..runs {
            seed += 1;
            let mut bytes = [0; 16];
            bytes[..8].copy_from_slice(&seed.to_le_bytes());
            let key = ExchangeKey::new(bytes);
            let (here, there) = sets(key, 0, d / 2, d - d / 2);
            let (mut encoder, mut decoder) = (Encoder::new(there, 0), Decoder::new(here, 0));
            let step = (d / 1000).max(1);
            let mut sent = 0;
            while decoder.receive(encoder.symbols(sent..sent + step)).unwrap() == Progress::More {
                sent += step;
            }
            let overhead = (sent + step) as f64 / d as f64;
            sum += overhead;
            squares += overhead * overhead;
        }
        let mean = sum / runs as f64;
        let deviation = (squares / runs as f64 - mean * mean).max(0.0).sqrt();
        println!("({d}.0, {mean:.3}), // ± {deviation:.3}, {runs} runs");
    }
}
