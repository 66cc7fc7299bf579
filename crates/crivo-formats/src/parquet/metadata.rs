//! What the footer of a Parquet file says about columns and their filters.
//!
//! ```text
//!   PAR1 │ column chunks, page indexes, filters … │ footer │ its length (u32) │ PAR1
//! ```
//!
//! The footer is a tree of which the fields that matter here are:
//!
//! ```text
//!   file      2 schema elements   4 row groups   8 encryption
//!   element   1 type   2 length of fixed bytes   4 name   5 number of children   6 converted type
//!   group     1 column chunks     3 rows
//!   chunk     1 path of another file   3 metadata   8 encryption   9 encrypted metadata
//!   metadata  1 type   5 values   14 offset of the filter   15 its length
//! ```

use std::fmt;
use std::io::{Read, Seek, SeekFrom};

use crivo_core::memory::zeroed;

use super::ParquetError;
use super::thrift::{Struct, Value};
use crate::{FormatError, KeyType, TypedKey};

/// The fields of a column chunk's metadata that tell where its filter is.
const FILTER_OFFSET: i16 = 14;
const FILTER_LENGTH: i16 = 15;

const ENCRYPTED: FormatError = FormatError::Unsupported("encrypted Parquet files");

/// The physical type of a column's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PhysicalType {
    /// Truth values. They have no filters.
    Boolean,
    /// 32 bits.
    Int32,
    /// 64 bits.
    Int64,
    /// Twelve bytes: timestamps of old files.
    Int96,
    /// A real number of 32 bits.
    Float,
    /// A real number of 64 bits.
    Double,
    /// Text or bytes.
    ByteArray,
    /// As many bytes in every value.
    FixedLenByteArray {
        /// How many.
        length: u32,
    },
}

impl PhysicalType {
    fn new(number: i64, length: Option<u64>) -> Result<Self, FormatError> {
        Ok(match number {
            0 => Self::Boolean,
            1 => Self::Int32,
            2 => Self::Int64,
            3 => Self::Int96,
            4 => Self::Float,
            5 => Self::Double,
            6 => Self::ByteArray,
            7 => {
                let length = length.and_then(|length| u32::try_from(length).ok());
                let without = FormatError::Inconsistent("a column of fixed length has no length");
                Self::FixedLenByteArray { length: length.ok_or(without)? }
            }
            _ => return Err(FormatError::Unsupported("columns of an unknown physical type")),
        })
    }
}

impl fmt::Display for PhysicalType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Boolean => f.pad("BOOLEAN"),
            Self::Int32 => f.pad("INT32"),
            Self::Int64 => f.pad("INT64"),
            Self::Int96 => f.pad("INT96"),
            Self::Float => f.pad("FLOAT"),
            Self::Double => f.pad("DOUBLE"),
            Self::ByteArray => f.pad("BYTE_ARRAY"),
            Self::FixedLenByteArray { length } => write!(f, "FIXED_LEN_BYTE_ARRAY({length})"),
        }
    }
}

/// A column with values of its own: a leaf of the schema.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Column {
    /// The names on the way to it, with dots between them.
    pub path: String,
    /// The type of its values.
    pub physical_type: PhysicalType,
    /// Whether they are unsigned integers of 64 bits.
    pub is_unsigned_64: bool,
}

impl Column {
    /// The type of keys that its values are; text is asked for as its bytes are. `None` for truth
    /// values, which have no filters.
    pub fn key_type(&self) -> Option<KeyType> {
        Some(match self.physical_type {
            PhysicalType::Boolean => return None,
            PhysicalType::Int32 => KeyType::Int32,
            PhysicalType::Int64 if self.is_unsigned_64 => KeyType::UInt64,
            PhysicalType::Int64 => KeyType::Int64,
            PhysicalType::Float => KeyType::Float,
            PhysicalType::Double => KeyType::Double,
            PhysicalType::Int96
            | PhysicalType::ByteArray
            | PhysicalType::FixedLenByteArray { .. } => KeyType::Bytes,
        })
    }

    /// The plain encoding of a key, if it is of the type of the column's values.
    pub(super) fn with_plain<T>(
        &self,
        key: &TypedKey<'_>,
        use_bytes: impl FnOnce(&[u8]) -> T,
    ) -> Result<T, ParquetError> {
        Ok(match (self.physical_type, key) {
            (PhysicalType::Int32, TypedKey::Int32(key)) => use_bytes(&key.to_le_bytes()),
            (PhysicalType::Int64, TypedKey::Int64(key)) => use_bytes(&key.to_le_bytes()),
            (PhysicalType::Int64, TypedKey::UInt64(key)) if self.is_unsigned_64 => {
                use_bytes(&key.to_le_bytes())
            }
            (PhysicalType::Float, TypedKey::Float(key)) => use_bytes(&key.to_le_bytes()),
            (PhysicalType::Double, TypedKey::Double(key)) => use_bytes(&key.to_le_bytes()),
            (PhysicalType::ByteArray, TypedKey::Text(key)) => use_bytes(key.as_bytes()),
            (PhysicalType::ByteArray, TypedKey::Bytes(key)) => use_bytes(key),
            (PhysicalType::FixedLenByteArray { length }, TypedKey::Bytes(key))
                if key.len() as u64 == u64::from(length) =>
            {
                use_bytes(key)
            }
            (PhysicalType::Int96, TypedKey::Bytes(key)) if key.len() == 12 => use_bytes(key),
            _ => {
                return Err(ParquetError::KeyType {
                    column: self.path.clone(),
                    found: self.physical_type,
                    key: key.key_type(),
                });
            }
        })
    }
}

