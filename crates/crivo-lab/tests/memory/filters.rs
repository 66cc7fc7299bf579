//! The filters of the library.

use std::fs;
use std::path::{Path, PathBuf};

use crivo::codec::LoadOptions;
use crivo::filter::growing::Stage;
use crivo::filter::{
    AnyFilter, AtomicBloom, Bloom, Fuse, FuseOptions, Growing, GrowingBlocked, GrowingChain, Kind,
    OperationError, Quotient, Spec,
};
use crivo::{Digest, KeyHasher};

use crate::limits::{Limits, limited};
use crate::{FPR, KEYS};

pub fn all(limits: &Limits) {
    for kind in Kind::ALL {
        building(limits, kind);
        loading(limits, kind);
        merging(limits, kind);
    }
    expanding(limits);
    sharing(limits);
    solving(limits);
    growing(limits, "growing", &Growing::new(KEYS, FPR).unwrap());
    growing(limits, "growing-blocked", &GrowingBlocked::new(KEYS, FPR).unwrap());
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
    let build = |keys: Vec<u64>| {
        let filter = spec(kind).build_on_threads(&keys, Some(3), KeyHasher::default())?;
        contains_all(&filter, 0..KEYS);
        Ok(())
    };
    let name = format!("build {kind} on threads");
    limits.raise_from_failure(&name, || (0..KEYS).collect(), build);
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
