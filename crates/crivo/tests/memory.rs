//! Where there is no memory, what can fail says so, and has changed nothing.
//!
//! Every constructor, loader, union and build runs under a limit of the address space, that is raised
//! step by step until it succeeds. Whatever lies in between must be an error that names the memory: not
//! a panic, and not the end of the process. As that could not be told from inside, the operations run in
//! a process of their own: this test program, started again for its ignored test.
//!
//! Tables and whatever else grows with keys or files are asked for with care. Small things are not,
//! such as the text of an error: a reserve in the heap keeps them out of this.

#![cfg(all(target_os = "linux", target_env = "gnu", not(miri)))]

use std::cell::Cell;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crivo::codec::LoadOptions;
use crivo::filter::growing::Stage;
use crivo::filter::{
    AnyFilter, AtomicBloom, Bloom, Fuse, FuseOptions, Growing, GrowingBlocked, GrowingChain, Kind,
    OperationError, Quotient, Spec,
};
use crivo::{Digest, KeyHasher};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// By what share of itself the child raises the limit, at least by a page: one in so many.
const SHARE: &str = "CRIVO_TEST_MEMORY_SHARE";

const PAGE: u64 = 4096;

/// From this size on, the allocator asks the system for each piece of memory by itself.
const LARGE: usize = 1 << 17;

/// Enough that tables are [`LARGE`], and that a fuse filter is worth a second thread.
const KEYS: u64 = 300_000;

const FPR: f64 = 1e-4;

fn run_child(share: u64) {
    // What the heap does not need it gives back at once, or the next operation would find it there.
    let tunables = format!(
        "glibc.malloc.mmap_threshold={LARGE}:glibc.malloc.trim_threshold={PAGE}:\
         glibc.malloc.top_pad=0:glibc.malloc.arena_max=1"
    );
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "child", "--nocapture", "--test-threads=1"])
        .env(SHARE, share.to_string())
        .env("GLIBC_TUNABLES", tunables)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let last: Vec<&str> = text.lines().rev().take(3).collect();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {last:?}\n{errors}", output.status);
    assert!(text.contains("1 passed"), "{last:?}");
}

#[test]
fn too_little_memory_is_an_error_that_changes_nothing() {
    run_child(8);
}

#[test]
#[ignore = "takes minutes: the same with limits close to each other"]
fn a_little_too_little_memory_is_an_error_that_changes_nothing() {
    run_child(512);
}

/// The limits of a child.
struct Limits {
    share: u64,
    /// How many operations that take memory were tried, and how many of them never failed.
    tried: Cell<u32>,
    never_failed: Cell<u32>,
    /// Between these blocks of the heap is room for small things, and for nothing large.
    _reserve: Vec<Vec<u8>>,
}

impl Limits {
    fn new(share: u64) -> Self {
        let mut reserve: Vec<_> = (0..65).map(|_| Vec::with_capacity(LARGE / 2)).collect();
        std::hint::black_box(&mut reserve);
        reserve.iter_mut().skip(1).step_by(2).for_each(|block| *block = Vec::new());
        Self { share, tried: Cell::new(0), never_failed: Cell::new(0), _reserve: reserve }
    }

