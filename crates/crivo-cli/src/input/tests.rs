//! From the bytes of files to records and keys.

use std::fs::File;
use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use tempfile::{NamedTempFile, TempDir};

use super::*;

/// A file with these bytes.
fn file(bytes: &[u8]) -> NamedTempFile {
    let mut file = NamedTempFile::new().unwrap();
    file.write_all(bytes).unwrap();
    file
}

/// A record and its key.
type Record = (Vec<u8>, Vec<u8>);

/// Every record and its key, of files with these bytes.
fn read(files: &[&[u8]], format: FormatArgs) -> Result<Vec<Record>, Error> {
    let files: Vec<_> = files.iter().map(|bytes| file(bytes)).collect();
    let inputs = files.iter().map(|file| file.path().to_owned()).collect();
    records(InputArgs { inputs, format }.chunks()?)
}

/// Every record and its key, of these chunks.
fn records(chunks: Chunks) -> Result<Vec<Record>, Error> {
    let mut records = Vec::new();
    in_parallel(
        chunks,
        |_, (): &mut ()| (),
        |chunk, ()| {
            chunk.each(|range, key| records.push((chunk.bytes()[range].to_vec(), key.to_vec())));
            Ok(ControlFlow::Continue(()))
        },
    )?;
    Ok(records)
}

fn keys(files: &[&[u8]], format: FormatArgs) -> Vec<Vec<u8>> {
    read(files, format).unwrap().into_iter().map(|(_, key)| key).collect()
}

fn lines() -> FormatArgs {
    FormatArgs::default()
}

fn csv(column: &str) -> FormatArgs {
    FormatArgs { csv: true, column: vec![column.to_owned()], ..lines() }
}

#[test]
fn a_line_is_a_key_without_its_end() {
    let records = read(&[b"ana\r\n\nbob\xff\r\r\n\r\nlast"], lines()).unwrap();
    let expected: [(&[u8], &[u8]); 5] = [
        (b"ana\r\n", b"ana"),
        (b"\n", b""),
        (b"bob\xff\r\r\n", b"bob\xff\r"),
        (b"\r\n", b""),
        (b"last", b"last"),
    ];
    assert_eq!(records, expected.map(|(record, key)| (record.to_vec(), key.to_vec())));
}

#[test]
fn an_empty_input_has_no_records() {
    assert!(keys(&[b""], lines()).is_empty());
    assert!(keys(&[b"", b""], csv("a")).is_empty());
}

#[test]
fn null_bytes_end_records_that_may_have_lines() {
    let format = FormatArgs { null: true, ..lines() };
    assert_eq!(keys(&[b"a\nb\r\0\0c"], format), [&b"a\nb\r"[..], b"", b"c"]);
}

#[test]
fn a_field_is_counted_from_1_and_may_be_missing() {
    let second = FormatArgs { field: vec![2], ..lines() };
    assert_eq!(keys(&[b"a\tb\tc\n\na\nx\ty\r\n\t\t\n"], second), [&b"b"[..], b"", b"", b"y", b""]);
    let third = FormatArgs { field: vec![3], delimiter: Some(b':'), ..lines() };
    assert_eq!(keys(&[b"root:x:0:0\n"], third), [b"0"]);
    assert!(layout::parse_field("0").is_err());
    assert!(FormatArgs { delimiter: Some(b':'), ..lines() }.format().is_err());
}

#[test]
fn csv_takes_quotes_off_keys_and_leaves_records_alone() {
    let bytes = b"\xef\xbb\xbf\"na\"\"me\",id\r\n\"a,b\"\"c\",1\r\n\n\"two\nlines\",2\n,3\nd,\"4\"";
    let records = read(&[bytes], csv("na\"me")).unwrap();
    let expected: [(&[u8], &[u8]); 4] = [
        (b"\"a,b\"\"c\",1\r\n", b"a,b\"c"),
        (b"\"two\nlines\",2\n", b"two\nlines"),
        (b",3\n", b""),
        (b"d,\"4\"", b"d"),
    ];
    assert_eq!(records, expected.map(|(record, key)| (record.to_vec(), key.to_vec())));
    assert_eq!(keys(&[bytes], csv("id")), [b"1", b"2", b"3", b"4"]);
}

#[test]
fn each_csv_file_has_its_own_header() {
    assert_eq!(keys(&[b"a,b\n1,2", b"b,a\n3,4\n", b"b"], csv("b")), [b"2", b"3"]);
    let format = FormatArgs { delimiter: Some(b';'), ..csv("b") };
    assert_eq!(keys(&[b"a;b\n1;2\n3\n"], format), [&b"2"[..], b""]);
    let error = read(&[b"id,name\n"], csv("email")).unwrap_err().to_string();
    assert!(error.ends_with("has no column \"email\"; its columns are: id, name"), "{error}");
}

