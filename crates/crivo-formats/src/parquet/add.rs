//! Filters for columns that have none.
//!
//! ```text
//!   before   PAR1 │ column chunks, page indexes, filters │ footer
//!   after    PAR1 │ the same bytes at the same offsets   │ new filters │ footer
//! ```
//!
//! Everything in front of the footer stays where it was, so that every offset in the footer stays
//! right, also one in a field that nobody here knows. The footer gets the offsets and the lengths of the
//! new filters, and nothing else changes in it. A footer that would not be written as it was read is
//! refused.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use ::parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use ::parquet::data_type::DataType;
use ::parquet::file::reader::{FileReader, SerializedFileReader};
use crivo::filter::{FilterSpec, SplitBlockSpec};
use crivo::{Digest, ParameterError};
use crivo_core::check::check_fpr;

use super::filter::{HASHER, ParquetBloom};
use super::metadata::{FilterLocation, PhysicalType};
use super::{ParquetError, ParquetFile};
use crate::FormatError;

/// How many records are decoded at a time.
const RECORDS: usize = 1 << 16;

/// Adds filters to the columns of a Parquet file that have none.
///
/// ```no_run
/// use crivo_formats::parquet::AddFilters;
///
/// let added = AddFilters::new(0.01)?.column("visitor").replace("visits.parquet")?;
/// println!("{} filters", added.len());
/// # Ok::<(), crivo_formats::parquet::ParquetError>(())
/// ```
///
/// The file is copied as it is, the filters are put behind it, and the new file takes the name of the
/// old one in one step: column chunks, statistics, page indexes, filters and metadata that were there
/// stay as they were, to the byte. Encrypted files, and footers that could not be written again as they
/// were, are refused. The file must not be changed by others at the same time.
///
/// The values of one column in one row group are in memory as 8 bytes each.
#[derive(Debug, Clone)]
pub struct AddFilters {
    fpr: f64,
    columns: Vec<String>,
    is_exact: bool,
}

impl AddFilters {
    /// Filters with at most this false-positive rate for the distinct values of a row group, in every
    /// column whose type can have them, of a size that is a power of two: some readers take no other.
    ///
    /// # Errors
    /// If the FPR is not between 0 and 1.
    pub fn new(fpr: f64) -> Result<Self, ParameterError> {
        check_fpr(fpr)?;
        Ok(Self { fpr, columns: Vec::new(), is_exact: false })
    }

    /// In this column, and in others only if they are named as well. Columns are named by their path,
    /// such as `a.list.element`.
    pub fn column(mut self, path: impl Into<String>) -> Self {
        self.columns.push(path.into());
        self
    }

    /// With as few blocks as the FPR allows, though their number is no power of two.
    pub fn exact_size(mut self) -> Self {
        self.is_exact = true;
        self
    }

    /// Adds filters to the file of this name, and tells which. If all columns have filters, nothing is
    /// written.
    ///
    /// # Errors
    /// If the file cannot be read, decoded or written, or is refused. The file is as it was.
    pub fn replace(&self, path: impl AsRef<Path>) -> Result<Vec<FilterLocation>, ParquetError> {
        let path = path.as_ref();
        let mut file = ParquetFile::open(path)?;
        let places = self.places(&file)?;
        if places.is_empty() {
            return Ok(Vec::new());
        }
        self.save(&mut file, &places, path)
    }

    /// Writes a file of the name `output` that is the one of the name `input` with filters, and tells
    /// which were added. An old file is replaced in one step.
    ///
    /// # Errors
    /// If the file cannot be read, decoded or written, or is refused. An old file is as it was.
    pub fn write(
        &self,
        input: impl AsRef<Path>,
        output: impl AsRef<Path>,
    ) -> Result<Vec<FilterLocation>, ParquetError> {
        let mut file = ParquetFile::open(input)?;
        let places = self.places(&file)?;
        self.save(&mut file, &places, output.as_ref())
    }

    fn save(
        &self,
        file: &mut ParquetFile<File>,
        places: &[(usize, usize)],
        path: &Path,
    ) -> Result<Vec<FilterLocation>, ParquetError> {
        let (mut added, mut failure) = (Vec::new(), None);
        let written = crivo_core::file::replace(path, |output| {
            self.copy(file, places, output).map(|filters| added = filters).map_err(|error| {
                failure = Some(error);
                io::Error::other("no filters")
            })
        });
        match failure {
            Some(error) => Err(error),
            None => Ok(written.map(|()| added)?),
        }
    }

    /// Where filters are to be added: row groups and columns, in the order of the file.
    fn places<R: Read + Seek>(
        &self,
        file: &ParquetFile<R>,
    ) -> Result<Vec<(usize, usize)>, ParquetError> {
        let metadata = &file.metadata;
        if !metadata.is_canonical {
            return Err(FormatError::Unsupported("footers that are not in the usual form").into());
        }
        let mut columns = Vec::new();
        for path in &self.columns {
            let column = metadata.column(path)?;
            let found = metadata.columns[column].physical_type;
            if found == PhysicalType::Boolean {
                return Err(ParquetError::NoFilterForType { column: path.clone(), found });
            }
            columns.push(column);
        }
        let is_meant = |&column: &usize| match &columns[..] {
            [] => metadata.columns[column].physical_type != PhysicalType::Boolean,
            named => named.contains(&column),
        };
        let places = (0..metadata.row_groups).flat_map(|row_group| {
            let columns = (0..metadata.columns.len()).filter(is_meant);
            let lacking = columns.filter(move |&at| metadata.filter(row_group, at).is_none());
            lacking.map(move |column| (row_group, column))
        });
        Ok(places.collect())
    }

