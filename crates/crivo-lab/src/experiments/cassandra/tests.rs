//! Verdicts from data, and a small study of a real server.

use super::*;
use crate::section::{Figure, Finding};
use crate::timing::Sample;

/// Data as a node would give them, with `excess` more false positives than the files say, a time of
/// `slow` where there are no filters, and guards that stop this share of absent keys.
fn data(excess: u64, slow: f64, stopped: u64) -> Dataset {
    let mut data = Dataset::new("cassandra", Options::default().settings());
    for (name, value) in [(ACCESS, NODE), ("version", "5.0"), ("format", "big (oa)")] {
        data.set_parameter(name, value);
    }
    data.set_parameter("keys", 16_000);
    data.set_parameter(
        "settings",
        [("file_cache_size", "64MiB")].into_iter().collect::<serde_json::Value>(),
    );
    let (mut counts, mut server, mut client) = (Vec::new(), Vec::new(), Vec::new());
    let own = CHANCES
        .into_iter()
        .flat_map(|chance| SSTABLES.map(|sstables| (chance_name(chance), chance, sstables, false)));
    let replaced = [("10 bits, k = 7".to_string(), CHANCE, PARTS, true)];
    for (filter, theory, sstables, replaced) in own.chain(replaced) {
        let predicted = (10_000.0 * theory * sstables as f64) as u64;
        counts.push(Count {
            filter: filter.clone(),
            replaced,
            sstables,
            keys: 16_000,
            bits: if theory == 1.0 { 0 } else { 160_000 },
            probes: 5,
            distribution: UNIFORM.to_string(),
            questions: 10_000,
            false_positives: predicted + excess,
            predicted,
            theory,
            deviation: 0.0,
            memory: 20_000,
        });
        let time = if theory == 1.0 { slow * sstables as f64 } else { 20.0 };
        server.extend(samples(ABSENT, sstables as f64, &filter, 1e3 * time));
        client.extend(samples(ABSENT, sstables as f64, &filter, 1e3 * (400.0 + time)));
    }
    let guards = [GuardCount {
        kind: "fuse".to_string(),
        fpr: TIMED_FPR,
        expected_fpr: TIMED_FPR,
        keys: 16_000,
        bits: 180_000,
        questions: 10_000,
        stopped,
    }];
    let mut guarded = Vec::new();
    for task in [WITH_FILTER, WITHOUT_FILTER] {
        for share in ABSENT_PERCENTAGES.map(|percentage| percentage as f64 / 100.0) {
            // Faster from 50% on.
            let time = 4.2e5 * (1.0 - share) + 1e3;
            guarded.extend(samples(task, share, NO_GUARD, 3.9e5));
            guarded.extend(samples(task, share, &guard_name("fuse", TIMED_FPR), time));
        }
    }
    data.add("counts", &counts).unwrap();
    data.add("guards", &guards).unwrap();
    data.add_times("server", &server).unwrap();
    data.add_times("client", &client).unwrap();
    data.add_times("cold", &client).unwrap();
    data.add_times("quantiles", &[] as &[Quantiles]).unwrap();
    data.add_times("guarded", &guarded).unwrap();
    data
}

/// A sample for each of 30 rounds.
fn samples(task: &str, x: f64, contender: &str, nanoseconds: f64) -> Vec<Sample> {
    let sample = |round| Sample {
        task: task.to_string(),
        x,
        contender: contender.to_string(),
        round,
        nanoseconds: nanoseconds + f64::from(round),
    };
    (0..30).map(sample).collect()
}

fn present(data: &Dataset) -> Vec<Figure> {
    Cassandra.present(data).unwrap().figures
}

fn figure(data: &Dataset, id: &str) -> Figure {
    present(data).into_iter().find(|figure| figure.id == id).unwrap()
}

fn finding(data: &Dataset, id: &str) -> Finding {
    figure(data, id).verdict.finding
}