fn csv_layout(fields: &[usize]) -> layout::RecordLayout {
    let key = key::KeyPlan::new(key::KeyParts::Fields(fields.to_vec()), &KeyChanges::default());
    layout::RecordLayout { records: Records::Csv { delimiter: b',', has_header: true }, key }
}

#[test]
fn several_fields_are_a_composite_key() {
    let fields = |field: &[usize]| FormatArgs { field: field.to_vec(), ..lines() };
    let text = b"a\tbc\n\tana\n\t\r\nab\tc\td\n";
    assert_eq!(
        keys(&[text], fields(&[1, 2])),
        [&b"\x01a\x02bc"[..], b"\x00\x03ana", b"\x00\x00", b"\x02ab\x01c"]
    );
    assert_eq!(
        keys(&[text], fields(&[2, 1, 2])),
        [&b"\x02bc\x01a\x02bc"[..], b"\x03ana\x00\x03ana", b"\0\0\0", b"\x01c\x02ab\x01c"]
    );
    // A key of one part is that part.
    assert_eq!(keys(&[text], fields(&[2])), [&b"bc"[..], b"ana", b"", b"c"]);
    let columns = |names: &[&str]| FormatArgs {
        csv: true,
        column: names.iter().map(|name| (*name).to_owned()).collect(),
        ..lines()
    };
    let files: [&[u8]; 2] = [b"x,y,z\n1,\"a,\"\"b\",3\n4\n", b"z,y\n3,\"\"\n"];
    assert_eq!(keys(&files, columns(&["z", "y"])), [&b"\x013\x04a,\"b"[..], b"\0\0", b"\x013\0"]);
    let by_number = FormatArgs { csv: true, field: vec![3, 2], ..lines() };
    assert_eq!(keys(&files[..1], by_number), [&b"\x013\x04a,\"b"[..], b"\0\0"]);
}

#[test]
fn csv_without_a_column_is_whole_records() {
    let whole = FormatArgs { csv: true, ..lines() };
    let bytes = b"\xef\xbb\xbfa,b\r\n\"1\n\",2\r\n\r\n3,4\n5,\r6";
    assert_eq!(keys(&[bytes], whole.clone()), [&b"\"1\n\",2"[..], b"3,4", b"5,", b"6"]);
    // Without a header the first record is one, too, behind the mark.
    let no_header = FormatArgs { no_header: true, ..whole };
    assert_eq!(keys(&[bytes, b"7\n"], no_header.clone()).len(), 6);
    assert_eq!(keys(&[bytes], no_header.clone())[0], b"a,b");
    let second = FormatArgs { field: vec![2], ..no_header };
    assert_eq!(keys(&[b"a,b\n1,\"2\"\n"], second), [b"b", b"2"]);
}

#[test]
fn records_that_lack_their_field_are_counted() {
    let second = |allow_missing| FormatArgs { field: vec![2], allow_missing, ..lines() };
    let read_both = |text: &[u8]| {
        assert!(read(&[text], second(true)).is_ok());
        read(&[text], second(false)).map_err(|error| error.to_string())
    };
    assert!(read_both(b"a\tb\nc\n").is_ok());
    assert_eq!(
        read_both(b"a\tb\nc\nd\n").unwrap_err(),
        "2 of 3 records lack field 2: is the delimiter a tab? With --allow-missing, what is missing is \
         taken to be empty"
    );
    // Long before the end.
    let text = [b"x\n".repeat(100_000), b"a\tb\n".repeat(200_000)].concat();
    assert!(read_both(&text).is_err());
    let text = [b"x\n".repeat(900), b"a\tb\n".repeat(1_000)].concat();
    assert!(read_both(&text).is_ok());
}

#[test]
fn unclosed_quotes_are_found() {
    let quote = |bytes: &[u8]| csv_layout(&[0]).unclosed_quote(bytes, false);
    for closed in
        [&b""[..], b"a", b"a,", b"\"a\"", b"\"a\"\"b\"", b"\"a\"x", b"a\"b\n", b"\"\"\r", b"\r\n"]
    {
        assert_eq!(quote(closed), None, "{closed:?}");
    }
    for (open, at) in [(&b"\""[..], 0), (b"a,\"b", 2), (b"a\n\n\"b\n,c\n", 3), (b"\"a\"\"", 0)] {
        assert_eq!(quote(open), Some(at), "{open:?}");
    }
    // Longer than the piece in which keys are copied.
    assert_eq!(quote(&[b"x,\"", &[b'y'; 700][..]].concat()), Some(2));
}

