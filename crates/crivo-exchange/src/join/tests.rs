use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::{Action, ExchangeError, MAX_MESSAGE};
use crivo::KeyHasher;

/// The rows `key payload` of B whose key is among A's, and what that cost.
fn join(keys: &BTreeSet<u32>, rows: &[(u32, String)]) -> (Vec<Vec<u8>>, JoinReport) {
    let mut asker = Asker::new(5);
    keys.iter().for_each(|key| asker.insert(&key.to_le_bytes()));
    let mut answerer = Answerer::new(5);
    rows.iter().for_each(|(key, row)| answerer.survey(&key.to_le_bytes(), row.len()));
    let mut joined = Vec::new();
    loop {
        match answerer.action() {
            Action::Send(message) => {
                assert!(message.len() <= MAX_MESSAGE);
                asker
                    .receive(&message, |row| {
                        let text = std::str::from_utf8(row).unwrap();
                        let key = text.split(' ').next().unwrap().parse().unwrap();
                        let has_partner = keys.contains(&key);
                        joined.extend(has_partner.then(|| row.to_vec()));
                        has_partner
                    })
                    .unwrap();
            }
            Action::Receive => {
                let Action::Send(message) = asker.action() else { panic!("both wait") };
                assert!(message.len() <= MAX_MESSAGE);
                answerer.receive(&message).unwrap();
            }
            Action::Provide => {
                for (key, row) in rows {
                    answerer.provide(&key.to_le_bytes(), row.as_bytes());
                }
                answerer.provided();
            }
            Action::Finished => break,
        }
    }
    assert_eq!(asker.action(), Action::Finished);
    (joined, asker.report())
}

fn rows(keys: impl Iterator<Item = u32>) -> Vec<(u32, String)> {
    keys.map(|key| (key, format!("{key} {:060}", key))).collect()
}

fn check(keys: &BTreeSet<u32>, rows: &[(u32, String)]) -> JoinReport {
    let (joined, report) = join(keys, rows);
    let expected: Vec<Vec<u8>> = rows
        .iter()
        .filter(|(key, _)| keys.contains(key))
        .map(|(_, row)| row.clone().into_bytes())
        .collect();
    assert_eq!(joined, expected);
    assert_eq!(report.rows_matched, expected.len() as u64);
    assert_eq!(report.rows, rows.len() as u64);
    report
}

#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn few_matches_cost_little() {
    // 10,000 keys, 100,000 rows of 66 bytes, 1% of which match.
    let keys = (0..10_000).collect();
    let report = check(&keys, &rows(9_000..109_000));
    assert!(report.filter_bytes > 0);
    assert!(report.rows_sent - report.rows_matched < 1_000, "{report:?}");
    assert!(report.bytes < report.everything_bytes / 20, "{report:?}");
    assert!(report.bytes < report.semi_join_bytes * 9 / 10, "{report:?}");
}

#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn the_filter_switches_itself_off() {
    // Nearly all rows match.
    let report = check(&(0..10_000).collect(), &rows(100..10_050));
    assert_eq!((report.filter_bytes, report.rows_sent), (0, 9_950));
    assert!(report.bytes < report.everything_bytes + 2_500, "{report:?}");
    // Many keys, few rows.
    let report = check(&(0..100_000).collect(), &rows(99_990..100_300));
    assert_eq!(report.filter_bytes, 0);
    // Next to nothing.
    let report = check(&BTreeSet::new(), &rows(0..3));
    assert_eq!(report.filter_bytes, 0);
    check(&BTreeSet::new(), &[]);
    check(&BTreeSet::from([1]), &[]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 1 } else { 64 }))]

    #[test]
    #[cfg_attr(miri, ignore = "takes long there")]
    fn a_join_is_exact(keys: BTreeSet<u8>, row_keys in prop::collection::vec(any::<u8>(), 0..400)) {
        let keys = keys.into_iter().map(u32::from).collect();
        check(&keys, &rows(row_keys.into_iter().map(u32::from)));
    }

    #[test]
    fn partial_filters_merge_into_the_whole(parts: Vec<Vec<u64>>) {
        let empty = || KeyFilter::new(500, 0.01, KeyHasher::xxh3(1)).unwrap();
        let (mut merged, mut whole) = (empty(), empty());
        for part in &parts {
            let mut state = empty();
            part.iter().for_each(|key| state.insert(key));
            part.iter().for_each(|key| whole.insert(key));
            merged.union_with(&KeyFilter::from_bytes(&state.to_bytes()).unwrap()).unwrap();
        }
        prop_assert_eq!(merged.to_bytes(), whole.to_bytes());
        prop_assert!(parts.iter().flatten().all(|key| merged.may_contain(key)));
    }

    #[test]
    fn hostile_messages_are_errors(messages in prop::collection::vec((30..40u8, prop::collection::vec(any::<u8>(), 0..60)), 1..8)) {
        let mut asker = Asker::new(1);
        asker.insert(b"ana");
        let mut answerer = Answerer::new(1);
        answerer.survey(b"ana", 30);
        let Action::Send(survey) = answerer.action() else { panic!("it begins") };
        asker.receive(&survey, |_| true).unwrap();
        for (tag, body) in messages {
            let message = [&[1, tag][..], &body].concat();
            let _ = (asker.receive(&message, |_| true), answerer.receive(&message));
            while let Action::Send(_) = asker.action() {}
            while let Action::Send(_) = answerer.action() {}
        }
    }
}

#[test]
fn another_seed_is_noticed() {
    let mut answerer = Answerer::new(1);
    answerer.survey(b"ana", 30);
    let Action::Send(survey) = answerer.action() else { panic!("it begins") };
    let refused = Asker::new(2).receive(&survey, |_| true);
    assert_eq!(refused, Err(ExchangeError::SeedMismatch));
    for cut in 0..survey.len() {
        let piece = Asker::new(1).receive(&survey[..cut], |_| true);
        assert!(piece.is_err() || (survey.len() - cut) % 8 == 0);
    }
}
