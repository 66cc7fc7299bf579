//! Keys of several parts.

use std::fmt;

use super::Key;

/// How many bytes need no memory of their own: two words of text and a number.
const INLINE: usize = 56;

/// A key of several parts, such as the columns of a row: one unambiguous run of bytes.
///
/// Each part is its length (unsigned LEB128: seven bits to a byte, the lowest first, the high bit
/// set in all bytes but the last) and its bytes. So `("ab", "c")` and `("a", "bc")` are two keys. A
/// tuple of 2 to 8 keys has the same bytes; this builder is for a number of parts that is known
/// only at run time. A key of a single part is that part, without a length.
///
/// ```
/// use crivo::KeyHasher;
/// use crivo::hash::CompositeKey;
///
/// let mut row = CompositeKey::new();
/// row.push("ana").push(&258u32);
/// assert_eq!(row.as_bytes(), b"\x03ana\x04\x02\x01\x00\x00");
///
/// let hasher = KeyHasher::default();
/// assert_eq!(hasher.digest(&row), hasher.digest(&("ana", 258u32)));
///
/// row.clear(); // the next row, in the same memory
/// row.push("rui").push(&7u32);
/// ```
#[derive(Clone)]
pub struct CompositeKey {
    /// The first `length` bytes are the key, unless `heap` holds it.
    inline: [u8; INLINE],
    length: usize,
    /// The whole key, once it has become too long for `inline`.
    heap: Vec<u8>,
    parts: usize,
    /// The bytes of the first part's length.
    first_head: usize,
}

impl CompositeKey {
    /// A key without parts.
    ///
    /// ```
    /// use crivo::hash::CompositeKey;
    ///
    /// assert!(CompositeKey::new().as_bytes().is_empty());
    /// ```
    #[inline]
    pub const fn new() -> Self {
        Self { inline: [0; INLINE], length: 0, heap: Vec::new(), parts: 0, first_head: 0 }
    }

    /// Appends a part.
    ///
    /// ```
    /// use crivo::hash::CompositeKey;
    ///
    /// let mut row = CompositeKey::new();
    /// row.push("ab").push("c");
    /// assert_eq!(row.as_bytes(), b"\x02ab\x01c");
    /// ```
    #[inline]
    pub fn push<K: Key + ?Sized>(&mut self, part: &K) -> &mut Self {
        part.with_bytes(|bytes| {
            write_length(bytes.len(), |byte| self.append(&[byte]));
            if self.parts == 0 {
                self.first_head = self.encoded().len();
            }
            self.append(bytes);
            self.parts += 1;
        });
        self
    }

    /// The bytes of all parts, each behind its length, or of the only part.
    ///
    /// ```
    /// use crivo::hash::CompositeKey;
    ///
    /// let mut row = CompositeKey::new();
    /// assert_eq!(row.push("ana").as_bytes(), b"ana");
    /// assert_eq!(row.push("rui").as_bytes(), b"\x03ana\x03rui");
    /// ```
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        let head = if self.parts == 1 { self.first_head } else { 0 };
        &self.encoded()[head..]
    }

    /// The bytes of all parts, each behind its length.
    #[inline]
    fn encoded(&self) -> &[u8] {
        if self.heap.is_empty() { &self.inline[..self.length] } else { &self.heap }
    }

    /// Removes all parts. The memory is kept.
    ///
    /// ```
    /// use crivo::hash::CompositeKey;
    ///
    /// let mut row = CompositeKey::new();
    /// row.push("ana").clear();
    /// assert_eq!(row.push("rui").as_bytes(), b"rui");
    /// ```
    #[inline]
    pub fn clear(&mut self) {
        self.length = 0;
        self.heap.clear();
        self.parts = 0;
    }

    #[inline]
    fn append(&mut self, bytes: &[u8]) {
        match self.inline.get_mut(self.length..self.length + bytes.len()) {
            Some(place) if self.heap.is_empty() => {
                place.copy_from_slice(bytes);
                self.length += bytes.len();
            }
            _ => self.append_to_heap(bytes),
        }
    }

    #[cold]
    fn append_to_heap(&mut self, bytes: &[u8]) {
        if self.heap.is_empty() {
            self.heap.extend_from_slice(&self.inline[..self.length]);
        }
        self.heap.extend_from_slice(bytes);
    }
}

impl Default for CompositeKey {
    fn default() -> Self {
        Self::new()
    }
}

impl PartialEq for CompositeKey {
    fn eq(&self, other: &Self) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl Eq for CompositeKey {}

impl fmt::Debug for CompositeKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CompositeKey(\"{}\")", self.as_bytes().escape_ascii())
    }
}

/// Writes a length as unsigned LEB128, byte by byte.
#[inline]
fn write_length(mut length: usize, mut write: impl FnMut(u8)) {
    while length >= 0x80 {
        write(length as u8 | 0x80);
        length >>= 7;
    }
    write(length as u8);
}

#[cfg(test)]
mod tests {
    use crivo_core::wire::put_bytes;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_bytes_of_the_document_are_those_of_the_code() {
        let document = include_str!("../../../../docs/format.md");
        let (_, table) = document.split_once("<!-- composite keys -->").unwrap();
        let rows = table.trim_start().lines().skip(2).take_while(|line| line.starts_with('|'));
        let mut count = 0;
        for row in rows {
            let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
            let unhex = |text: &str| -> Vec<u8> {
                text.split_whitespace().map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect()
            };
            let mut key = CompositeKey::new();
            for part in cells[1].split(',') {
                key.push(&unhex(part));
            }
            assert_eq!(key.as_bytes(), unhex(cells[2]), "{row}");
            count += 1;
        }
        assert!(count >= 4);
    }

    #[test]
    fn lengths_have_the_bytes_of_leb128() {
        for (length, expected) in
            [(0, &[0][..]), (127, &[0x7f]), (128, &[0x80, 1]), (300, &[0xac, 2])]
        {
            let mut key = CompositeKey::new();
            key.push(&vec![7; length]);
            assert_eq!(key.as_bytes(), vec![7; length]);
            key.push("");
            assert_eq!(key.as_bytes()[..expected.len()], *expected);
            assert_eq!(key.as_bytes().len(), expected.len() + length + 1);
        }
    }

    proptest! {
        #[test]
        fn short_and_long_keys_are_written_alike(
            parts in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 0..6),
        ) {
            let mut key = CompositeKey::new();
            // What was in it before leaves no trace.
            key.push(&[9u8; 100]).clear();
            let mut bytes = Vec::new();
            for part in &parts {
                key.push(part);
                put_bytes(&mut bytes, part);
            }
            if let [only] = &parts[..] {
                bytes.clone_from(only);
            }
            prop_assert_eq!(key.as_bytes(), &bytes);
        }
    }
}
