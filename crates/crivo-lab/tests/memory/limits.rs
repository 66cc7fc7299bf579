//! Less memory than an operation needs, and then more and more.

use std::cell::Cell;
use std::error::Error;
use std::fs;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

pub const PAGE: u64 = 4096;

/// From this size on, the allocator asks the system for each piece of memory by itself.
pub const LARGE: usize = 1 << 17;

/// The limits of a child.
pub struct Limits {
    share: u64,
    /// How many operations that take memory were tried, and how many of them never failed.
    tried: Cell<u32>,
    never_failed: Cell<u32>,
    /// Between these blocks of the heap is room for small things, and for nothing large.
    _reserve: Vec<Vec<u8>>,
}

impl Limits {
    pub fn new(share: u64) -> Self {
        let mut reserve: Vec<_> = (0..65).map(|_| Vec::with_capacity(LARGE / 2)).collect();
        std::hint::black_box(&mut reserve);
        reserve.iter_mut().skip(1).step_by(2).for_each(|block| *block = Vec::new());
        Self { share, tried: Cell::new(0), never_failed: Cell::new(0), _reserve: reserve }
    }

    /// Runs `run` on what `prepare` gives, with more and more memory until it succeeds, and returns
    /// how often it failed.
    pub fn raise<T>(
        &self,
        name: &str,
        mut prepare: impl FnMut() -> T,
        mut run: impl FnMut(T) -> Result<(), Box<dyn Error>>,
    ) -> u32 {
        let mut failures = 0;
        let mut more = 0;
        while more < 1 << 30 {
            // Read by the parent, if it is the last line.
            println!("{name}, with {more} bytes");
            let prepared = prepare();
            match limited(more, || run(prepared)) {
                Ok(()) => return failures,
                Err(error) => assert!(names_memory(&*error), "{name}: {error:?}"),
            }
            failures += 1;
            more += (more / self.share).max(PAGE);
        }
        panic!("{name} fails even with a gigabyte");
    }

    /// The same for what takes memory, and so fails at first, if the allocator has none left over.
    pub fn raise_from_failure<T>(
        &self,
        name: &str,
        prepare: impl FnMut() -> T,
        run: impl FnMut(T) -> Result<(), Box<dyn Error>>,
    ) {
        let failed = self.raise(name, prepare, run) > 0;
        self.tried.set(self.tried.get() + 1);
        self.never_failed.set(self.never_failed.get() + u32::from(!failed));
    }

    /// The allocator may have had room for an operation by chance, but not for many.
    pub fn assert_that_they_limit(&self) {
        let (tried, never_failed) = (self.tried.get(), self.never_failed.get());
        assert!(never_failed * 4 < tried, "{never_failed} of {tried} operations take no memory");
    }
}

/// Runs `run` with that many bytes of address space more than there are now.
pub fn limited<T>(more: u64, run: impl FnOnce() -> T) -> T {
    let before = getrlimit(Resource::As);
    let limit = Rlimit { current: Some(address_space() + more), maximum: before.maximum };
    setrlimit(Resource::As, limit).unwrap();
    let result = run();
    setrlimit(Resource::As, before).unwrap();
    result
}

/// How many bytes of address space this process has.
pub fn address_space() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmSize:")).unwrap();
    let kibibytes: u64 = line.trim().trim_end_matches(" kB").parse().unwrap();
    kibibytes << 10
}

/// Whether the error, or one of its causes, is about memory.
pub fn names_memory(error: &(dyn Error + 'static)) -> bool {
    std::iter::successors(Some(error), |&error| error.source()).any(|error| {
        let text = error.to_string();
        text.contains("no memory") || text.contains("Cannot allocate memory")
    })
}