/// Where a filter is in its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct FilterLocation {
    /// The number of the row group, from 0 on.
    pub row_group: usize,
    /// The number of the column, from 0 on.
    pub column: usize,
    /// Where it begins.
    pub offset: u64,
    /// How long it is with its header, if the file tells.
    pub length: Option<u64>,
}

/// The footer, and what it says.
#[derive(Debug, Clone)]
pub(super) struct Metadata {
    #[cfg(feature = "parquet-write")]
    tree: Struct,
    /// Where the footer begins.
    pub(super) footer_offset: u64,
    /// Whether the tree, written again, is the footer as it was.
    #[cfg(feature = "parquet-write")]
    pub(super) is_canonical: bool,
    pub(super) columns: Vec<Column>,
    pub(super) row_groups: usize,
    /// In the order of the file.
    pub(super) filters: Vec<FilterLocation>,
}

impl Metadata {
    pub(super) fn read(file: &mut (impl Read + Seek)) -> Result<Self, ParquetError> {
        let not_parquet =
            |reason| FormatError::NotThisFormat { expected: "a Parquet file", reason };
        let length = file.seek(SeekFrom::End(0))?;
        if length < 12 {
            return Err(not_parquet("it is too short").into());
        }
        let mut end = [0; 8];
        file.seek(SeekFrom::End(-8))?;
        file.read_exact(&mut end)?;
        match end.last_chunk() {
            Some(b"PAR1") => {}
            Some(b"PARE") => return Err(ENCRYPTED.into()),
            _ => return Err(not_parquet("it does not end with PAR1").into()),
        }
        let [a, b, c, d, ..] = end;
        let footer_length = u64::from(u32::from_le_bytes([a, b, c, d]));
        // The magic at the beginning and at the end, and the length.
        if footer_length > length - 12 {
            return Err(FormatError::Inconsistent("the footer is longer than the file").into());
        }
        let footer_offset = length - 8 - footer_length;
        file.seek(SeekFrom::Start(footer_offset))?;
        // No longer than the file, which is there.
        let mut bytes = zeroed::<u8>(footer_length as usize).map_err(FormatError::from)?;
        file.read_exact(&mut bytes)?;
        Ok(Self::parse(&bytes, footer_offset)?)
    }

    fn parse(bytes: &[u8], footer_offset: u64) -> Result<Self, FormatError> {
        let (tree, _) = Struct::read(bytes)?;
        if tree.get(8).is_some() {
            return Err(ENCRYPTED);
        }
        let columns = leaves(tree.list(2)?, bytes.len())?;
        let groups = tree.list(4)?;
        let mut filters = Vec::new();
        for (row_group, group) in groups.iter().enumerate() {
            let chunks = group.as_struct()?.list(1)?;
            if chunks.len() != columns.len() {
                return Err(FormatError::Inconsistent("a row group has not the schema's columns"));
            }
            for (column, chunk) in chunks.iter().enumerate() {
                let chunk = chunk.as_struct()?;
                if chunk.get(8).is_some() || chunk.get(9).is_some() {
                    return Err(ENCRYPTED);
                }
                let Some(metadata) = chunk.structure(3)? else {
                    return Err(FormatError::Inconsistent("a column chunk has no metadata"));
                };
                let Some(offset) = metadata.length(FILTER_OFFSET)? else { continue };
                if chunk.get(1).is_some() {
                    return Err(FormatError::Unsupported("column chunks in other files"));
                }
                let length = metadata.length(FILTER_LENGTH)?;
                filters.push(FilterLocation { row_group, column, offset, length });
            }
        }
        Ok(Self {
            footer_offset,
            columns,
            row_groups: groups.len(),
            filters,
            #[cfg(feature = "parquet-write")]
            is_canonical: tree.to_bytes() == bytes,
            #[cfg(feature = "parquet-write")]
            tree,
        })
    }

    /// The number of the column with this path.
    pub(super) fn column(&self, path: &str) -> Result<usize, ParquetError> {
        let place = self.columns.iter().position(|column| column.path == path);
        place.ok_or_else(|| ParquetError::NoColumn(path.to_owned()))
    }

    pub(super) fn filter(&self, row_group: usize, column: usize) -> Option<&FilterLocation> {
        let place = |at: &FilterLocation| (at.row_group, at.column);
        let found = self.filters.binary_search_by_key(&(row_group, column), place);
        found.ok().map(|found| &self.filters[found])
    }

