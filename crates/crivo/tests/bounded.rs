//! Formulas and sizes take a bounded number of steps, for any arguments, and give something sensible.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestRunner};

use crivo::ParameterError;
use crivo::filter::{Bytes, Kind, Spec};
use crivo::theory::blocked::{Block, Positions};
use crivo::theory::fuse::Arity;
use crivo::theory::{
    blocked, bloom, compaction, counting, cuckoo, digest, estimate, fuse, interval, limits,
    quotient, rejection, special, split_block,
};

/// Nothing but a hang computes for as long: all take milliseconds.
const HANG: Duration = Duration::from_secs(5);

/// The time that this thread has computed so far; where that is not known, none. The time of a clock
/// would include that of other programs.
fn time_computed() -> Duration {
    let statistics = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = statistics.split(' ').next().and_then(|number| number.parse().ok());
    Duration::from_nanos(nanoseconds.unwrap_or(0))
}

/// Arguments for all functions, each of which takes some.
#[derive(Debug, Clone)]
struct Arguments {
    numbers: [u64; 5],
    small: [u32; 2],
    reals: [f64; 3],
    positions: Positions,
    arity: Arity,
}

fn arguments() -> impl Strategy<Value = Arguments> {
    let extremes = [0, 1, 2, 3, 64, 1 << 32, 1 << 53, 1 << 58, 1 << 63, u64::MAX - 1, u64::MAX];
    let number = prop_oneof![
        prop::sample::select(extremes.to_vec()),
        (0u32..64, any::<u64>()).prop_map(|(shift, number)| number >> shift),
    ];
    let edges = [0, 1, 2, 8, 32, 33, 62, 63, 64, 65, 254, 255, 256, 512, 65_536, u32::MAX];
    let small = prop_oneof![prop::sample::select(edges.to_vec()), 1u32..=32, any::<u32>()];
    let near = [
        0.0,
        f64::MIN_POSITIVE,
        1e-300,
        1e-100,
        1e-20,
        0.5,
        1.0 - f64::EPSILON / 2.0,
        1.0,
        1.5,
        1e300,
        f64::INFINITY,
        f64::NAN,
        -1.0,
    ];
    let real = prop_oneof![
        prop::sample::select(near.to_vec()),
        0.0..1.0,
        (-320.0..3.0f64).prop_map(|exponent| 10f64.powf(exponent)),
    ];
    let positions = prop::sample::select(
        &[Positions::Independent, Positions::Distinct, Positions::Textbook][..],
    );
    let arity = prop::sample::select(&[Arity::Three, Arity::Four][..]);
    let numbers = prop::array::uniform5(number);
    (numbers, prop::array::uniform2(small), prop::array::uniform3(real), positions, arity).prop_map(
        |(numbers, small, reals, positions, arity)| Arguments {
            numbers,
            small,
            reals,
            positions,
            arity,
        },
    )
}

/// A result that is a probability, if it is one at all.
fn probability(result: Result<f64, ParameterError>) -> bool {
    result.is_ok_and(|value| !(0.0..=1.0).contains(&value))
}

/// A result that is a size or a count, if it is one at all.
fn size(result: Result<f64, ParameterError>) -> bool {
    result.is_ok_and(|value| value.is_nan() || value < 0.0)
}

