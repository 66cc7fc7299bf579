//! Whether two threads have a core each, and how far these are from each other.
//!
//! Two processors of a virtual machine may be shared with other machines, or be two threads of one core, and be so at one
//! moment and not at the next. Multiplications need nothing but a core: how long they take on both processors at once,
//! beside the least that they ever took, tells how much of two cores there is.
//!
//! The two cores may share a cache or be on different sockets, and that may change, too. What one has written takes ten
//! times as long to the other then. How long a message takes to the other core and back tells that.
//!
//! On a machine with more than two processors, others than these two may do the work that is measured.

use std::hint::{black_box, spin_loop};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Two threads that multiply this many times as fast as one have a core each.
const TWO_CORES: f64 = 1.9;

/// A message to a core that shares a cache with this one, and one back, take less than so many nanoseconds: about 50 to
/// 100 there, 200 or more elsewhere.
const NEAR: f64 = 150.0;

/// So many messages are sent and answered at a time, so often. The least time counts: others may have the cores meanwhile.
const MESSAGES: u32 = 500;
const MESSAGE_TRIALS: usize = 5;

/// The clock is read after so many looks: it takes longer than they do.
const LOOKS: u32 = 1 << 10;

/// So long others may have the cores.
const PATIENCE: Duration = Duration::from_secs(2);

/// So often it is measured how fast one thread can be, before anything is made of that.
const TRIALS: usize = 20;

/// The first two processors that this process may use.
pub struct Cores {
    processors: [Option<usize>; 2],
    /// The least seconds that the multiplications of a thread ever took.
    fastest: f64,
}

impl Cores {
    /// Measures how fast one thread can be.
    pub fn new() -> Self {
        let mut cores = Self { processors: first_two(), fastest: f64::INFINITY };
        (0..TRIALS).for_each(|_| {
            cores.gain();
        });
        cores
    }

    /// How many times as much two threads multiply as one, in the same time: each on a processor of its own, where the
    /// system lets them choose.
    pub fn gain(&mut self) -> f64 {
        let arrived = AtomicUsize::new(0);
        let work = |processor: Option<usize>| {
            processor.into_iter().for_each(go_to);
            arrived.fetch_add(1, Ordering::AcqRel);
            let began = Instant::now();
            // The other may have found no thread.
            while arrived.load(Ordering::Acquire) < 2 && began.elapsed() < PATIENCE {
                spin_loop();
            }
            let start = Instant::now();
            multiply();
            [start, Instant::now()]
        };
        let [one, other] = std::thread::scope(|scope| {
            let threads = self.processors.map(|processor| scope.spawn(move || work(processor)));
            threads.map(|thread| thread.join().expect("a thread that multiplies"))
        });
        for [start, end] in [one, other] {
            self.fastest = self.fastest.min((end - start).as_secs_f64());
        }
        // From the first start to the last end: two that take turns on one core do not overlap.
        let both = one[1].max(other[1]) - one[0].min(other[0]);
        2.0 * self.fastest / both.as_secs_f64()
    }

    /// Nanoseconds that a message takes to the other core and back; infinitely many if there is no other, or it takes too
    /// long.
    pub fn round_trip(&self) -> f64 {
        let [sent, answered] = [const { Apart(AtomicU32::new(0)) }; 2];
        let [one @ Some(_), other @ Some(_)] = self.processors else { return f64::INFINITY };
        let began = Instant::now();
        let nanoseconds = std::thread::scope(|scope| {
            scope.spawn(|| {
                other.into_iter().for_each(go_to);
                for message in 1..=MESSAGES * MESSAGE_TRIALS as u32 {
                    if !sent.has_come(message, began) {
                        return;
                    }
                    answered.0.store(message, Ordering::Release);
                }
            });
            let sender = scope.spawn(|| {
                one.into_iter().for_each(go_to);
                let mut message = 0;
                let times = [(); MESSAGE_TRIALS].map(|()| {
                    let start = Instant::now();
                    for _ in 0..MESSAGES {
                        message += 1;
                        sent.0.store(message, Ordering::Release);
                        if !answered.has_come(message, began) {
                            return f64::INFINITY;
                        }
                    }
                    start.elapsed().as_nanos() as f64
                });
                times.into_iter().fold(f64::INFINITY, f64::min)
            });
            sender.join().expect("a thread that sends messages")
        });
        nanoseconds / f64::from(MESSAGES)
    }

    /// Whether a round trip is one between cores that share a cache.
    pub fn are_near(round_trip: f64) -> bool {
        round_trip < NEAR
    }

    /// Waits until two threads have a core each, but not for long. The last gain.
    pub fn wait(&mut self) -> f64 {
        let start = Instant::now();
        loop {
            let gain = self.gain();
            if Self::are_two(gain) || start.elapsed() > PATIENCE {
                return gain;
            }
            std::thread::sleep(PATIENCE / 20);
        }
    }

    /// Whether a gain is that of two cores.
    pub fn are_two(gain: f64) -> bool {
        gain >= TWO_CORES
    }
}

impl Default for Cores {
    fn default() -> Self {
        Self::new()
    }
}

/// In a cache line of its own, and in one that is not fetched together with the next.
#[repr(align(128))]
struct Apart(AtomicU32);

impl Apart {
    /// Waits for a message, but not for long.
    fn has_come(&self, message: u32, began: Instant) -> bool {
        for look in 1u32.. {
            if self.0.load(Ordering::Acquire) == message {
                return true;
            }
            spin_loop();
            if look.is_multiple_of(LOOKS) && began.elapsed() > PATIENCE {
                break;
            }
        }
        false
    }
}

fn multiply() {
    let mut numbers = [1u64, 2, 3, 4, 5, 6, 7, 8];
    for _ in 0..1_500_000 {
        for number in &mut numbers {
            *number = black_box(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        }
    }
}

#[cfg(target_os = "linux")]
fn first_two() -> [Option<usize>; 2] {
    use rustix::thread::{CpuSet, sched_getaffinity};

    let allowed = sched_getaffinity(None).unwrap_or_else(|_| CpuSet::new());
    let mut processors = (0..CpuSet::MAX_CPU).filter(|&processor| allowed.is_set(processor));
    [processors.next(), processors.next()]
}

#[cfg(target_os = "linux")]
fn go_to(processor: usize) {
    use rustix::thread::{CpuSet, sched_setaffinity};

    let mut only = CpuSet::new();
    only.set(processor);
    // Where that is not allowed, the system finds a place.
    let _ = sched_setaffinity(None, &only);
}

#[cfg(not(target_os = "linux"))]
fn first_two() -> [Option<usize>; 2] {
    [None, None]
}

#[cfg(not(target_os = "linux"))]
fn go_to(_: usize) {}
