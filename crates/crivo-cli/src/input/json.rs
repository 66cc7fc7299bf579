//! Keys in records of JSON.
//!
//! A record is scanned once, from its beginning to its end. Objects and arrays that lead to a key are
//! entered; what lies beside them is checked and skipped. Nothing is allocated but the text of keys.
//!
//! ```text
//!   {"user": {"name": "ana", "id": 7}, "tags": [1, 2]}        --json-key /user/id
//!     enter     skip           ↑ found       skip
//! ```

use memchr::memchr2;

/// Why a record has no key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum JsonError {
    #[error("the record is not UTF-8, and JSON is")]
    NotUtf8,
    #[error("the record is not JSON: {expected} is missing at byte {place}")]
    Syntax {
        expected: &'static str,
        /// Counted from 1.
        place: usize,
    },
    #[error("the value at {pointer} is {what}, which is no key; name a value in it")]
    Container { pointer: String, what: &'static str },
    #[error("the text at {pointer} has half of a surrogate pair (\\u)")]
    Surrogate { pointer: String },
}

/// A place in a document: a JSON Pointer (RFC 6901).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct JsonPointer {
    text: String,
    /// The names and numbers between the slashes.
    tokens: Vec<String>,
}

impl JsonPointer {
    /// Parses a pointer, such as `/user/id`.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let wrong = || {
            Err(format!(
                "{text:?} is not a JSON Pointer, which is written as /user/id; ~1 stands for / in a \
                 name, and ~0 for ~"
            ))
        };
        let mut tokens = text.split('/');
        if tokens.next() != Some("") || text.contains('\n') {
            return wrong();
        }
        let unescape = |token: &str| {
            let mut pieces = token.split('~');
            let mut name = pieces.next().unwrap_or_default().to_owned();
            for piece in pieces {
                name.push(match piece.bytes().next() {
                    Some(b'0') => '~',
                    Some(b'1') => '/',
                    _ => return None,
                });
                name.push_str(&piece[1..]);
            }
            Some(name)
        };
        match tokens.map(unescape).collect() {
            Some(tokens) => Ok(Self { text: text.to_owned(), tokens }),
            None => wrong(),
        }
    }

    /// Its text.
    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }
}

/// Several places, as a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct JsonKeys {
    pointers: Vec<JsonPointer>,
    /// The root is the first.
    nodes: Vec<Node>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Node {
    /// The pointers that end here.
    ends: Vec<usize>,
    /// Names of members, or indices of elements, and their nodes.
    children: Vec<(String, usize)>,
}

/// What is at a place of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// Nothing, or null.
    Missing,
    /// A number, `true` or `false`, as written.
    Literal(Span),
    /// What stands between quotes.
    Text { raw: Span, has_escapes: bool },
    /// An object or array.
    Container(&'static str),
}

/// Where something is in a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    start: usize,
    end: usize,
}

impl Span {
    fn of(self, record: &[u8]) -> &[u8] {
        &record[self.start..self.end]
    }
}

impl JsonKeys {
    pub(super) fn new(pointers: Vec<JsonPointer>) -> Self {
        let mut nodes = vec![Node::default()];
        for (index, pointer) in pointers.iter().enumerate() {
            let mut node = 0;
            for token in &pointer.tokens {
                let known = nodes[node].children.iter().find(|(name, _)| name == token);
                node = match known {
                    Some((_, child)) => *child,
                    None => {
                        let child = nodes.len();
                        nodes[node].children.push((token.clone(), child));
                        nodes.push(Node::default());
                        child
                    }
                };
            }
            nodes[node].ends.push(index);
        }
        Self { pointers, nodes }
    }

    /// Finds what is at all places of a record. Of members with the same name, the last counts.
    pub(super) fn find(&self, record: &[u8], found: &mut Vec<Found>) -> Result<(), JsonError> {
        found.clear();
        found.resize(self.pointers.len(), Found::Missing);
        if std::str::from_utf8(record).is_err() {
            return Err(JsonError::NotUtf8);
        }
        // In strings they must be escaped. Most records have none anywhere.
        let has_controls = record.iter().fold(false, |any, byte| any | (*byte < b' '));
        let mut scanner =
            JsonScanner { bytes: record, place: 0, has_controls, nesting: Vec::new() };
        scanner.skip_space();
        scanner.find(self, 0, found)?;
        scanner.skip_space();
        if scanner.place < record.len() { Err(scanner.missing("the end")) } else { Ok(()) }
    }

