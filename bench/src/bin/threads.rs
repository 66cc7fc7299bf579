//! Building filters, and sharing one, on two threads beside one.
//!
//! ```text
//! cargo run --release --bin threads [-- [--only NAME]... [KEYS]]
//! ```
//!
//! With `--only` what has NAME in its name: `--only "build blocked, u64"`.
//!
//! "Speed" is what two threads gain. It may be more than 2, because several threads sort their marks where one fetches
//! memory ahead. Processor time, on all threads together, tells what two threads cost, also where other programs take the
//! cores.
//!
//! A machine with two processors does not always have [two cores](crivo_bench::cores) to give, nor always two that share
//! a cache: so both are measured before and after every round, which waits for two cores for up to two seconds. The
//! last columns tell in how many rounds there were two cores, near to each other or far, and what two threads gained in
//! these rounds. There are rounds until nine had two cores that are near, or eighteen in all; what is measured is told at
//! once, and in a table at the end. Memory is [at hand](crivo_bench::memory).

use std::cell::RefCell;
use std::time::{Duration, Instant};

use crivo::filter::{AnyFilter, AtomicBlocked, AtomicBloom, Kind, Spec};
use crivo::{Digest, KeyHasher};
use crivo_bench::cores::Cores;
use crivo_bench::{median, memory, number, shuffle, table};

const FPR: f64 = 0.01;
/// As many rounds with two cores near to each other are wanted, and more than these are not tried.
const ROUNDS: usize = 9;
const MAX_ROUNDS: usize = 18;

/// What was measured in one round: on one thread and on two.
struct Round {
    /// Seconds on the clock.
    wall: [f64; 2],
    /// Seconds of processors.
    processor: [f64; 2],
    /// Whether there were two cores, before and after, and whether these were near.
    cores: Option<Distance>,
}

#[derive(Clone, Copy, PartialEq)]
enum Distance {
    Near,
    Far,
}

impl Round {
    fn gain(&self) -> f64 {
        self.wall[0] / self.wall[1]
    }
}

/// What was measured so far.
struct Report {
    cores: Cores,
    /// Parts of the names of what is to be measured; none for everything.
    only: Vec<String>,
    rows: Vec<Vec<String>>,
    /// What is allocated at once, at the most.
    bytes: usize,
}

impl Report {
    fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|part| name.contains(part.as_str()))
    }
}

