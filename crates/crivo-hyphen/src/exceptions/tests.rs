use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use crivo::filter::Kind;
use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::{Automaton, Exception, Hyphenator, Language, Patterns, fold};

/// The whole English list: the pattern file's exceptions, and ushyphex.
static ENGLISH: LazyLock<Vec<Exception>> = LazyLock::new(|| Language::EnglishUs.exceptions());

fn guards() -> impl Iterator<Item = Option<GuardOptions>> {
    let kinds = Kind::ALL.into_iter().map(|kind| Some(GuardOptions::new(kind, 0.01).unwrap()));
    kinds.chain([None])
}

fn exceptions(list: &str) -> Vec<Exception> {
    Exception::parse_list(list).unwrap()
}

struct Directory {
    _directory: TempDir,
    store: PathBuf,
}

impl Directory {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        Self { store: directory.path().join("words.redb"), _directory: directory }
    }

    fn open(&self, guard: &Option<GuardOptions>) -> StoredExceptions {
        StoredExceptions::open(&self.store, guard.clone()).unwrap()
    }

    fn guard_file(&self) -> PathBuf {
        stored::guard_file(&self.store)
    }
}

/// A word in lower case, upper case, with a capital, and mixed.
fn cases(word: &str) -> [String; 4] {
    let capital = word.chars().take(1).flat_map(char::to_uppercase).chain(word.chars().skip(1));
    let mixed = word.chars().enumerate().flat_map(|(index, letter)| match index % 2 {
        0 => letter.to_lowercase().collect::<Vec<_>>(),
        _ => letter.to_uppercase().collect(),
    });
    [word.to_lowercase(), word.to_uppercase(), capital.collect(), mixed.collect()]
}

/// Words that are not listed.
fn absent_words() -> impl Iterator<Item = String> {
    (0..20_000).map(|number| {
        let letter = |shift: u32| char::from(b'a' + (number >> shift & 15) as u8);
        format!("q{}{}{}{}q", letter(0), letter(4), letter(8), letter(12))
    })
}

/// Every exception is found in every letter case. Absent words are not found, and each costs at most
/// one lookup.
fn finds_all(hyphenator: &Hyphenator, counters: impl Fn() -> Counters, guarded: bool) {
    let last: BTreeMap<&str, &Exception> =
        ENGLISH.iter().map(|exception| (exception.word(), exception)).collect();
    let mut asked = 0;
    for exception in last.values() {
        for word in cases(exception.word()) {
            let listed: Vec<_> = exception.breaks().iter().collect();
            assert_eq!(hyphenator.breaks(&word).iter().collect::<Vec<_>>(), listed, "{word}");
            asked += 1;
        }
    }
    assert!(last.len() >= 1753);
    let found = counters();
    assert_eq!((found.questions, found.found), (asked, asked), "no misses");
    assert_eq!((found.stopped, found.false_positives, found.failures), (0, 0, 0));

    let plain = Hyphenator::new(Language::EnglishUs);
    let mut absent = 0;
    for word in absent_words() {
        assert_eq!(
            hyphenator.breaks(&word),
            plain.breaks(&word),
            "an absent word is hyphenated by the patterns"
        );
        absent += 1;
    }
    let now = counters();
    assert_eq!((now.questions, now.found), (asked + absent, asked));
    if guarded {
        assert_eq!(now.stopped + now.false_positives, absent);
        // The mean is at most 200 with a standard deviation of 14; a guard of so small a size varies
        // by some tenths more. The words and the seed are fixed, so the result is deterministic.
        assert!(now.false_positives < 300, "{now:?}");
    } else {
        assert_eq!((now.stopped, now.false_positives), (0, absent));
    }
}

#[test]
fn every_exception_in_every_case_is_found_through_every_guard_in_memory() {
    let patterns = Language::EnglishUs.patterns();
    for guard in guards() {
        let Some(guard) = guard else { continue };
        let map = MemoryExceptions::new(ENGLISH.iter().cloned());
        let words = Arc::new(GuardedExceptions::new(map, guard).unwrap());
        // The patterns alone, so that every answer is the dictionary's.
        let hyphenator = Hyphenator::from_patterns(&patterns).with_exceptions(Arc::clone(&words));
        finds_all(&hyphenator, || words.counters(), true);
    }
}

