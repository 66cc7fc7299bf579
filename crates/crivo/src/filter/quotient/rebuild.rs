//! Tables from tables: growing and merging, without keys.

use super::geometry::{BLOCK, QuotientGeometry};
use super::table::{MAX_OFFSET, QuotientTable};
use crate::BuildError;

/// Why a table could not be filled.
pub(super) enum FillError {
    Memory(BuildError),
    NoPlace,
    Unsorted,
}

impl QuotientTable {
    /// Every fingerprint, smallest first, copies included.
    pub(super) fn fingerprints(&self) -> Fingerprints<'_> {
        Fingerprints { table: self, occupieds: self.occupieds(0), block: 0, slot: 0, inside: None }
    }

    /// The table of these fingerprints, which come smallest first.
    pub(super) fn filled(
        geometry: QuotientGeometry,
        fingerprints: impl Iterator<Item = u64>,
    ) -> Result<Self, FillError> {
        let mut whole = Self::new(geometry).map_err(FillError::Memory)?;
        let mut table = whole.to_mut();
        let mut previous = None;
        let mut end = 0;
        let mut offsets = 1;
        for fingerprint in fingerprints {
            if previous.is_some_and(|it| it > fingerprint) {
                return Err(FillError::Unsorted);
            }
            let (quotient, remainder) = geometry.split(fingerprint);
            if previous.is_some_and(|it| geometry.split(it).0 == quotient) {
                table.set_run_end(end - 1, false);
            } else {
                table.set_offsets(&mut offsets, quotient / BLOCK, end)?;
                end = end.max(quotient);
                table.set_occupied(quotient, true);
            }
            if end >= geometry.slots_in_blocks() {
                return Err(FillError::NoPlace);
            }
            table.set_remainder(end, remainder);
            table.set_run_end(end, true);
            end += 1;
            previous = Some(fingerprint);
        }
        table.set_offsets(&mut offsets, geometry.blocks() - 1, end)?;
        Ok(whole)
    }
}

impl QuotientTable<&mut [u64]> {
    /// Writes the offsets of the blocks from `next` through `last`: all keys of quotients before
    /// them lie before `end`.
    fn set_offsets(&mut self, next: &mut usize, last: usize, end: usize) -> Result<(), FillError> {
        while *next <= last {
            let offset = end.saturating_sub(*next * BLOCK);
            if offset > MAX_OFFSET {
                return Err(FillError::NoPlace);
            }
            self.set_offset(*next, offset as u16);
            *next += 1;
        }
        Ok(())
    }
}

/// The fingerprints of a table, smallest first.
pub(super) struct Fingerprints<'a> {
    table: &'a QuotientTable,
    /// The quotients of `block` that are still to come.
    occupieds: u64,
    block: usize,
    /// The next slot that may hold a remainder.
    slot: usize,
    /// The quotient whose run `slot` is in.
    inside: Option<usize>,
}

impl Fingerprints<'_> {
    /// The next quotient that occurs.
    fn next_quotient(&mut self) -> Option<usize> {
        while self.occupieds == 0 {
            self.block += 1;
            if self.block >= self.table.geometry.blocks() {
                return None;
            }
            self.occupieds = self.table.occupieds(self.block);
        }
        let quotient = self.block * BLOCK + self.occupieds.trailing_zeros() as usize;
        self.occupieds &= self.occupieds - 1;
        // Larger ones are only in a table that contradicts itself.
        ((quotient as u64) < self.table.geometry.slots()).then_some(quotient)
    }
}

impl Iterator for Fingerprints<'_> {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        let quotient = match self.inside {
            Some(quotient) => quotient,
            None => {
                let quotient = self.next_quotient()?;
                self.slot = self.slot.max(quotient);
                quotient
            }
        };
        if self.slot >= self.table.geometry.slots_in_blocks() {
            return None;
        }
        let remainder = self.table.remainder(self.slot);
        self.inside = (!self.table.is_run_end(self.slot)).then_some(quotient);
        self.slot += 1;
        Some(self.table.geometry.join(quotient, remainder))
    }
}

/// Two sorted sequences as one.
pub(super) fn merged(
    ours: impl Iterator<Item = u64>,
    theirs: impl Iterator<Item = u64>,
) -> impl Iterator<Item = u64> {
    let (mut ours, mut theirs) = (ours.peekable(), theirs.peekable());
    std::iter::from_fn(move || match (ours.peek(), theirs.peek()) {
        (Some(our), Some(their)) if their < our => theirs.next(),
        (Some(_), _) => ours.next(),
        (None, _) => theirs.next(),
    })
}
