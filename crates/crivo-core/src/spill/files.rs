//! Anonymous temporary files.

use std::array;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, ErrorKind, Read, Seek, SeekFrom, Write};

use super::SpillError;

/// The buffer of each file.
const BUFFER: usize = 1 << 15;

/// [`PARTITIONS`] as a power of two.
pub const PARTITION_BITS: u32 = 6;

/// The number of files over which data is spread.
pub const PARTITIONS: usize = 1 << PARTITION_BITS;

/// An empty temporary file without a name.
///
/// # Errors
/// If it cannot be created.
pub fn temporary_file() -> Result<File, SpillError> {
    Ok(tempfile::tempfile()?)
}

/// Bytes that are first written, then read. The file is created by the first write.
///
/// ```
/// use std::io::Read;
/// use crivo_core::spill::{SpillError, Spool};
///
/// let mut spool = Spool::default();
/// spool.write(b"spilled ")?;
/// spool.write(b"bytes")?;
/// let mut text = String::new();
/// spool.into_reader()?.read_to_string(&mut text)?;
/// assert_eq!(text, "spilled bytes");
/// # Ok::<(), SpillError>(())
/// ```
#[derive(Debug, Default)]
pub struct Spool {
    file: Option<BufWriter<File>>,
}

impl Spool {
    /// Appends bytes.
    ///
    /// # Errors
    /// If the file cannot be created or written.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), SpillError> {
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(BufWriter::with_capacity(BUFFER, temporary_file()?)),
        };
        Ok(file.write_all(bytes)?)
    }

    /// Appends an entry of [`Partitions`].
    pub(super) fn push<const WORDS: usize>(
        &mut self,
        entry: [u64; WORDS],
    ) -> Result<(), SpillError> {
        self.write(entry.map(u64::to_le_bytes).as_flattened())
    }

    /// The bytes, from the beginning.
    ///
    /// # Errors
    /// If the file cannot be written or read.
    pub fn into_reader(self) -> Result<SpoolReader, SpillError> {
        let Some(file) = self.file else { return Ok(SpoolReader { file: None }) };
        let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
        let mut reader = SpoolReader { file: Some(file) };
        reader.seek(SeekFrom::Start(0))?;
        Ok(reader)
    }
}

/// The bytes of a [`Spool`]. It has no buffer.
#[derive(Debug)]
pub struct SpoolReader {
    /// `None` if nothing was written.
    file: Option<File>,
}

impl SpoolReader {
    /// Whether nothing was written.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.file.is_none()
    }
}

impl Read for SpoolReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.file.as_mut().map_or(Ok(0), |file| file.read(buffer))
    }
}

impl Seek for SpoolReader {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        self.file.as_mut().map_or(Ok(0), |file| file.seek(position))
    }
}

/// Entries of `WORDS` words each, partitioned into [`PARTITIONS`] files.
///
/// ```
/// use crivo_core::spill::{PARTITIONS, Partitions, SpillError};
///
/// let mut partitions = Partitions::default();
/// for number in 0..1_000 {
///     partitions.push(number as usize % PARTITIONS, [number, number * number])?;
/// }
/// let mut squares = Vec::new();
/// partitions.into_entries()?[7].each(|[_, square]| {
///     squares.push(square);
///     Ok::<(), SpillError>(())
/// })?;
/// assert_eq!(squares[..2], [7 * 7, 71 * 71]);
/// # Ok::<(), SpillError>(())
/// ```
#[derive(Debug)]
pub struct Partitions<const WORDS: usize> {
    files: [Spool; PARTITIONS],
}

impl<const WORDS: usize> Default for Partitions<WORDS> {
    fn default() -> Self {
        Self { files: array::from_fn(|_| Spool::default()) }
    }
}

impl<const WORDS: usize> Partitions<WORDS> {
    /// Appends an entry to a partition.
    ///
    /// # Errors
    /// If the file cannot be created or written.
    ///
    /// # Panics
    /// If there is no such partition.
    pub fn push(&mut self, partition: usize, entry: [u64; WORDS]) -> Result<(), SpillError> {
        self.files[partition].push(entry)
    }

    /// Ends writing: the entries of every partition.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn into_entries(self) -> Result<Vec<SpilledEntries<WORDS>>, SpillError> {
        self.files.into_iter().map(SpilledEntries::of).collect()
    }
}

/// Entries of `WORDS` words each, in a file. They can be read several times.
#[derive(Debug)]
pub struct SpilledEntries<const WORDS: usize>(SpoolReader);

impl<const WORDS: usize> SpilledEntries<WORDS> {
    pub(super) fn of(spool: Spool) -> Result<Self, SpillError> {
        spool.into_reader().map(Self)
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Visits all entries in the order of writing.
    ///
    /// # Errors
    /// If the file cannot be read, and those of `visit`.
    pub fn each<E: From<SpillError>>(
        &mut self,
        mut visit: impl FnMut([u64; WORDS]) -> Result<(), E>,
    ) -> Result<(), E> {
        let Some(file) = &mut self.0.file else { return Ok(()) };
        file.rewind().map_err(SpillError::from)?;
        let mut file = BufReader::with_capacity(BUFFER, file);
        let mut entry = [[0; size_of::<u64>()]; WORDS];
        loop {
            match file.read_exact(entry.as_flattened_mut()) {
                Ok(()) => visit(entry.map(u64::from_le_bytes))?,
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(()),
                Err(error) => return Err(SpillError::from(error).into()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spool_returns_what_was_written_several_times() {
        let mut spool = Spool::default();
        let bytes: Vec<u8> = (0..200_000u32).map(|number| number as u8).collect();
        bytes.chunks(777).for_each(|piece| spool.write(piece).unwrap());
        let mut reader = spool.into_reader().unwrap();
        assert!(!reader.is_empty());
        for start in [0, 100_000] {
            let mut read = Vec::new();
            reader.seek(SeekFrom::Start(start)).unwrap();
            reader.read_to_end(&mut read).unwrap();
            assert!(read == bytes[start as usize..]);
        }
    }

    #[test]
    fn an_unused_spool_has_no_file() {
        let mut reader = Spool::default().into_reader().unwrap();
        assert!(reader.is_empty());
        assert_eq!(reader.read(&mut [0]).unwrap(), 0);
        assert_eq!(reader.seek(SeekFrom::Start(0)).unwrap(), 0);
    }

    #[test]
    fn every_partition_returns_its_entries_in_order() {
        let mut partitions = Partitions::default();
        for number in 0..100_000u64 {
            // The last partition stays empty.
            partitions.push((number % 63) as usize, [number, u64::MAX - number, 7]).unwrap();
        }
        let mut entries = partitions.into_entries().unwrap();
        assert_eq!(entries.len(), PARTITIONS);
        assert!(entries[63].is_empty() && !entries[62].is_empty());
        for (partition, entries) in (0..).zip(&mut entries) {
            for _ in 0..2 {
                let mut expected = (0..100_000).filter(|number| number % 63 == partition);
                entries
                    .each(|entry| {
                        let number = expected.next().unwrap();
                        assert_eq!(entry, [number, u64::MAX - number, 7]);
                        Ok::<(), SpillError>(())
                    })
                    .unwrap();
                assert_eq!(expected.next(), None);
            }
        }
    }
}
