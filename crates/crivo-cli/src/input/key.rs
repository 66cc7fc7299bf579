//! The keys of records: which parts they have, and what was missing.

use std::sync::Arc;

use crivo::hash::{CompositeKey, KeyEncoding, KeyTextError};
use memchr::memchr;

use super::csv::Scanner;
use super::json::{Found, JsonError, JsonKeys};
use crate::error::Error;
use crate::human;

/// How to find the key of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum KeyPlan {
    /// It is the whole record, without its end.
    Record,
    /// It is the field with this number, counted from 0.
    Field(usize),
    /// It is made of parts.
    Made(Arc<KeyRecipe>),
}

/// Which parts a key is made of, and how they are changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct KeyRecipe {
    pub(super) parts: KeyParts,
    pub(super) changes: KeyChanges,
}

/// Which parts of a record are its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum KeyParts {
    /// The whole record, without its end.
    Record,
    /// The fields with these numbers, counted from 0.
    Fields(Vec<usize>),
    /// The values at these places of a record in JSON.
    Json(JsonKeys),
}

/// What is done to each part of a key before it is hashed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct KeyChanges {
    /// White space around it is removed.
    pub(super) trims: bool,
    /// Letters are folded.
    pub(super) ignores_case: bool,
    /// The type as which each part is read; none if all are bytes.
    pub(super) types: Vec<KeyEncoding>,
}