    /// Copies the file, with filters at these places.
    fn copy(
        &self,
        file: &mut ParquetFile<File>,
        places: &[(usize, usize)],
        output: &mut File,
    ) -> Result<Vec<FilterLocation>, ParquetError> {
        let ParquetFile { file, metadata } = file;
        let undecodable = |column: usize, row_group| {
            let column = metadata.columns[column].path.clone();
            move |source| ParquetError::Values { column, row_group, source }
        };
        copy_start(file, metadata.footer_offset, output)?;
        let mut offset = metadata.footer_offset;
        let mut added = Vec::new();
        if let Some(&(row_group, column)) = places.first() {
            let decoder = SerializedFileReader::new(file.try_clone()?)
                .map_err(undecodable(column, row_group))?;
            for &(row_group, column) in places {
                let digests =
                    digests(&decoder, row_group, column).map_err(undecodable(column, row_group))?;
                let bytes = self.filter_of(digests)?.to_bytes();
                output.write_all(&bytes)?;
                let length = bytes.len() as u64;
                added.push(FilterLocation { row_group, column, offset, length: Some(length) });
                offset += length;
            }
        }
        output.write_all(&metadata.footer_with(&added)?)?;
        Ok(added)
    }

    fn filter_of(&self, mut digests: Vec<u64>) -> Result<ParquetBloom, ParquetError> {
        digests.sort_unstable();
        digests.dedup();
        // A filter without keys says so, in one block.
        let keys = (digests.len() as u64).max(1);
        let blocks = SplitBlockSpec::for_fpr(keys, self.fpr)?.blocks();
        let blocks = if self.is_exact { blocks } else { blocks.next_power_of_two() };
        let mut filter = ParquetBloom::with_size(blocks)?;
        digests.into_iter().for_each(|digest| filter.put(Digest::new(digest)));
        Ok(filter)
    }
}

/// Copies the first `length` bytes.
fn copy_start(input: &mut File, length: u64, output: &mut File) -> Result<(), ParquetError> {
    input.seek(SeekFrom::Start(0))?;
    let copied = io::copy(&mut input.take(length), output)?;
    if copied != length {
        return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
    }
    Ok(())
}

/// The digests of the values of a column chunk.
fn digests(
    file: &SerializedFileReader<File>,
    row_group: usize,
    column: usize,
) -> Result<Vec<u64>, ::parquet::errors::ParquetError> {
    let reader = file.get_row_group(row_group)?.get_column_reader(column)?;
    match reader {
        // It has no filter, and was left out.
        ColumnReader::BoolColumnReader(_) => Ok(Vec::new()),
        ColumnReader::Int32ColumnReader(reader) => {
            collect(reader, |value, hash| hash(&value.to_le_bytes()))
        }
        ColumnReader::Int64ColumnReader(reader) => {
            collect(reader, |value, hash| hash(&value.to_le_bytes()))
        }
        ColumnReader::Int96ColumnReader(reader) => collect(reader, |value, hash| {
            let bytes: Vec<u8> = value.data().iter().flat_map(|word| word.to_le_bytes()).collect();
            hash(&bytes);
        }),
        ColumnReader::FloatColumnReader(reader) => {
            collect(reader, |value, hash| hash(&value.to_le_bytes()))
        }
        ColumnReader::DoubleColumnReader(reader) => {
            collect(reader, |value, hash| hash(&value.to_le_bytes()))
        }
        ColumnReader::ByteArrayColumnReader(reader) => {
            collect(reader, |value, hash| hash(value.data()))
        }
        ColumnReader::FixedLenByteArrayColumnReader(reader) => {
            collect(reader, |value, hash| hash(value.data()))
        }
    }
}

/// The digests of all values, by their plain encoding. Nulls are no values.
fn collect<T: DataType>(
    mut reader: ColumnReaderImpl<T>,
    plain: impl Fn(&T::T, &mut dyn FnMut(&[u8])),
) -> Result<Vec<u64>, ::parquet::errors::ParquetError> {
    let mut digests = Vec::new();
    let (mut values, mut definitions, mut repetitions) = (Vec::new(), Vec::new(), Vec::new());
    loop {
        values.clear();
        definitions.clear();
        repetitions.clear();
        let (records, _, _) = reader.read_records(
            RECORDS,
            Some(&mut definitions),
            Some(&mut repetitions),
            &mut values,
        )?;
        if records == 0 {
            return Ok(digests);
        }
        for value in &values {
            plain(value, &mut |bytes| digests.push(HASHER.digest(bytes).get()));
        }
    }
}
