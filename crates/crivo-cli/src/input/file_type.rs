//! What a file is, by its first bytes.

use std::io::{self, ErrorKind, Read};

/// A file that is not plain text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileType {
    /// Compressed: it is read as what it was compressed from.
    Compressed(Compression),
    /// Something that is not made of records.
    Foreign {
        /// What it is.
        what: &'static str,
        /// How to get records out of it.
        advice: &'static str,
    },
}

/// A compression that is undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Compression {
    Gzip,
    Zstd,
    Xz,
    Bzip2,
}

impl Compression {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
            Self::Xz => "xz",
            Self::Bzip2 => "bzip2",
        }
    }
}

/// First bytes, in which a question mark stands for any byte, and what they say.
struct Magic {
    pattern: &'static [u8],
    file_type: FileType,
    /// Whether text never begins like this. Otherwise a control character among the bytes decides.
    is_certain: bool,
}

const MAGICS: [Magic; 10] = [
    compressed(b"\x1f\x8b\x08", Compression::Gzip),
    compressed(b"\x28\xb5\x2f\xfd", Compression::Zstd),
    compressed(b"\xfd7zXZ\0", Compression::Xz),
    compressed(b"BZh?1AY&SY", Compression::Bzip2),
    // Of no bytes.
    compressed(b"BZh?\x17\x72\x45\x38\x50\x90", Compression::Bzip2),
    foreign(
        b"PK\x03\x04",
        "a zip archive",
        "pipe a file of it: `unzip -p ARCHIVE FILE | crivo ...`",
    ),
    foreign(b"PAR1\x15", "a Parquet file", PARQUET_ADVICE),
    foreign(b"Obj\x01", "an Avro file", "convert it first: `avro-tools tojson FILE | crivo ...`"),
    foreign(
        b"PARE\x15",
        "an encrypted Parquet file",
        "export it as text with the program that made it",
    ),
    Magic {
        pattern: b"ORC?????????????????????",
        file_type: FileType::Foreign {
            what: "an ORC file",
            advice: "convert it first: `orc-contents FILE | crivo ...`",
        },
        is_certain: false,
    },
];

const PARQUET_ADVICE: &str =
    "convert it first: `duckdb -csv -c \"SELECT COLUMN FROM 'FILE'\" | crivo ...`";

const fn compressed(pattern: &'static [u8], compression: Compression) -> Magic {
    Magic { pattern, file_type: FileType::Compressed(compression), is_certain: true }
}

const fn foreign(pattern: &'static [u8], what: &'static str, advice: &'static str) -> Magic {
    Magic { pattern, file_type: FileType::Foreign { what, advice }, is_certain: true }
}

impl Magic {
    /// Whether these bytes agree with it as far as they go.
    fn may_be(&self, first: &[u8]) -> bool {
        self.pattern.iter().zip(first).all(|(pattern, byte)| *pattern == b'?' || pattern == byte)
    }

    fn matches(&self, first: &[u8]) -> bool {
        let is_control = |byte: &u8| *byte < b' ' && !b"\t\n\r".contains(byte);
        first.len() >= self.pattern.len()
            && self.may_be(first)
            && (self.is_certain || first.iter().any(is_control))
    }
}

/// Reads as many of the first bytes as are needed to tell the type, and tells it: `None` for text.
pub(crate) fn file_type(reader: &mut impl Read) -> io::Result<(Vec<u8>, Option<FileType>)> {
    let mut first = Vec::new();
    while MAGICS.iter().any(|magic| first.len() < magic.pattern.len() && magic.may_be(&first)) {
        let mut byte = [0];
        match reader.read(&mut byte) {
            Ok(0) => break,
            Ok(_) => first.extend(byte),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let found = MAGICS.iter().find(|magic| magic.matches(&first)).map(|magic| magic.file_type);
    Ok((first, found))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The type of a file with these bytes, and how many were read to tell it.
    fn of(bytes: &[u8]) -> (Option<FileType>, usize) {
        let (first, found) = file_type(&mut &*bytes).unwrap();
        assert!(bytes.starts_with(&first));
        (found, first.len())
    }

    #[test]
    fn text_is_told_by_its_first_letters() {
        assert_eq!(of(b"ana\n"), (None, 1));
        assert_eq!(of(b""), (None, 0));
        assert_eq!(of(b"PARIS\n").0, None);
        assert_eq!(of(b"BZh9 is how bzip2 begins\n").0, None);
        assert_eq!(of(b"ORC\nELF\nGOBLIN\nHUMAN\nDWARF\n"), (None, 24));
        assert_eq!(of(b"ORC").0, None);
    }

    #[test]
    fn what_is_not_text_is_named() {
        let compression = |bytes: &[u8]| match of(bytes).0 {
            Some(FileType::Compressed(compression)) => compression.name(),
            other => panic!("{other:?}"),
        };
        assert_eq!(compression(b"\x1f\x8b\x08..."), "gzip");
        assert_eq!(compression(b"\xfd7zXZ\0..."), "xz");
        assert_eq!(compression(b"BZh91AY&SY..."), "bzip2");
        let what = |bytes: &[u8]| match of(bytes).0 {
            Some(FileType::Foreign { what, .. }) => what,
            other => panic!("{other:?}"),
        };
        assert_eq!(what(b"PK\x03\x04\x14"), "a zip archive");
        assert_eq!(what(b"PAR1\x15\x04\x15"), "a Parquet file");
        assert_eq!(what(b"Obj\x01\x04\x14"), "an Avro file");
        assert_eq!(
            what(b"ORC\x11\0\0\x0a\x06\x12\x04\x08\x05\x50\0\x2c\0\0abcdefgh"),
            "an ORC file"
        );
    }
}
