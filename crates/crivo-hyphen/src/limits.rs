//! The limits that a caller sets on every break.

/// How far a break must be from both ends of a word, and which words are divided at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Minimum number of letters before a break, at least 1.
    pub left: usize,
    /// Minimum number of letters after a break, at least 1.
    pub right: usize,
    /// Words with fewer letters are not divided.
    pub min_word_length: usize,
    /// Whether `left` and `right` apply to exceptions as well.
    pub clip_exceptions: bool,
}

impl Limits {
    /// The gaps that the minima allow in a word of `letters` letters, at most 64, as bits.
    #[inline]
    pub fn mask(&self, letters: usize) -> u64 {
        match letters.checked_sub(self.right) {
            Some(last) if self.left <= last && last < 64 => {
                (u64::MAX << self.left) & (u64::MAX >> (63 - last))
            }
            _ => 0,
        }
    }

    /// Whether an exception of `letters` letters may be divided before letter `index`.
    pub fn allow_listed(&self, index: usize, letters: usize) -> bool {
        let inside = 0 < index && index < letters && letters >= self.min_word_length;
        let allowed = self.left <= index && self.right <= letters.saturating_sub(index);
        inside && (allowed || !self.clip_exceptions)
    }
}
