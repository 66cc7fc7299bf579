//! Guarantees of a study: the same data for the same seed, resumption, and clear errors.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crivo_lab::{Options, Progress, Scale, Study, StudyError, report};

fn tiny(seed: u64) -> Options {
    Options { scale: Scale::Tiny, seed, repetitions: Some(2), ..Options::default() }
}

fn run(names: &[&str], options: Options, directory: &Path) {
    Study::new(names, options).unwrap().run(directory, &()).unwrap();
}

/// Every data file except those of times, by name.
fn data_files(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = fs::read_dir(directory.join("data")).unwrap().map(|file| file.unwrap().path());
    let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
    files
        .filter(|path| !name(path).contains(".times."))
        .map(|path| (name(&path), fs::read(&path).unwrap()))
        .collect()
}

/// Records the progress.
#[derive(Default)]
struct Notes(RefCell<Vec<String>>);

impl Progress for Notes {
    fn started(&self, name: &str, _: usize, _: usize) {
        self.0.borrow_mut().push(format!("started {name}"));
    }

    fn skipped(&self, name: &str, _: &Path) {
        self.0.borrow_mut().push(format!("skipped {name}"));
    }
}

#[test]
fn the_same_seed_gives_the_same_data_except_times() {
    let [one, same, other] = std::array::from_fn(|_| tempfile::tempdir().unwrap());
    for (directory, names, seed) in
        [(&one, &[][..], 1), (&same, &[], 1), (&other, &["best-k", "compaction"], 2)]
    {
        Study::new(names, tiny(seed)).unwrap().measure(directory.path(), &()).unwrap();
    }
    let (one, same, other) =
        (data_files(one.path()), data_files(same.path()), data_files(other.path()));
    assert!(one.len() > 20);
    assert!(one == same, "data files differ between two runs with one seed");
    for (name, bytes) in &other {
        assert_ne!(&one[name], bytes, "{name} does not depend on the seed");
    }
}

#[test]
fn an_experiment_does_not_depend_on_its_neighbours() {
    let [all, alone] = std::array::from_fn(|_| tempfile::tempdir().unwrap());
    run(&["best-m", "best-k"], tiny(1), all.path());
    run(&["best-k"], tiny(1), alone.path());
    let (all, alone) = (data_files(all.path()), data_files(alone.path()));
    assert!(alone.iter().all(|(name, bytes)| all[name] == *bytes));
}

#[test]
fn an_interrupted_study_is_resumed() {
    let directory = tempfile::tempdir().unwrap();
    run(&["best-k"], tiny(1), directory.path());
    let names = ["best-k", "best-m"];
    let notes = Notes::default();
    Study::new(&names, tiny(1)).unwrap().run(directory.path(), &notes).unwrap();
    assert_eq!(*notes.0.borrow(), ["skipped best-k", "started best-m"]);

    // Leftovers of a killed study are removed.
    let scratch = directory.path().join(".crivo-scratch-left");
    fs::create_dir(&scratch).unwrap();

    // Other settings, and damaged data, are measured again.
    let notes = Notes::default();
    Study::new(&names[..1], tiny(2)).unwrap().run(directory.path(), &notes).unwrap();
    fs::write(directory.path().join("data/best-k.json"), "{").unwrap();
    Study::new(&names[..1], tiny(2)).unwrap().run(directory.path(), &notes).unwrap();
    assert_eq!(*notes.0.borrow(), ["started best-k", "started best-k"]);

    // No temporary file is left.
    let [left, below] = [directory.path().to_path_buf(), directory.path().join("data")]
        .map(|path| fs::read_dir(path).unwrap());
    let left = left.chain(below);
    assert!(
        left.map(|file| file.unwrap().file_name())
            .all(|name| !name.to_string_lossy().starts_with('.'))
    );
}

#[test]
fn the_report_depends_on_the_data_alone() {
    let directory = tempfile::tempdir().unwrap();
    run(&["best-m"], tiny(1), directory.path());
    let page = fs::read(directory.path().join("index.html")).unwrap();
    fs::remove_file(directory.path().join("index.html")).unwrap();
    fs::remove_dir_all(directory.path().join("figures")).unwrap();
    report::write(directory.path()).unwrap();
    assert!(fs::read(directory.path().join("index.html")).unwrap() == page);
    assert!(directory.path().join("figures/best-m-fpr.png").exists());

    // A number changed in the data is a number changed in the report.
    let file = directory.path().join("data/best-m.json");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("\"false_positives\": 1", "\"false_positives\": 2")).unwrap();
    report::write(directory.path()).unwrap();
    assert!(fs::read(directory.path().join("index.html")).unwrap() != page);
}

