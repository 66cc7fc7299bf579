//! Whole Parquet files, made by pyarrow and duckdb (`oracles/run --fixtures parquet`), against the
//! crate `parquet` as a second reader.

use std::fs;
use std::io::Cursor;
use std::path::{Path, PathBuf};

use crivo_formats::parquet::{
    AddFilters, Membership, ParquetBloom, ParquetError, ParquetFile, PhysicalType,
};
use crivo_formats::{FormatError, TypedKey};
use parquet::bloom_filter::Sbbf;
use parquet::file::metadata::ParquetMetaData;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;

const FILES: &[&str] = &[
    "pyarrow-filters",
    "pyarrow-mixed",
    "pyarrow-plain",
    "duckdb",
    #[cfg(feature = "parquet-zstd")]
    "pyarrow-zstd",
];

fn fixture(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/parquet-files");
    root.join(format!("{name}.parquet"))
}

/// A copy that may be changed.
fn copy(directory: &tempfile::TempDir, name: &str) -> PathBuf {
    let path = directory.path().join(name);
    fs::copy(fixture(name), &path).unwrap();
    path
}

fn open_in_memory(bytes: Vec<u8>) -> Result<ParquetFile<Cursor<Vec<u8>>>, ParquetError> {
    ParquetFile::new(Cursor::new(bytes))
}

fn second_reader(path: &Path) -> SerializedFileReader<fs::File> {
    SerializedFileReader::new(fs::File::open(path).unwrap()).unwrap()
}

fn column_of<R: std::io::Read + std::io::Seek>(file: &ParquetFile<R>, path: &str) -> usize {
    file.columns().iter().position(|column| column.path == path).unwrap()
}