/// Why a record has no key.
#[derive(Debug, thiserror::Error)]
enum KeyError {
    #[error(transparent)]
    Text(#[from] KeyTextError),
    #[error(transparent)]
    Json(#[from] JsonError),
}

impl KeyPlan {
    pub(super) fn new(parts: KeyParts, changes: &KeyChanges) -> Self {
        let is_unchanged = *changes == KeyChanges::default();
        match parts {
            KeyParts::Record if is_unchanged => Self::Record,
            KeyParts::Fields(indices) if is_unchanged && indices.len() == 1 => {
                Self::Field(indices[0])
            }
            parts => Self::Made(Arc::new(KeyRecipe { parts, changes: changes.clone() })),
        }
    }
}

/// Makes keys by a recipe.
#[derive(Debug, Default)]
pub(super) struct KeyMaker {
    key: CompositeKey,
    /// How many parts the key has.
    count: usize,
    lacks_part: bool,
    /// Where the first fields of a record end.
    ends: Vec<usize>,
    /// What is at the places of a record in JSON.
    found: Vec<Found>,
    /// Memory for a string of JSON, and for folded letters.
    decoded: Vec<u8>,
    folded: Vec<u8>,
}

impl KeyMaker {
    /// The key of a record that is not CSV, unless a key failed before.
    pub(super) fn of_line(
        &mut self,
        recipe: &KeyRecipe,
        content: &[u8],
        delimiter: u8,
        tally: &mut Tally,
    ) -> Option<&[u8]> {
        self.make(tally, |maker| match &recipe.parts {
            KeyParts::Record => maker.push(Some(content), &recipe.changes),
            KeyParts::Fields(indices) => {
                maker.find_fields(content, delimiter, indices);
                indices.iter().try_for_each(|&index| {
                    let part = maker.ends.get(index).map(|&end| {
                        let start = if index == 0 { 0 } else { maker.ends[index - 1] + 1 };
                        &content[start..end]
                    });
                    maker.push(part, &recipe.changes)
                })
            }
            KeyParts::Json(keys) => {
                keys.find(content, &mut maker.found)?;
                // Taken out of the maker while it makes the key.
                let mut decoded = std::mem::take(&mut maker.decoded);
                let pushed = (0..maker.found.len()).try_for_each(|index| {
                    let part = keys.text(index, content, maker.found[index], &mut decoded)?;
                    maker.push(part, &recipe.changes)
                });
                maker.decoded = decoded;
                pushed
            }
        })
    }

    /// The key of the last record that was scanned, unless a key failed before.
    pub(super) fn of_csv(
        &mut self,
        recipe: &KeyRecipe,
        record: &[u8],
        scanner: &Scanner,
        tally: &mut Tally,
    ) -> Option<&[u8]> {
        self.make(tally, |maker| match &recipe.parts {
            KeyParts::Record => maker.push(Some(record), &recipe.changes),
            KeyParts::Fields(indices) => indices.iter().try_for_each(|&index| {
                let part = (index < scanner.field_count()).then(|| scanner.field(index));
                maker.push(part, &recipe.changes)
            }),
            // The arguments exclude it.
            KeyParts::Json(_) => Ok(()),
        })
    }

    fn make(
        &mut self,
        tally: &mut Tally,
        push_parts: impl FnOnce(&mut Self) -> Result<(), KeyError>,
    ) -> Option<&[u8]> {
        if tally.failure.is_some() {
            return None;
        }
        self.key.clear();
        self.count = 0;
        self.lacks_part = false;
        if let Err(error) = push_parts(self) {
            tally.failure = Some(error.to_string());
            return None;
        }
        if self.lacks_part {
            tally.add_missing();
        }
        Some(self.key.as_bytes())
    }

    /// Appends a part; a missing one is empty.
    fn push(&mut self, part: Option<&[u8]>, changes: &KeyChanges) -> Result<(), KeyError> {
        self.lacks_part |= part.is_none();
        let mut part = part.unwrap_or_default();
        if changes.trims {
            part = trimmed(part);
        }
        if changes.ignores_case {
            self.folded.clear();
            fold(part, &mut self.folded);
            part = &self.folded;
        }
        match changes.types.get(self.count) {
            Some(encoding) => encoding.push_text(part, &mut self.key)?,
            None => {
                self.key.push(part);
            }
        }
        self.count += 1;
        Ok(())
    }

    /// Finds the ends of the first fields, as many as are needed.
    fn find_fields(&mut self, content: &[u8], delimiter: u8, indices: &[usize]) {
        let count = indices.iter().max().map_or(0, |last| last + 1);
        self.ends.clear();
        let mut start = 0;
        while self.ends.len() < count && start <= content.len() {
            let length = memchr(delimiter, &content[start..]).unwrap_or(content.len() - start);
            self.ends.push(start + length);
            start += length + 1;
        }
    }
}

/// Text without the white space around it. Bytes that are not UTF-8 lose the white space of ASCII.
fn trimmed(part: &[u8]) -> &[u8] {
    match std::str::from_utf8(part) {
        Ok(text) => text.trim().as_bytes(),
        Err(_) => part.trim_ascii(),
    }
}

/// Appends text with its letters folded by Unicode's simple case folding. Bytes that are not UTF-8 stay
/// as they are.
fn fold(part: &[u8], folded: &mut Vec<u8>) {
    if part.is_ascii() {
        folded.extend(part.iter().map(u8::to_ascii_lowercase));
        return;
    }
    for chunk in part.utf8_chunks() {
        for letter in chunk.valid().chars() {
            let other = unicode_case_mapping::case_folded(letter);
            let letter = other.and_then(|code| char::from_u32(code.get())).unwrap_or(letter);
            folded.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
        }
        folded.extend_from_slice(chunk.invalid());
    }
}

/// The field with this number, counted from 0, if there are that many.
#[inline]
pub(super) fn nth_field(content: &[u8], index: usize, delimiter: u8) -> Option<&[u8]> {
    let mut rest = content;
    for _ in 0..index {
        let end = memchr(delimiter, rest)?;
        rest = &rest[end + 1..];
    }
    Some(&rest[..memchr(delimiter, rest).unwrap_or(rest.len())])
}

/// What was noticed while the keys of a chunk were made.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) records: u64,
    /// Records that lack a part of their key.
    pub(super) missing: u64,
    /// How many of them come before the first record that lacks nothing.
    pub(super) leading: u64,
    /// Why the record after these has no key; those behind it were not visited.
    pub(super) failure: Option<String>,
}

impl Tally {
    /// The record that will be counted next lacks a part, which is empty then.
    #[cold]
    pub(super) fn add_missing(&mut self) -> &'static [u8] {
        if self.missing == self.records {
            self.leading += 1;
        }
        self.missing += 1;
        &[]
    }
}

/// After this many records that all lack a part of their key, no more are read.
const MAX_LEADING: u64 = 1000;

/// Fails at a record that has no key, and if most records lack a part of it. It depends on the records
/// alone, not on where chunks end.
#[derive(Debug)]
pub(super) struct KeyCheck {
    /// What records lack; `None` if they may.
    lacked: Option<String>,
    /// The end of a message.
    advice: String,
    total: Tally,
    /// How many records of the present file were before.
    in_file: u64,
}

impl KeyCheck {
    pub(super) fn new(lacked: Option<String>, advice: String) -> Self {
        Self { lacked, advice, total: Tally::default(), in_file: 0 }
    }

