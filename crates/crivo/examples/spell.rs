//! A spell checker: a dictionary in a filter, less than three bytes a word if there are many.
//!
//! This is what Bloom filters were first used for at large. Words of a text that the filter does
//! not know are misspelt, for certain; a misspelt word is taken for right once in a million. For each
//! unknown word, all words that differ from it by one slip of the fingers are looked up in the same
//! filter: a letter left out, put in, mistaken, or swapped with the next.
//!
//! ```text
//! cargo run --release --example spell -- WORDS TEXT     a word on each line of WORDS; TEXT to check
//! cargo run --release --example spell                   a few words, and a sentence that has slips
//! ```

use std::collections::BTreeSet;
use std::error::Error;
use std::fs;

use crivo::filter::Fuse;

/// Right answers are certain; wrong ones come about once in a million questions.
const RATE: f64 = 1e-6;

/// A small dictionary for trying it out.
const WORDS: &str = "\
a about again all always an and any are as at be because been before believe between book but by \
came can come could day did different do does down each every few find first for found friend from \
get give go good great had has have he help her here him his house how i if in into is it its just \
know last leave letter like little long look made make man many may me mean men more most much must \
my name never new no not now of off old on one only or other our out over own part people place \
please read receive right said same say see separate she should small so some sound spell still such \
take tell than that the their them then there these they thing think this those through time to too \
tomorrow two under until up us use very want was water way we weird well went were what when where \
which while who will with word words work world would write year you your";

const TEXT: &str =
    "Pleese beleive me: I will recieve your leter tomorow, adn read evry word of it.";

/// A dictionary that knows words only by their digests.
struct Speller {
    words: Fuse,
    /// The letters that occur in its words: what a slip can be corrected with.
    letters: Vec<char>,
}

impl Speller {
    fn new<'a>(words: impl IntoIterator<Item = &'a str>) -> Result<Self, Box<dyn Error>> {
        let words: BTreeSet<String> = words.into_iter().map(str::to_lowercase).collect();
        let letters: BTreeSet<char> = words.iter().flat_map(|word| word.chars()).collect();
        Ok(Self { words: Fuse::build(&words, RATE)?, letters: letters.into_iter().collect() })
    }

    fn knows(&self, word: &str) -> bool {
        self.words.contains(&word.to_lowercase())
    }

    /// The words of a text that it does not know, each once, in order.
    fn unknown<'a>(&self, text: &'a str) -> Vec<&'a str> {
        let mut told = BTreeSet::new();
        text.split(|c: char| !c.is_alphabetic() && c != '\'')
            .map(|word| word.trim_matches('\''))
            .filter(|word| !word.is_empty() && !self.knows(word) && told.insert(*word))
            .collect()
    }

    /// Words that one slip makes this of.
    ///
    /// A word of n letters has about (2a + 2)n slips, with a letters in the alphabet: 300 questions,
    /// and thus a wrong suggestion in 3,000 words.
    fn suggestions(&self, word: &str) -> Vec<String> {
        let known: BTreeSet<String> =
            self.slips(&word.to_lowercase()).filter(|slip| self.knows(slip)).collect();
        known.into_iter().collect()
    }

    fn slips(&self, word: &str) -> impl Iterator<Item = String> {
        let letters: Vec<char> = word.chars().collect();
        (0..=letters.len()).flat_map(move |at| {
            let (before, after) = letters.split_at(at);
            let corrected = |middle: &[char], skipped: usize| -> String {
                before.iter().chain(middle).chain(after.iter().skip(skipped)).collect()
            };
            let mut slips: Vec<String> =
                self.letters.iter().map(|&letter| corrected(&[letter], 0)).collect();
            if let Some(&first) = after.first() {
                slips.push(corrected(&[], 1));
                slips.extend(self.letters.iter().map(|&letter| corrected(&[letter], 1)));
                if let Some(&second) = after.get(1) {
                    slips.push(corrected(&[second, first], 2));
                }
            }
            slips
        })
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (words, text) = match &arguments[..] {
        [] => (WORDS.to_owned(), TEXT.to_owned()),
        [words, text] => (fs::read_to_string(words)?, fs::read_to_string(text)?),
        _ => return Err("give a file of words and a text to check, or nothing".into()),
    };
    let speller = Speller::new(words.split_whitespace())?;
    eprintln!("{} words, {:.1} bits each", speller.words.key_count(), speller.words.bits_per_key());
    for word in speller.unknown(&text) {
        match &speller.suggestions(word)[..] {
            [] => println!("{word}"),
            suggestions => println!("{word}: {}?", suggestions.join(", ")),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn speller() -> Speller {
        Speller::new(WORDS.split_whitespace()).unwrap()
    }

    /// No misspelt word of these passes: the filter is always built alike.
    #[test]
    fn slips_are_found_and_corrected() {
        let speller = speller();
        let unknown = speller.unknown(TEXT);
        let expected = ["Pleese", "beleive", "recieve", "leter", "tomorow", "adn", "evry"];
        assert_eq!(unknown, expected);
        for (slip, word) in [
            ("Pleese", "please"),
            ("beleive", "believe"),
            ("recieve", "receive"),
            ("leter", "letter"),
            ("tomorow", "tomorrow"),
            ("adn", "and"),
            ("evry", "every"),
        ] {
            assert!(speller.suggestions(slip).iter().any(|known| known == word), "{slip}");
        }
        assert!(speller.suggestions("xylophone").is_empty());
    }

    #[test]
    fn every_word_of_the_dictionary_is_known_in_any_case() {
        let speller = speller();
        for word in WORDS.split_whitespace() {
            assert!(speller.knows(word) && speller.knows(&word.to_uppercase()), "{word}");
        }
        assert!(speller.unknown("You're 'here', I know").contains(&"You're"));
    }

    #[test]
    fn every_single_slip_leads_back() {
        let speller = speller();
        for word in ["different", "be"] {
            for slip in speller.slips(word) {
                assert!(speller.slips(&slip).any(|back| back == word), "{word} {slip}");
            }
        }
    }
}
