//! `CRIVO_SIMD` forces the instructions of a process, and the answers are those of any other.
//!
//! The variable is read once per process, so each value gets a process of its own: this test program,
//! started again for its ignored test.

use std::process::{Command, Output};

use crivo::Digest;
use crivo::filter::{
    Blocked, BlockedCounting, Filter, GrowingBlocked, Quotient, SplitBlock, blocked,
};

/// What the test below prints before its results.
const MARK: &str = "result: ";

/// What a process says with this value of the variable.
fn started_with(value: Option<&str>) -> Output {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--ignored", "--exact", "child", "--nocapture"]).env_remove("CRIVO_SIMD");
    command.envs(value.map(|value| ("CRIVO_SIMD", value))).output().unwrap()
}

/// The level that was used, and the results.
fn results(value: Option<&str>) -> (String, String) {
    let output = started_with(value);
    let text = String::from_utf8(output.stdout).unwrap();
    let (_, result) = text.split_once(MARK).unwrap_or_else(|| panic!("{value:?}: {text}"));
    let (level, results) = result.lines().next().unwrap().split_once(' ').unwrap();
    assert!(output.status.success(), "{text}");
    (level.to_owned(), results.to_owned())
}

/// The levels that this processor has.
fn levels() -> Vec<&'static str> {
    let mut levels = vec!["scalar"];
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        if is_x86_feature_detected!("avx2") {
            levels.push("avx2");
            let has_avx512 = is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("bmi2");
            if has_avx512 {
                levels.push("avx512");
            }
        }
    }
    if cfg!(all(target_arch = "aarch64", target_endian = "little", not(miri))) {
        levels.push("neon");
    }
    levels
}

#[test]
#[ignore = "started by the other tests, in processes of its own"]
fn child() {
    fn answers(filter: &dyn Filter) -> u64 {
        let digests: Vec<Digest> = (0..9_000u64).map(|key| filter.hasher().digest(&key)).collect();
        let mut hits = vec![false; digests.len()];
        filter.contains_batch(&digests, &mut hits);
        let fold = |sum: Digest, (digest, hit): (&Digest, &bool)| {
            assert_eq!(filter.contains_digest(*digest), *hit);
            Digest::new(sum.get() ^ u64::from(*hit)).remix()
        };
        digests.iter().zip(&hits).fold(Digest::new(0), fold).get()
    }
    let mut results = String::new();
    for fpr in [0.1, 0.01, 1e-6] {
        let mut blocked = Blocked::new(3_000, fpr).unwrap();
        let new = (0..3_000u64).filter(|key| blocked.insert(key)).count();
        let mut growing: GrowingBlocked = GrowingBlocked::new(1_024, fpr).unwrap();
        let new_to_chain = (0..3_000u64).filter(|key| growing.insert(key)).count();
        let mut quotient = Quotient::new(3_000, fpr).unwrap();
        quotient.try_extend(0..3_000u64).unwrap();
        let mut split = SplitBlock::new(3_000, fpr).unwrap();
        let new_to_split = (0..3_000u64).filter(|key| split.insert(key)).count();
        let mut counting = BlockedCounting::new(3_000, fpr).unwrap();
        let new_to_counting = (0..6_000u64).filter(|key| counting.insert(key)).count();
        assert!((3_000..6_000u64).all(|key| counting.remove(&key).is_ok()));
        results += &format!("{new} {new_to_chain} {new_to_split} {new_to_counting}");
        for (filter, bytes) in [
            (&blocked as &dyn Filter, blocked.to_bytes()),
            (&growing, growing.to_bytes()),
            (&split, split.to_bytes()),
            (&counting, counting.to_bytes()),
            (&quotient, quotient.to_bytes()),
        ] {
            let bytes = crivo::KeyHasher::default().digest(&bytes).get();
            results += &format!(" {:x} {bytes:x} ", answers(filter));
        }
    }
    println!("{MARK}{} {results}", blocked::simd_level());
}

#[test]
fn every_level_gives_the_same_answers_and_files() {
    let (best, expected) = results(None);
    assert_eq!(best, *levels().last().unwrap());
    for level in levels() {
        assert_eq!(results(Some(level)), (level.to_owned(), expected.clone()));
    }
    assert_eq!(results(Some("")), (best, expected), "an empty value forces nothing");
}

#[test]
fn a_level_that_is_not_there_is_an_error_that_names_it() {
    let output = started_with(Some("avx1024"));
    assert!(!output.status.success());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("CRIVO_SIMD is \"avx1024\"") && said.contains("scalar"), "{said}");
}