#[test]
fn csv_files_describe_their_origin() {
    let directory = tempfile::tempdir().unwrap();
    run(&["best-m"], tiny(5), directory.path());
    let text = fs::read_to_string(directory.path().join("data/best-m.fpr.csv")).unwrap();
    let (comments, rows): (Vec<&str>, Vec<&str>) =
        text.lines().partition(|line| line.starts_with('#'));
    assert!(comments[0].contains("best-m") && comments[0].contains("seed 5"), "{comments:?}");
    assert!(comments[2].contains("keys=2000"), "{comments:?}");
    assert_eq!(
        rows[0],
        "filter,x,bits,keys,probes,filters,queries,false_positives,false_positive_squares,theory"
    );
    assert_eq!(rows.len(), 1 + 2 * 19);
}

#[test]
fn bad_input_is_refused_before_anything_is_written() {
    let directory = tempfile::tempdir().unwrap();
    let error = |names: &[&str], options: Options| Study::new(names, options).unwrap_err();

    let unknown = error(&["best-k", "dictionary"], tiny(1));
    assert!(matches!(
        &unknown,
        StudyError::UnknownExperiment { nearest: Some("dictionaries"), .. }
    ));

    let empty = directory.path().join("empty.txt");
    fs::write(&empty, "\n \n").unwrap();
    let no_words = error(&[], Options { words: Some(empty.clone()), ..tiny(1) });
    assert!(no_words.to_string().contains("empty.txt has no words"), "{no_words}");
    let no_exceptions = error(&[], Options { exceptions: Some(empty), ..tiny(1) });
    assert!(matches!(no_exceptions, StudyError::NoWords { .. }));

    let missing = directory.path().join("missing.txt");
    let unread = error(&[], Options { words: Some(missing), ..tiny(1) });
    assert!(unread.to_string().contains("missing.txt cannot be read"), "{unread}");
    let binary = directory.path().join("binary");
    fs::write(&binary, [0xff, 0xfe, 0x00]).unwrap();
    assert!(matches!(
        error(&[], Options { words: Some(binary), ..tiny(1) }),
        StudyError::Read { .. }
    ));

    // A file instead of a directory: not even an administrator can write there.
    let file = directory.path().join("file");
    fs::write(&file, "mine").unwrap();
    let refused = Study::new(&["best-m"], tiny(1)).unwrap().run(&file, &()).unwrap_err();
    assert!(matches!(refused, StudyError::Write { .. }), "{refused}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");

    let nothing = report::write(directory.path()).unwrap_err();
    assert!(matches!(nothing, StudyError::NothingMeasured { .. }), "{nothing}");
}

#[cfg(unix)]
#[test]
fn a_read_only_directory_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    let closed = directory.path().join("closed");
    fs::create_dir(&closed).unwrap();
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o555)).unwrap();
    // An administrator may write anywhere.
    if fs::write(closed.join("try"), "").is_ok() {
        return;
    }
    let refused = Study::new(&["best-m"], tiny(1)).unwrap().run(&closed, &()).unwrap_err();
    assert!(refused.to_string().contains("cannot be written"), "{refused}");
}

#[test]
fn the_words_of_a_user_are_used_and_named() {
    let directory = tempfile::tempdir().unwrap();
    let list = directory.path().join("mine.txt");
    let words: Vec<String> = (0..1000).map(|i| format!("word{i}")).collect();
    fs::write(&list, words.join("\n")).unwrap();
    run(&["compaction"], Options { words: Some(list), ..tiny(1) }, directory.path());
    let page = fs::read_to_string(directory.path().join("index.html")).unwrap();
    assert!(page.contains("words mine.txt (1000)"));
    assert!(page.contains("1000 words (mine.txt)"));
    let path = directory.path().to_string_lossy().into_owned();
    assert!(!page.contains(&path), "the report contains a path of the user");
}