    /// The footer, with its length and the magic behind it, that also tells of these filters: in the
    /// order of the file.
    #[cfg(feature = "parquet-write")]
    pub(super) fn footer_with(&self, added: &[FilterLocation]) -> Result<Vec<u8>, FormatError> {
        const TOO_LARGE: FormatError = FormatError::Unsupported("numbers of this size in a footer");
        let mut tree = self.tree.clone();
        let mut added = added.iter().peekable();
        for (row_group, group) in tree.structs_mut(4).enumerate() {
            for (column, chunk) in group.structs_mut(1).enumerate() {
                let is_here =
                    |at: &&FilterLocation| (at.row_group, at.column) == (row_group, column);
                let (Some(filter), Some(Value::Struct(metadata))) =
                    (added.next_if(is_here), chunk.get_mut(3))
                else {
                    continue;
                };
                let offset = i64::try_from(filter.offset).map_err(|_| TOO_LARGE)?;
                metadata.set(FILTER_OFFSET, Value::I64(offset));
                let length = filter.length.map(i32::try_from).transpose().map_err(|_| TOO_LARGE)?;
                length
                    .into_iter()
                    .for_each(|length| metadata.set(FILTER_LENGTH, Value::I32(length)));
            }
        }
        debug_assert!(added.next().is_none(), "filters come in the order of the file");
        let mut bytes = tree.to_bytes();
        let length = i32::try_from(bytes.len()).map_err(|_| TOO_LARGE)?;
        bytes.extend(length.to_le_bytes());
        bytes.extend(b"PAR1");
        Ok(bytes)
    }
}

/// The leaves of a schema, in its order: elements come before their children.
fn leaves(schema: &[Value], footer_length: usize) -> Result<Vec<Column>, FormatError> {
    const CONVERTED_UINT_64: i64 = 14;
    // Every row group writes all paths down. Only a hostile schema repeats long names so often that
    // they take more memory than this.
    let mut room_for_paths = footer_length.saturating_mul(64);
    let mut columns = Vec::new();
    // Of each group that is not complete: how many children are missing, and its path.
    let mut groups: Vec<(u64, String)> = Vec::new();
    for (i, element) in schema.iter().enumerate() {
        let element = element.as_struct()?;
        let name = element.text(4)?.ok_or(FormatError::Inconsistent("a column has no name"))?;
        while groups.pop_if(|(missing, _)| *missing == 0).is_some() {}
        let path = match groups.last_mut() {
            // The name of the whole is part of no path.
            None if i == 0 => String::new(),
            None => return Err(FormatError::Inconsistent("the schema has more than one root")),
            Some((missing, parent)) => {
                *missing -= 1;
                if parent.is_empty() { name.to_owned() } else { format!("{parent}.{name}") }
            }
        };
        let too_long = FormatError::Unsupported("columns with paths of this length");
        room_for_paths = room_for_paths.checked_sub(path.len()).ok_or(too_long)?;
        match element.length(5)? {
            Some(children) if children > 0 || i == 0 => {
                groups.push((children, path));
            }
            _ => {
                let number = element.integer(1)?;
                let number = number.ok_or(FormatError::Inconsistent("a column has no type"))?;
                let physical_type = PhysicalType::new(number, element.length(2)?)?;
                let is_unsigned_64 = physical_type == PhysicalType::Int64
                    && element.integer(6)? == Some(CONVERTED_UINT_64);
                columns.push(Column { path, physical_type, is_unsigned_64 });
            }
        }
    }
    if groups.iter().any(|(missing, _)| *missing > 0) {
        return Err(FormatError::Inconsistent("the schema ends before its last column"));
    }
    Ok(columns)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An element with a type, or with that many children.
    fn element(name: &str, children: Option<i32>) -> Value {
        let mut element = Struct::default();
        element.set(4, Value::Binary(name.into()));
        match children {
            Some(children) => element.set(5, Value::I32(children)),
            None => element.set(1, Value::I32(1)),
        }
        Value::Struct(element)
    }

    #[test]
    fn leaves_are_named_by_the_way_to_them() {
        let schema = [
            element("schema", Some(3)),
            element("a", None),
            element("b", Some(2)),
            element("c", Some(1)),
            element("d", None),
            element("e", None),
            element("f", None),
        ];
        let paths: Vec<_> =
            leaves(&schema, 100).unwrap().into_iter().map(|leaf| leaf.path).collect();
        assert_eq!(paths, ["a", "b.c.d", "b.e", "f"]);
        for end in 1..schema.len() {
            assert!(leaves(&schema[..end], 100).is_err(), "{end}");
        }
        let two_roots = [&schema[..], &[element("g", None)]].concat();
        assert!(leaves(&two_roots, 100).is_err());
    }

    /// A long name of a group that thousands of leaves repeat.
    #[test]
    fn paths_take_no_more_memory_than_the_file_pays_for() {
        let (long, count) = ("x".repeat(10_000), 10_000);
        let mut schema = vec![element("schema", Some(1)), element(&long, Some(count))];
        schema.extend((0..count).map(|_| element("y", None)));
        let error = leaves(&schema, 200_000).unwrap_err();
        assert!(matches!(error, FormatError::Unsupported(_)), "{error}");
    }
}