#[test]
fn every_exception_in_every_case_is_found_through_every_guard_on_disk() {
    let patterns = Language::EnglishUs.patterns();
    for guard in guards() {
        let directory = Directory::new();
        directory.open(&guard).insert(ENGLISH.iter().cloned()).unwrap();
        let words = Arc::new(directory.open(&guard));
        assert_eq!(words.rebuild_reason(), None, "{guard:?} was saved when the store was closed");
        let hyphenator = Hyphenator::from_patterns(&patterns).with_exceptions(Arc::clone(&words));
        finds_all(&hyphenator, || words.counters(), guard.is_some());
    }
}

#[test]
fn folded_and_memory_and_stored_exceptions_give_the_same_breaks() {
    let patterns = Language::EnglishUs.patterns();
    let directory = Directory::new();
    let stored = directory.open(&Some(GuardOptions::new(Kind::Cuckoo, 0.05).unwrap()));
    stored.insert(ENGLISH.iter().cloned()).unwrap();
    let folded = Hyphenator::from_automaton(Automaton::with_exceptions(&patterns, &*ENGLISH));
    let memory = Hyphenator::from_patterns(&patterns)
        .with_exceptions(MemoryExceptions::new(ENGLISH.iter().cloned()));
    let stored = Hyphenator::from_patterns(&patterns).with_exceptions(stored);
    let listed = ENGLISH.iter().flat_map(|exception| cases(exception.word()));
    let near = ENGLISH.iter().map(|exception| format!("{}x", exception.word()));
    // Marks that compose, and others: a word with a mark that is not listed is another word.
    let marked = ENGLISH.iter().zip(1..).flat_map(|(exception, number)| {
        let word = exception.word();
        let at = number % word.len() + 1;
        ["\u{301}", "\u{330}", "\u{330}\u{301}"]
            .map(|marks| [&word[..at], marks, &word[at..]].concat())
    });
    for word in listed.chain(near).chain(marked).chain(absent_words().take(2000)) {
        let breaks = folded.breaks(&word);
        assert_eq!(memory.breaks(&word), breaks, "{word}");
        assert_eq!(stored.breaks(&word), breaks, "{word}");
    }
}

#[test]
fn a_mark_makes_another_word_for_every_kind_of_exceptions() {
    let patterns = Patterns::parse("1qo").unwrap();
    let list = exceptions("manu-script x\u{302}\u{323}a-bc");
    let folded = Hyphenator::from_automaton(Automaton::with_exceptions(&patterns, &list));
    let memory = Hyphenator::from_patterns(&patterns).with_exceptions(MemoryExceptions::new(list));
    for (word, expected) in [
        ("Manuscript", "Manu-script"),
        ("m\u{330}anuscript", "m\u{330}anuscript"),
        // The order of marks does not matter.
        ("x\u{302}\u{323}abc", "x\u{302}\u{323}a-bc"),
        ("X\u{323}\u{302}ABC", "X\u{323}\u{302}A-BC"),
        ("x\u{302}abc", "x\u{302}abc"),
        ("xabc", "xabc"),
        // Patterns pass marks over, also one that an exception has.
        ("baq\u{330}obb", "ba-q\u{330}obb"),
        ("baq\u{302}obb", "ba-q\u{302}obb"),
    ] {
        assert_eq!(folded.hyphenate(word, "-"), expected);
        assert_eq!(memory.hyphenate(word, "-"), expected);
    }
}

#[test]
fn stored_breaks_are_read_back_unchanged() {
    let directory = Directory::new();
    let long: String =
        std::iter::repeat_n("abc-", 100).collect::<String>() + &"z".repeat(300) + "-z";
    let list = exceptions(&format!("never ta-ble \u{e9}t-\u{e9} {long}"));
    let words = directory.open(&None);
    assert_eq!(words.insert(list.clone()).unwrap(), 4);
    for exception in &list {
        assert_eq!(words.get(exception.word()).unwrap().as_ref(), Some(exception.breaks()));
    }
    let mut stored: Vec<_> =
        words.iter().unwrap().map(|entry| entry.unwrap().to_string()).collect();
    let mut listed: Vec<_> = list.iter().map(ToString::to_string).collect();
    stored.sort();
    listed.sort();
    assert_eq!(stored, listed);
}

