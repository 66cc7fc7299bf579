//! Word lists: the embedded one, or the user's.

use std::fs;
use std::io::Read;
use std::path::Path;

use flate2::read::GzDecoder;

use crate::StudyError;

/// SCOWL's huge list of American English; see `assets/README.md` for source and licence.
const EMBEDDED: &[u8] = include_bytes!("../assets/words.txt.gz");

/// The licence of the embedded words.
pub const WORDS_LICENCE: &str = include_str!("../assets/words-licence.txt");

/// A list of words, without empty lines and repetitions, in the order of the file.
///
/// ```
/// use crivo_lab::WordList;
///
/// let words = WordList::embedded();
/// assert!(words.iter().count() > 300_000);
/// assert_eq!(words.name(), "SCOWL, American English, huge");
/// ```
#[derive(Debug, Clone)]
pub struct WordList {
    name: String,
    words: Vec<String>,
}

impl WordList {
    /// The embedded list: 348,454 English words.
    pub fn embedded() -> Self {
        let mut text = String::new();
        // Cannot fail: the bytes are part of the program, and a test decompresses them.
        let unpacked = GzDecoder::new(EMBEDDED).read_to_string(&mut text);
        debug_assert!(unpacked.is_ok());
        Self::of_text("SCOWL, American English, huge", &text)
    }

    /// The words of a file, one on each line.
    ///
    /// # Errors
    /// If the file cannot be read, is not UTF-8, or has no words.
    pub fn read(path: &Path) -> Result<Self, StudyError> {
        let text = fs::read_to_string(path)
            .map_err(|error| StudyError::Read { path: path.to_path_buf(), error })?;
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
        let words = Self::of_text(&name, text.trim_start_matches('\u{feff}'));
        if words.words.is_empty() {
            return Err(StudyError::NoWords { path: path.to_path_buf() });
        }
        Ok(words)
    }

    fn of_text(name: &str, text: &str) -> Self {
        let mut seen = std::collections::HashSet::new();
        let words = text.lines().map(str::trim).filter(|word| !word.is_empty());
        let words = words.filter(|word| seen.insert(*word)).map(String::from).collect();
        Self { name: name.to_string(), words }
    }

    /// The name of the list.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The number of words.
    pub fn count(&self) -> usize {
        self.words.len()
    }

    /// All words.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.words.iter().map(String::as_str)
    }

    /// Evenly spaced words, `count` of them or all if there are fewer.
    pub fn sample(&self, count: usize) -> Vec<&str> {
        let total = self.words.len();
        let count = count.min(total);
        (0..count).map(|i| self.words[i * total / count].as_str()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_embedded_list_is_complete() {
        let words = WordList::embedded();
        assert_eq!(words.count(), 348_454);
        assert!(words.iter().any(|word| word == "hyphenation"));
        assert!(WORDS_LICENCE.contains("Kevin Atkinson"));
    }

    #[test]
    fn empty_lines_and_repetitions_are_dropped() {
        let words = WordList::of_text("test", "ana\r\n\n bia \nana\n");
        assert_eq!(words.iter().collect::<Vec<_>>(), ["ana", "bia"]);
        assert_eq!(words.sample(5), ["ana", "bia"]);
        assert_eq!(words.sample(1), ["ana"]);
    }
}
