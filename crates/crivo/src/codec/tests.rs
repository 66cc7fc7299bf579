//! The envelope, tried with a filter of twenty lines.

// On machines of the other byte order mapping is an error: tests/filters.rs.
// Miri maps no files.
#[cfg(all(feature = "mmap", target_endian = "little", not(miri)))]
mod mapped;
mod versions;

use std::io::{self, Read, Write};

use proptest::prelude::*;
use xxhash_rust::xxh3::xxh3_64;

use super::mock::{Mock, TestDirectory};
use super::*;
use crate::KeyHasher;
use crate::filter::{AnyFilter, Bloom, Filter, FilterExt, Kind};
use crate::hash::{Family, SecretKey};

/// A filter with `keys` keys, from 0 on.
fn filled(keys: u64, hasher: KeyHasher) -> Mock {
    let mut filter = Mock::with_hasher(keys, 0.1, hasher).unwrap();
    for key in 0..keys {
        filter.insert(&key).unwrap();
    }
    filter
}

/// The bytes of a small filter: 128 of header, 24 of payload.
fn small() -> Vec<u8> {
    filled(16, KeyHasher::xxh3(42)).to_bytes()
}

/// The same in version 1 of the format: 64 of header, 24 of payload.
fn small_in_version_1() -> Vec<u8> {
    let header = Header { version: 1, ..Header::from_bytes(&small()).unwrap() };
    [&header.to_bytes(), &small()[128..]].concat()
}

/// Where the parameters and the payload of these bytes begin.
fn offsets(bytes: &[u8]) -> (usize, usize) {
    if bytes[8] == 1 { (48, 64) } else { (56, 128) }
}

/// Sets bytes of the header, and makes its checksum right again.
fn forged(bytes: &[u8], at: usize, new: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[at..at + new.len()].copy_from_slice(new);
    repair_header(&mut bytes);
    bytes
}

fn repair_header(bytes: &mut [u8]) {
    let u32_at = |at: usize| u64::from(u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()));
    let mut end = u32_at(12) * 8 + 48;
    if bytes[8] != 1 {
        end += 8 + u32_at(48).next_multiple_of(8);
    }
    let end = usize::try_from(end).unwrap_or(usize::MAX);
    if let Some(checksum) = bytes.get(..end).map(xxh3_64)
        && let Some(place) = bytes[end..].get_mut(..8)
    {
        place.copy_from_slice(&checksum.to_le_bytes());
    }
}

fn decode(bytes: &[u8]) -> Result<Mock, DecodeError> {
    let decoded = Mock::from_bytes(bytes);
    // A stream must come to the same verdict, but that it does not look behind the end.
    match (&decoded, Mock::read_from(bytes)) {
        (Ok(one), Ok(other)) => assert_eq!(*one, other),
        (Err(DecodeError::TrailingBytes), Ok(_)) => {}
        (Err(one), Err(CodecError::Decode(other))) => assert_eq!(*one, other),
        (one, other) => panic!("{one:?} from memory, {other:?} from a stream"),
    }
    decoded
}

#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn what_is_written_is_read() {
    let directory = TestDirectory::new("round-trip");
    for keys in [1, 16, 1000, 100_000] {
        for family in Family::ALL.into_iter().filter(|&family| family != Family::Sip24) {
            let filter = filled(keys, family.with_seed(keys));
            let bytes = filter.to_bytes();
            assert_eq!(decode(&bytes).unwrap(), filter);
            assert_eq!(bytes.len() as u64, filter.header().file_length());

            let mut written = Vec::new();
            filter.write_to(&mut written).unwrap();
            assert!(written == bytes);

            let path = directory.file("filter.crivo");
            filter.save(&path).unwrap();
            assert!(std::fs::read(&path).unwrap() == bytes);
            let loaded = Mock::load(&path).unwrap();
            assert_eq!(loaded, filter);
            assert!((0..keys).all(|key| loaded.contains(&key)));

            let header = verify(&path).unwrap();
            assert_eq!(header, filter.header());
            assert_eq!(header, Header::load(&path).unwrap());
            assert_eq!(header, Header::from_bytes(&bytes).unwrap());
            assert_eq!(header, Header::read_from(&bytes[..]).unwrap());
        }
    }
    assert_eq!(directory.names(), ["filter.crivo"]);
}

