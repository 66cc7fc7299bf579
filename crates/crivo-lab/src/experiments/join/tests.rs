//! Verdicts from data.

use super::*;
use crate::section::{Figure, Finding};

/// Data as the benchmark would write them: bytes as in theory and `excess` more, and a time with filters
/// of `slow` times the share of rows that pass; a query that takes `with` seconds with filters.
fn data(excess: u64, slow: f64, with: f64) -> Dataset {
    let mut data = Dataset::new("join", Options::default().settings());
    let mut sweep = Vec::new();
    for share in [0.01, 0.25, 0.5, 1.0] {
        for fpr in [0.0, 0.01] {
            let pass = if fpr == 0.0 { 1.0 } else { share + (1.0 - share) * fpr };
            let filter_bytes = if fpr == 0.0 { 0 } else { (8e5 * share) as u64 };
            let keys = if fpr == 0.0 { 0 } else { filter_bytes + excess };
            sweep.extend((0..5).map(|run| Swept {
                share,
                fpr,
                run,
                seconds: if fpr == 0.0 { 1.0 } else { slow * pass },
                plan_seconds: 0.01,
                shuffled_bytes: (2.4e7 * pass + 8e5 * share) as u64 + keys,
                key_bytes: keys,
                probe_rows: 1_000_000,
                build_rows: (1e5 * share) as u64,
                filter_bytes,
            }));
        }
    }
    let queries: Vec<QueryRun> = [false, true]
        .into_iter()
        .flat_map(|broadcast| [false, true].map(|filters| (broadcast, filters)))
        .map(|(broadcast, filters)| QueryRun {
            query: "3".to_string(),
            broadcast,
            filters,
            run: 0,
            seconds: if filters { with } else { 1.0 },
            plan_seconds: 0.01,
            shuffled_bytes: if filters { 100 } else { 400 },
            key_bytes: 0,
            filter_count: 1,
            keys: 7,
            filter_bytes: 64,
        })
        .collect();
    data.add_times(SWEEP, &sweep).unwrap();
    data.add_times(QUERIES, &queries).unwrap();
    data
}

fn figure(data: &Dataset, id: &str) -> Figure {
    let figures = Join.present(data).unwrap().figures;
    figures.into_iter().find(|figure| figure.id == id).unwrap()
}

#[test]
fn verdicts_follow_from_the_data() {
    let (right, wrong) = (data(0, 1.6, 1.1), data(1_000_000, 0.9, 1.3));
    for id in ["join-bytes", "join-queries"] {
        assert_eq!(figure(&right, id).verdict.finding, Finding::Agrees, "{id}");
        assert_eq!(figure(&wrong, id).verdict.finding, Finding::Differs, "{id}");
    }
    // 1.6 · (s + (1 − s)/100) is 1 at s = 0.621.
    let [time, faster] = [&right, &wrong].map(|data| figure(data, "join-time").verdict.sentence);
    assert!(time.contains("breaks even where 62% match"), "{time}");
    assert!(faster.contains("faster even if all match"), "{faster}");
    let queries = figure(&right, "join-queries").verdict.sentence;
    assert!(queries.contains("25.0% of the bytes and 110% of the time"), "{queries}");
}

#[test]
fn files_of_the_benchmark_become_figures() {
    let directory = tempfile::tempdir().unwrap();
    let files = [
        (
            "sweep.csv",
            "share,fpr,run,seconds,plan_seconds,shuffled_bytes,key_bytes,probe_rows,build_rows,filter_bytes\n\
             0.1,0,0,1.5,0.01,1000,0,100,10,0\n0.1,0.01,0,0.5,0.1,150,20,100,10,64\n",
        ),
        (
            "joins.csv",
            "query,broadcast,filters,run,seconds,plan_seconds,shuffled_bytes,key_bytes,filter_count,keys,\
             filter_bytes\n",
        ),
    ];
    for (name, text) in files {
        std::fs::write(directory.path().join(name), text).unwrap();
    }
    let out = tempfile::tempdir().unwrap();
    let joins = Some(directory.path().to_path_buf());
    let options = Options { joins, ..Options::default() };
    crate::Study::new(&["join"], options.clone()).unwrap().run(out.path(), &()).unwrap();
    let data = Dataset::load(&out.path().join("data"), "join").unwrap().unwrap();
    assert_eq!(data.rows::<Swept>(SWEEP).unwrap().len(), 2);
    // No query was measured.
    let figures = Join.present(&data).unwrap().figures;
    assert_eq!(figures.len(), 2);

    std::fs::write(directory.path().join("sweep.csv"), "share\nx\n").unwrap();
    let error = crate::Study::new(&["join"], options).unwrap().run(out.path(), &()).unwrap_err();
    assert!(error.to_string().contains("sweep.csv is not a valid data file"), "{error}");
}

#[test]
fn without_files_nothing_is_shown() {
    let section = Join.present(&Dataset::new("join", Options::default().settings())).unwrap();
    assert!(section.figures.is_empty());
    assert!(section.introduction.contains("crivo study join --joins DIR"));
}
