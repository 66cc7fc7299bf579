//! From characters to classes: the letters of the patterns, numbered.

use std::cmp::Reverse;

use unicode_normalization::char::is_combining_mark;

use crate::Patterns;

/// The number of a letter.
pub(super) type Class = u32;

/// Every character that occurs in no pattern.
pub(super) const OTHER: Class = 0;
/// A dot inside a word; it matches an end of the word, as in a literal reading of TeX's patterns.
pub(super) const DOT: Class = 1;
/// The end of the word, after its last letter.
pub(super) const END: Class = 2;
const FIRST_LETTER: Class = 3;

const PAGE: usize = 128;

/// The classes of all characters. Upper-case letters have the classes of the lower-case ones, so
/// most words are matched without being folded first.
#[derive(Debug, Clone)]
pub(super) struct Alphabet {
    /// The class of every ASCII byte; [`OTHER`] for all other bytes. ASCII letters are numbered
    /// first, so that their classes fit a byte.
    pub ascii: Box<[u8; 256]>,
    /// The page of `cells` for the characters from 128·i on; page 0 is empty.
    pages: Vec<u16>,
    cells: Vec<Class>,
    /// The role of every class.
    roles: Vec<Role>,
}

/// The role of a class in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Letter,
    /// A combining mark, before which no word is divided.
    Mark,
    /// A mark that occurs in an exception but in no pattern: patterns ignore it.
    ListedMark,
}

impl Alphabet {
    /// The letters of patterns, and of exceptions.
    pub fn new<'w>(patterns: &Patterns, words: impl Iterator<Item = &'w str>) -> Self {
        let mut letters = counted(patterns.letters(), words);
        // Frequent letters first: a row of the table spans several cache lines, and most accesses
        // then hit the first one.
        letters.sort_by_key(|&(letter, count)| (!letter.is_ascii(), Reverse(count)));

        let mut alphabet = Self {
            ascii: Box::new([OTHER as u8; 256]),
            pages: Vec::new(),
            cells: vec![OTHER; PAGE],
            roles: vec![Role::Letter; FIRST_LETTER as usize],
        };
        alphabet.set('.', DOT);
        for (class, &(letter, count)) in (FIRST_LETTER..).zip(&letters) {
            alphabet.set(letter, class);
            alphabet.roles.push(match is_combining_mark(letter) {
                true if count == 0 => Role::ListedMark,
                true => Role::Mark,
                false => Role::Letter,
            });
        }
        for (class, &(letter, _)) in (FIRST_LETTER..).zip(&letters) {
            let mut upper = letter.to_uppercase();
            if let (Some(capital), None) = (upper.next(), upper.next())
                && capital.to_lowercase().eq([letter])
                // The lower case of a capital sigma depends on its position in the word.
                && capital != 'Σ'
                && alphabet.class(capital) == OTHER
            {
                alphabet.set(capital, class);
            }
        }
        let apostrophe = alphabet.class('\'');
        if apostrophe != OTHER {
            alphabet.set('\u{2019}', apostrophe);
            alphabet.set('\u{2bc}', apostrophe);
        }
        alphabet
    }

    fn set(&mut self, c: char, class: Class) {
        let code = c as usize;
        if let Some(cell) = self.ascii[..PAGE].get_mut(code) {
            // ASCII is numbered first: at most 128 classes.
            *cell = class as u8;
            return;
        }
        let page = code / PAGE;
        if page >= self.pages.len() {
            self.pages.resize(page + 1, 0);
        }
        if self.pages[page] == 0 {
            self.pages[page] = (self.cells.len() / PAGE) as u16;
            self.cells.resize(self.cells.len() + PAGE, OTHER);
        }
        self.cells[usize::from(self.pages[page]) * PAGE + code % PAGE] = class;
    }

    /// The class of a character; a capital letter may be [`OTHER`] where it must be folded first.
    #[inline]
    pub fn class(&self, c: char) -> Class {
        let code = c as usize;
        if code < PAGE {
            return Class::from(self.ascii[code]);
        }
        let page = self.pages.get(code / PAGE).copied().unwrap_or(0);
        self.cells[usize::from(page) * PAGE + code % PAGE]
    }

    #[inline]
    pub fn role(&self, class: Class) -> Role {
        self.roles[class as usize]
    }

    pub fn size_in_bytes(&self) -> usize {
        size_of_val(&*self.ascii)
            + size_of_val(self.pages.as_slice())
            + size_of_val(self.cells.as_slice())
            + size_of_val(self.roles.as_slice())
    }

    /// The number of classes.
    pub fn class_count(&self) -> usize {
        self.roles.len()
    }
}

/// All characters except the dot, and how often each occurs in the patterns.
fn counted<'w>(patterns: &[char], words: impl Iterator<Item = &'w str>) -> Vec<(char, usize)> {
    let mut of_ascii = [None; PAGE];
    let mut others = Vec::new();
    let in_words = words.flat_map(str::chars).map(|c| (c, 0));
    for (c, count) in patterns.iter().map(|&c| (c, 1)).chain(in_words) {
        match of_ascii.get_mut(c as usize) {
            Some(sum) => *sum.get_or_insert(0) += count,
            None => others.push((c, count)),
        }
    }
    others.sort_unstable();
    let others = others.chunk_by(|a, b| a.0 == b.0);
    let others = others.map(|same| (same[0].0, same.iter().map(|(_, count)| count).sum()));
    let ascii = ('\0'..).zip(of_ascii).filter_map(|(c, count)| Some((c, count?)));
    ascii.filter(|(c, _)| *c != '.').chain(others).collect()
}
