use super::*;
use crate::{ExchangeKey, IdSet};

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
            while decoder.receive(encoder.symbols(sent..sent + step)).unwrap()
                == DecoderStatus::More
            {
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

/// The worked example of the documentation, with the symbols as they really are: nothing is left
/// once c and e are known, and both are told apart.
#[test]
fn what_both_have_cancels_out() {
    let key = ExchangeKey::new([1; 16]);
    let (here, there) =
        (IdSet::of_items(key, ["a", "b", "e"]), IdSet::of_items(key, ["a", "b", "c"]));
    let mut encoder = Encoder::new(there, 0);
    let mut decoder = Decoder::new(here, 0);
    let progress = decoder.receive(encoder.symbols(0..32)).unwrap();
    assert_eq!(progress, DecoderStatus::Decoded);
    let difference = decoder.difference().unwrap();
    assert_eq!(
        (&difference.only_here[..], &difference.only_there[..]),
        (&[key.id(b"e")][..], &[key.id(b"c")][..])
    );
}

#[test]
fn symbols_are_the_same_however_they_are_asked_for() {
    let key = ExchangeKey::new([2; 16]);
    let (set, _) = sets(key, 0, 500, 0);
    let at_once = Encoder::new(set.clone(), 0).symbols(0..300).to_vec();
    let mut encoder = Encoder::new(set, 0);
    for (index, symbol) in (0..).zip(&at_once) {
        assert_eq!(encoder.symbols(index..index + 1), [*symbol]);
    }
    assert_eq!(at_once[0].count, 500);
}

/// 400 estimates of a difference of 2,000 by 64 symbols. Their mean has a standard error of 18, and
/// is off by 120 with a chance below 1e-9; their scatter is that which they claim, within a quarter.
#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn the_counts_tell_how_large_the_difference_is() {
    let (mut sum, mut squares, mut claimed) = (0.0, 0.0, 0.0);
    let runs = 400;
    for seed in 0..runs {
        let mut bytes = [3; 16];
        bytes[..4].copy_from_slice(&u32::to_le_bytes(seed));
        // 1,500 here and 500 there: the surplus must not be taken for a difference.
        let (here, there) = sets(ExchangeKey::new(bytes), 100, 1_500, 500);
        let mut decoder = Decoder::new(here, 0);
        decoder.receive(Encoder::new(there, 0).symbols(0..64)).unwrap();
        let estimate = decoder.estimate().unwrap();
        sum += estimate.size;
        squares += estimate.size * estimate.size;
        claimed += estimate.standard_error / f64::from(runs);
    }
    let mean = sum / f64::from(runs);
    let deviation = (squares / f64::from(runs) - mean * mean).sqrt();
    assert!((mean - 2_000.0).abs() < 120.0, "{mean}");
    assert!((deviation / claimed - 1.0).abs() < 0.25, "{deviation}, {claimed} claimed");
}

/// 200 exchanges each, with a standard error of at most 3% of the mean; five of them apart.
#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn it_takes_as_many_symbols_as_the_table_says() {
    for d in [2u64, 7, 20, 100, 700] {
        let runs = 200u64;
        let mut symbols = 0;
        for seed in 0..runs {
            let mut bytes = [4; 16];
            bytes[..8].copy_from_slice(&seed.to_le_bytes());
            let (here, there) = sets(ExchangeKey::new(bytes), 10, d / 3, d - d / 3);
            let (mut encoder, mut decoder) = (Encoder::new(there, 0), Decoder::new(here, 0));
            while decoder
                .receive(encoder.symbols(decoder.received()..decoder.received() + 1))
                .unwrap()
                == DecoderStatus::More
            {}
            symbols += decoder.received();
        }
        let ratio = symbols as f64 / runs as f64 / expected_symbols(d as f64);
        let tolerance = if d < 10 { 0.2 } else { 0.1 };
        assert!((ratio - 1.0).abs() < tolerance, "{d}: {ratio}");
    }
}

#[test]
fn symbols_of_no_set_are_never_decoded() {
    let key = ExchangeKey::new([5; 16]);
    let (here, _) = sets(key, 0, 20, 0);
    let forged = CodedSymbol { sum: 1, check: 2, count: 3 };
    let mut decoder = Decoder::new(here.clone(), 0);
    assert_eq!(decoder.receive(&[forged; 100]), Ok(DecoderStatus::More));
    // Alone by every sign, but the decoder's own set does not have it.
    let foreign = IdSet::of_items(key, ["foreign"]);
    let mut symbols = Encoder::new(foreign, 0).symbols(0..16).to_vec();
    symbols.iter_mut().for_each(|symbol| symbol.count = -symbol.count);
    let mut decoder = Decoder::new(IdSet::of_ids(key, Vec::new(), 0), 0);
    assert_eq!(decoder.receive(&symbols), Ok(DecoderStatus::More));
    assert!(decoder.difference().is_none());
}

/// One flipped bit in any part of a symbol, and the difference is never taken for known.
#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn a_damaged_symbol_is_never_decoded() {
    let key = ExchangeKey::new([7; 16]);
    let (here, there) = sets(key, 50, 5, 5);
    let symbols = Encoder::new(there, 0).symbols(0..64).to_vec();
    let decoded = |symbols: &[CodedSymbol]| {
        Decoder::new(here.clone(), 0).receive(symbols) == Ok(DecoderStatus::Decoded)
    };
    assert!(decoded(&symbols));
    for index in 0..symbols.len() {
        for bit in [0, 1, 31] {
            let mut damaged = symbols.clone();
            damaged[index].sum ^= 1 << bit;
            assert!(!decoded(&damaged));
            damaged[index] = symbols[index];
            damaged[index].check ^= 1 << bit;
            assert!(!decoded(&damaged));
            damaged[index] = symbols[index];
            damaged[index].count ^= 1 << bit;
            assert!(!decoded(&damaged));
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn a_difference_of_100_000_is_decoded_exactly() {
    let key = ExchangeKey::new([6; 16]);
    let (here, there) = sets(key, 20_000, 30_000, 70_000);
    let (mut encoder, mut decoder) =
        (Encoder::new(there.clone(), 0), Decoder::new(here.clone(), 0));
    let step = 1_000;
    let mut sent = 0;
    while decoder.receive(encoder.symbols(sent..sent + step)).unwrap() == DecoderStatus::More {
        sent += step;
    }
    // 1.35 symbols each, with a standard deviation of 0.005: a step more, and six deviations.
    assert!(sent < 140_000, "{sent}");
    let mut difference = decoder.difference().unwrap().clone();
    difference.only_here.sort_unstable();
    difference.only_there.sort_unstable();
    let without = |one: &IdSet, other: &IdSet| -> Vec<_> {
        one.ids().iter().copied().filter(|&id| !other.contains(id)).collect()
    };
    assert_eq!(difference.only_here, without(&here, &there));
    assert_eq!(difference.only_there, without(&there, &here));
}