#[test]
fn words_that_are_too_long_are_refused() {
    let directory = Directory::new();
    let words = directory.open(&None);
    let longest = "a".repeat((1 << 20) - 1) + "-b";
    assert_eq!(words.insert(exceptions(&longest)).unwrap(), 1);
    let word = longest.replace('-', "");
    assert_eq!(words.get(&word).unwrap().unwrap().iter().collect::<Vec<_>>(), [word.len() - 1]);
    let error = words.insert(exceptions(&format!("ta-ble a{longest}"))).unwrap_err();
    assert!(
        matches!(error.kind, StoreErrorKind::WordTooLong { length, limit } if length == limit + 1)
    );
    // All or none.
    assert_eq!((words.get("table").unwrap(), words.key_count().unwrap()), (None, 1));
}

#[test]
fn later_breaks_replace_earlier_ones() {
    let directory = Directory::new();
    let words = directory.open(&Some(GuardOptions::new(Kind::Cuckoo, 0.01).unwrap()));
    assert_eq!(words.insert(exceptions("ta-ble chair")).unwrap(), 2);
    assert_eq!(words.insert(exceptions("tab-le Tabl-e new")).unwrap(), 1);
    assert_eq!(words.get("TABLE").unwrap().unwrap().join("TABLE", "-"), "TABL-E");
    assert_eq!(words.key_count().unwrap(), 3);
    // A word that was replaced is in the guard once, so that one removal is enough.
    assert_eq!(words.remove(["table", "TABLE", "absent"]).unwrap(), 1);
    assert_eq!(words.get("table").unwrap(), None);
    assert_eq!(words.key_count().unwrap(), 2);
}

#[test]
fn a_guard_file_is_used_only_for_the_words_it_was_written_for() {
    let directory = Directory::new();
    let [bloom, cuckoo, rare] = [(Kind::Bloom, 0.01), (Kind::Cuckoo, 0.01), (Kind::Cuckoo, 0.001)]
        .map(|(kind, fpr)| Some(GuardOptions::new(kind, fpr).unwrap()));
    let rebuilt = |guard: &Option<GuardOptions>| directory.open(guard).rebuild_reason().cloned();

    assert_eq!(rebuilt(&cuckoo), Some(ScanReason::NotClosed));
    assert_eq!(rebuilt(&cuckoo), None);
    assert_eq!(rebuilt(&rare), Some(ScanReason::OtherGuard));
    assert_eq!(rebuilt(&bloom), Some(ScanReason::OtherGuard));
    assert_eq!(rebuilt(&None), None);
    assert_eq!(rebuilt(&bloom), None);
    assert_eq!(rebuilt(&cuckoo), Some(ScanReason::OtherGuard));
    // A store that is open without a guard does not keep the guard's file up to date.
    directory.open(&None).insert(exceptions("ta-ble")).unwrap();
    assert_eq!(rebuilt(&cuckoo), Some(ScanReason::NotClosed));

    // Two copies of a store that got different words have the same generation, and different guards.
    let other = Directory::new();
    fs::copy(&directory.store, &other.store).unwrap();
    directory.open(&cuckoo).insert(exceptions("one")).unwrap();
    other.open(&cuckoo).insert(exceptions("two")).unwrap();
    fs::copy(other.guard_file(), directory.guard_file()).unwrap();
    let words = directory.open(&cuckoo);
    assert_eq!(words.rebuild_reason(), Some(&ScanReason::OtherGuard));
    assert!(words.get("one").unwrap().is_some());
}