/// The values of a column at the top, by row groups, as the keys that they are.
fn with_values(path: &Path, column: &str, mut visit: impl FnMut(usize, TypedKey<'_>)) {
    let reader = second_reader(path);
    for row_group in 0..reader.num_row_groups() {
        for row in reader.get_row_group(row_group).unwrap().get_row_iter(None).unwrap() {
            let row = row.unwrap();
            let (_, field) = row.get_column_iter().find(|(name, _)| *name == column).unwrap();
            visit(
                row_group,
                match field {
                    Field::Null => continue,
                    Field::Int(value) => TypedKey::Int32(*value),
                    Field::Long(value) => TypedKey::Int64(*value),
                    Field::ULong(value) => TypedKey::UInt64(*value),
                    Field::Float(value) => TypedKey::Float(*value),
                    Field::Double(value) => TypedKey::Double(*value),
                    Field::Str(value) => TypedKey::Text(value),
                    Field::Bytes(value) => TypedKey::Bytes(value.data().into()),
                    other => panic!("{other:?}"),
                },
            );
        }
    }
}

const KEY_COLUMNS: [&str; 8] =
    ["int32", "int64", "uint64", "float", "double", "text", "bytes", "fixed"];

#[test]
fn files_are_listed_as_they_were_made() {
    let file = ParquetFile::open(fixture("pyarrow-filters")).unwrap();
    let paths: Vec<_> = file.columns().iter().map(|column| column.path.as_str()).collect();
    assert_eq!(paths[..8], KEY_COLUMNS);
    let nested =
        ["decimal", "bool", "nulls", "list.list.element", "struct.a", "struct.b.c", "time"];
    assert_eq!(paths[8..], nested);
    let types: Vec<_> = file.columns().iter().map(|c| c.physical_type.to_string()).collect();
    let expected = "INT32 INT64 INT64 FLOAT DOUBLE BYTE_ARRAY BYTE_ARRAY FIXED_LEN_BYTE_ARRAY(16)";
    assert_eq!(types[..8].join(" "), expected);
    let unsigned = file.columns().iter().filter(|column| column.is_unsigned_64);
    assert!(unsigned.map(|column| &column.path).eq(["uint64"]));
    assert_eq!((file.row_group_count(), file.filters().len()), (3, 24));
    let first = file.filters()[0];
    assert_eq!((first.row_group, first.column, first.length), (0, 0, Some(144)));

    let file = ParquetFile::open(fixture("duckdb")).unwrap();
    assert_eq!((file.row_group_count(), file.filters().len()), (1, 1));
    let file = ParquetFile::open(fixture("pyarrow-mixed")).unwrap();
    assert_eq!(file.columns()[14].physical_type, PhysicalType::Int96);
}

/// The answers are those of the second reader, and every value is found in its row group.
#[test]
fn row_groups_are_told_as_the_second_reader_tells_them() {
    for name in ["pyarrow-filters", "duckdb"] {
        let path = fixture(name);
        let mut file = ParquetFile::open(&path).unwrap();
        let reader = second_reader(&path);
        for column in KEY_COLUMNS {
            let Some(index) = file.columns().iter().position(|found| found.path == column) else {
                continue;
            };
            let filters: Vec<Option<Sbbf>> = (0..reader.num_row_groups())
                .map(|row_group| {
                    let chunk = reader.metadata().row_group(row_group).column(index);
                    let file = fs::File::open(&path).unwrap();
                    Sbbf::read_from_column_chunk(chunk, &file).unwrap()
                })
                .collect();
            let (mut values, mut no) = (0, 0);
            let in_memory = file.column_filters(column).unwrap();
            assert_eq!(in_memory.filters().len(), filters.len());
            with_values(&path, column, |row_group, key| {
                let answers = file.may_contain(column, &key).unwrap();
                assert_eq!(in_memory.may_contain(&key).unwrap(), answers, "{column} {key:?}");
                assert_ne!(answers[row_group], Membership::No, "{column} {key:?}");
                for (answer, filter) in answers.iter().zip(&filters) {
                    let expected = match filter {
                        None => Membership::NoFilter,
                        Some(filter) if second_answer(filter, &key) => Membership::Maybe,
                        Some(_) => Membership::No,
                    };
                    assert_eq!(*answer, expected, "{column} {key:?}");
                    no += usize::from(*answer == Membership::No);
                }
                values += 1;
            });
            assert!(values >= 200, "{column}");
            // Two other groups say no to each value of a distinct column, but for false positives.
            assert!(name == "duckdb" || no > values, "{column}: {no} of {values}");
        }
    }
}

fn second_answer(filter: &Sbbf, key: &TypedKey<'_>) -> bool {
    match key {
        TypedKey::Int32(key) => filter.check(key),
        TypedKey::Int64(key) => filter.check(key),
        TypedKey::UInt64(key) => filter.check(&key.cast_signed()),
        TypedKey::Float(key) => filter.check(key),
        TypedKey::Double(key) => filter.check(key),
        TypedKey::Text(key) => filter.check(*key),
        TypedKey::Bytes(key) => filter.check(&**key),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_key_of_another_type_is_an_error() {
    let mut file = ParquetFile::open(fixture("pyarrow-filters")).unwrap();
    let keys = [
        TypedKey::Int32(1),
        TypedKey::Int64(1),
        TypedKey::UInt64(1),
        TypedKey::Float(1.0),
        TypedKey::Double(1.0),
        TypedKey::Text("1"),
        TypedKey::Bytes([1].as_slice().into()),
        TypedKey::Bytes([1; 16].as_slice().into()),
        TypedKey::Utf16("1"),
    ];
    for (column, allowed) in [
        ("int32", &[0][..]),
        ("int64", &[1]),
        ("uint64", &[1, 2]),
        ("float", &[3]),
        ("double", &[4]),
        ("text", &[5, 6, 7]),
        ("bytes", &[5, 6, 7]),
        ("fixed", &[7]),
        ("bool", &[]),
    ] {
        for (i, key) in keys.iter().enumerate() {
            match file.may_contain(column, key) {
                Ok(answers) => assert!(allowed.contains(&i) && answers.len() == 3, "{column} {i}"),
                Err(ParquetError::KeyType { .. }) => assert!(!allowed.contains(&i), "{column} {i}"),
                Err(error) => panic!("{error}"),
            }
        }
    }
    let error = file.may_contain("list", &TypedKey::Text("1")).unwrap_err();
    assert!(matches!(&error, ParquetError::NoColumn(name) if name == "list"), "{error}");
    let answers = file.may_contain("list.list.element", &TypedKey::Text("1")).unwrap();
    assert_eq!(answers, [Membership::NoFilter; 3]);
}

/// What the second reader knows of a file, without the places of filters.
fn facts(path: &Path) -> (String, Vec<String>) {
    let reader = second_reader(path);
    let metadata: &ParquetMetaData = reader.metadata();
    let file = metadata.file_metadata();
    let file = format!("{:?} {:?}", file.key_value_metadata(), file.schema_descr());
    let groups = metadata.row_groups().iter().flat_map(|group| {
        let sizes = [group.num_rows(), group.total_byte_size(), group.compressed_size()];
        let group_facts = format!("{sizes:?} {:?} {:?}", group.sorting_columns(), group.ordinal());
        let columns = group.columns().iter().map(|chunk| {
            let chunk = chunk.clone().into_builder().set_bloom_filter_offset(None);
            format!("{:?}", chunk.set_bloom_filter_length(None).build().unwrap())
        });
        std::iter::once(group_facts).chain(columns).collect::<Vec<_>>()
    });
    (file, groups.collect())
}

/// In every column that can have one, in every row group; and nothing else has changed.
#[test]
fn filters_are_added_where_there_are_none() {
    let directory = tempfile::tempdir().unwrap();
    for &name in FILES {
        let path = copy(&directory, name);
        let before = fs::read(&path).unwrap();
        let old = ParquetFile::open(&path).unwrap();
        let added = AddFilters::new(0.01).unwrap().replace(&path).unwrap();
        let after = fs::read(&path).unwrap();
        let mut file = ParquetFile::open(&path).unwrap();

        let footer = u32::from_le_bytes(*before.last_chunk::<8>().unwrap().first_chunk().unwrap());
        let kept = before.len() - 8 - footer as usize;
        assert!(after[..kept] == before[..kept], "{name}: everything but the footer is kept");
        assert_eq!(facts(&path), facts(&fixture(name)), "{name}");
        assert!(old.filters().iter().all(|filter| file.filters().contains(filter)), "{name}");
        assert!(added.iter().all(|filter| file.filters().contains(filter)), "{name}");
        assert_eq!(old.filters().len() + added.len(), file.filters().len());
        let bools = usize::from(name != "duckdb");
        let columns = file.columns().len() - bools;
        assert_eq!(file.filters().len(), file.row_group_count() * columns, "{name}");

        for location in &added {
            let filter = file.filter(location.row_group, location.column).unwrap().unwrap();
            assert!(filter.blocks().is_power_of_two());
            assert!(filter.expected_fpr() < 0.02, "{name} {location:?}");
            let chunk = second_reader(&path);
            let chunk = chunk.metadata().row_group(location.row_group).column(location.column);
            let theirs = Sbbf::read_from_column_chunk(chunk, &fs::File::open(&path).unwrap());
            assert!(theirs.unwrap().is_some());
        }
        for column in KEY_COLUMNS {
            if file.columns().iter().any(|found| found.path == column) {
                with_values(&path, column, |row_group, key| {
                    let answers = file.may_contain(column, &key).unwrap();
                    assert_eq!(answers[row_group], Membership::Maybe, "{name} {column} {key:?}");
                });
            }
        }
        // A second time there is nothing to do.
        let add = AddFilters::new(0.01).unwrap();
        assert!(add.replace(&path).unwrap().is_empty());
        assert!(fs::read(&path).unwrap() == after);
        // Into another file: the same, also where there is nothing to add.
        let other = directory.path().join("other");
        for (input, count) in [(fixture(name), added.len()), (path.clone(), 0)] {
            assert_eq!(add.write(&input, &other).unwrap().len(), count, "{name}");
            assert!(fs::read(&other).unwrap() == after, "{name}");
        }
    }
}

#[test]
fn values_in_lists_and_structures_and_nulls_are_found() {
    let directory = tempfile::tempdir().unwrap();
    let path = copy(&directory, "pyarrow-mixed");
    AddFilters::new(1e-6).unwrap().replace(&path).unwrap();
    let mut file = ParquetFile::open(&path).unwrap();
    let mut ask = |column: &str, key: TypedKey<'_>| file.may_contain(column, &key).unwrap();
    let (yes, no) = (Membership::Maybe, Membership::No);
    // By chance an answer is wrong once in some ten thousand files.
    assert_eq!(ask("list.list.element", TypedKey::Text("x")), [yes; 3]);
    assert_eq!(ask("list.list.element", TypedKey::Text("101")), [no, yes, no]);
    assert_eq!(ask("list.list.element", TypedKey::Text("100")), [no, no, no]);
    assert_eq!(ask("struct.a", TypedKey::Int64(250)), [no, no, yes]);
    assert_eq!(ask("struct.b.c", TypedKey::Text("99")), [yes, no, no]);
    assert_eq!(ask("nulls", TypedKey::Int32(0)), [no; 3]);
    let decimal = |hundredths: u8| {
        let mut bytes = [0; 9];
        bytes[8] = hundredths;
        bytes
    };
    assert_eq!(ask("decimal", TypedKey::Bytes(decimal(7).as_slice().into())), [yes, no, no]);
    // Midnight of 2024-01-01 is no nanoseconds into Julian day 2,460,311.
    let day = [&[0; 8][..], &2_460_311u32.to_le_bytes()].concat();
    assert_eq!(ask("time", TypedKey::Bytes(day.into())), [yes, no, no]);
}

#[test]
fn named_columns_and_exact_sizes_are_as_asked_for() {
    let directory = tempfile::tempdir().unwrap();
    let path = copy(&directory, "pyarrow-plain");
    let add = AddFilters::new(0.001).unwrap().column("text").column("int64").exact_size();
    let added = add.replace(&path).unwrap();
    let mut file = ParquetFile::open(&path).unwrap();
    let columns = [column_of(&file, "int64"), column_of(&file, "text")];
    let places = added.iter().map(|filter| (filter.row_group, filter.column));
    assert!(places.eq([(0, columns[0]), (0, columns[1]), (1, columns[0]), (1, columns[1])]));
    // 150 texts at 16.9 bits each; 120 numbers.
    let blocks =
        |file: &mut ParquetFile<_>, column| file.filter(0, column).unwrap().unwrap().blocks();
    assert_eq!((blocks(&mut file, columns[1]), blocks(&mut file, columns[0])), (10, 8));

    for (add, expected) in [
        (AddFilters::new(0.01).unwrap().column("bool"), "BOOLEAN"),
        (AddFilters::new(0.01).unwrap().column("nothing"), "nothing"),
        (AddFilters::new(1e-300).unwrap().column("int32"), "fpr"),
    ] {
        let before = fs::read(&path).unwrap();
        let error = add.replace(&path).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
        assert!(fs::read(&path).unwrap() == before, "a failed change changed the file");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }
    assert!(AddFilters::new(0.0).is_err() && AddFilters::new(1.0).is_err());
}

#[test]
fn what_cannot_be_decoded_stays_as_it_was() {
    let directory = tempfile::tempdir().unwrap();
    let path = copy(&directory, "pyarrow-plain");
    let mut bytes = fs::read(&path).unwrap();
    bytes[4..200].fill(0xff);
    fs::write(&path, &bytes).unwrap();
    let error = AddFilters::new(0.01).unwrap().replace(&path).unwrap_err();
    assert!(matches!(&error, ParquetError::Values { column, .. } if column == "int32"), "{error}");
    assert!(std::error::Error::source(&error).is_some());
    assert!(fs::read(&path).unwrap() == bytes);
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
}

#[test]
fn files_that_are_not_parquet_or_are_encrypted_are_refused() {
    let bytes = fs::read(fixture("duckdb")).unwrap();
    let format_error = |bytes: &[u8]| match open_in_memory(bytes.to_vec()) {
        Err(ParquetError::Format(error)) => error,
        other => panic!("{other:?}"),
    };
    assert!(matches!(format_error(b""), FormatError::NotThisFormat { .. }));
    assert!(matches!(format_error(&[b'x'; 100]), FormatError::NotThisFormat { .. }));
    let mut encrypted = bytes.clone();
    *encrypted.last_mut().unwrap() = b'E';
    assert!(matches!(format_error(&encrypted), FormatError::Unsupported(_)));
    let mut too_long = bytes;
    let length = too_long.len();
    too_long[length - 8..length - 4].fill(0xff);
    assert!(matches!(format_error(&too_long), FormatError::Inconsistent(_)));
}

/// A footer with a byte behind its tree could not be written as it was.
#[test]
fn footers_that_cannot_be_kept_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = copy(&directory, "duckdb");
    let bytes = fs::read(&path).unwrap();
    let (rest, end) = bytes.split_at(bytes.len() - 8);
    let length = u32::from_le_bytes(*end.first_chunk().unwrap()) + 1;
    let changed = [rest, &[0], &length.to_le_bytes(), b"PAR1"].concat();
    fs::write(&path, &changed).unwrap();
    assert!(ParquetFile::open(&path).is_ok());
    let error = AddFilters::new(0.01).unwrap().replace(&path).unwrap_err();
    assert!(matches!(error, ParquetError::Format(FormatError::Unsupported(_))), "{error}");
    assert!(fs::read(&path).unwrap() == changed);
}

/// Bytes of the footer and of the filters changed in some ways: an error or answers, no panic.
#[test]
fn damaged_files_never_panic() {
    for (name, step) in [("duckdb", 1), ("pyarrow-mixed", 13)] {
        let bytes = fs::read(fixture(name)).unwrap();
        let footer = u32::from_le_bytes(*bytes.last_chunk::<8>().unwrap().first_chunk().unwrap());
        let start = bytes.len() - 8 - footer as usize;
        let filters = ParquetFile::open(fixture(name)).unwrap().filters()[0].offset as usize;
        for position in (start..bytes.len()).step_by(step).chain(filters..filters + 20) {
            for value in [0, 1, 0x1c, 0x7f, 0x80, 0xff] {
                let mut damaged = bytes.clone();
                damaged[position] = value;
                let Ok(mut file) = open_in_memory(damaged) else { continue };
                for location in file.filters().to_vec() {
                    if let Ok(Some(filter)) = file.filter(location.row_group, location.column) {
                        let _ = (filter.contains(&7i64), filter.expected_fpr());
                    }
                }
            }
        }
        for length in 0..bytes.len().min(4_000) {
            assert!(open_in_memory(bytes[..length].to_vec()).is_err(), "{name} cut to {length}");
        }
    }
}

/// A filter that is taken out of a file is the same as one that is built of the same values.
#[test]
fn a_filter_of_the_same_values_has_the_same_bits() {
    let mut file = ParquetFile::open(fixture("pyarrow-filters")).unwrap();
    let theirs = file.filter(1, column_of(&file, "text")).unwrap().unwrap();
    let mut ours = ParquetBloom::with_size(theirs.blocks()).unwrap();
    for number in 100..200 {
        ours.insert(&format!("ключ-{number}-é"));
    }
    assert!(ours.to_bytes() == theirs.to_bytes());
}