#[test]
fn verdicts_follow_from_the_data() {
    let (right, wrong) = (data(0, 20.0, 9_990), data(500, 0.0, 9_000));
    for id in ["cassandra-opened", "cassandra-replaced", "cassandra-guards"] {
        assert_eq!(finding(&right, id), Finding::Agrees, "{id}");
        assert_eq!(finding(&wrong, id), Finding::Differs, "{id}");
    }
    assert_eq!(finding(&right, "cassandra-growth"), Finding::Agrees);
    assert_eq!(finding(&wrong, "cassandra-growth"), Finding::Undecided);
    let sentence = |data: &Dataset, id: &str| figure(data, id).verdict.sentence;
    let guards = sentence(&right, "cassandra-guards");
    assert!(guards.contains("faster if 10% or more"), "{guards}");
    assert!(guards.contains("these are slower: fuse"), "{guards}");
    let cold = [&right, &wrong].map(|data| sentence(data, "cassandra-cold"));
    // 16 · 20 µs and 400 µs, against 420 µs.
    assert!(cold[0].contains("takes 1.71 times as long"), "{}", cold[0]);
    assert!(cold[1].contains("no slower questions"), "{}", cold[1]);
}

/// Quantiles of one task and table: in newer data by round, in older ones over all rounds.
fn quantiles(rounds: impl IntoIterator<Item = Option<u32>>) -> Vec<Quantiles> {
    let of_round = |round: Option<u32>| {
        let time = 400.0 + f64::from(round.unwrap_or(0));
        Quantiles {
            round,
            task: ABSENT.to_string(),
            filter: chance_name(CHANCE),
            sstables: PARTS,
            questions: 100,
            median_microseconds: time,
            p90_microseconds: 2.0 * time,
            p99_microseconds: 2.25 * time,
        }
    };
    rounds.into_iter().map(of_round).collect()
}

#[test]
fn quantiles_of_the_client_have_intervals_where_rounds_are_known() {
    let growth = |rows: &[Quantiles]| {
        let mut data = data(0, 20.0, 9_990);
        data.add_times("quantiles", rows).unwrap();
        let figure = figure(&data, "cassandra-growth");
        (figure.table.unwrap().rows[0][3..6].to_vec(), figure.method)
    };
    let (cells, method) = growth(&quantiles((0..31).map(Some)));
    // The median of 31 rounds, and the tenth from either end.
    assert_eq!(cells[0], "415 µs (409–421)");
    assert_eq!(cells[2], "934 µs (920–947)");
    assert!(method.contains("of the 100 questions of a round"), "{method}");
    let (cells, method) = growth(&quantiles([None]));
    assert_eq!(cells, ["400 µs", "800 µs", "900 µs"]);
    assert!(method.contains("in all rounds together"), "{method}");
    // A file from before rounds were recorded.
    let mut old = serde_json::to_value(&quantiles([None])[0]).unwrap();
    old.as_object_mut().unwrap().remove("round");
    assert_eq!(serde_json::from_value::<Quantiles>(old).unwrap().round, None);
}

