//! Thrift's compact protocol, as trees that keep every field.
//!
//! A footer that is written again must have all that it had, also fields that this version of the
//! format knows nothing of. So nothing is interpreted here: a tree is read, changed in a few places,
//! and written. Writing has one form for each tree; whether a tree that was read has just that form
//! is for the caller to compare.
//!
//! ```text
//!   struct   fields, then 0        field   delta of the id << 4 | type, or type and id as a number
//!   list     size << 4 | type, or 15 << 4 | type and the size as a number; elements
//!   map      size as a number; if it is not 0, key type << 4 | value type; pairs
//!   integer  zigzag LEB128         double  eight bytes         binary  length as a number; bytes
//! ```

use crivo_core::wire::{Reader, put_bytes, put_number, put_signed};

use crate::FormatError;

/// Deeper trees are of no use to anyone, and would exhaust the stack.
const MAX_DEPTH: u32 = 32;

const TRUE: u8 = 1;
const FALSE: u8 = 2;
const BYTE: u8 = 3;
const I16: u8 = 4;
const I32: u8 = 5;
const I64: u8 = 6;
const DOUBLE: u8 = 7;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const SET: u8 = 10;
const MAP: u8 = 11;
const STRUCT: u8 = 12;
const UUID: u8 = 13;

/// A value of any type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Value {
    Bool(bool),
    /// A byte; also a truth value that is an element of a list, as it was written.
    Byte(u8),
    I16(i16),
    I32(i32),
    I64(i64),
    Double([u8; 8]),
    Binary(Vec<u8>),
    List(Elements),
    Set(Elements),
    Map {
        types: u8,
        pairs: Vec<(Self, Self)>,
    },
    Struct(Struct),
    Uuid([u8; 16]),
}

/// The elements of a list or a set, which have one type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Elements {
    kind: u8,
    values: Vec<Value>,
}

/// Fields, in the order in which they were written.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Struct {
    fields: Vec<(i16, Value)>,
}

impl Struct {
    /// Reads a structure from the beginning of `bytes`, and tells how long it is.
    pub(super) fn read(bytes: &[u8]) -> Result<(Self, usize), FormatError> {
        let mut reader = Reader::new(bytes);
        let tree = read_struct(&mut reader, MAX_DEPTH)?;
        Ok((tree, bytes.len() - reader.remaining()))
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        write_struct(&mut bytes, self);
        bytes
    }

    pub(super) fn get(&self, id: i16) -> Option<&Value> {
        self.fields.iter().find(|(found, _)| *found == id).map(|(_, value)| value)
    }

    pub(super) fn get_mut(&mut self, id: i16) -> Option<&mut Value> {
        self.fields.iter_mut().find(|(found, _)| *found == id).map(|(_, value)| value)
    }

    /// Sets a field, in the order of their numbers.
    pub(super) fn set(&mut self, id: i16, value: Value) {
        match self.get_mut(id) {
            Some(old) => *old = value,
            None => {
                let place = self.fields.partition_point(|(before, _)| *before < id);
                self.fields.insert(place, (id, value));
            }
        }
    }

    /// The field as an integer of at most 64 bits, if there is one: another type is an error.
    pub(super) fn integer(&self, id: i16) -> Result<Option<i64>, FormatError> {
        Ok(Some(match self.get(id) {
            None => return Ok(None),
            Some(Value::I64(number)) => *number,
            Some(Value::I32(number)) => i64::from(*number),
            Some(Value::I16(number)) => i64::from(*number),
            Some(_) => return Err(WRONG_TYPE),
        }))
    }

    /// The field as an offset or a length.
    pub(super) fn length(&self, id: i16) -> Result<Option<u64>, FormatError> {
        let negative = |_| FormatError::Inconsistent("an offset or a length is negative");
        self.integer(id)?.map(|number| u64::try_from(number).map_err(negative)).transpose()
    }

    /// The elements of the field, if it is a list; none if there is no such field.
    pub(super) fn list(&self, id: i16) -> Result<&[Value], FormatError> {
        match self.get(id) {
            None => Ok(&[]),
            Some(Value::List(elements)) => Ok(&elements.values),
            Some(_) => Err(WRONG_TYPE),
        }
    }

    /// The structures of the field, if it is a list, to be changed.
    #[cfg(feature = "parquet-write")]
    pub(super) fn structs_mut(&mut self, id: i16) -> impl Iterator<Item = &mut Self> {
        let elements = match self.get_mut(id) {
            Some(Value::List(elements)) => &mut elements.values[..],
            _ => &mut [],
        };
        elements.iter_mut().filter_map(|value| match value {
            Value::Struct(inner) => Some(inner),
            _ => None,
        })
    }

    pub(super) fn structure(&self, id: i16) -> Result<Option<&Self>, FormatError> {
        self.get(id).map(Value::as_struct).transpose()
    }

