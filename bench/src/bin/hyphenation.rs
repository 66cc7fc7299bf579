//! The hyphenator beside hypher and hyphenation.
//!
//! ```text
//! cargo run --release --bin hyphenation -- [--csv FILE] [--check] CODE=WORDS…
//! ```
//!
//! `CODE=WORDS` names a language and a file of words, one per line, as in `en-us=words.txt`. Each
//! list is hyphenated as it is and shuffled, as if its file were: break positions, and text with
//! soft hyphens. With `--check`, the break positions by patterns alone are also compared, word by
//! word, with those of hyphenation in every language that both have.

use std::io;
use std::process::exit;
use std::time::Instant;

use crivo_bench::{Contender, csv, interleave, shuffle, table};
use crivo_hyphen::{Automaton, Hyphenator, Language};
use hyphenation::{Hyphenator as _, Iter as _, Load as _, Standard};

const SOFT_HYPHEN: &str = "\u{ad}";
const ROUNDS: usize = 15;

/// What is measured, in one language.
struct Subjects {
    language: Language,
    /// Patterns alone, as the rivals have them.
    patterns: Hyphenator,
    /// Patterns and the exceptions of the language.
    whole: Hyphenator,
    hypher: hypher::Lang,
    rival: Standard,
}

/// hyphenation's dictionary of a language; its one name for a language is its code.
fn rival_of(language: Language) -> Option<Standard> {
    let rival = hyphenation::Language::try_from_code(language.code())?;
    Some(Standard::from_embedded(rival).expect("all dictionaries are embedded"))
}

fn patterns_alone(language: Language, minima: (usize, usize)) -> Hyphenator {
    let automaton = Automaton::new(&language.patterns());
    Hyphenator::from_automaton(automaton).with_minima(minima.0, minima.1)
}

/// The breaks of hyphenation's patterns, without its exceptions.
fn rival_breaks(rival: &Standard, word: &str) -> Vec<usize> {
    let lower = word.to_lowercase();
    match rival.boundaries(&lower) {
        Some(bounds) => rival.opportunities_within(&lower, bounds),
        None => Vec::new(),
    }
}

/// Compares every word in every language that both have; words in capitals, too. Whether all agree.
fn check(words: &[&str]) -> bool {
    let (mut languages, mut breaks, mut agrees) = (0, 0, true);
    for language in Language::all() {
        let Some(rival) = rival_of(language) else { continue };
        let ours = patterns_alone(language, rival.unbreakable_chars());
        let differs = words.iter().find(|word| {
            let expected = rival_breaks(&rival, word);
            breaks += expected.len();
            [word.to_string(), word.to_uppercase()]
                .iter()
                .any(|cased| !ours.breaks(cased).iter().eq(expected.iter().copied()))
        });
        if let Some(word) = differs {
            let rival = rival_breaks(&rival, word);
            println!("{language}: {word} has {:?}, with hyphenation {rival:?}", ours.breaks(word));
            agrees = false;
        }
        languages += 1;
    }
    if agrees {
        println!(
            "the same {breaks} breaks as hyphenation, by patterns alone, of {} words in {languages} \
             languages",
            words.len()
        );
    }
    agrees
}

impl Subjects {
    fn new(language: Language) -> Option<Self> {
        let code = language.code().as_bytes();
        let hypher = hypher::Lang::from_iso([code[0], code[1]])?;
        let (left, right) = hypher.bounds();
        Some(Self {
            language,
            patterns: patterns_alone(language, (left, right)),
            whole: Hyphenator::new(language),
            hypher,
            rival: rival_of(language)?,
        })
    }

    /// The time to make the automaton from the packed data, in milliseconds: the best of nine.
    fn build_time(&self) -> f64 {
        let times = (0..9).map(|_| {
            let start = Instant::now();
            std::hint::black_box(self.language.build_automaton());
            start.elapsed().as_secs_f64() * 1e3
        });
        times.fold(f64::INFINITY, f64::min)
    }