/// A database that was written before the guard came from `crivo-store`, with its guard.
#[test]
fn a_database_of_the_first_format_has_the_same_words() {
    let database = include_bytes!("../../tests/golden/format-1.redb.z");
    let database = miniz_oxide::inflate::decompress_to_vec_zlib(database).unwrap();
    let numbered = |number: u32| {
        let digits = format!("{number:03}");
        let letters: String = digits.bytes().map(|digit| char::from(digit - b'0' + b'a')).collect();
        Exception::parse(&format!("wo-rd{letters}")).unwrap()
    };
    let listed = exceptions("ta-ble never \u{e9}t-\u{e9} Mass-a-chu-setts d'a-bord");
    let words: BTreeMap<String, Breaks> = (10..300)
        .map(numbered)
        .chain(listed)
        .map(|exception| (exception.word().to_owned(), exception.breaks().clone()))
        .collect();
    for guard in guards() {
        let directory = Directory::new();
        fs::write(&directory.store, &database).unwrap();
        let saved = include_bytes!("../../tests/golden/format-1.redb.guard");
        fs::write(directory.guard_file(), saved).unwrap();
        let stored = directory.open(&guard);
        assert_eq!(stored.rebuild_reason(), guard.as_ref().map(|_| &ScanReason::NotClosed));
        let found = stored.iter().unwrap().map(|entry| entry.unwrap());
        let found: BTreeMap<_, _> =
            found.map(|found| (found.word().to_owned(), found.breaks().clone())).collect();
        assert_eq!(found, words);
        for (word, breaks) in &words {
            assert_eq!(stored.get(word).unwrap().as_ref(), Some(breaks));
        }
        for number in 0..10 {
            assert_eq!(stored.get(numbered(number).word()).unwrap(), None);
        }
        assert_eq!(stored.insert(exceptions("ta-bles")).unwrap(), 1);
        stored.close().unwrap();
        let stored = directory.open(&guard);
        assert_eq!(stored.rebuild_reason(), None);
        assert_eq!(stored.key_count().unwrap(), words.len() as u64 + 1);
        assert!(stored.get("Tables").unwrap().is_some());
    }
}

#[test]
fn a_database_of_a_newer_format_is_refused() {
    let directory = Directory::new();
    drop(directory.open(&None));
    let database = redb::Database::open(&directory.store).unwrap();
    let transaction = database.begin_write().unwrap();
    let state = redb::TableDefinition::<&str, u64>::new("state");
    // Programs that know only the first format must refuse what this one writes.
    let format =
        transaction.open_table(state).unwrap().insert("format", 3).unwrap().unwrap().value();
    assert_eq!(format, 2);
    transaction.commit().unwrap();
    drop(database);
    let error = StoredExceptions::open(&directory.store, None).unwrap_err();
    assert!(matches!(error.kind, StoreErrorKind::UnknownFormat(3)), "{error}");
}

/// The guard tells which words may be in the database.
#[cfg(unix)]
#[test]
fn the_guard_can_be_read_by_those_who_can_read_the_database() {
    use std::os::unix::fs::PermissionsExt;

    let directory = Directory::new();
    let guard = Some(GuardOptions::new(Kind::Cuckoo, 0.01).unwrap());
    drop(directory.open(&None));
    for mode in [0o600, 0o640] {
        fs::set_permissions(&directory.store, fs::Permissions::from_mode(mode)).unwrap();
        directory.open(&guard).close().unwrap();
        let permissions = fs::metadata(directory.guard_file()).unwrap().permissions();
        assert_eq!(permissions.mode() & 0o777, mode);
        fs::remove_file(directory.guard_file()).unwrap();
    }
}

#[test]
fn a_damaged_guard_is_rebuilt() {
    let directory = Directory::new();
    let guard = Some(GuardOptions::new(Kind::Quotient, 0.01).unwrap());
    directory.open(&guard).insert(exceptions("ta-ble")).unwrap();
    let whole = fs::read(directory.guard_file()).unwrap();
    let check = |bytes: &[u8]| {
        fs::write(directory.guard_file(), bytes).unwrap();
        let words = directory.open(&guard);
        assert!(
            matches!(words.rebuild_reason(), Some(ScanReason::Unreadable(_))),
            "{:?}",
            words.rebuild_reason()
        );
        assert!(words.get("table").unwrap().is_some());
    };
    for length in (0..whole.len()).step_by(97) {
        check(&whole[..length]);
    }
    check(&[&whole[..], b"x"].concat());
    for at in (0..whole.len()).step_by(61) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x10;
        // Padding is not covered by a checksum of its own, but must be zero.
        check(&bytes);
    }
    // The store can be used even if the guard's file cannot be written.
    fs::remove_file(directory.guard_file()).unwrap();
    fs::create_dir(directory.guard_file()).unwrap();
    let words = directory.open(&guard);
    assert!(matches!(words.rebuild_reason(), Some(ScanReason::Unreadable(_))));
    assert!(words.get("table").unwrap().is_some());
    assert!(words.close().is_err());
}