    pub(super) fn text(&self, id: i16) -> Result<Option<&str>, FormatError> {
        match self.get(id) {
            None => Ok(None),
            Some(Value::Binary(bytes)) => match std::str::from_utf8(bytes) {
                Ok(text) => Ok(Some(text)),
                Err(_) => Err(FormatError::Inconsistent("a name is not UTF-8")),
            },
            Some(_) => Err(WRONG_TYPE),
        }
    }
}

impl Value {
    pub(super) fn as_struct(&self) -> Result<&Struct, FormatError> {
        if let Self::Struct(inner) = self { Ok(inner) } else { Err(WRONG_TYPE) }
    }
}

const WRONG_TYPE: FormatError =
    FormatError::Inconsistent("a field of the metadata has a wrong type");

const TOO_DEEP: FormatError = FormatError::Inconsistent("the metadata is nested too deeply");

fn read_struct(reader: &mut Reader<'_>, depth: u32) -> Result<Struct, FormatError> {
    let depth = depth.checked_sub(1).ok_or(TOO_DEEP)?;
    let mut fields = Vec::new();
    let mut id = 0i16;
    loop {
        let header = reader.byte()?;
        if header == 0 {
            return Ok(Struct { fields });
        }
        let out_of_range = FormatError::Inconsistent("a number of a field is out of range");
        id = match header >> 4 {
            0 => i16::try_from(reader.signed()?).ok(),
            delta => id.checked_add(i16::from(delta)),
        }
        .ok_or(out_of_range)?;
        let value = match header & 15 {
            TRUE => Value::Bool(true),
            FALSE => Value::Bool(false),
            kind => read_value(reader, kind, depth)?,
        };
        fields.push((id, value));
    }
}

fn read_value(reader: &mut Reader<'_>, kind: u8, depth: u32) -> Result<Value, FormatError> {
    let depth = depth.checked_sub(1).ok_or(TOO_DEEP)?;
    let wide = |_| FormatError::Inconsistent("an integer is wider than its type");
    Ok(match kind {
        TRUE | FALSE | BYTE => Value::Byte(reader.byte()?),
        I16 => Value::I16(i16::try_from(reader.signed()?).map_err(wide)?),
        I32 => Value::I32(i32::try_from(reader.signed()?).map_err(wide)?),
        I64 => Value::I64(reader.signed()?),
        DOUBLE => Value::Double(reader.array()?),
        BINARY => Value::Binary(reader.bytes()?.to_vec()),
        LIST => Value::List(read_elements(reader, depth)?),
        SET => Value::Set(read_elements(reader, depth)?),
        MAP => {
            // A pair has at least two bytes.
            let count = reader.count(16)?;
            let types = if count == 0 { 0 } else { reader.byte()? };
            let mut pairs = Vec::new();
            for _ in 0..count {
                let key = read_value(reader, types >> 4, depth)?;
                pairs.push((key, read_value(reader, types & 15, depth)?));
            }
            Value::Map { types, pairs }
        }
        STRUCT => Value::Struct(read_struct(reader, depth)?),
        UUID => Value::Uuid(reader.array()?),
        _ => return Err(FormatError::Inconsistent("a field of the metadata has an unknown type")),
    })
}

fn read_elements(reader: &mut Reader<'_>, depth: u32) -> Result<Elements, FormatError> {
    let header = reader.byte()?;
    let kind = header & 15;
    // An element has at least one byte: no memory is asked for that the input does not pay for.
    let count = match header >> 4 {
        15 => reader.count(8)?,
        count => usize::from(count),
    };
    let mut values = Vec::new();
    for _ in 0..count {
        values.push(read_value(reader, kind, depth)?);
    }
    Ok(Elements { kind, values })
}

fn write_struct(bytes: &mut Vec<u8>, tree: &Struct) {
    let mut last = 0i16;
    for (id, value) in &tree.fields {
        let kind = match value {
            Value::Bool(true) => TRUE,
            Value::Bool(false) => FALSE,
            Value::Byte(_) => BYTE,
            Value::I16(_) => I16,
            Value::I32(_) => I32,
            Value::I64(_) => I64,
            Value::Double(_) => DOUBLE,
            Value::Binary(_) => BINARY,
            Value::List(_) => LIST,
            Value::Set(_) => SET,
            Value::Map { .. } => MAP,
            Value::Struct(_) => STRUCT,
            Value::Uuid(_) => UUID,
        };
        match i32::from(*id) - i32::from(last) {
            delta @ 1..=15 => bytes.push((delta as u8) << 4 | kind),
            _ => {
                bytes.push(kind);
                put_signed(bytes, i64::from(*id));
            }
        }
        last = *id;
        write_value(bytes, value);
    }
    bytes.push(0);
}

