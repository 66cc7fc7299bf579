//! A Parquet file: which filters it has, and which row groups may contain a value.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use crivo::Digest;
use crivo::filter::Filter;
use crivo_core::memory::zeroed;

use super::ParquetError;
use super::filter::{HASHER, Header, ParquetBloom};
use super::metadata::{Column, FilterLocation, Metadata};
use crate::{FormatError, TypedKey};

/// What the filter of a row group says about a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Membership {
    /// The value is certainly not in the row group.
    No,
    /// It may be.
    Maybe,
    /// There is no filter: it may be.
    NoFilter,
}

impl Membership {
    fn of(filter: Option<&ParquetBloom>, digest: Digest) -> Self {
        match filter {
            None => Self::NoFilter,
            Some(filter) if filter.contains_digest(digest) => Self::Maybe,
            Some(_) => Self::No,
        }
    }
}

/// The filters of a column in all row groups, in memory: for many questions about one column.
///
/// ```
/// use crivo_formats::TypedKey;
/// use crivo_formats::parquet::{Membership, ParquetFile};
///
/// let mut file = ParquetFile::open("tests/fixtures/parquet-files/pyarrow-filters.parquet")?;
/// let filters = file.column_filters("int32")?;
/// let answers = filters.may_contain(&TypedKey::Int32(-3_000_000))?;
/// assert_eq!(answers, [Membership::Maybe, Membership::No, Membership::No]);
/// # Ok::<(), crivo_formats::parquet::ParquetError>(())
/// ```
#[derive(Debug, Clone)]
pub struct ColumnFilters {
    column: Column,
    filters: Vec<Option<ParquetBloom>>,
}

impl ColumnFilters {
    /// The column.
    pub fn column(&self) -> &Column {
        &self.column
    }

    /// The filter of each row group, where there is one.
    pub fn filters(&self) -> &[Option<ParquetBloom>] {
        &self.filters
    }

    /// What the filters say about a value: an answer for each row group.
    ///
    /// # Errors
    /// If the key is of another type than the column's values.
    pub fn may_contain(&self, key: &TypedKey<'_>) -> Result<Vec<Membership>, ParquetError> {
        let digest: Digest = self.column.with_plain(key, |bytes| HASHER.digest(bytes))?;
        let answers = self.filters.iter().map(|filter| Membership::of(filter.as_ref(), digest));
        Ok(answers.collect())
    }
}

/// A Parquet file that is open for reading.
///
/// ```no_run
/// use crivo_formats::parquet::{Membership, ParquetFile};
/// use crivo_formats::TypedKey;
///
/// let mut file = ParquetFile::open("visits.parquet")?;
/// for filter in file.filters() {
///     let column = &file.columns()[filter.column];
///     println!("row group {}, {}: at {}", filter.row_group, column.path, filter.offset);
/// }
/// let answers = file.may_contain("visitor", &TypedKey::Text("ana"))?;
/// let to_read = answers.iter().filter(|&&answer| answer != Membership::No).count();
/// println!("{to_read} of {} row groups must be read", answers.len());
/// # Ok::<(), crivo_formats::parquet::ParquetError>(())
/// ```
#[derive(Debug)]
pub struct ParquetFile<R> {
    pub(super) file: R,
    pub(super) metadata: Metadata,
}

impl ParquetFile<File> {
    /// Opens a file and reads its footer.
    ///
    /// # Errors
    /// If it cannot be read, is no Parquet file, is damaged, or is encrypted.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, ParquetError> {
        Self::new(File::open(path)?)
    }
}

impl<R: Read + Seek> ParquetFile<R> {
    /// Reads the footer of a file that is open, or in memory.
    ///
    /// # Errors
    /// If it cannot be read, is no Parquet file, is damaged, or is encrypted.
    pub fn new(mut file: R) -> Result<Self, ParquetError> {
        let metadata = Metadata::read(&mut file)?;
        Ok(Self { file, metadata })
    }

    /// The columns that have values of their own, in the order of the file.
    pub fn columns(&self) -> &[Column] {
        &self.metadata.columns
    }

    /// How many row groups there are.
    pub fn row_group_count(&self) -> usize {
        self.metadata.row_groups
    }

    /// Where the filters are, by row groups and columns.
    pub fn filters(&self) -> &[FilterLocation] {
        &self.metadata.filters
    }

    /// The filter of a column in a row group, if there is one.
    ///
    /// # Errors
    /// If it cannot be read, or is damaged.
    pub fn filter(
        &mut self,
        row_group: usize,
        column: usize,
    ) -> Result<Option<ParquetBloom>, ParquetError> {
        let Some(&FilterLocation { offset, .. }) = self.metadata.filter(row_group, column) else {
            return Ok(None);
        };
        // Filters lie in front of the footer.
        let Some(room) = self.metadata.footer_offset.checked_sub(offset) else {
            return Err(FormatError::Inconsistent("a filter is outside of its file").into());
        };
        let mut start = vec![0; room.min(Header::MAX_LENGTH) as usize];
        self.file.seek(SeekFrom::Start(offset))?;
        self.file.read_exact(&mut start)?;
        let length = Header::read(&start)?.filter_length();
        if length > room {
            return Err(FormatError::Length { expected: length, found: room }.into());
        }
        // No longer than the file, which is there.
        let mut bytes = zeroed::<u8>(length as usize).map_err(FormatError::from)?;
        self.file.seek(SeekFrom::Start(offset))?;
        self.file.read_exact(&mut bytes)?;
        Ok(Some(ParquetBloom::from_bytes(&bytes)?))
    }

    /// What the filters of a column say about a value: an answer for each row group.
    ///
    /// The column is named by its path, such as `a.list.element`. The key must be of the type of its
    /// values: 32 or 64 bits for integers, text or bytes for byte arrays, as many bytes as a value has
    /// for arrays of fixed length.
    ///
    /// # Errors
    /// If there is no such column, the key is of another type, or a filter cannot be read.
    pub fn may_contain(
        &mut self,
        column: &str,
        key: &TypedKey<'_>,
    ) -> Result<Vec<Membership>, ParquetError> {
        let column = self.metadata.column(column)?;
        let digest: Digest =
            self.metadata.columns[column].with_plain(key, |bytes| HASHER.digest(bytes))?;
        let row_groups = self.metadata.row_groups;
        let mut answer =
            |row_group| Ok(Membership::of(self.filter(row_group, column)?.as_ref(), digest));
        (0..row_groups).map(&mut answer).collect()
    }

    /// The filters of a column in all row groups. The column is named by its path.
    ///
    /// # Errors
    /// If there is no such column, or a filter cannot be read.
    pub fn column_filters(&mut self, column: &str) -> Result<ColumnFilters, ParquetError> {
        let column = self.metadata.column(column)?;
        let row_groups = 0..self.metadata.row_groups;
        let filters: Result<_, ParquetError> =
            row_groups.map(|row_group| self.filter(row_group, column)).collect();
        Ok(ColumnFilters { column: self.metadata.columns[column].clone(), filters: filters? })
    }
}