/// Calls every function, and gives the names to `name` before. The answer is the name of one whose
/// result is impossible.
fn call_all(arguments: &Arguments, mut name: impl FnMut(&'static str)) -> Option<&'static str> {
    let Arguments { numbers: [a, b, c, d, e], small: [j, k], reals: [x, y, z], positions, arity } =
        *arguments;
    let block = Block { bits: j, positions };
    let mut wrong = None;
    let mut call = |called: &'static str, is_wrong: &dyn Fn() -> bool| {
        name(called);
        if is_wrong() {
            wrong = Some(called);
        }
    };
    call("bloom::fpr", &|| probability(bloom::fpr(a, b, k)));
    call("bloom::fpr_bound", &|| probability(bloom::fpr_bound(a, b, k)));
    call("bloom::fpr_exact", &|| probability(bloom::fpr_exact(a, b, k)));
    call("bloom::best_probes_real", &|| size(bloom::best_probes_real(a, b)));
    call("bloom::best_probes_floor", &|| bloom::best_probes_floor(a, b).is_ok_and(|k| k == 0));
    call("bloom::best_probes", &|| bloom::best_probes(a, b).is_ok_and(|k| k == 0));
    call("bloom::bits", &|| bloom::bits(a, x).is_ok_and(|bits| bits == 0));
    call("bloom::bits_for_probes", &|| bloom::bits_for_probes(a, x, k).is_ok_and(|bits| bits == 0));
    call("bloom::size", &|| bloom::size(a, x).is_ok_and(|size| size.bits == 0));
    call("blocked::fpr", &|| probability(blocked::fpr(block, a, b, k)));
    call("blocked::fpr_at", &|| probability(blocked::fpr_at(block, x, k)));
    call("blocked::best_probes", &|| blocked::best_probes(block, x).is_ok_and(|k| k == 0));
    call("blocked::bits_per_key", &|| size(blocked::bits_per_key(block, x)));
    call("blocked::size", &|| blocked::size(block, a, x).is_ok_and(|size| size.blocks == 0));
    call("blocked::blocks_for_probes", &|| {
        blocked::blocks_for_probes(block, a, x, k).is_ok_and(|blocks| blocks == 0)
    });
    call("split_block::fpr", &|| probability(split_block::fpr(a, b)));
    call("split_block::blocks", &|| split_block::blocks(a, x).is_ok_and(|blocks| blocks == 0));
    call("split_block::keys_in_block", &|| {
        split_block::keys_in_block(k)
            .is_some_and(|estimate| estimate.keys.is_nan() || estimate.keys < 0.0)
    });
    call("counting::reach", &|| probability(counting::reach(a, b, k, c)));
    call("counting::overflow", &|| probability(counting::overflow(a, b, k, j)));
    call("counting::overflow_bound", &|| probability(counting::overflow_bound(a, b, k, j)));
    call("counting::expected_saturated", &|| size(counting::expected_saturated(a, b, k, j)));
    call("cuckoo::fpr", &|| probability(cuckoo::fpr(a, k, x)));
    call("cuckoo::mean_fpr", &|| probability(cuckoo::mean_fpr(a, b, c)));
    call("cuckoo::fpr_bound", &|| probability(cuckoo::fpr_bound(a, k)));
    call("cuckoo::fingerprint_bits", &|| {
        cuckoo::fingerprint_bits(x, k, y).is_ok_and(|bits| !(2..64).contains(&bits))
    });
    call("cuckoo::bits_per_key", &|| size(cuckoo::bits_per_key(x, k, y)));
    call("cuckoo::load_threshold", &|| probability(cuckoo::load_threshold(j, k)));
    call("quotient::fpr", &|| probability(quotient::fpr(k, x)));
    call("quotient::mean_fpr", &|| probability(quotient::mean_fpr(a, k, b)));
    call("quotient::remainder_bits", &|| {
        quotient::remainder_bits(x, y).is_ok_and(|bits| !(1..=64).contains(&bits))
    });
    call("quotient::bits_per_key", &|| size(quotient::bits_per_key(x, y, z)));
    call("fuse::fpr", &|| probability(fuse::fpr(k)));
    call("fuse::width", &|| fuse::width(x).is_ok_and(|width| !(1..=64).contains(&width)));
    call("fuse::layout", &|| {
        fuse::layout(a, arity).is_ok_and(|layout| layout.array_length < layout.segment_count)
    });
    call("fuse::bits_per_key", &|| size(fuse::bits_per_key(a, x, arity)));
    call("digest::floor", &|| !(0.0..=1.0).contains(&digest::floor(a)));
    call("digest::fpr", &|| (0.0..=1.0).contains(&x) && !(0.0..=1.0).contains(&digest::fpr(x, a)));
    call("digest::structure_fpr", &|| probability(digest::structure_fpr(a, x)));
    call("compaction::fpr", &|| probability(compaction::fpr(a, k)));
    call("compaction::hash_bits", &|| compaction::hash_bits(a, x).is_ok_and(|bits| bits == 0));
    call("compaction::collision", &|| probability(compaction::collision(a, k)));
    call("compaction::collision_approximate", &|| {
        probability(compaction::collision_approximate(a, k))
    });
    call("limits::fixed_set", &|| size(limits::fixed_set(x)));
    call("limits::changing_set", &|| size(limits::changing_set(x)));
    call("limits::bloom", &|| size(limits::bloom(x)));
    call("limits::exact_set", &|| size(limits::exact_set(a, b)));
    call("estimate::cardinality", &|| size(estimate::cardinality(a, k, b).map(|it| it.keys)));
    call("estimate::intersection", &|| {
        estimate::intersection(a, k, b, c, d.min(e)).is_ok_and(|it| it.keys.is_nan())
    });
    let ordered = |interval: interval::Interval| {
        let interval::Interval { low, high, .. } = interval;
        !(0.0 <= low && low <= high && high <= 1.0)
    };
    let (successes, trials) = (a.min(b), a.max(b));
    call("interval::wilson", &|| interval::wilson(successes, trials, x).is_ok_and(ordered));
    call("interval::exact", &|| interval::exact(successes, trials, x).is_ok_and(ordered));
    call("rejection::probes_until_clear", &|| size(rejection::probes_until_clear(x)));
    call("rejection::probes_of_absent_key", &|| size(rejection::probes_of_absent_key(x, k)));
    call("rejection::probes_of_rejected_key", &|| size(rejection::probes_of_rejected_key(x, k)));
    call("special::binomial_probability", &|| {
        let (successes, trials) = (successes as f64, trials as f64);
        x > 0.0
            && x < 1.0
            // Some last digits are rounding.
            && !(0.0..=1.0 + 1e-9).contains(&special::binomial_probability(trials, successes, x))
    });
    wrong
}

#[test]
fn every_function_returns_soon_for_any_arguments() {
    let (started, calls) = channel();
    let thread = std::thread::spawn(move || {
        let config = Config { rng_seed: RngSeed::Fixed(1), cases: 200, ..Config::default() };
        TestRunner::new(config).run(&arguments(), |arguments| {
            let (mut begin, mut last) = (time_computed(), "");
            let mut too_long = None;
            let wrong = call_all(&arguments, |name| {
                let now = time_computed();
                if now - begin > HANG {
                    too_long = Some(last);
                }
                (begin, last) = (now, name);
                // The other end is there, or has given up.
                let _ = started.send(name);
            });
            prop_assert_eq!((wrong, too_long), (None, None));
            Ok(())
        })
    });
    // By a clock, which may stand still for the thread: longer than any load of the machine explains.
    let mut running = "nothing";
    loop {
        match calls.recv_timeout(60 * HANG) {
            Ok(name) => running = name,
            Err(RecvTimeoutError::Timeout) => panic!("{running} does not return"),
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    thread.join().expect("the thread does not panic").unwrap();
}

/// Each takes some milliseconds.
#[test]
fn sizing_ends_for_any_input() {
    let timed = |what: &dyn Fn() -> String, size: &dyn Fn()| {
        let begin = time_computed();
        size();
        let taken = time_computed() - begin;
        assert!(taken < HANG, "{} takes {taken:?}", what());
        if taken > Duration::from_millis(20) {
            println!("{} takes {taken:?}", what());
        }
    };
    let keys = [1, 2, 33, 1_000, 1_000_000, 1 << 40, 1_000_000_000_000, 1 << 56, u64::MAX];
    let fprs =
        [f64::MIN_POSITIVE, 1e-300, 5e-20, 1.1e-19, 1e-15, 1e-12, 1e-6, 0.5, 1.0 - f64::EPSILON];
    let budgets = [64, 4_096, 1 << 30, 1 << 50, u64::MAX / 8];
    for kind in Kind::ALL {
        for fpr in fprs {
            for keys in keys {
                timed(&|| format!("{kind}, {keys} keys at {fpr}"), &|| {
                    if let Ok(spec) = Spec::for_fpr(kind, keys, fpr) {
                        assert!(spec.fpr_when_full() <= 1.0);
                        assert!((0.0..=1.0).contains(&spec.fpr_at(u64::MAX)), "{spec:?}");
                    }
                });
            }
            for bytes in budgets {
                timed(&|| format!("{kind}, {bytes} bytes at {fpr}"), &|| {
                    let _ = Spec::for_max_keys(kind, fpr, Bytes(bytes));
                });
            }
        }
        for keys in keys {
            for bytes in budgets {
                timed(&|| format!("{kind}, {keys} keys in {bytes} bytes"), &|| {
                    let _ = Spec::for_memory(kind, keys, Bytes(bytes));
                });
            }
        }
    }
}