    /// Runs `run` on what `prepare` gives, with more and more memory until it succeeds, and returns
    /// how often it failed.
    fn raise<T>(
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
    fn raise_from_failure<T>(
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
    fn assert_that_they_limit(&self) {
        let (tried, never_failed) = (self.tried.get(), self.never_failed.get());
        assert!(never_failed * 4 < tried, "{never_failed} of {tried} operations take no memory");
    }
}

/// Runs `run` with that many bytes of address space more than there are now.
fn limited<T>(more: u64, run: impl FnOnce() -> T) -> T {
    let before = getrlimit(Resource::As);
    let limit = Rlimit { current: Some(address_space() + more), maximum: before.maximum };
    setrlimit(Resource::As, limit).unwrap();
    let result = run();
    setrlimit(Resource::As, before).unwrap();
    result
}

/// How many bytes of address space this process has.
fn address_space() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmSize:")).unwrap();
    let kibibytes: u64 = line.trim().trim_end_matches(" kB").parse().unwrap();
    kibibytes << 10
}

/// Whether the error, or one of its causes, is about memory.
fn names_memory(error: &(dyn Error + 'static)) -> bool {
    std::iter::successors(Some(error), |&error| error.source()).any(|error| {
        let text = error.to_string();
        text.contains("no memory") || text.contains("Cannot allocate memory")
    })
}

fn digests(keys: std::ops::Range<u64>) -> Vec<Digest> {
    keys.map(|key| KeyHasher::default().digest(&key)).collect()
}

fn spec(kind: Kind) -> Spec {
    Spec::for_fpr(kind, KEYS, FPR).unwrap()
}

fn filled(kind: Kind, keys: std::ops::Range<u64>) -> AnyFilter {
    spec(kind).build_from(digests(keys), KeyHasher::default()).unwrap()
}

fn contains_all(filter: &AnyFilter, keys: std::ops::Range<u64>) {
    for key in keys {
        assert!(filter.contains(&key), "{key} is not in {filter:?}");
    }
}

/// The filter in a file, mapped: its first change copies it.
fn mapped(path: &Path) -> AnyFilter {
    // SAFETY: nobody changes the files of this test.
    #[expect(unsafe_code, reason = "mapping is")]
    let mapped = unsafe { LoadOptions::new().map::<AnyFilter>(path) };
    mapped.unwrap().into_filter()
}

#[test]
#[ignore = "started by the other tests, in a process of its own"]
fn child() {
    let Ok(share) = std::env::var(SHARE) else { return };
    let limits = Limits::new(share.parse().unwrap());
    for kind in Kind::ALL {
        building(&limits, kind);
        loading(&limits, kind);
        merging(&limits, kind);
    }
    expanding(&limits);
    sharing(&limits);
    solving(&limits);
    growing(&limits, "growing", &Growing::new(KEYS, FPR).unwrap());
    growing(&limits, "growing-blocked", &GrowingBlocked::new(KEYS, FPR).unwrap());
    limits.assert_that_they_limit();
}

fn building(limits: &Limits, kind: Kind) {
    if kind.capabilities().insert {
        let spec = Spec::for_fpr(kind, 4 * KEYS, FPR).unwrap();
        let new = |()| Ok(spec.build(KeyHasher::default()).map(drop)?);
        limits.raise_from_failure(&format!("new {kind}"), || (), new);
    }
    let build = |digests| {
        let filter = spec(kind).build_from(digests, KeyHasher::default())?;
        contains_all(&filter, 0..KEYS);
        Ok(())
    };
    limits.raise_from_failure(&format!("build {kind}"), || digests(0..KEYS), build);
}

fn file_of(kind: Kind, filter: &AnyFilter) -> PathBuf {
    let name = format!("memory-{}-{kind}.crivo", std::process::id());
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    filter.save(&path).unwrap();
    path
}

fn loading(limits: &Limits, kind: Kind) {
    let filter = filled(kind, 0..KEYS);
    let bytes = filter.to_bytes();
    let path = file_of(kind, &filter);
    let from_bytes = |()| {
        assert!(AnyFilter::from_bytes(&bytes)? == filter);
        Ok(())
    };
    limits.raise_from_failure(&format!("{kind} from bytes"), || (), from_bytes);
    let read_from = |()| {
        assert!(AnyFilter::read_from(&bytes[..])? == filter);
        Ok(())
    };
    limits.raise_from_failure(&format!("{kind} from a stream"), || (), read_from);
    let load = |()| {
        assert!(AnyFilter::load(&path)? == filter);
        Ok(())
    };
    limits.raise_from_failure(&format!("{kind} from a file"), || (), load);
    let map = |()| {
        // SAFETY: nobody changes the files of this test.
        #[expect(unsafe_code, reason = "mapping is")]
        let mapped = unsafe { LoadOptions::new().map::<AnyFilter>(&path) }?;
        assert!(*mapped == filter);
        Ok(())
    };
    limits.raise_from_failure(&format!("{kind} from a mapped file"), || (), map);
    fs::remove_file(path).unwrap();
}

/// Unions and intersections, of filters that own their tables and of mapped ones.
fn merging(limits: &Limits, kind: Kind) {
    let (ours, theirs) = (filled(kind, 0..KEYS / 3), filled(kind, KEYS / 3..2 * KEYS / 3));
    let path = file_of(kind, &ours);
    type Merge = fn(&mut AnyFilter, &AnyFilter) -> Result<(), OperationError>;
    let operations: [(&str, Merge); 2] =
        [("union", AnyFilter::union_with), ("intersection", AnyFilter::intersect_with)];
    for (name, merge) in operations {
        if matches!(merge(&mut ours.clone(), &theirs), Err(OperationError::Unsupported { .. })) {
            continue;
        }
        let run = |mut filter: AnyFilter| {
            let merged = merge(&mut filter, &theirs);
            match &merged {
                Ok(()) if name == "union" => contains_all(&filter, 0..2 * KEYS / 3),
                Ok(()) => {}
                Err(_) => assert!(filter == ours, "a failed {name} changed the filter"),
            }
            Ok(merged?)
        };
        limits.raise(&format!("{name} of {kind}"), || ours.clone(), run);
        limits.raise_from_failure(&format!("{name} of mapped {kind}"), || mapped(&path), run);
    }
    fs::remove_file(path).unwrap();
}

fn expanding(limits: &Limits) {
    let mut filter = Quotient::with_remainder_bits(KEYS, 12, KeyHasher::default()).unwrap();
    filter.try_extend(0..KEYS).unwrap();
    let expand = |mut expanded: Quotient| {
        let result = expanded.expand();
        assert!(result.is_ok() || expanded == filter, "a failed expansion changed the filter");
        assert!((0..KEYS).all(|key| expanded.contains(&key)));
        Ok(result?)
    };
    limits.raise_from_failure("expand", || filter.clone(), expand);
}

fn sharing(limits: &Limits) {
    let new = |()| Ok(AtomicBloom::new(KEYS, FPR).map(drop)?);
    limits.raise_from_failure("new atomic", || (), new);
    let mut filter = Bloom::new(KEYS, FPR).unwrap();
    filter.extend(0..KEYS);
    let bytes = filter.to_bytes();
    let load = |()| {
        let filter = AtomicBloom::from_bytes(&bytes)?;
        assert!((0..KEYS).all(|key| filter.contains(&key)));
        Ok(())
    };
    limits.raise_from_failure("atomic from bytes", || (), load);
}

/// A fuse filter is built on several threads where there can be threads, and else on one.
fn solving(limits: &Limits) {
    let expected =
        FuseOptions { threads: Some(1), ..FuseOptions::default() }.build(0..KEYS).unwrap();
    let options = FuseOptions { threads: Some(4), ..FuseOptions::default() };
    let build = |digests| {
        assert!(options.build_digests(digests)? == expected);
        Ok(())
    };
    limits.raise_from_failure("fuse on threads", || digests(0..KEYS), build);
    // Below, at and above the memory that threads take.
    for mebibytes in (8..80).step_by(4).chain([96, 128, 256]) {
        println!("fuse on threads, with {mebibytes} MiB");
        let digests = digests(0..KEYS);
        limited(mebibytes << 20, || build(digests)).unwrap();
    }
    let collect = |()| Ok(Fuse::build(0..KEYS, FPR).map(drop)?);
    limits.raise_from_failure("fuse from keys", || (), collect);
}

/// Insertions never fail: without memory for a stage the filter is overfull, and says so.
fn growing<F: Stage + Clone>(limits: &Limits, name: &str, empty: &GrowingChain<F>) {
    let mut full = empty.clone();
    full.extend(0..KEYS);
    assert_eq!(full.stage_count(), 1);
    let extend = |mut filter: GrowingChain<F>| {
        filter.extend(KEYS..KEYS + KEYS / 4);
        assert!((0..KEYS + KEYS / 4).all(|key| filter.contains(&key)));
        assert_eq!(filter.is_overfull(), filter.stage_count() == 1);
        if filter.is_overfull() { Err("no memory for another stage".into()) } else { Ok(()) }
    };
    limits.raise_from_failure(&format!("growth of {name}"), || full.clone(), extend);
    // Memory that comes back later is used.
    let mut late = full.clone();
    limited(0, || late.extend(KEYS..KEYS + 100));
    let failed = late.is_overfull();
    assert_eq!(failed, late.stage_count() == 1);
    late.extend(KEYS + 100..KEYS + KEYS / 4);
    assert_eq!((late.stage_count(), late.is_overfull()), (2, failed));
    assert!((0..KEYS + KEYS / 4).all(|key| late.contains(&key)));
}