#[test]
fn a_header_tells_what_is_in_it() {
    let filter = filled(16, KeyHasher::xxh3(42));
    let bytes = filter.to_bytes();
    let header = Header::from_bytes(&bytes).unwrap();
    assert_eq!(header.version(), 2);
    assert_eq!(header.kind(), Mock::KIND);
    assert_eq!(header.filter_kind(), Some(Kind::Bloom));
    assert_eq!(header.hash(), KeyHasher::xxh3(42).identity());
    assert_eq!(header.key_count(), 16);
    assert_eq!(header.parameters(), [160]);
    assert_eq!(header.metadata(), &Metadata::new());
    assert_eq!((header.payload_offset(), header.payload_length()), (128, 24));
    assert_eq!(header.payload_checksum(), xxh3_64(&bytes[128..]));
    assert_eq!(header.header_checksum(), xxh3_64(&bytes[..64]));
    assert_eq!(header.file_length(), bytes.len() as u64);
}

#[test]
fn the_bytes_of_the_document_are_those_of_the_code() {
    let document = include_str!("../../../../docs/format.md");
    let dump = |title: &str| -> Vec<u8> {
        let (_, dump) = document.split_once(title).unwrap();
        dump.split("```")
            .nth(1)
            .unwrap()
            .lines()
            .filter_map(|line| line.trim().split_once(": "))
            .flat_map(|(_, line)| line.split("  ").next().unwrap().split_whitespace())
            .map(|byte| u8::from_str_radix(byte, 16).unwrap())
            .collect()
    };
    let mut filter = Bloom::with_size(128, 3, KeyHasher::xxh3(42)).unwrap();
    filter.extend(["ana", "bia"]);
    assert_eq!(Bloom::from_bytes(&dump("<!-- test vector, version 1 -->")).unwrap(), filter);
    filter.metadata_mut().set(Metadata::KEY_ENCODING, "utf8").unwrap();
    assert_eq!(dump("<!-- test vector -->"), filter.to_bytes());
}

