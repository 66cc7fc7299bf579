//! Markers of templates, such as `{{ name }}`, which programs replace by text later.

use std::ops::Range;

/// What begins and ends a marker, and the byte that stands for it in a mask: zeros for text that may be a
/// part of a word, hyphens for instructions, which separate words.
const MARKERS: [(&[u8], &[u8], u8); 6] = [
    (b"{{", b"}}", b'0'),
    (b"${", b"}", b'0'),
    (b"<%=", b"%>", b'0'),
    (b"<%-", b"%>", b'0'),
    (b"<%", b"%>", b'-'),
    (b"{%", b"%}", b'-'),
];

/// The markers of a text in order, and the byte for each.
pub(super) fn markers(text: &[u8]) -> Vec<(Range<usize>, u8)> {
    let mut found = Vec::new();
    // Markers without an end, which are not searched again.
    let mut endless = [false; MARKERS.len()];
    let mut at = 0;
    while let Some(next) = memchr::memchr3(b'{', b'<', b'$', &text[at..]) {
        at += next;
        let kind = MARKERS.iter().position(|(open, ..)| text[at..].starts_with(open));
        let Some(kind) = kind.filter(|&kind| !endless[kind]) else {
            at += 1;
            continue;
        };
        let (open, close, fill) = MARKERS[kind];
        let start = at + open.len();
        match memchr::memmem::find(&text[start..], close) {
            Some(length) => {
                let end = start + length + close.len();
                found.push((at..end, fill));
                at = end;
            }
            None => {
                endless[kind] = true;
                at += 1;
            }
        }
    }
    found
}