#[test]
fn other_files_are_refused_and_left_as_they_are() {
    let directory = Directory::new();
    fs::write(&directory.store, "ta-ble\n".repeat(1000)).unwrap();
    let error = StoredExceptions::open(&directory.store, None).unwrap_err();
    assert!(matches!(error.kind, StoreErrorKind::NotAStore), "{error}");
    assert!(error.to_string().contains("words.redb: not a store of exceptions"));
    assert_eq!(fs::read(&directory.store).unwrap(), "ta-ble\n".repeat(1000).as_bytes());

    let other = Directory::new();
    let database = redb::Database::create(&other.store).unwrap();
    let transaction = database.begin_write().unwrap();
    transaction.open_table(redb::TableDefinition::<u64, u64>::new("squares")).unwrap();
    transaction.commit().unwrap();
    drop(database);
    let error = StoredExceptions::open(&other.store, None).unwrap_err();
    assert!(matches!(error.kind, StoreErrorKind::NotAStore), "{error}");

    let third = Directory::new();
    let _open = third.open(&None);
    let error = StoredExceptions::open(&third.store, None).unwrap_err();
    assert!(matches!(error.kind, StoreErrorKind::AlreadyOpen), "{error}");
    let nowhere = third.store.join("nowhere");
    assert!(matches!(
        StoredExceptions::open(nowhere, None).unwrap_err().kind,
        StoreErrorKind::Database(_)
    ));
}

/// Closing it elsewhere, or sharing it, would not help.
#[test]
fn a_damaged_record_of_the_owner_is_not_a_store_that_is_open() {
    let directory = Directory::new();
    directory.open(&None).insert([Exception::parse("ta-ble").unwrap()]).unwrap();
    let owners = redb::TableDefinition::<&str, (u64, u128, bool)>::new("crivo-store.owners");
    let database = redb::Database::open(&directory.store).unwrap();
    let transaction = database.begin_write().unwrap();
    transaction.open_table(owners).unwrap().insert("words", (u64::MAX, 1, false)).unwrap();
    transaction.commit().unwrap();
    drop(database);
    let guard = GuardOptions::new(Kind::Cuckoo, 0.01).unwrap();
    let opened = StoredExceptions::open(&directory.store, Some(guard)).unwrap_err();
    let inserted = directory.open(&None).insert([Exception::parse("pro-ject").unwrap()]);
    for error in [opened, inserted.unwrap_err()] {
        assert!(matches!(error.kind, StoreErrorKind::Store(_)), "{error}");
        assert!(
            error.to_string().contains("crivo-store.owners, and open the store again"),
            "{error}"
        );
    }
}

#[test]
fn impossible_rates_are_refused() {
    for kind in Kind::ALL {
        for fpr in [0.0, 1.0, -1.0, f64::NAN] {
            assert!(GuardOptions::new(kind, fpr).is_err(), "{kind} {fpr}");
        }
    }
}

#[test]
fn threads_find_what_was_acknowledged() {
    const WRITERS: usize = 2;
    const WORDS: usize = 60;
    let word = |writer: usize, number: usize| {
        let digits = format!("{writer}{number:03}");
        let letters: String = digits.bytes().map(|digit| char::from(digit - b'0' + b'a')).collect();
        Exception::parse(&format!("ab-{letters}")).unwrap()
    };
    for kind in [Kind::Cuckoo, Kind::Fuse] {
        let directory = Directory::new();
        let words = directory.open(&Some(GuardOptions::new(kind, 0.01).unwrap()));
        // How many of each writer's words were acknowledged.
        let acknowledged: [_; WRITERS] = std::array::from_fn(|_| AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for writer in 0..WRITERS {
                let (words, acknowledged) = (&words, &acknowledged);
                let writing = scope.spawn(move || {
                    for number in 0..WORDS {
                        words.insert([word(writer, number)]).unwrap();
                        acknowledged[writer].store(number + 1, Ordering::SeqCst);
                        // The last of each five is removed again.
                        if number % 5 == 4 {
                            words.remove([word(writer, number).word()]).unwrap();
                        }
                    }
                });
                scope.spawn(move || {
                    loop {
                        // Also if it failed: then the test does.
                        let is_over = writing.is_finished();
                        let count = acknowledged[writer].load(Ordering::SeqCst);
                        for number in (0..count).filter(|number| number % 5 != 4) {
                            assert!(words.get(word(writer, number).word()).unwrap().is_some());
                        }
                        if is_over {
                            break;
                        }
                    }
                });
            }
        });
        assert_eq!(words.key_count().unwrap(), (WRITERS * WORDS * 4 / 5) as u64);
    }
}