#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn every_changed_byte_is_noticed() {
    let directory = TestDirectory::new("flips");
    let path = directory.file("filter.crivo");
    for bytes in [small(), small_in_version_1()] {
        let (_, payload) = offsets(&bytes);
        for at in 0..bytes.len() {
            for change in 1..=255 {
                let mut changed = bytes.clone();
                changed[at] ^= change;
                let error = decode(&changed).unwrap_err();
                match at {
                    0..8 => assert_eq!(error, DecodeError::NotCrivo),
                    // Either the version is unknown, or the bytes are not right in the other one.
                    8..10 => {}
                    _ if at >= payload => assert_eq!(error, DecodeError::PayloadChecksum),
                    _ => {}
                }
                if change == 1 {
                    std::fs::write(&path, &changed).unwrap();
                    let error = verify(&path).unwrap_err();
                    assert!(matches!(error.cause, CodecError::Decode(_)), "{error}");
                }
            }
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn every_missing_and_every_further_byte_is_noticed() {
    let directory = TestDirectory::new("lengths");
    let path = directory.file("filter.crivo");
    for bytes in [small(), small_in_version_1()] {
        let (_, payload) = offsets(&bytes);
        for length in 0..bytes.len() {
            let error = decode(&bytes[..length]).unwrap_err();
            let DecodeError::Truncated { expected, found } = error else { panic!("{error}") };
            assert_eq!(found, length as u64);
            // As far as is known: that there is a header, how long it is, and the payload.
            let known = if length < 64 { 64 } else { payload };
            let known = if length < payload { known } else { bytes.len() };
            assert_eq!(expected, known as u64);
            std::fs::write(&path, &bytes[..length]).unwrap();
            assert_eq!(of(Mock::load(&path)), error);
            assert_eq!(of(verify(&path)), error);
        }
        for behind in [&[0][..], &[1; 100]] {
            let longer = [&bytes, behind].concat();
            assert_eq!(decode(&longer), Err(DecodeError::TrailingBytes));
            std::fs::write(&path, &longer).unwrap();
            assert_eq!(of(Mock::load(&path)), DecodeError::TrailingBytes);
            assert_eq!(of(verify(&path)), DecodeError::TrailingBytes);
        }
    }
}

fn of<T: std::fmt::Debug>(result: Result<T, FileError>) -> DecodeError {
    decode_error(result.unwrap_err().cause)
}

fn decode_error(error: CodecError) -> DecodeError {
    match error {
        CodecError::Decode(error) => error,
        CodecError::Io(error) => panic!("{error}"),
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn a_stream_is_read_to_the_end_of_the_filter_and_no_further() {
    let filters = [filled(16, KeyHasher::xxh3(1)), filled(300, KeyHasher::farm(2))];
    let mut bytes = Vec::new();
    for filter in &filters {
        filter.write_to(&mut bytes).unwrap();
    }
    bytes.extend(b"more");
    let mut stream = &bytes[..];
    for filter in &filters {
        assert_eq!(Mock::read_from(&mut stream).unwrap(), *filter);
    }
    assert_eq!(stream, b"more");
}

/// A reader and a writer with a will of their own: one byte at a time, interruptions, an error at
/// the end.
struct Stubborn<'a> {
    bytes: &'a [u8],
    interrupted: bool,
}

impl Read for Stubborn<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.interrupted = !self.interrupted;
        if self.interrupted {
            return Err(io::ErrorKind::Interrupted.into());
        }
        match self.bytes.split_first() {
            Some((first, rest)) => {
                buffer[0] = *first;
                self.bytes = rest;
                Ok(1)
            }
            None => Err(io::Error::other("the cable was cut")),
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn streams_may_be_slow_and_may_fail() {
    let filter = filled(16, KeyHasher::default());
    let bytes = filter.to_bytes();
    let read = |bytes: &[u8]| Mock::read_from(Stubborn { bytes, interrupted: false });
    assert_eq!(read(&bytes).unwrap(), filter);
    for length in 0..bytes.len() {
        let error = read(&bytes[..length]).unwrap_err();
        assert!(matches!(&error, CodecError::Io(_)) && error.to_string() == "the cable was cut");
    }
    let mut room = [0; 130];
    assert_eq!(filter.write_to(&mut room[..]).unwrap_err().kind(), io::ErrorKind::WriteZero);
}

#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn lengths_that_cannot_be_are_errors_before_memory_is_asked_for() {
    let bytes = small();
    for claimed in [0, 23, 25, 1 << 40, 1 << 60] {
        // Only the length of the payload, then the parameter that it follows from as well.
        let lying = forged(&bytes, 32, &u64::to_le_bytes(claimed));
        let error = DecodeError::PayloadLength { expected: 24, found: claimed };
        assert_eq!(decode(&lying), Err(error));
        if let Some(bits @ 1_000_000..) = claimed.checked_mul(8) {
            let lying = forged(&lying, 56, &bits.to_le_bytes());
            // Where memory has fewer addresses than that, no look at the payload is needed.
            let error = match usize::try_from(claimed / 8) {
                Ok(_) => DecodeError::Truncated { expected: 128 + claimed, found: 152 },
                Err(_) => DecodeError::OutOfMemory { bytes: usize::MAX },
            };
            assert_eq!(decode(&lying), Err(error));
        }
    }
    // The longest that could be told, and one that would end behind the last address.
    let lying = forged(&bytes, 56, &u64::MAX.to_le_bytes());
    let error = DecodeError::PayloadLength { expected: 1 << 61, found: 24 };
    assert_eq!(decode(&lying), Err(error));
    let lying = forged(&bytes, 32, &u64::MAX.to_le_bytes());
    assert!(matches!(decode(&lying), Err(DecodeError::Inconsistent(_))));
    // Ten terabytes, or ten gigabytes where addresses could not count the words of more.
    let more_than_memory = 10u64 << if cfg!(target_pointer_width = "64") { 40 } else { 30 };
    let lying = forged(&bytes, 32, &more_than_memory.to_le_bytes());
    let lying = forged(&lying, 56, &(8 * more_than_memory).to_le_bytes());
    // A stream that has more than the header, but never what it claims: what arrives is kept, and
    // the error comes when it ends.
    let endless = Read::chain(&lying[..], io::repeat(0).take(10 << 20));
    assert!(matches!(
        Mock::read_from(endless),
        Err(CodecError::Decode(DecodeError::Truncated { found, .. })) if found == 152 + (10 << 20)
    ));
}

#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn long_streams_grow_with_what_arrives() {
    // Several times what is trusted unseen.
    let mut filter = Mock::new(3_000_000, 0.1).unwrap();
    for key in 0..1000u64 {
        filter.insert(&key).unwrap();
    }
    assert_eq!(decode(&filter.to_bytes()).unwrap(), filter);
}

#[test]
fn parameters_that_cannot_be_are_errors() {
    for (bytes, max) in [(small(), 65_536), (small_in_version_1(), 64)] {
        let (parameters, _) = offsets(&bytes);
        for count in [max + 1, 100_000, u32::MAX] {
            let lying = forged(&bytes, 12, &count.to_le_bytes());
            assert!(matches!(decode(&lying), Err(DecodeError::Inconsistent(_))), "{count}");
        }
        // More parameters than the input has bytes for.
        let lying = forged(&bytes, 12, &max.to_le_bytes());
        let expected = (parameters as u64 + 8 * u64::from(max) + 8).next_multiple_of(64);
        let found = bytes.len() as u64;
        assert_eq!(decode(&lying), Err(DecodeError::Truncated { expected, found }));
        // None, where the kind has one; the parameter would then be read as the checksum.
        let lying = forged(&bytes, 12, &0u32.to_le_bytes());
        assert!(matches!(decode(&lying), Err(DecodeError::Inconsistent(_))));
        // One that is out of its range.
        let lying = forged(&bytes, parameters, &0u64.to_le_bytes());
        assert!(matches!(decode(&lying), Err(DecodeError::Parameter(_))));
    }
}

fn header(version: u16, parameters: Vec<u64>, metadata: &[(&str, &str)]) -> Header {
    let mut all = Metadata::new();
    metadata.iter().for_each(|(name, value)| all.set(name, value).unwrap());
    Header {
        version,
        kind: Kind::Growing.file_kind(),
        hash: KeyHasher::murmur3(7).identity(),
        key_count: u64::MAX,
        parameters,
        metadata: all,
        payload_length: 0,
        payload_checksum: 1,
    }
}

#[test]
fn padding_is_zero() {
    for (version, padding) in [(1, (80..128).collect::<Vec<_>>()), (2, (96..128).collect())] {
        let header = header(version, vec![1, 2, 3], &[]);
        let mut bytes = header.to_bytes();
        assert_eq!(bytes.len(), 128);
        assert_eq!(Header::from_bytes(&bytes).unwrap(), header);
        for at in padding {
            bytes[at] = 1;
            assert!(matches!(Header::from_bytes(&bytes), Err(DecodeError::Inconsistent(_))));
            bytes[at] = 0;
        }
    }
    // What is reserved, and what fills the metadata up: under the checksum as well.
    let header = header(2, vec![1], &[("a", "1")]);
    let bytes = header.to_bytes();
    assert_eq!(bytes[64..72], *b"\x01a\x011\0\0\0\0");
    for at in (52..56).chain(68..72) {
        let error = Header::from_bytes(&forged(&bytes, at, &[1])).unwrap_err();
        assert!(matches!(error, DecodeError::Inconsistent(_)), "byte {at}");
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn headers_of_every_length_are_read_as_written() {
    let check = |header: Header, needed: usize| {
        let bytes = header.to_bytes();
        assert_eq!(bytes.len(), needed.next_multiple_of(64));
        assert_eq!(Header::from_bytes(&bytes).as_ref(), Ok(&header));
        assert_eq!(Header::read_from(&bytes[..]).unwrap(), header);
        assert_eq!(Header::read_from(&bytes[..bytes.len() - 1]).map_err(decode_error), {
            let expected = bytes.len() as u64;
            Err(DecodeError::Truncated { expected, found: expected - 1 })
        });
    };
    let parameters = |count| (0..count).map(|i| u64::MAX / (i + 1)).collect();
    for count in 0..=64 {
        check(header(1, parameters(count), &[]), 56 + 8 * count as usize);
        check(header(2, parameters(count), &[]), 64 + 8 * count as usize);
        check(header(2, parameters(count), &[("name", "value")]), 80 + 8 * count as usize);
    }
    let longest = "x".repeat(Metadata::MAX_BYTES - 5);
    check(header(2, parameters(65_536), &[("a", &longest)]), 64 + 9 * 65_536);
}

#[test]
fn other_kinds_versions_and_families_are_told_apart() {
    let bytes = small();
    let (expected, found) = (Mock::KIND, Kind::Cuckoo.file_kind());
    let wrong = DecodeError::WrongKind { expected, found };
    assert_eq!(wrong.to_string(), "this is a cuckoo filter, not a bloom filter");
    assert_eq!(decode(&forged(&bytes, 10, &[Kind::Cuckoo.id()])), Err(wrong));
    for unknown in [0, 8, 200, 255] {
        let lying = forged(&bytes, 10, &[unknown]);
        let found = FileKind::unnamed(unknown);
        assert_eq!(decode(&lying), Err(DecodeError::WrongKind { expected, found }));
        let error = AnyFilter::from_bytes(&lying).unwrap_err();
        assert_eq!(error, DecodeError::NotAFilter(found));
        assert!(error.to_string().contains(&format!("file of kind {unknown}")), "{error}");
        // The header is that of a file all the same.
        assert_eq!(Header::from_bytes(&lying).unwrap().kind(), found);
    }
    for unknown in [0, 8, 255] {
        let lying = forged(&bytes, 11, &[unknown]);
        assert_eq!(decode(&lying), Err(DecodeError::UnknownFamily(unknown)));
    }
    for unknown in [0, 3, u16::MAX] {
        let lying = forged(&bytes, 8, &unknown.to_le_bytes());
        assert_eq!(decode(&lying), Err(DecodeError::UnknownVersion(unknown)));
    }
    // FarmHash's fingerprint has no seed, and the file has one.
    let lying = forged(&bytes, 11, &[Family::FarmFingerprint.id()]);
    assert!(matches!(decode(&lying), Err(DecodeError::Parameter(_))));
    for text in [&b"hello, world"[..], b"\x89PNG\r\n\x1a\n", b"\x89crivo\n", b"\n"] {
        assert_eq!(decode(text), Err(DecodeError::NotCrivo));
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn a_secret_key_opens_its_own_filters_and_no_others() {
    let directory = TestDirectory::new("key");
    let path = directory.file("filter.crivo");
    let (key, other) = (SecretKey::new([7; 16]), SecretKey::new([8; 16]));
    let filter = filled(100, KeyHasher::sip24(key));
    let bytes = filter.to_bytes();
    filter.save(&path).unwrap();
    assert!(!bytes.windows(8).any(|window| window == [7; 8]), "the key is not in the file");

    assert_eq!(decode(&bytes), Err(DecodeError::KeyNeeded));
    let opened: Mock = LoadOptions::new().secret_key(key).from_bytes(&bytes).unwrap();
    assert_eq!(opened, filter);
    assert!((0..100u64).all(|key| opened.contains(&key)));
    assert_eq!(LoadOptions::new().secret_key(key).read_from::<Mock>(&bytes[..]).unwrap(), filter);
    assert_eq!(LoadOptions::new().secret_key(key).load::<Mock>(&path).unwrap(), filter);
    let wrong = LoadOptions::new().secret_key(other).from_bytes::<Mock>(&bytes);
    assert!(matches!(wrong, Err(DecodeError::WrongKey(_))));
    // A key is never just ignored.
    let wrong = LoadOptions::new().secret_key(key).from_bytes::<Mock>(&small());
    assert!(matches!(wrong, Err(DecodeError::WrongKey(_))));
    // The hasher is as good as its key, and another one is refused.
    let hashed: Mock = LoadOptions::new().hasher(KeyHasher::sip24(key)).from_bytes(&bytes).unwrap();
    assert_eq!(hashed, filter);
    let wrong = LoadOptions::new().hasher(KeyHasher::xxh3(1)).from_bytes::<Mock>(&bytes);
    assert!(matches!(wrong, Err(DecodeError::WrongHasher { .. })));
    // What needs no key, works without.
    assert_eq!(verify(&path).unwrap(), filter.header());
}

#[test]
fn errors_name_the_file_and_what_to_do() {
    let directory = TestDirectory::new("errors");
    let missing = directory.file("missing.crivo");
    let error = Mock::load(&missing).unwrap_err();
    assert_eq!((error.action, &error.path), (FileAction::Read, &missing));
    assert!(error.to_string().contains("missing.crivo: "));
    assert!(error.to_string().ends_with("; is the path right?"));

    let filter = filled(1, KeyHasher::default());
    let error = filter.save(directory.file("no/directory.crivo")).unwrap_err();
    assert_eq!(error.action, FileAction::Write);
    assert!(error.to_string().ends_with("; does its directory exist?"), "{error}");
    assert!(filter.save(&directory.path).is_err(), "a directory is not a file");
    assert!(directory.names().is_empty());

    std::fs::write(&missing, b"something else").unwrap();
    let error = Mock::load(&missing).unwrap_err();
    assert!(error.to_string().ends_with("missing.crivo: this is not a crivo filter"), "{error}");
}

#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn readers_find_a_whole_file_while_others_write_it() {
    let directory = TestDirectory::new("race");
    let path = directory.file("filter.crivo");
    // Different lengths, so that a mixture could not have the right one.
    let filters = [filled(1000, KeyHasher::xxh3(1)), filled(20_000, KeyHasher::xxh3(2))];
    filters[0].save(&path).unwrap();
    std::thread::scope(|scope| {
        for filter in &filters {
            scope.spawn(|| (0..20).for_each(|_| filter.save(&path).unwrap()));
        }
        for _ in 0..200 {
            let found = Mock::load(&path).unwrap();
            assert!(filters.contains(&found));
        }
    });
    assert_eq!(directory.names(), ["filter.crivo"], "nothing is left behind");
}

#[cfg(unix)]
#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn what_is_no_regular_file_is_read_as_a_stream() {
    use std::os::fd::AsRawFd;
    let read = |bytes: Vec<u8>| {
        let (reader, mut writer) = io::pipe().unwrap();
        let path = format!("/dev/fd/{}", reader.as_raw_fd());
        let writing = std::thread::spawn(move || writer.write_all(&bytes));
        let loaded = Mock::load(&path);
        drop(reader);
        let _ = writing.join().unwrap();
        loaded
    };
    let filter = filled(10_000, KeyHasher::default());
    let bytes = filter.to_bytes();
    assert_eq!(read(bytes.clone()).unwrap(), filter);
    assert!(matches!(of(read(bytes[..1000].to_vec())), DecodeError::Truncated { .. }));
    assert_eq!(of(read([&bytes[..], b"!"].concat())), DecodeError::TrailingBytes);
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        prop_assert!(decode(&bytes).is_err());
        let _ = Header::from_bytes(&bytes);
    }

    /// As above, but past the magic and the checksums, where random bytes never come.
    #[test]
    fn no_forged_bytes_make_it_panic(
        version_1 in any::<bool>(),
        head in prop::collection::vec(any::<u8>(), 54),
        few_parameters in 0u32..3,
        metadata_length in 0u32..10,
        small_parameters in any::<bool>(),
        payload in prop::collection::vec(any::<u8>(), 0..80),
    ) {
        let mut bytes = if version_1 { small_in_version_1() } else { small() };
        let (parameters, end) = offsets(&bytes);
        bytes.truncate(end);
        bytes[10..64].copy_from_slice(&head);
        bytes[10] = 1 + bytes[10] % 7;
        bytes[11] = 1 + bytes[11] % 5;
        bytes[12..16].copy_from_slice(&few_parameters.to_le_bytes());
        bytes[32..40].copy_from_slice(&(payload.len() as u64).to_le_bytes());
        bytes[40..48].copy_from_slice(&xxh3_64(&payload).to_le_bytes());
        if !version_1 {
            bytes[48..56].copy_from_slice(&u64::from(metadata_length).to_le_bytes());
        }
        if small_parameters {
            let bits = 8 * payload.len() as u64;
            bytes[parameters..parameters + 8].copy_from_slice(&bits.to_le_bytes());
        }
        bytes.extend(&payload);
        repair_header(&mut bytes);
        if let Ok(filter) = decode(&bytes) {
            prop_assert!(decode(&filter.to_bytes()).is_ok_and(|again| again == filter));
            if !version_1 {
                prop_assert_eq!(filter.to_bytes(), bytes);
            }
            for key in 0..100u64 {
                filter.contains(&key);
            }
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes long there")]
    fn decoding_undoes_encoding(
        keys in prop::collection::vec(any::<u64>(), 1..200),
        bits in 1u64..5000,
        seed in any::<u64>(),
    ) {
        let mut filter = Mock::with_hasher(bits, 1.0, KeyHasher::xxh3(seed)).unwrap();
        for key in &keys {
            filter.insert(key).unwrap();
        }
        let decoded = decode(&filter.to_bytes()).unwrap();
        prop_assert!(keys.iter().all(|key| decoded.contains(key)));
        prop_assert_eq!(decoded, filter);
    }
}

#[cfg(feature = "serde")]
mod serde_data {
    use serde_core::Deserialize;
    use serde_core::de::value::{BytesDeserializer, Error};

    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "takes long there")]
    fn filters_are_bytes_in_data_of_others() {
        let filter = filled(16, KeyHasher::xxh3(42));
        let json = serde_json::to_string(&filter).unwrap();
        assert!(json.starts_with("[137,99,114,105,118,111,13,10,2,0,"));
        assert_eq!(serde_json::from_str::<Mock>(&json).unwrap(), filter);

        let bytes = filter.to_bytes();
        let read = |bytes| Mock::deserialize(BytesDeserializer::<Error>::new(bytes));
        assert_eq!(read(&bytes).unwrap(), filter);
        assert!(read(&bytes[1..]).unwrap_err().to_string().contains("not a crivo filter"));
        assert!(serde_json::from_str::<Mock>("[137, 99]").is_err());
        assert!(serde_json::from_str::<Mock>("\"filter\"").is_err());
    }
}
