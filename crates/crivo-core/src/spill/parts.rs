//! Numbers in many parts, in a single temporary file.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::sync::{Mutex, PoisonError};

use super::{SpillError, temporary_file};

/// How many numbers are written or read at a time.
const BATCH: usize = 1 << 14;

const BYTES: usize = size_of::<u64>();

/// A run of numbers that were written together.
#[derive(Debug, Clone, Copy)]
struct Extent {
    /// The first byte.
    start: u64,
    count: u64,
}

/// Numbers in parts, in one anonymous temporary file. What is appended at a time lies together, so
/// that there can be many parts without a buffer or a file for each.
///
/// ```
/// use crivo_core::spill::{PartFile, SpillError};
///
/// let mut parts = PartFile::new(2)?;
/// parts.append(0, &[1, 2])?;
/// parts.append(1, &[10])?;
/// parts.append(0, &[3])?;
/// let mut read = Vec::new();
/// parts.read(0, |numbers| {
///     read.extend_from_slice(numbers);
///     Ok::<(), SpillError>(())
/// })?;
/// assert_eq!(read, [1, 2, 3]);
/// assert_eq!((parts.count(0), parts.count(1)), (3, 1));
/// # Ok::<(), SpillError>(())
/// ```
#[derive(Debug)]
pub struct PartFile {
    /// Several threads read.
    file: Mutex<File>,
    /// The bytes that belong to extents.
    length: u64,
    parts: Vec<Vec<Extent>>,
    buffer: Vec<u8>,
}

impl PartFile {
    /// That many empty parts.
    ///
    /// # Errors
    /// If no temporary file can be created.
    pub fn new(parts: usize) -> Result<Self, SpillError> {
        Ok(Self {
            file: Mutex::new(temporary_file()?),
            length: 0,
            parts: vec![Vec::new(); parts],
            buffer: Vec::new(),
        })
    }

    /// Appends numbers to a part.
    ///
    /// # Errors
    /// If the file cannot be written. The part is then as it was.
    ///
    /// # Panics
    /// If there is no such part.
    pub fn append(&mut self, part: usize, numbers: &[u64]) -> Result<(), SpillError> {
        if numbers.is_empty() {
            return Ok(());
        }
        let file = self.file.get_mut().unwrap_or_else(PoisonError::into_inner);
        // What a failed append has left behind is written over.
        file.seek(SeekFrom::Start(self.length))?;
        for numbers in numbers.chunks(BATCH) {
            self.buffer.resize(numbers.len() * BYTES, 0);
            let (eights, _) = self.buffer.as_chunks_mut::<BYTES>();
            for (eight, number) in eights.iter_mut().zip(numbers) {
                *eight = number.to_le_bytes();
            }
            file.write_all(&self.buffer)?;
        }
        let count = numbers.len() as u64;
        self.parts[part].push(Extent { start: self.length, count });
        self.length += count * BYTES as u64;
        Ok(())
    }

    /// How many numbers a part has.
    ///
    /// # Panics
    /// If there is no such part.
    #[must_use]
    pub fn count(&self, part: usize) -> u64 {
        self.parts[part].iter().map(|extent| extent.count).sum()
    }

    /// Visits all numbers of a part in the order of writing, many at a time. Several threads may read
    /// at once.
    ///
    /// # Errors
    /// If the file cannot be read, and those of `visit`.
    ///
    /// # Panics
    /// If there is no such part.
    pub fn read<E: From<SpillError>>(
        &self,
        part: usize,
        mut visit: impl FnMut(&[u64]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut bytes = vec![0; BATCH * BYTES];
        let mut numbers = [0; 512];
        for extent in &self.parts[part] {
            let mut start = extent.start;
            let end = extent.start + extent.count * BYTES as u64;
            while start < end {
                let length = (end - start).min(bytes.len() as u64) as usize;
                let bytes = &mut bytes[..length];
                self.read_at(start, bytes).map_err(SpillError::from)?;
                start += length as u64;
                let (eights, _) = bytes.as_chunks::<BYTES>();
                for eights in eights.chunks(numbers.len()) {
                    let numbers = &mut numbers[..eights.len()];
                    for (number, eight) in numbers.iter_mut().zip(eights) {
                        *number = u64::from_le_bytes(*eight);
                    }
                    visit(numbers)?;
                }
            }
        }
        Ok(())
    }

    fn read_at(&self, start: u64, bytes: &mut [u8]) -> io::Result<()> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(start))?;
        file.read_exact(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_returns_its_numbers_in_order() {
        let mut parts = PartFile::new(5).unwrap();
        // Runs of all lengths around a batch; the last part stays empty.
        let lengths = [0, 1, 511, 512, 513, BATCH - 1, BATCH, BATCH + 1, 3 * BATCH + 7];
        let mut expected = vec![Vec::new(); 5];
        let mut next = 0;
        for (index, length) in lengths.into_iter().cycle().take(30).enumerate() {
            let numbers: Vec<u64> = (next..next + length as u64).collect();
            next += length as u64;
            parts.append(index % 4, &numbers).unwrap();
            expected[index % 4].extend(numbers);
        }
        std::thread::scope(|scope| {
            for (part, expected) in expected.iter().enumerate() {
                let parts = &parts;
                scope.spawn(move || {
                    for _ in 0..2 {
                        let mut read = Vec::new();
                        parts
                            .read(part, |numbers| {
                                read.extend_from_slice(numbers);
                                Ok::<(), SpillError>(())
                            })
                            .unwrap();
                        assert!(read == *expected, "part {part}");
                        assert_eq!(parts.count(part), read.len() as u64);
                    }
                });
            }
        });
    }

    #[test]
    fn a_visit_that_fails_ends_the_reading() {
        let mut parts = PartFile::new(1).unwrap();
        parts.append(0, &[7; 10_000]).unwrap();
        let mut visits = 0;
        let stopped = parts.read(0, |_| {
            visits += 1;
            Err(SpillError::from(io::Error::other("enough")))
        });
        assert_eq!(stopped.unwrap_err().cause.to_string(), "enough");
        assert_eq!(visits, 1);
    }
}