    /// Break positions: the reading is their sum.
    fn positions<'a>(&'a self, words: &'a [&'a str]) -> Vec<Contender<'a>> {
        let sum = |hyphenator: &'a Hyphenator| {
            move || -> u64 {
                let breaks = |word: &&str| hyphenator.breaks(word).iter().sum::<usize>();
                words.iter().map(breaks).sum::<usize>() as u64
            }
        };
        vec![
            Contender::new("hypher", move || {
                let mut sum = 0;
                for word in words {
                    let mut offset = 0;
                    for syllable in hypher::hyphenate(word, self.hypher) {
                        sum += offset;
                        offset += syllable.len();
                    }
                }
                sum as u64
            }),
            Contender::new("crivo, patterns", sum(&self.patterns)),
            Contender::new("crivo, with exceptions", sum(&self.whole)),
            Contender::new("hyphenation", move || {
                let breaks = |word: &&str| self.rival.hyphenate(word).breaks.iter().sum::<usize>();
                words.iter().map(breaks).sum::<usize>() as u64
            }),
        ]
    }

    /// Text with soft hyphens: the reading is its length.
    fn texts<'a>(&'a self, words: &'a [&'a str]) -> Vec<Contender<'a>> {
        let length = |hyphenator: &'a Hyphenator| {
            move || -> u64 {
                let mut text = String::new();
                let mut length = 0;
                for word in words {
                    text.clear();
                    hyphenator.hyphenate_into(word, SOFT_HYPHEN, &mut text);
                    length += text.len();
                }
                length as u64
            }
        };
        vec![
            Contender::new("hypher", move || {
                let join =
                    |word: &&str| hypher::hyphenate(word, self.hypher).join(SOFT_HYPHEN).len();
                words.iter().map(join).sum::<usize>() as u64
            }),
            Contender::new("crivo, patterns", length(&self.patterns)),
            Contender::new("crivo, with exceptions", length(&self.whole)),
            Contender::new("crivo, a new string", move || {
                let join = |word: &&str| self.patterns.hyphenate(word, SOFT_HYPHEN).len();
                words.iter().map(join).sum::<usize>() as u64
            }),
            Contender::new("hyphenation", move || {
                let join = |word: &&str| {
                    let hyphenated = self.rival.hyphenate(word);
                    hyphenated.iter().segments().collect::<Vec<_>>().join(SOFT_HYPHEN).len()
                };
                words.iter().map(join).sum::<usize>() as u64
            }),
        ]
    }
}

/// Measures one task in one order; ratios are to the first contender, hypher.
fn measure(
    labels: [&str; 3],
    contenders: &mut [Contender<'_>],
    operations: usize,
    results: &mut Vec<Vec<String>>,
) {
    // Those without exceptions may differ only where hypher's patterns are of another year.
    let hypher = (contenders[0].work)();
    let ours = (contenders[1].work)();
    let differs = if hypher == ours { "" } else { " (hypher's patterns differ)" };
    let times = interleave(contenders, operations, ROUNDS, None);
    let header = ["", "ns/word", "times hypher's speed"].map(String::from).to_vec();
    let mut rows = vec![header];
    for (contender, &time) in contenders.iter().zip(&times) {
        let ratio = times[0] / time;
        rows.push(vec![contender.name.clone(), format!("{time:.1}"), format!("{ratio:.2}×")]);
        let name = contender.name.replace(',', "");
        let numbers = [name, format!("{time:.2}"), format!("{ratio:.3}")];
        results.push(labels.iter().map(|label| label.to_string()).chain(numbers).collect());
    }
    println!("\n{}{differs}", labels.join(", "));
    print!("{}", table(&rows));
}

fn usage(problem: &str) -> ! {
    eprintln!("{problem}; usage: hyphenation [--csv FILE] [--check] CODE=WORDS…");
    exit(2)
}

fn main() -> io::Result<()> {
    let (mut csv_file, mut checks, mut lists) = (None, false, Vec::new());
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match (argument.as_str(), argument.split_once('=')) {
            ("--csv", _) => csv_file = arguments.next(),
            ("--check", _) => checks = true,
            (_, Some((code, file))) => match Language::from_code(code) {
                Ok(language) => lists.push((language, std::fs::read_to_string(file)?)),
                Err(error) => usage(&error.to_string()),
            },
            (other, None) => usage(&format!("{other} is no list of words")),
        }
    }
    if lists.is_empty() {
        usage("no list of words");
    }
    let mut results = vec![
        "language,task,order,contender,ns_per_word,ratio".split(',').map(String::from).collect(),
    ];
    for (language, list) in &lists {
        let sorted: Vec<&str> = list.lines().map(str::trim).collect();
        if checks && !check(&sorted) {
            exit(1);
        }
        let Some(subjects) = Subjects::new(*language) else {
            usage(&format!("hypher or hyphenation does not know {}", language.code()))
        };
        let mut shuffled = sorted.clone();
        shuffle(&mut shuffled);
        // Words of a text lie one after another, also in memory.
        let shuffled_list = shuffled.join("\n");
        let shuffled: Vec<&str> = shuffled_list.lines().collect();
        println!(
            "\n{language}: {} words; automaton {} KiB, made in {:.1} ms",
            sorted.len(),
            language.automaton().size_in_bytes() / 1024,
            subjects.build_time()
        );
        for (order, words) in [("sorted", &sorted), ("shuffled", &shuffled)] {
            let code = language.code();
            let labels = [code, "break positions", order];
            measure(labels, &mut subjects.positions(words), words.len(), &mut results);
            let labels = [code, "soft hyphens", order];
            measure(labels, &mut subjects.texts(words), words.len(), &mut results);
        }
    }
    match csv_file {
        Some(path) => std::fs::write(path, csv(&results)),
        None => Ok(()),
    }
}