fn write_value(bytes: &mut Vec<u8>, value: &Value) {
    match value {
        // In a field the type tells it.
        Value::Bool(_) => {}
        Value::Byte(byte) => bytes.push(*byte),
        Value::I16(number) => put_signed(bytes, i64::from(*number)),
        Value::I32(number) => put_signed(bytes, i64::from(*number)),
        Value::I64(number) => put_signed(bytes, *number),
        Value::Double(number) => bytes.extend(number),
        Value::Binary(content) => put_bytes(bytes, content),
        Value::List(Elements { kind, values }) | Value::Set(Elements { kind, values }) => {
            match values.len() {
                count @ 0..15 => bytes.push((count as u8) << 4 | kind),
                count => {
                    bytes.push(15 << 4 | kind);
                    put_number(bytes, count as u64);
                }
            }
            values.iter().for_each(|value| write_value(bytes, value));
        }
        Value::Map { types, pairs } => {
            put_number(bytes, pairs.len() as u64);
            if !pairs.is_empty() {
                bytes.push(*types);
            }
            for (key, value) in pairs {
                write_value(bytes, key);
                write_value(bytes, value);
            }
        }
        Value::Struct(tree) => write_struct(bytes, tree),
        Value::Uuid(uuid) => bytes.extend(uuid),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A value that can stand in a field or in a list, with its type.
    fn values() -> impl Strategy<Value = (u8, Value)> {
        let leaf = prop_oneof![
            any::<u8>().prop_map(|byte| (BYTE, Value::Byte(byte))),
            any::<i16>().prop_map(|number| (I16, Value::I16(number))),
            any::<i32>().prop_map(|number| (I32, Value::I32(number))),
            any::<i64>().prop_map(|number| (I64, Value::I64(number))),
            any::<[u8; 8]>().prop_map(|number| (DOUBLE, Value::Double(number))),
            any::<[u8; 16]>().prop_map(|uuid| (UUID, Value::Uuid(uuid))),
            any::<Vec<u8>>().prop_map(|content| (BINARY, Value::Binary(content))),
        ];
        leaf.prop_recursive(4, 32, 20, |inner| {
            let lists = (inner.clone(), 0usize..20)
                .prop_map(|((kind, value), count)| Elements { kind, values: vec![value; count] });
            let field = prop_oneof![
                any::<bool>().prop_map(Value::Bool),
                inner.clone().prop_map(|(_, value)| value)
            ];
            let fields = prop::collection::btree_map(any::<i16>(), field, 0..20);
            prop_oneof![
                lists.clone().prop_map(|elements| (LIST, Value::List(elements))),
                lists.prop_map(|elements| (SET, Value::Set(elements))),
                (inner.clone(), inner.clone(), 0usize..3).prop_map(|(key, value, count)| {
                    let types = if count == 0 { 0 } else { key.0 << 4 | value.0 };
                    (MAP, Value::Map { types, pairs: vec![(key.1, value.1); count] })
                }),
                fields.prop_map(|fields| {
                    (STRUCT, Value::Struct(Struct { fields: fields.into_iter().collect() }))
                }),
            ]
        })
    }

    proptest! {
        #[test]
        fn every_tree_is_read_as_it_was_written((_, value) in values(), id: i16) {
            let tree = Struct { fields: vec![(id, value)] };
            let mut bytes = tree.to_bytes();
            let length = bytes.len();
            bytes.extend([1, 2, 3]);
            prop_assert_eq!(Struct::read(&bytes).unwrap(), (tree, length));
            for end in 0..length {
                prop_assert!(Struct::read(&bytes[..end]).is_err());
            }
        }

        #[test]
        fn any_bytes_are_a_tree_or_an_error(bytes: Vec<u8>) {
            if let Ok((tree, length)) = Struct::read(&bytes) {
                prop_assert!(length <= bytes.len());
                prop_assert_eq!(Struct::read(&tree.to_bytes()).unwrap().0, tree);
            }
        }
    }

    #[test]
    fn fields_are_set_in_the_order_of_their_numbers() {
        let mut tree = Struct::default();
        for id in [5, 1, 30, 5] {
            tree.set(id, Value::I32(i32::from(id)));
        }
        assert_eq!(tree.fields.iter().map(|(id, _)| *id).collect::<Vec<_>>(), [1, 5, 30]);
        assert_eq!(tree.integer(30).unwrap(), Some(30));
        assert_eq!(tree.integer(2).unwrap(), None);
        assert!(tree.text(1).is_err() && tree.list(1).is_err());
    }

    #[test]
    fn hostile_sizes_and_depths_are_errors() {
        // A list of 2^60 elements, and structures in structures without an end.
        let list = [0x19, 0xf3, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x10];
        assert_eq!(Struct::read(&list), Err(FormatError::Truncated));
        assert_eq!(Struct::read(&[0x1c; 100_000]), Err(TOO_DEEP));
        let lists = [&[0x19][..], &[0x19; 100_000]].concat();
        assert_eq!(Struct::read(&lists), Err(TOO_DEEP));
    }
}