#[test]
fn a_quote_that_stays_open_for_too_long_is_not_read_to_its_end() {
    let long = |quote: &str| format!("key\nana\n{quote}{}{quote}\n", "b\n".repeat(1 << 20));
    let with_limit = |bytes: String, limit| {
        let file = file(bytes.as_bytes());
        let inputs = vec![file.path().to_owned()];
        let mut chunks = InputArgs { inputs, format: csv("key") }.chunks()?;
        chunks.max_csv_record = limit;
        records(chunks)
    };
    // It is closed in the end, but waiting for that might need memory for the whole file.
    let message = with_limit(long("\""), 1 << 18).unwrap_err().to_string();
    assert!(
        message.contains("line 3: a quote opens a field there and is never closed"),
        "{message}"
    );
    assert_eq!(with_limit(long("\""), 1 << 22).unwrap().len(), 2);
    // Without quotes there is no limit: only the records together are long.
    assert_eq!(with_limit(long(""), 1 << 18).unwrap().len(), 1 + (1 << 20));
    let long_line = format!("key\n{}\n", "b".repeat(1 << 20));
    assert_eq!(with_limit(long_line, 1 << 18).unwrap().len(), 1);
}

#[test]
fn the_last_record_of_a_file_ends_with_the_file() {
    let records = read(&[b"a\nb", b"", b"c", b"d"], lines()).unwrap();
    let records: Vec<_> = records.into_iter().map(|(record, _)| record).collect();
    assert_eq!(records, [&b"a\n"[..], b"b\n", b"c\n", b"d"]);
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    compress_to_vec(bytes, CompressionLevel::Fastest)
}

#[test]
fn compressed_files_are_decompressed() {
    let text: Vec<u8> = (0..200_000).flat_map(|n| format!("line {n}\n").into_bytes()).collect();
    let plain = keys(&[&text], lines());
    assert_eq!(plain.len(), 200_000);
    let (head, tail) = text.split_at(700_001);
    assert_eq!(keys(&[&[gzip(head), gzip(tail)].concat()], lines()), plain);
    // There is a skippable frame between the two.
    let skippable = [&[0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0][..], b"any"].concat();
    assert_eq!(keys(&[&[zstd(head), skippable, zstd(tail)].concat()], lines()), plain);
    assert!(keys(&[&gzip(b"")], lines()).is_empty());
    assert!(keys(&[&zstd(b"")], lines()).is_empty());
    assert_eq!(keys(&[b"\x1f\x8b", b"\x28\xb5\x2f"], lines()), [&b"\x1f\x8b"[..], b"\x28\xb5\x2f"]);
}

#[test]
fn damaged_compressed_files_are_errors() {
    let text = b"some line\n".repeat(1000);
    for compressed in [gzip(&text), zstd(&text)] {
        for end in [5, compressed.len() / 2, compressed.len() - 1] {
            let error = read(&[&compressed[..end]], lines()).unwrap_err().to_string();
            assert!(error.contains(" data is cut short"), "{error}");
        }
        let mut flipped = compressed.clone();
        let last = flipped.len() - 3;
        flipped[last] ^= 0x10;
        assert!(read(&[&flipped], lines()).is_err());
    }
}

#[test]
fn unreadable_inputs_fail_before_anything_is_read() {
    let directory = TempDir::new().unwrap();
    for (path, message) in [
        (directory.path().to_owned(), "it is a directory"),
        (directory.path().join("no such"), "is the path right?"),
    ] {
        let args = InputArgs { inputs: vec![path], format: lines() };
        let error = args.each_batch(KeyHasher::default(), |_| Ok(())).unwrap_err().to_string();
        assert!(error.starts_with("cannot read ") && error.contains(message), "{error}");
    }
}

#[test]
fn an_error_of_the_caller_stops_reading() {
    let text = b"line\n".repeat(1_000_000);
    let text = file(&text);
    let args = InputArgs { inputs: vec![text.path().to_owned()], format: lines() };
    let mut count = 0;
    let visit = |_: &[Digest]| {
        count += 1;
        if count == 3 { Err(Error::new("enough")) } else { Ok(()) }
    };
    let error = args.each_batch(KeyHasher::default(), visit).unwrap_err();
    assert_eq!((error.to_string().as_str(), count), ("enough", 3));
}

#[test]
fn records_longer_than_a_chunk_are_read_whole() {
    let long = vec![b'x'; 5 * chunks::CHUNK_BYTES];
    let text = [&b"a\n"[..], &long, b"\r\nb\n", &long].concat();
    assert_eq!(keys(&[&text], lines()), [b"a", &long[..], b"b", &long]);
    let text = [b"k\n\"", &text[..], b"\"\nlast\n"].concat();
    assert_eq!(keys(&[&text], csv("k")), [&text[3..text.len() - 7], b"last"]);
}