    /// The text of a key, if there is one; `decoded` is memory for it.
    pub(super) fn text<'t>(
        &self,
        index: usize,
        record: &'t [u8],
        found: Found,
        decoded: &'t mut Vec<u8>,
    ) -> Result<Option<&'t [u8]>, JsonError> {
        let pointer = || self.pointers[index].text.clone();
        match found {
            Found::Missing => Ok(None),
            Found::Literal(text) | Found::Text { raw: text, has_escapes: false } => {
                Ok(Some(text.of(record)))
            }
            Found::Text { raw, .. } => {
                decoded.clear();
                decode(raw.of(record), decoded)
                    .ok_or_else(|| JsonError::Surrogate { pointer: pointer() })?;
                Ok(Some(decoded))
            }
            Found::Container(what) => Err(JsonError::Container { pointer: pointer(), what }),
        }
    }

    /// Forgets what was found at a node and below it.
    fn forget(&self, node: usize, found: &mut [Found]) {
        for &index in &self.nodes[node].ends {
            found[index] = Found::Missing;
        }
        for (_, child) in &self.nodes[node].children {
            self.forget(*child, found);
        }
    }
}

struct JsonScanner<'r> {
    bytes: &'r [u8],
    place: usize,
    /// Whether there are control characters anywhere.
    has_controls: bool,
    /// For each object or array that is being skipped, whether it is an object.
    nesting: Vec<bool>,
}