/// An operation on a dictionary.
#[derive(Debug, Clone)]
enum Step {
    Insert(Vec<(u8, bool)>),
    Remove(Vec<u8>),
    Reopen,
    /// The guard's file is replaced by an earlier version of it.
    RestoreGuard,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => prop::collection::vec((0..40u8, any::<bool>()), 0..6).prop_map(Step::Insert),
        3 => prop::collection::vec(0..40u8, 0..6).prop_map(Step::Remove),
        1 => Just(Step::Reopen),
        1 => Just(Step::RestoreGuard),
    ];
    prop::collection::vec(step, 1..14)
}

/// One of forty words, with or without a break.
fn exception(number: u8, divided: bool) -> Exception {
    let letter = char::from(b'a' + number % 26);
    let hyphen = if divided { "-" } else { "" };
    Exception::parse(&format!("wo{hyphen}rd{letter}{}", "x".repeat(usize::from(number / 26))))
        .unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 40,
        rng_seed: prop::test_runner::RngSeed::Fixed(11),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_guard_never_hides_a_word(
        kind in prop::sample::select(Kind::ALL.to_vec()),
        steps in steps(),
    ) {
        let options = GuardOptions::new(kind, 0.01).unwrap();
        let guard = Some(options.clone());
        let directory = Directory::new();
        let mut stored = Some(directory.open(&guard));
        let mut memory =
            GuardedExceptions::new(MemoryExceptions::default(), options).unwrap();
        let mut model = BTreeMap::new();
        let mut old_guard = None;
        for step in steps {
            let words = stored.as_ref().unwrap();
            match step {
                Step::Insert(entries) => {
                    let parse = |(number, divided)| exception(number, divided);
                    let list: Vec<_> = entries.into_iter().map(parse).collect();
                    let before = model.len();
                    for entry in &list {
                        model.insert(entry.word().to_owned(), entry.breaks().clone());
                    }
                    let new = (model.len() - before) as u64;
                    prop_assert_eq!(words.insert(list.clone()).unwrap(), new);
                    prop_assert_eq!(memory.insert(list), new);
                }
                Step::Remove(numbers) => {
                    let list: Vec<_> = numbers
                        .into_iter()
                        .map(|number| exception(number, false).word().to_uppercase())
                        .collect();
                    let before = model.len();
                    list.iter().for_each(|word| { model.remove(&*fold(word)); });
                    let gone = (before - model.len()) as u64;
                    prop_assert_eq!(words.remove(&list).unwrap(), gone);
                    prop_assert_eq!(memory.remove(&list), gone);
                }
                Step::Reopen => {
                    drop(stored.take());
                    stored = Some(directory.open(&guard));
                }
                Step::RestoreGuard => {
                    drop(stored.take());
                    let now = fs::read(directory.guard_file()).unwrap();
                    if let Some(old) = old_guard.replace(now) {
                        fs::write(directory.guard_file(), old).unwrap();
                    }
                    stored = Some(directory.open(&guard));
                }
            }
            let words = stored.as_ref().unwrap();
            for number in 0..40 {
                let word = exception(number, false).word().to_owned();
                prop_assert_eq!(&words.get(&word).unwrap(), &model.get(&word).cloned(), "{}", word);
                prop_assert_eq!(&memory.get(&word), &model.get(&word).cloned(), "{}", word);
            }
            prop_assert_eq!(words.key_count().unwrap(), model.len() as u64);
            prop_assert_eq!(memory.key_count(), model.len() as u64);
        }
    }
}