#[test]
fn digests_come_in_the_order_of_the_input() {
    let text: Vec<u8> = (0..1_000_000u32).flat_map(|n| format!("{n}\n").into_bytes()).collect();
    let text = file(&text);
    let args = InputArgs { inputs: vec![text.path().to_owned()], format: lines() };
    let hasher = KeyHasher::default();
    let mut next = 0u32;
    args.each_batch(hasher, |digests| {
        for digest in digests {
            assert_eq!(*digest, hasher.digest(&next.to_string()));
            next += 1;
        }
        Ok(())
    })
    .unwrap();
    assert_eq!(next, 1_000_000);
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: prop::test_runner::RngSeed::Fixed(5), ..Default::default() })]

    #[test]
    fn records_concatenate_to_the_input(bytes in prop::collection::vec(prop::sample::select(
        &b"ab\r\n\0\t,\"\xff"[..]), 0..200), null: bool) {
        let records = read(&[&bytes], FormatArgs { null, ..lines() }).unwrap();
        let together: Vec<u8> = records.iter().flat_map(|(record, _)| record.clone()).collect();
        prop_assert_eq!(&together, &bytes);
        let terminator = if null { 0 } else { b'\n' };
        let mut expected: Vec<_> = bytes.split(|byte| *byte == terminator).collect();
        if expected.last().is_some_and(|last| last.is_empty()) {
            expected.pop();
        }
        let expected: Vec<_> = expected
            .into_iter()
            .map(|key| if null { key } else { key.strip_suffix(b"\r").unwrap_or(key) })
            .collect();
        prop_assert_eq!(records.iter().map(|(_, key)| &key[..]).collect::<Vec<_>>(), expected);
    }

    /// The records do not depend on where chunks end.
    #[test]
    fn whole_records_are_found_in_any_prefix(bytes in prop::collection::vec(
        prop::sample::select(&b"ab\r\n\r\n,\"\""[..]), 0..60), cut in 0usize..60) {
        let layout = csv_layout(&[1, 0]);
        // Input that ends within quotes is rejected earlier.
        prop_assume!(layout.unclosed_quote(&bytes, false).is_none());
        let collect = |bytes: &[u8]| {
            let mut records = Vec::new();
            layout.each(bytes, |record, key| records.push((bytes[record].to_vec(), key.to_vec())));
            records
        };
        let whole = layout.whole(&bytes[..cut.min(bytes.len())], 0, false);
        let (head, tail) = bytes.split_at(whole);
        prop_assert_eq!([collect(head), collect(tail)].concat(), collect(&bytes));
    }
}

fn replayed(input: &Replay) -> Result<String, Error> {
    let format = FormatArgs::default().format()?;
    let mut chunks = input.chunks(format, InputProgress::NONE)?;
    let (mut chunk, mut text) = (Chunk::default(), String::new());
    while chunks.fill(&mut chunk)? {
        text += std::str::from_utf8(chunk.bytes()).unwrap();
    }
    Ok(text)
}

#[test]
fn a_replay_is_what_the_file_was_at_first() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    std::fs::write(&path, "a\nb\n").unwrap();
    let input = Replay::of(std::slice::from_ref(&path)).unwrap();
    assert_eq!(replayed(&input).unwrap(), "a\nb\n");

    let mut file = File::options().append(true).open(&path).unwrap();
    file.write_all(b"c\n").unwrap();
    assert_eq!(replayed(&input).unwrap(), "a\nb\n");

    file.set_len(2).unwrap();
    let error = replayed(&input).unwrap_err().to_string();
    assert!(error.contains("it became shorter"), "{error}");

    std::fs::write(directory.path().join("new"), "d\n").unwrap();
    std::fs::rename(directory.path().join("new"), &path).unwrap();
    let error = replayed(&input).unwrap_err().to_string();
    assert!(error.contains("it was replaced"), "{error}");
}

#[test]
fn a_carriage_return_is_kept_on_request() {
    let args = |keep_cr| FormatArgs { keep_cr, ..FormatArgs::default() };
    for (keep_cr, expected) in [(false, ["a", "b\r", ""]), (true, ["a\r", "b\r\r", "\r"])] {
        let found = keys(&[b"a\r\nb\r\r\n\r\n"], args(keep_cr));
        assert_eq!(found, expected.map(|key| key.as_bytes().to_vec()));
    }
}

/// The mark stands before a quote that begins a field all the same.
#[test]
fn a_byte_order_mark_before_a_quoted_header_changes_nothing() {
    let bytes = b"\xEF\xBB\xBF\"two\nlines\",key\nx,1\n\"y\ny\",2\n";
    assert_eq!(keys(&[bytes], csv("key")), [b"1", b"2"]);
    assert_eq!(keys(&[bytes], csv("two\nlines")), [b"x".as_slice(), b"y\ny"]);
    // Elsewhere it is a part of a field.
    let bytes = b"key,x\n\xEF\xBB\xBF\"a,1\n";
    assert_eq!(keys(&[bytes], csv("key")), [b"\xEF\xBB\xBF\"a"]);
}