    /// Adds the next chunk. `begins` is the number of records, or lines of a header, that a file begins
    /// with, if it begins here; `place` names a record.
    pub(super) fn add(
        &mut self,
        tally: Tally,
        begins: Option<u64>,
        place: impl FnOnce(u64) -> String,
    ) -> Result<(), Error> {
        self.in_file = begins.unwrap_or(self.in_file) + tally.records;
        if let Some(failure) = tally.failure {
            let place = place(self.in_file + 1);
            return Err(Error::new(format_args!("{place}: {failure}{}", self.advice)));
        }
        let total = &mut self.total;
        if total.leading == total.records {
            total.leading += tally.leading;
        }
        total.records += tally.records;
        total.missing += tally.missing;
        if total.leading >= MAX_LEADING { self.fail() } else { Ok(()) }
    }

    /// At the end of the input.
    pub(super) fn finish(&self) -> Result<(), Error> {
        if self.total.missing > self.total.records / 2 { self.fail() } else { Ok(()) }
    }

    fn fail(&self) -> Result<(), Error> {
        let Some(lacked) = &self.lacked else { return Ok(()) };
        let Tally { records, missing, .. } = self.total;
        let lack = if missing == 1 { "lacks" } else { "lack" };
        Err(Error::new(format_args!(
            "{} of {} {lack} {lacked} With --allow-missing, what is missing is taken to be empty{}",
            human::count(missing),
            human::counted(records, "record"),
            self.advice,
        )))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn letters_are_folded_one_by_one() {
        let folded = |text: &[u8]| {
            let mut folded = Vec::new();
            fold(text, &mut folded);
            folded
        };
        assert_eq!(folded(b"Ana [ANA] 7"), b"ana [ana] 7");
        for (text, expected) in [
            ("ÀÉÎ Ωmega ΣΟΦΟΣ σοφος", "àéî ωmega σοφοσ σοφοσ"),
            // Simple folding keeps the number of letters: ß is not ss. A final sigma is a sigma.
            ("Straße STRASSE ẞ", "straße strasse ß"),
            ("ſ K Å", "s k å"),
            ("İ I ı i", "İ i ı i"),
            ("ᏸ Ᏸ ꭰ", "Ᏸ Ᏸ Ꭰ"),
            ("𐐀", "𐐨"),
        ] {
            assert_eq!(String::from_utf8(folded(text.as_bytes())).unwrap(), expected);
        }
        assert_eq!(folded(b"A\xffB\xc3C"), b"a\xffb\xc3c");
        // Folding again changes nothing.
        for letter in '\0'..=char::MAX {
            let once = folded(letter.to_string().as_bytes());
            assert_eq!(folded(&once), once, "{letter:?}");
        }
    }

    #[test]
    fn white_space_is_removed_from_both_ends() {
        assert_eq!(trimmed(b"\t a b \r"), b"a b");
        assert_eq!(trimmed("\u{a0}a\u{3000}".as_bytes()), b"a");
        assert_eq!(trimmed(b" \xff \n"), b"\xff");
        assert_eq!(trimmed(b"  "), b"");
    }

    proptest! {
        /// Cut anywhere, the same records give the same answer.
        #[test]
        fn the_answer_does_not_depend_on_chunks(
            runs in prop::collection::vec((any::<bool>(), 1..1200u64), 1..5),
            cuts in prop::collection::vec(1..1500u64, 0..6),
        ) {
            let lacks: Vec<bool> = runs.iter().flat_map(|&(lacks, length)| (0..length).map(move |_| lacks)).collect();
            let audit = |chunks: &[&[bool]]| {
                let mut check = KeyCheck::new(Some("a field".to_owned()), String::new());
                for chunk in chunks {
                    let mut tally = Tally::default();
                    for lacks in *chunk {
                        if *lacks {
                            tally.add_missing();
                        }
                        tally.records += 1;
                    }
                    check.add(tally, None, |_| String::new())?;
                }
                check.finish()
            };
            let mut rest = &lacks[..];
            let mut chunks = Vec::new();
            for cut in cuts {
                let (chunk, others) = rest.split_at(rest.len().min(cut as usize));
                chunks.push(chunk);
                rest = others;
            }
            chunks.push(rest);
            let count = lacks.iter().filter(|lacks| **lacks).count();
            let leading = lacks.iter().take_while(|lacks| **lacks).count() as u64;
            let fails = 2 * count > lacks.len() || leading >= MAX_LEADING;
            prop_assert_eq!(audit(&chunks).is_err(), fails);
        }
    }
}
