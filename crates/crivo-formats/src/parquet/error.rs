//! Why a Parquet file cannot be read, asked or given filters.

use std::io;

use crivo::{BuildError, ParameterError};
use thiserror::Error;

use super::PhysicalType;
use crate::{FormatError, KeyType};

/// Why a Parquet file cannot be read, asked or given filters.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ParquetError {
    /// The file cannot be read or written.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// It is no Parquet file, or damaged, or of a kind that is not supported.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// There is no column of this name.
    #[error(
        "there is no column {0:?}; columns are named by their path, such as \"a.list.element\""
    )]
    NoColumn(String),
    /// The column has values of another type than the key.
    #[error("column {column:?} has values of type {found}, which no key of type {key} is")]
    KeyType {
        /// The path of the column.
        column: String,
        /// The type of its values.
        found: PhysicalType,
        /// The type of the key.
        key: KeyType,
    },
    /// Values of this type have no filters.
    #[error("column {column:?} has values of type {found}, which cannot have a filter")]
    NoFilterForType {
        /// The path of the column.
        column: String,
        /// The type of its values.
        found: PhysicalType,
    },
    /// A filter cannot be built.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The values of a column cannot be decoded.
    #[cfg(feature = "parquet-write")]
    #[error("the values of column {column:?} in row group {row_group} cannot be read")]
    Values {
        /// The path of the column.
        column: String,
        /// The number of the row group, from 0 on.
        row_group: usize,
        /// What the decoder says.
        source: ::parquet::errors::ParquetError,
    },
}

impl From<ParameterError> for ParquetError {
    fn from(error: ParameterError) -> Self {
        Self::Build(error.into())
    }
}