impl JsonScanner<'_> {
    fn missing(&self, expected: &'static str) -> JsonError {
        JsonError::Syntax { expected, place: self.place + 1 }
    }

    #[inline]
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.place).copied()
    }

    #[inline]
    fn skip_space(&mut self) {
        while let Some(b' ' | b'\t' | b'\r' | b'\n') = self.peek() {
            self.place += 1;
        }
    }

    fn expect(&mut self, byte: u8, name: &'static str) -> Result<(), JsonError> {
        if self.peek() != Some(byte) {
            return Err(self.missing(name));
        }
        self.place += 1;
        Ok(())
    }

    /// Scans the value at a node.
    fn find(&mut self, keys: &JsonKeys, node: usize, found: &mut [Found]) -> Result<(), JsonError> {
        let Node { ends, children } = &keys.nodes[node];
        let start = self.place;
        let what = match self.peek() {
            Some(b'{') => {
                self.members(keys, children, found)?;
                Found::Container("an object")
            }
            Some(b'[') => {
                self.elements(keys, children, found)?;
                Found::Container("an array")
            }
            Some(b'"') => {
                let (raw, has_escapes) = self.string()?;
                Found::Text { raw, has_escapes }
            }
            _ => {
                self.scalar()?;
                match &self.bytes[start..self.place] {
                    b"null" => Found::Missing,
                    _ => Found::Literal(Span { start, end: self.place }),
                }
            }
        };
        for &index in ends {
            found[index] = what;
        }
        Ok(())
    }

    fn members(
        &mut self,
        keys: &JsonKeys,
        children: &[(String, usize)],
        found: &mut [Found],
    ) -> Result<(), JsonError> {
        if self.is_empty_until(b'}') {
            return Ok(());
        }
        loop {
            let (raw, has_escapes) = self.name()?;
            let raw = raw.of(self.bytes);
            let child = children.iter().find(|(name, _)| match has_escapes {
                false => name.as_bytes() == raw,
                true => {
                    let mut decoded = Vec::new();
                    decode(raw, &mut decoded).is_some() && name.as_bytes() == decoded
                }
            });
            match child {
                Some(&(_, child)) => {
                    keys.forget(child, found);
                    self.find(keys, child, found)?;
                }
                None => self.skip_value()?,
            }
            if self.ends(b'}', "a comma or }")? {
                return Ok(());
            }
        }
    }

    fn elements(
        &mut self,
        keys: &JsonKeys,
        children: &[(String, usize)],
        found: &mut [Found],
    ) -> Result<(), JsonError> {
        if self.is_empty_until(b']') {
            return Ok(());
        }
        for index in 0usize.. {
            let is_here = |name: &str| name.len() <= 20 && name == index.to_string();
            match children.iter().find(|(name, _)| is_here(name)) {
                Some(&(_, child)) => self.find(keys, child, found)?,
                None => self.skip_value()?,
            }
            if self.ends(b']', "a comma or ]")? {
                break;
            }
        }
        Ok(())
    }

    /// Goes behind the bracket that opens an object or an array, and behind the one that closes it if
    /// there is nothing in between.
    fn is_empty_until(&mut self, close: u8) -> bool {
        self.place += 1;
        self.skip_space();
        let is_empty = self.peek() == Some(close);
        self.place += usize::from(is_empty);
        is_empty
    }

    /// Whether an object or an array ends behind one of its values. If not, goes to the next one.
    fn ends(&mut self, close: u8, expected: &'static str) -> Result<bool, JsonError> {
        self.skip_space();
        let ends = match self.peek() {
            Some(b',') => false,
            Some(byte) if byte == close => true,
            _ => return Err(self.missing(expected)),
        };
        self.place += 1;
        if !ends {
            self.skip_space();
        }
        Ok(ends)
    }

    /// The name of a member, and the colon behind it.
    fn name(&mut self) -> Result<(Span, bool), JsonError> {
        if self.peek() != Some(b'"') {
            return Err(self.missing("a name in quotes"));
        }
        let name = self.string()?;
        self.skip_space();
        self.expect(b':', "a colon")?;
        self.skip_space();
        Ok(name)
    }

    /// Skips a value that nobody asks for. What it contains is checked all the same.
    fn skip_value(&mut self) -> Result<(), JsonError> {
        // It must not recurse: how deep a record is nested is not ours to decide.
        self.nesting.clear();
        loop {
            // A value begins here.
            let opened = match self.peek() {
                Some(b'{') => Some(true),
                Some(b'[') => Some(false),
                Some(b'"') => {
                    self.string()?;
                    None
                }
                _ => {
                    self.scalar()?;
                    None
                }
            };
            if let Some(is_object) = opened {
                self.place += 1;
                self.skip_space();
                if self.peek() == Some(if is_object { b'}' } else { b']' }) {
                    self.place += 1;
                } else {
                    self.nesting.push(is_object);
                    if is_object {
                        self.name()?;
                    }
                    continue;
                }
            }
            // A value ends here.
            loop {
                let Some(&is_object) = self.nesting.last() else { return Ok(()) };
                self.skip_space();
                match (self.peek(), is_object) {
                    (Some(b','), _) => {
                        self.place += 1;
                        self.skip_space();
                        if is_object {
                            self.name()?;
                        }
                        break;
                    }
                    (Some(b'}'), true) | (Some(b']'), false) => {
                        self.place += 1;
                        self.nesting.pop();
                    }
                    (_, true) => return Err(self.missing("a comma or }")),
                    (_, false) => return Err(self.missing("a comma or ]")),
                }
            }
        }
    }

    /// A number, `true`, `false` or `null`.
    fn scalar(&mut self) -> Result<(), JsonError> {
        for word in [&b"true"[..], b"false", b"null"] {
            if self.bytes[self.place..].starts_with(word) {
                self.place += word.len();
                return Ok(());
            }
        }
        if self.peek() == Some(b'-') {
            self.place += 1;
        }
        match self.peek() {
            Some(b'0') => self.place += 1,
            Some(b'1'..=b'9') => self.digits()?,
            _ => return Err(self.missing("a value")),
        }
        if self.peek() == Some(b'.') {
            self.place += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.place += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.place += 1;
            }
            self.digits()?;
        }
        Ok(())
    }

    fn digits(&mut self) -> Result<(), JsonError> {
        let rest = &self.bytes[self.place..];
        let count = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.place += count;
        if count == 0 { Err(self.missing("a digit")) } else { Ok(()) }
    }

    /// What stands between the quotes of a string, and whether it has escapes.
    fn string(&mut self) -> Result<(Span, bool), JsonError> {
        self.place += 1;
        let start = self.place;
        let mut has_escapes = false;
        loop {
            let rest = &self.bytes[self.place..];
            let Some(length) = quote_or_escape(rest) else {
                self.place = self.bytes.len();
                return Err(self.missing("a quote"));
            };
            if self.has_controls {
                let control = rest[..length].iter().position(|byte| *byte < b' ');
                if let Some(control) = control {
                    self.place += control;
                    return Err(self.missing("an escape (\\u) for a control character"));
                }
            }
            self.place += length;
            if rest[length] == b'"' {
                let raw = Span { start, end: self.place };
                self.place += 1;
                return Ok((raw, has_escapes));
            }
            has_escapes = true;
            self.place += match rest.get(length + 1) {
                Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => 2,
                Some(b'u') if hex(&rest[length + 2..]).is_some() => 6,
                _ => return Err(self.missing("a valid escape")),
            };
        }
    }
}

