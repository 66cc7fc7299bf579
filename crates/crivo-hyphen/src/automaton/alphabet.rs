//! From characters to classes: the letters of the patterns, numbered from small to large.

use unicode_normalization::char::is_combining_mark;

use crate::Patterns;

/// The number of a letter.
pub(super) type Class = u32;

/// Everything that stands in no pattern.
pub(super) const OTHER: Class = 0;
/// A dot inside a word; it matches an end of the word, as it does where TeX's patterns are taken
/// literally.
pub(super) const DOT: Class = 1;
/// The end of the word, after its last letter.
pub(super) const END: Class = 2;
const FIRST_LETTER: Class = 3;

const PAGE: usize = 128;

/// The classes of all characters. Capital letters have the classes of their small ones, so that
/// most words are matched without being folded first.
#[derive(Debug, Clone)]
pub(super) struct Alphabet {
    /// The class of every byte that is a character of its own; of others, [`OTHER`]. ASCII letters
    /// are numbered first, so that their classes fit a byte.
    pub ascii: Box<[u8; 256]>,
    /// Which page of `cells` holds the characters from 128·i on; page 0 is empty.
    pages: Vec<u16>,
    cells: Vec<Class>,
    marks: Vec<bool>,
}

impl Alphabet {
    /// The letters of patterns, and of words to be matched as a whole.
    pub fn new<'w>(patterns: &Patterns, words: impl Iterator<Item = &'w str>) -> Self {
        let mut is_ascii_letter = [false; PAGE];
        let mut letters: Vec<char> = Vec::new();
        for c in patterns.letters().iter().copied().chain(words.flat_map(str::chars)) {
            match is_ascii_letter.get_mut(c as usize) {
                Some(cell) => *cell = c != '.',
                None => letters.push(c),
            }
        }
        letters.extend(('\0'..).zip(is_ascii_letter).filter_map(|(c, is)| is.then_some(c)));
        letters.sort_unstable();
        letters.dedup();

        let mut alphabet = Self {
            ascii: Box::new([OTHER as u8; 256]),
            pages: Vec::new(),
            cells: vec![OTHER; PAGE],
            marks: vec![false; FIRST_LETTER as usize],
        };
        alphabet.set('.', DOT);
        for (class, &letter) in (FIRST_LETTER..).zip(&letters) {
            alphabet.set(letter, class);
            alphabet.marks.push(is_combining_mark(letter));
        }
        for (class, &letter) in (FIRST_LETTER..).zip(&letters) {
            let mut upper = letter.to_uppercase();
            if let (Some(capital), None) = (upper.next(), upper.next())
                && capital.to_lowercase().eq([letter])
                // Which small sigma a capital one stands for is known only in a whole word.
                && capital != 'Σ'
                && alphabet.class(capital) == OTHER
            {
                alphabet.set(capital, class);
            }
        }
        alphabet
    }

    fn set(&mut self, c: char, class: Class) {
        let code = c as usize;
        if let Some(cell) = self.ascii[..PAGE].get_mut(code) {
            // Small letters come first in the order of characters: at most 128 of these.
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

    /// Whether a class is a combining mark, before which no word is divided.
    #[inline]
    pub fn is_mark(&self, class: Class) -> bool {
        self.marks[class as usize]
    }

    pub fn size_in_bytes(&self) -> usize {
        size_of_val(&*self.ascii)
            + size_of_val(self.pages.as_slice())
            + size_of_val(self.cells.as_slice())
            + size_of_val(self.marks.as_slice())
    }

    /// How many classes there are.
    pub fn class_count(&self) -> usize {
        self.marks.len()
    }
}
