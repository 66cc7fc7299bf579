//! Building filters, and sharing one, on two threads beside one.
//!
//! ```text
//! cargo run --release --bin threads [-- KEYS]
//! ```
//!
//! The last column is what two threads gain: 2 is the most that two cores give. Processor time, on all
//! threads together, tells what two threads cost, also where other programs take the cores.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use crivo::filter::{AnyFilter, AtomicBlocked, AtomicBloom, Kind, Spec};
use crivo::{Digest, KeyHasher};
use crivo_bench::{median, number, shuffle, table};

const FPR: f64 = 0.01;
const ROUNDS: usize = 5;

/// What was measured of one way: seconds on the clock, and of processors.
#[derive(Default, Clone)]
struct Times {
    wall: Vec<f64>,
    processor: Vec<f64>,
}

/// One thread and two, in turn. What `prepare` does before each is not measured.
fn compare(
    name: String,
    mut prepare: impl FnMut(),
    mut work: impl FnMut(usize),
    rows: &mut Vec<Vec<String>>,
) {
    let mut times = [Times::default(), Times::default()];
    for round in 0..=ROUNDS {
        let mut order = [1, 2];
        order.rotate_left(round % 2);
        for threads in order {
            prepare();
            let (start, processor) = (Instant::now(), processor_time());
            work(threads);
            let elapsed = (start.elapsed(), processor_time().saturating_sub(processor));
            // The first round warms up.
            if round > 0 {
                times[threads - 1].wall.push(elapsed.0.as_secs_f64());
                times[threads - 1].processor.push(elapsed.1.as_secs_f64());
            }
        }
    }
    let [one, two] = times.map(|times| (median(times.wall), median(times.processor)));
    rows.push(vec![
        name,
        format!("{:.0}", 1e3 * one.0),
        format!("{:.0}", 1e3 * two.0),
        format!("{:.2}×", two.1 / one.1),
        format!("{:.2}×", one.0 / two.0),
    ]);
}

/// Processor time of this process so far, on all threads, in hundredths of a second; zero where the
/// system does not tell.
fn processor_time() -> Duration {
    let ticks = || -> Option<u64> {
        let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
        // The name of the program, in brackets, may contain spaces.
        let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
        let mut next = || fields.next()?.parse::<u64>().ok();
        Some(next()? + next()?)
    };
    Duration::from_millis(10 * ticks().unwrap_or(0))
}

/// Half of the items to each of two threads, or all to one.
fn share<T: Sync>(items: &[T], threads: usize, work: impl Fn(&[T]) + Sync) {
    std::thread::scope(|scope| {
        for share in items.chunks(items.len().div_ceil(threads)) {
            scope.spawn(|| work(share));
        }
    });
}

fn build<K: crivo::Key + Sync>(what: &str, keys: &[K], rows: &mut Vec<Vec<String>>) {
    let hasher = KeyHasher::default();
    for kind in Kind::ALL {
        let spec = Spec::for_fpr(kind, keys.len() as u64, FPR).expect("a filter");
        let mut last: Option<AnyFilter> = None;
        let mut work = |threads| {
            let filter = spec.build_on_threads(keys, Some(threads), hasher).expect("memory");
            assert!(last.as_ref().is_none_or(|last| last.key_count() == filter.key_count()));
            last = Some(filter);
        };
        compare(format!("build {kind}, {what}"), || (), &mut work, rows);
        let filter = last.expect("it was built");
        assert!(
            keys.iter().step_by(997).all(|key| filter.contains(key)),
            "{kind}: a false negative"
        );
    }
}

macro_rules! shared {
    ($atomic:ident, $digests:ident, $absent:ident, $rows:ident) => {
        let name = stringify!($atomic);
        let filter = $atomic::new($digests.len() as u64, FPR).expect("memory");
        let filter = RefCell::new(filter);
        let insert = |threads| {
            let filter = &*filter.borrow();
            share($digests, threads, |digests| filter.insert_batch(digests));
        };
        compare(format!("{name}: insert"), || filter.borrow_mut().clear(), insert, $rows);
        let filter = filter.into_inner();
        let ask = |threads| {
            share($digests, threads, |digests| {
                assert!(digests.iter().all(|&digest| filter.contains_digest(digest)));
            });
        };
        compare(format!("{name}: hits"), || (), ask, $rows);
        let ask = |threads| {
            share($absent, threads, |digests| {
                let found = digests.iter().filter(|&&digest| filter.contains_digest(digest));
                assert!(std::hint::black_box(found.count()) < digests.len() / 20);
            });
        };
        compare(format!("{name}: misses"), || (), ask, $rows);
    };
}

fn main() {
    let count =
        std::env::args().nth(1).map_or(Ok(10_000_000), |count| count.replace('_', "").parse());
    let Ok(count) = count else {
        eprintln!("usage: threads [KEYS]");
        std::process::exit(2);
    };
    let mut keys: Vec<u64> = (0..count).map(number).collect();
    shuffle(&mut keys);
    let head = ["", "1 thread, ms", "2 threads, ms", "processor time", "speed"].map(String::from);
    let mut rows = vec![head.to_vec()];
    build("u64", &keys, &mut rows);
    {
        let text: Vec<String> = keys.iter().map(|key| format!("user/{key:x}")).collect();
        build("text", &text, &mut rows);
    }
    let hasher = KeyHasher::default();
    let digests: &[Digest] = &keys.iter().map(|key| hasher.digest(key)).collect::<Vec<_>>();
    let absent: &[Digest] =
        &(count..2 * count).map(|i| hasher.digest(&number(i))).collect::<Vec<_>>();
    {
        let rows = &mut rows;
        shared!(AtomicBloom, digests, absent, rows);
        shared!(AtomicBlocked, digests, absent, rows);
    }
    println!("{count} keys");
    print!("{}", table(&rows));
}
