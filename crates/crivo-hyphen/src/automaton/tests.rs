//! The automaton against the simplest implementation of the rules.

use proptest::prelude::*;

use super::cells::{Cell, Split};
use super::letters::Letters;
use super::tables::Tables;
use crate::limits::Limits;
use crate::{Automaton, Exception, Hyphenator, Patterns};

const ALL: Limits = Limits { left: 1, right: 1, min_word_length: 0, clip_exceptions: false };

/// The breaks by trying all patterns; only for words whose letters are single bytes.
fn plain(patterns: &Patterns, word: &str, limits: &Limits) -> Vec<usize> {
    let levels = patterns.levels(word);
    let last = (word.len() + 1).saturating_sub(limits.right);
    (limits.left..last).filter(|&gap| levels[gap] % 2 == 1).collect()
}

fn found(automaton: &Automaton, word: &str, limits: &Limits) -> Vec<usize> {
    automaton.breaks_within(word, limits).iter().collect()
}

/// A pattern: letters with digits between them, and optional dots at its ends.
fn pattern(max_letters: usize) -> impl Strategy<Value = String> {
    let letters = prop::collection::vec(("[abcé]", 0..10u8), 1..=max_letters);
    (any::<bool>(), 0..10u8, letters, any::<bool>()).prop_map(|(opens, first, letters, closes)| {
        let mut text = String::from(if opens { "." } else { "" });
        if !opens {
            text.push_str(&first.to_string());
        }
        let last = letters.len() - 1;
        for (index, (letter, level)) in letters.into_iter().enumerate() {
            text.push_str(&letter);
            if !(closes && index == last) && level > 4 {
                text.push_str(&level.to_string());
            }
        }
        text.push_str(if closes { "." } else { "" });
        text
    })
}

/// The patterns, and one with a level that matches no word: patterns without any level are refused.
fn parsed(patterns: &[String]) -> Patterns {
    Patterns::parse(&(patterns.join(" ") + " 1z")).unwrap()
}

