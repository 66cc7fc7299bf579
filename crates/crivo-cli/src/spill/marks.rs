//! Marked records, queried in the order of the input.

use std::io::{Read, Seek, SeekFrom};

use crivo_core::spill::{SpillError, Spool, SpoolReader};

use crate::error::Error;

/// How many records are loaded together: one bit each.
const WINDOW: u64 = 1 << 20;

/// How many numbers of a list are read at once.
const PIECE: u64 = 1 << 10;

const NUMBER_BYTES: u64 = 8;

/// Lists of the numbers of marked records, one list after another, each ascending.
#[derive(Debug, Default)]
pub(super) struct MarkLists {
    numbers: Spool,
    count: u64,
    /// The end of each list.
    ends: Vec<u64>,
}

impl MarkLists {
    /// Marks a record, whose number is larger than the one before it in the same list.
    pub(super) fn push(&mut self, number: u64) -> Result<(), Error> {
        self.count += 1;
        Ok(self.numbers.write(&number.to_le_bytes())?)
    }

    /// Ends a list.
    pub(super) fn end_list(&mut self) {
        if self.ends.last() != Some(&self.count) {
            self.ends.push(self.count);
        }
    }

    /// All marks, for queries.
    pub(super) fn into_marks(self) -> Result<MarkedRecords, Error> {
        let mut start = 0;
        let mut lists = Vec::with_capacity(self.ends.len());
        for end in self.ends {
            lists.push(MarkList { next: start, end, piece: Vec::new() });
            start = end;
        }
        let file = self.numbers.into_reader()?;
        let bits = vec![0; (WINDOW / 64) as usize];
        Ok(MarkedRecords { file, lists, window: None, bits })
    }
}

/// The marked records, queried in ascending order.
#[derive(Debug)]
pub(crate) struct MarkedRecords {
    file: SpoolReader,
    lists: Vec<MarkList>,
    /// The number of the first record in `bits`.
    window: Option<u64>,
    bits: Vec<u64>,
}

#[derive(Debug)]
struct MarkList {
    /// The next number that has not been read from the file.
    next: u64,
    end: u64,
    /// Numbers that have been read, the next one at the end.
    piece: Vec<u64>,
}

impl MarkedRecords {
    /// Whether this record is marked. Numbers must ascend from query to query.
    pub(crate) fn is_marked(&mut self, number: u64) -> Result<bool, Error> {
        let start = number - number % WINDOW;
        if self.window != Some(start) {
            self.bits.fill(0);
            self.window = Some(start);
            for list in &mut self.lists {
                list.set_bits(&mut self.file, start, &mut self.bits)?;
            }
        }
        let bit = number - start;
        Ok(self.bits[(bit / 64) as usize] >> (bit % 64) & 1 == 1)
    }
}

impl MarkList {
    /// Sets the bits of the numbers in the window that begins at `start`.
    fn set_bits(
        &mut self,
        file: &mut SpoolReader,
        start: u64,
        bits: &mut [u64],
    ) -> Result<(), SpillError> {
        loop {
            while let Some(&number) = self.piece.last() {
                if number >= start + WINDOW {
                    return Ok(());
                }
                // Skip windows that were not queried.
                if let Some(bit) = number.checked_sub(start) {
                    bits[(bit / 64) as usize] |= 1 << (bit % 64);
                }
                self.piece.pop();
            }
            let count = PIECE.min(self.end - self.next);
            if count == 0 {
                return Ok(());
            }
            let mut bytes = vec![0; (count * NUMBER_BYTES) as usize];
            file.seek(SeekFrom::Start(self.next * NUMBER_BYTES))?;
            file.read_exact(&mut bytes)?;
            let (numbers, _) = bytes.as_chunks();
            self.piece.extend(numbers.iter().rev().map(|number| u64::from_le_bytes(*number)));
            self.next += count;
        }
    }
}
