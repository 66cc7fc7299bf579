//! Distinguishing prose from addresses, paths and code.

/// Whether a token (the text between white space) is prose. Other tokens are not changed.
///
/// A token is not prose if it has
/// - `@`, `\` or a backtick anywhere: mail addresses, paths, TeX commands, code;
/// - a full stop, `_` or `=` between letters or digits: hosts, file names, identifiers, `i.e.`;
/// - `/` next to a letter or digit: paths and addresses (and *and/or*, which is short anyway);
/// - `#`, `$` or `<` before a letter or digit: hash tags, variables, tags;
/// - a colon before a digit, `/` or another colon: ports, schemes, paths of modules;
/// - a colon after one of the schemes that need no `/`, as in `mailto:`.
pub(super) fn is_prose(token: &str) -> bool {
    let alphanumeric = |character: Option<char>| character.is_some_and(char::is_alphanumeric);
    !token.bytes().enumerate().any(|(at, byte)| {
        let before = || alphanumeric(token[..at].chars().next_back());
        let after = || alphanumeric(token[at + 1..].chars().next());
        match byte {
            b'@' | b'\\' | b'`' => true,
            b'.' | b'_' | b'=' => after() && before(),
            b'/' => after() || before(),
            b'#' | b'$' | b'<' => after(),
            b':' => {
                matches!(token.as_bytes().get(at + 1), Some(b'0'..=b'9' | b'/' | b':'))
                    || ends_with_scheme(&token[..at])
            }
            _ => false,
        }
    })
}

/// Whether the text before a colon ends with a URI scheme.
fn ends_with_scheme(text: &str) -> bool {
    const SCHEMES: [&str; 5] = ["mailto", "urn", "data", "file", "tel"];
    let name = text.rsplit(|c: char| !c.is_alphanumeric()).next().unwrap_or(text);
    SCHEMES.iter().any(|scheme| name.eq_ignore_ascii_case(scheme))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_is_distinguished_from_addresses_and_code() {
        for prose in [
            "word",
            "word.",
            "(word).",
            "\u{201c}end.\u{201d}",
            "_emphasis_",
            "**strong**",
            "wait...what",
            "Lehrer:innen",
            "it:",
            "Metadata:a",
            "don't",
            "well-known",
            "C++",
            "\u{e9}t\u{e9}.",
            "AT&T",
        ] {
            assert!(is_prose(prose), "{prose}");
        }
        for other in [
            "http://example.org/hyphenation",
            "(https://example.org)",
            "www.example.org",
            "example.org",
            "someone@example.org,",
            "@someone",
            "/usr/share/dict/words",
            "~/dictionary",
            "src/text",
            "C:\\Documents",
            "readme.txt",
            "snake_case",
            "key=value",
            "`code`",
            "#hyphenation",
            "$HOME",
            "<section>",
            "localhost:8080",
            "std::collections",
            "mailto:someone@example.org",
            "mailto:someone",
            "(MAILTO:someone)",
            "urn:example",
            "data:text",
            "file:dictionary",
            "tel:hyphen",
            "i.e.",
            "\u{e9}t\u{e9}.\u{e9}t\u{e9}",
        ] {
            assert!(!is_prose(other), "{other}");
        }
    }
}