fn check(patterns: &[String], words: &[String]) -> Result<(), TestCaseError> {
    let patterns = parsed(patterns);
    let automaton = Automaton::new(&patterns);
    let wide = super::build::build(&patterns, &[], 1 << 32);
    prop_assert!(matches!(wide.tables, Tables::Wide(..) | Tables::Long(..)));
    for limits in [ALL, Limits { left: 2, right: 3, ..ALL }, Limits { left: 9, right: 70, ..ALL }] {
        for word in words {
            let expected = plain(&patterns, word, &limits);
            prop_assert_eq!(&found(&automaton, word, &limits), &expected, "{}", word);
            prop_assert_eq!(&found(&wide, word, &limits), &expected, "{}", word);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn the_automaton_gives_the_breaks_of_the_patterns(
        patterns in prop::collection::vec(pattern(5), 1..30),
        words in prop::collection::vec("[abcABCx.]{0,20}", 10),
        long in "[abc]{60,140}",
    ) {
        check(&patterns, &words)?;
        check(&patterns, &[long])?;
    }

    #[test]
    fn patterns_longer_than_any_window_are_matched(
        patterns in prop::collection::vec(pattern(40), 1..12),
        cut in prop::collection::vec((0..12usize, 0..20usize, 1..30usize), 10),
    ) {
        // Random words would match nothing: these are cut from the patterns.
        let letters: Vec<String> = patterns
            .iter()
            .map(|pattern| pattern.replace(|c: char| c == '.' || c.is_ascii_digit(), ""))
            .map(|letters| letters.replace('é', "a"))
            .collect();
        let patterns: Vec<String> =
            patterns.iter().map(|pattern| pattern.replace('é', "a")).collect();
        let words: Vec<String> = cut
            .into_iter()
            .map(|(which, start, length)| {
                letters[which % letters.len()].chars().cycle().skip(start).take(length).collect()
            })
            .chain(letters.iter().cloned())
            .collect();
        check(&patterns, &words)?;
    }

    #[test]
    fn letters_are_the_same_folded_or_not(
        patterns in prop::collection::vec(pattern(4), 1..20),
        word in "[abcéABCÉΣσςİ\u{301}\u{302}x.]{0,12}",
    ) {
        let automaton = Automaton::new(&parsed(&patterns));
        let letters = automaton.letters(&word);
        prop_assert_eq!(&letters, &Letters::folded(&automaton.alphabet, &word));
        // Every break is one before a letter, and the word is unchanged but for the separators.
        let joined = automaton.breaks_within(&word, &ALL).join(&word, "|");
        let splits_a_mark = joined.contains("|\u{301}") || joined.contains("|\u{302}");
        prop_assert!(!splits_a_mark);
        prop_assert_eq!(joined.replace('|', ""), word);
    }

    #[test]
    fn folded_exceptions_are_found_and_change_no_other_word(
        patterns in prop::collection::vec(pattern(4), 1..20),
        listed in prop::collection::btree_set("[abcé]{1,4}(-[abcé]{1,4}){0,3}", 1..10),
        words in prop::collection::vec("[abcABC.]{0,8}", 10),
    ) {
        let patterns = parsed(&patterns);
        let listed: Vec<_> = listed.iter().map(|entry| Exception::parse(entry).unwrap()).collect();
        let automaton = Automaton::with_exceptions(&patterns, &listed);
        for exception in &listed {
            // Of two entries for one word the later one applies.
            let last = listed.iter().rfind(|other| other.word() == exception.word()).unwrap();
            for word in [exception.word().to_string(), exception.word().to_uppercase()] {
                let breaks = automaton.breaks_within(&word, &ALL);
                prop_assert_eq!(breaks.join(&word, "-").to_lowercase(), last.to_string());
            }
        }
        for word in words {
            let folded = word.to_lowercase();
            if listed.iter().all(|exception| exception.word() != folded) {
                prop_assert_eq!(found(&automaton, &word, &ALL), plain(&patterns, &word, &ALL));
            }
        }
    }
}

#[test]
fn no_patterns_no_breaks() {
    let automaton = Automaton::new(&Patterns::default());
    for word in ["", "a", "word", "été", &"long".repeat(50)] {
        assert!(automaton.breaks_within(word, &ALL).is_empty());
    }
}

#[test]
fn the_last_of_many_exceptions_for_a_word_applies() {
    let mut listed = vec![Exception::parse("a-bab").unwrap(); 70_000];
    listed.push(Exception::parse("aba-b").unwrap());
    let automaton = Automaton::with_exceptions(&parsed(&[]), &listed);
    assert_eq!(found(&automaton, "abab", &ALL), [3]);
}

#[test]
fn large_alphabets_work() {
    // 300 letters from the Hangul block, each followed by a break.
    let letters: Vec<char> = ('\u{ac00}'..).take(300).collect();
    let text: String = letters.iter().map(|letter| format!("{letter}1 ")).collect();
    let patterns = Patterns::parse(&text).unwrap();
    let hyphenator = Hyphenator::from_patterns(&patterns).with_minima(1, 1);
    let word = "\u{ac00}\u{ac01}x\u{ac02}";
    assert_eq!(hyphenator.hyphenate(word, "-"), "\u{ac00}-\u{ac01}-x\u{ac02}");
}

#[test]
fn cells_widen_where_32_bits_are_too_few() {
    // Twelve bits for the levels, and twenty for rows that begin at multiples of eight.
    let max_next = (1 << 23) - 8;
    let split = Split::new::<u32>(1 << 12, max_next).unwrap();
    for (levels, next) in [(4095, max_next), (0, max_next), (4095, 0), (0b101, 8), (0, 0)] {
        let cell = u32::new(split, levels, next);
        assert_eq!((cell.levels(split), cell.next(split)), (levels, next));
    }
    assert_eq!(Split::new::<u32>(1 << 12, 1 << 23), None);
    assert_eq!(Split::new::<u32>((1 << 12) + 1, max_next), None);
    let split = Split::new::<u64>(1 << 12, 1 << 40).unwrap();
    let cell = u64::new(split, 4095, 1 << 40);
    assert_eq!((cell.levels(split), cell.next(split)), (4095, 1 << 40));
}