/// One thread and two, in turn. What `prepare` does before each is not measured.
fn compare(
    name: String,
    mut prepare: impl FnMut(),
    mut work: impl FnMut(usize),
    report: &mut Report,
) {
    if !report.wants(&name) {
        return;
    }
    let mut rounds: Vec<Round> = Vec::new();
    for round in 0..=MAX_ROUNDS {
        let near = rounds.iter().filter(|round| round.cores == Some(Distance::Near));
        if near.count() == ROUNDS {
            break;
        }
        let mut order = [1, 2];
        order.rotate_left(round % 2);
        let (mut wall, mut processor) = ([0.0; 2], [0.0; 2]);
        let before = (report.cores.wait(), report.cores.round_trip());
        for threads in order {
            prepare();
            memory::warm(report.bytes);
            let (start, processor_start) = (Instant::now(), processor_time());
            work(threads);
            wall[threads - 1] = start.elapsed().as_secs_f64();
            let used = processor_time().saturating_sub(processor_start);
            processor[threads - 1] = used.as_secs_f64();
        }
        let after = (report.cores.gain(), report.cores.round_trip());
        let are_two = [before, after].iter().all(|cores| Cores::are_two(cores.0));
        let [near_before, near_after] = [before, after].map(|cores| Cores::are_near(cores.1));
        let distance = if near_before { Distance::Near } else { Distance::Far };
        // Where no message has come back, how far they are is not known.
        let is_known = [before, after].iter().all(|cores| cores.1.is_finite());
        let cores = (are_two && is_known && near_before == near_after).then_some(distance);
        // The first round warms up.
        if round > 0 {
            rounds.push(Round { wall, processor, cores });
        }
    }
    let of = |value: fn(&Round) -> f64| median(rounds.iter().map(value).collect());
    let mut row = vec![
        name,
        format!("{:.0}", 1e3 * of(|round| round.wall[0])),
        format!("{:.0}", 1e3 * of(|round| round.wall[1])),
        format!("{:.2}×", of(|round| round.processor[1]) / of(|round| round.processor[0])),
        format!("{:.2}×", of(Round::gain)),
    ];
    for distance in [Distance::Near, Distance::Far] {
        let these = rounds.iter().filter(|round| round.cores == Some(distance));
        let gains: Vec<f64> = these.map(Round::gain).collect();
        row.push(format!("{} of {}", gains.len(), rounds.len()));
        row.push(if gains.is_empty() {
            "–".to_owned()
        } else {
            format!("{:.2}×", median(gains))
        });
    }
    eprintln!("{}", row.join("  "));
    report.rows.push(row);
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

fn build<K: crivo::Key + Sync>(what: &str, keys: &[K], report: &mut Report) {
    let hasher = KeyHasher::default();
    for kind in Kind::ALL {
        let spec = Spec::for_fpr(kind, keys.len() as u64, FPR).expect("a filter");
        let last: RefCell<Option<AnyFilter>> = RefCell::new(None);
        let work = |threads| {
            let filter = spec.build_on_threads(keys, Some(threads), hasher).expect("memory");
            *last.borrow_mut() = Some(filter);
        };
        // To give the last one's memory back is not building.
        let forget = || drop(last.borrow_mut().take());
        compare(format!("build {kind}, {what}"), forget, work, report);
        let Some(filter) = last.into_inner() else { continue };
        assert!(
            keys.iter().step_by(997).all(|key| filter.contains(key)),
            "{kind}: a false negative"
        );
    }
}

macro_rules! shared {
    ($atomic:ident, $digests:ident, $absent:ident, $report:ident) => {
        let name = stringify!($atomic);
        let filter = $atomic::new($digests.len() as u64, FPR).expect("memory");
        let filter = RefCell::new(filter);
        let insert = |threads| {
            let filter = &*filter.borrow();
            share($digests, threads, |digests| filter.insert_batch(digests));
        };
        compare(format!("{name}: insert"), || filter.borrow_mut().clear(), insert, $report);
        let filter = filter.into_inner();
        // Also if that was not wanted.
        filter.insert_batch($digests);
        let ask = |threads| {
            share($digests, threads, |digests| {
                assert!(digests.iter().all(|&digest| filter.contains_digest(digest)));
            });
        };
        compare(format!("{name}: hits"), || (), ask, $report);
        let ask = |threads| {
            share($absent, threads, |digests| {
                let found = digests.iter().filter(|&&digest| filter.contains_digest(digest));
                assert!(std::hint::black_box(found.count()) < digests.len() / 20);
            });
        };
        compare(format!("{name}: misses"), || (), ask, $report);
    };
}

fn main() {
    let (mut only, mut count) = (Vec::new(), Some(10_000_000));
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--only" => match arguments.next() {
                Some(name) => only.push(name),
                None => count = None,
            },
            number => count = number.replace('_', "").parse().ok(),
        }
    }
    let Some(count) = count else {
        eprintln!("usage: threads [--only NAME]... [KEYS]");
        std::process::exit(2);
    };
    let times = ["", "1 thread, ms", "2 threads, ms", "processor time"];
    let gains = ["speed", "near cores", "speed then", "far cores", "speed then"];
    let head = times.into_iter().chain(gains).map(String::from).collect();
    let bytes = memory::for_keys(count as usize);
    let mut report = Report { cores: Cores::new(), only, rows: vec![head], bytes };
    let mut keys: Vec<u64> = (0..count).map(number).collect();
    shuffle(&mut keys);
    build("u64", &keys, &mut report);
    if Kind::ALL.iter().any(|kind| report.wants(&format!("build {kind}, text"))) {
        let text: Vec<String> = keys.iter().map(|key| format!("user/{key:x}")).collect();
        build("text", &text, &mut report);
    }
    let hasher = KeyHasher::default();
    let digests: &[Digest] = &keys.iter().map(|key| hasher.digest(key)).collect::<Vec<_>>();
    let absent: &[Digest] =
        &(count..2 * count).map(|i| hasher.digest(&number(i))).collect::<Vec<_>>();
    {
        let report = &mut report;
        shared!(AtomicBloom, digests, absent, report);
        shared!(AtomicBlocked, digests, absent, report);
    }
    println!("{count} keys");
    print!("{}", table(&report.rows));
}