#[test]
fn an_address_gives_times_of_the_client_and_guards() {
    let of_client = |slow: f64, sstables: u64| {
        let mut data = data(0, slow, 9_990);
        data.set_parameter(ACCESS, CLIENT);
        let rows = [chance_name(1.0), chance_name(CHANCE)].into_iter().flat_map(|filter| {
            let rows = quantiles((0..30).map(Some)).into_iter();
            rows.map(move |row| Quantiles { filter: filter.clone(), sstables, ..row })
        });
        data.add_times("quantiles", &rows.collect::<Vec<_>>()).unwrap();
        data
    };
    let ids = |data: &Dataset| present(data).iter().map(|figure| figure.id).collect::<Vec<_>>();
    assert_eq!(ids(&of_client(20.0, PARTS)), ["cassandra-client", "cassandra-guards"]);
    let sentence = |slow| figure(&of_client(slow, PARTS), "cassandra-client").verdict.sentence;
    // 4 · 20 µs more than 400 µs, against 420 µs.
    assert!(sentence(20.0).contains("takes 1.14 (1.14–1.14) times"), "{}", sentence(20.0));
    assert!(sentence(0.0).contains("no slower questions"), "{}", sentence(0.0));
    let method = figure(&of_client(20.0, PARTS), "cassandra-client").method;
    assert!(method.contains("each table has 4 SSTables"), "{method}");
    // Such data were written before the client's times were measured.
    let full = of_client(20.0, PARTS);
    let mut old = Dataset::new("cassandra", Options::default().settings());
    old.set_parameter(ACCESS, CLIENT);
    old.set_parameter("version", "5.0");
    old.add("guards", &full.rows::<GuardCount>("guards").unwrap()).unwrap();
    old.add_times("guarded", &full.rows::<Sample>("guarded").unwrap()).unwrap();
    assert_eq!(ids(&old), ["cassandra-guards"]);
}

#[test]
fn the_driver_is_named_where_it_is_known() {
    let mut data = data(0, 20.0, 9_990);
    let introduction = |data: &Dataset| Cassandra.present(data).unwrap().introduction;
    assert!(introduction(&data).contains("Cassandra 5.0 on the loopback"));
    data.set_parameter(DRIVER, "scylla 1.9.0");
    let named = introduction(&data);
    assert!(named.contains("Cassandra 5.0 and the driver scylla 1.9.0 on the"), "{named}");
}

#[test]
fn without_a_server_nothing_is_shown() {
    let mut data = Dataset::new("cassandra", Options::default().settings());
    data.set_parameter(ACCESS, NOTHING);
    let section = Cassandra.present(&data).unwrap();
    assert!(section.figures.is_empty());
    assert!(section.introduction.contains("scripts/services cassandra start"));
    let directory = CassandraServer::Directory("x".into());
    let named = Options { cassandra: Some(directory), ..Options::default() };
    assert!(Cassandra.is_measured(&data, &Options::default()));
    assert!(!Cassandra.is_measured(&data, &named));
}

/// Measures a very small study on a real server, if one is named: `CRIVO_TEST_CASSANDRA_DIRECTORY` is
/// a directory of `scripts/services`, `CRIVO_TEST_CASSANDRA` an address.
#[cfg(feature = "cassandra")]
#[test]
fn a_server_counts_what_theory_says() {
    let variable = |name: &str| {
        let value = std::env::var(name).ok();
        if value.is_none() {
            // Not by a macro, whose output is shown for tests that fail alone.
            let message = format!("skipped: {name} names no server\n");
            let _ = std::io::Write::write_all(&mut std::io::stderr(), message.as_bytes());
        }
        value
    };
    let directory = variable("CRIVO_TEST_CASSANDRA_DIRECTORY");
    let address = variable("CRIVO_TEST_CASSANDRA");
    let servers = [
        directory.map(|directory| (CassandraServer::Directory(directory.into()), 5)),
        address.map(|address| (CassandraServer::Address(address), 2)),
    ];
    for (server, figures) in servers.into_iter().flatten() {
        let out = tempfile::tempdir().unwrap();
        let options = Options {
            scale: crate::Scale::Tiny,
            seed: 7,
            repetitions: Some(2),
            cassandra: Some(server),
            ..Options::default()
        };
        let study = crate::Study::new(&["cassandra"], options).unwrap();
        study.run(out.path(), &()).unwrap();
        let data = Dataset::load(&out.path().join("data"), "cassandra").unwrap().unwrap();
        let presented = present(&data);
        assert_eq!(presented.len(), figures);
        for figure in presented {
            let verdict = figure.verdict;
            assert_ne!(verdict.finding, Finding::Differs, "{}", verdict.sentence);
            println!("{}: {}", figure.id, verdict.sentence);
        }
    }
}