/// The position of the next quote or backslash. Most strings are short, and a search by vectors has to
/// be started.
#[inline]
fn quote_or_escape(bytes: &[u8]) -> Option<usize> {
    const SHORT: usize = 16;
    let first = &bytes[..bytes.len().min(SHORT)];
    match first.iter().position(|byte| matches!(byte, b'"' | b'\\')) {
        Some(place) => Some(place),
        None => memchr2(b'"', b'\\', &bytes[first.len()..]).map(|place| first.len() + place),
    }
}

/// The number that four hexadecimal digits stand for.
fn hex(bytes: &[u8]) -> Option<u16> {
    let digits = bytes.first_chunk::<4>()?;
    digits.iter().try_fold(0, |number, digit| {
        let digit = char::from(*digit).to_digit(16)?;
        Some(16 * number + digit as u16)
    })
}

/// Decodes the escapes of a string that has been scanned; `None` if half of a surrogate pair is missing.
fn decode(raw: &[u8], decoded: &mut Vec<u8>) -> Option<()> {
    let mut rest = raw;
    while let Some(start) = memchr::memchr(b'\\', rest) {
        decoded.extend_from_slice(&rest[..start]);
        let (escape, mut behind) = rest[start + 1..].split_first()?;
        let letter = match escape {
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let first = hex(behind)?;
                behind = &behind[4..];
                let pair = match (first, behind) {
                    (0xD800..=0xDBFF, [b'\\', b'u', second @ ..]) => {
                        behind = second.get(4..)?;
                        vec![first, hex(second)?]
                    }
                    _ => vec![first],
                };
                char::decode_utf16(pair).next()?.ok()?
            }
            other => char::from(*other),
        };
        decoded.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
        rest = behind;
    }
    decoded.extend_from_slice(rest);
    Some(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    fn keys(pointers: &[&str]) -> JsonKeys {
        JsonKeys::new(pointers.iter().map(|text| JsonPointer::parse(text).unwrap()).collect())
    }

    /// The texts at these places.
    fn texts(record: &[u8], pointers: &[&str]) -> Result<Vec<Option<Vec<u8>>>, JsonError> {
        let keys = keys(pointers);
        let mut found = Vec::new();
        keys.find(record, &mut found)?;
        let text = |(index, found): (usize, &Found)| {
            let mut decoded = Vec::new();
            let text = keys.text(index, record, *found, &mut decoded);
            text.map(|text| text.map(<[u8]>::to_vec))
        };
        found.iter().enumerate().map(text).collect()
    }

    fn one(record: &str, pointer: &str) -> Option<String> {
        let texts = texts(record.as_bytes(), &[pointer]).unwrap();
        texts[0].as_ref().map(|text| String::from_utf8(text.clone()).unwrap())
    }

    #[test]
    fn pointers_find_their_values() {
        let record = r#" {"user": {"name": "Ana \"\u00e3\ud83d\ude00\n", "id": 7.50, "a/b~c": true},
            "list": [10, {"x": null}, "last"], "": "empty", "e": 1E+2 } "#;
        for (pointer, text) in [
            ("/user/name", Some("Ana \"ã😀\n")),
            ("/user/id", Some("7.50")),
            ("/user/a~1b~0c", Some("true")),
            ("/list/0", Some("10")),
            ("/list/2", Some("last")),
            ("/list/1/x", None),
            ("/list/3", None),
            ("/list/00", None),
            ("/list/-", None),
            ("/user/nobody", None),
            ("/user/name/x", None),
            ("/", Some("empty")),
            ("/e", Some("1E+2")),
        ] {
            assert_eq!(one(record, pointer).as_deref(), text, "{pointer}");
        }
        assert_eq!(one("\"whole\"", "").as_deref(), Some("whole"));
        let several = texts(record.as_bytes(), &["/user/id", "/list/0", "/user/id"]).unwrap();
        assert_eq!(several, [Some(b"7.50".to_vec()), Some(b"10".to_vec()), Some(b"7.50".to_vec())]);
    }

    #[test]
    fn the_last_of_equal_names_counts() {
        assert_eq!(one(r#"{"a": 1, "a": 2}"#, "/a").as_deref(), Some("2"));
        assert_eq!(one(r#"{"a": {"b": 1}, "\u0061": {}}"#, "/a/b"), None);
    }

    #[test]
    fn containers_are_no_keys() {
        let error = |record: &str| texts(record.as_bytes(), &["/a"]).unwrap_err().to_string();
        assert_eq!(
            error(r#"{"a": {}}"#),
            "the value at /a is an object, which is no key; name a value in it"
        );
        assert!(error(r#"{"a": [1]}"#).contains("is an array"));
        assert!(error(r#"{"a": "\ud83d"}"#).contains("surrogate"));
    }

    #[test]
    fn other_pointers_are_rejected() {
        for text in ["user", "user/id", "/a~2", "/a~", "/a\nb"] {
            assert!(JsonPointer::parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn deep_nesting_is_no_danger() {
        let deep = format!("{{\"b\": {}{}, \"a\": 1}}", "[".repeat(1 << 20), "]".repeat(1 << 20));
        assert_eq!(one(&deep, "/a").as_deref(), Some("1"));
    }

    fn is_json(record: &[u8]) -> bool {
        keys(&["/a/1", "/b"]).find(record, &mut Vec::new()).is_ok()
    }

    #[test]
    fn what_is_not_json_is_an_error() {
        for bad in [
            &b""[..],
            b" ",
            b"{",
            b"{]",
            b"[1,]",
            b"[,1]",
            b"{\"a\":1,}",
            b"{\"a\" 1}",
            b"{a:1}",
            b"01",
            b"1.",
            b".5",
            b"+1",
            b"-",
            b"1e",
            b"tru",
            b"nul",
            b"\"",
            b"\"\\x\"",
            b"\"\\u12\"",
            b"1 2",
            b"\"a\tb\"",
            b"\"\xff\"",
            b"{\"b\":{\"c\":tru}}",
            b"[[1}]",
            b"{\"x\":\"a\x01b\"}",
            b"'a'",
            b"NaN",
            b"\"\\u12G4\"",
        ] {
            assert!(!is_json(bad), "{}", bad.escape_ascii());
            assert!(serde_json::from_slice::<Value>(bad).is_err(), "{}", bad.escape_ascii());
        }
    }

    /// serde_json also refuses halves of surrogate pairs, and numbers that no `f64` is near.
    fn agrees_with_serde_json(record: &[u8]) -> bool {
        let may_differ = memchr::memmem::find(record, b"\\u").is_some()
            || record.iter().any(|byte| b"eE".contains(byte));
        match (is_json(record), serde_json::from_slice::<Value>(record).is_ok()) {
            (true, false) => may_differ,
            (ours, theirs) => ours == theirs,
        }
    }

    fn value() -> impl Strategy<Value = Value> {
        let name = prop::sample::select(vec!["a", "b", "é\"\\", "0", "1", ""]);
        let scalar = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            ".{0,40}".prop_map(Value::from),
        ];
        scalar.prop_recursive(4, 24, 4, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map(name.clone().prop_map(str::to_owned), inner, 0..4)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        /// Whatever is written as JSON is found as serde_json finds it.
        #[test]
        fn serde_json_agrees(value in value(), is_pretty: bool) {
            let record = match is_pretty {
                true => serde_json::to_string_pretty(&value).unwrap(),
                false => serde_json::to_string(&value).unwrap(),
            };
            for pointer in ["", "/a", "/b", "/a/b", "/a/1", "/1/0", "/é\"\\", "/0/a/b", "/"] {
                let expected = match value.pointer(pointer) {
                    None | Some(Value::Null) => Ok(None),
                    Some(Value::String(text)) => Ok(Some(text.clone())),
                    Some(Value::Object(_) | Value::Array(_)) => Err(()),
                    Some(other) => Ok(Some(other.to_string())),
                };
                let found = texts(record.as_bytes(), &[pointer])
                    .map(|texts| texts[0].clone().map(|text| String::from_utf8(text).unwrap()))
                    .map_err(|_| ());
                prop_assert_eq!(found, expected, "{} in {}", pointer, record);
            }
        }

        /// Whatever the bytes, both call the same records JSON.
        #[test]
        fn the_same_bytes_are_json_for_serde_json(
            bytes in prop::collection::vec(prop::sample::select(&b"{}[]\",:\\utrue10.e-+ a\x01"[..]), 0..12),
        ) {
            prop_assert!(agrees_with_serde_json(&bytes), "{}", bytes.escape_ascii());
        }

        /// A valid record with one byte changed.
        #[test]
        fn a_changed_byte_is_judged_as_serde_json_does(value in value(), at: usize, byte in 0u8..128) {
            let mut record = serde_json::to_vec(&value).unwrap();
            let at = at % record.len();
            record[at] = byte;
            prop_assert!(agrees_with_serde_json(&record), "{}", record.escape_ascii());
        }
    }
}
