//! Solving the equations: take away, one by one, keys that have a cell of their own.
//!
//! ```text
//!   repeat   find a cell that only one remaining key uses; note it, and take the key away
//!   then, in reverse   give each noted cell the value that its key's equation still lacks
//! ```
//!
//! A cell knows how many remaining keys use it, and the xor of their mixed digests: when it is
//! one key, that is the key itself. Noted, the cell keeps it, until its value takes the place; a
//! cell that was never noted ends with the xor of no keys, 0, which is as good a value as any.

use std::ops::Range;

use super::equation::Geometry;
use super::solve::zeroed;
use crate::BuildError;

/// Some cells while the keys are being taken away.
pub(super) trait Peeled {
    /// The xor of the keys that use the cell, and how many they are.
    fn at(&mut self, cell: u64) -> (&mut u64, &mut u8);
}

/// The cells from `first` on.
pub(super) struct Stretch {
    pub(super) first: u64,
    pub(super) sums: Vec<u64>,
    pub(super) users: Vec<u8>,
}

impl Peeled for Stretch {
    #[inline(always)]
    fn at(&mut self, cell: u64) -> (&mut u64, &mut u8) {
        let index = (cell - self.first) as usize;
        (&mut self.sums[index], &mut self.users[index])
    }
}

/// Two stretches as one: what lies before the right one is in the left one.
pub(super) struct Joined<'a> {
    pub(super) left: &'a mut Stretch,
    pub(super) right: &'a mut Stretch,
}

impl Peeled for Joined<'_> {
    #[inline]
    fn at(&mut self, cell: u64) -> (&mut u64, &mut u8) {
        if cell < self.right.first { self.left.at(cell) } else { self.right.at(cell) }
    }
}

impl Stretch {
    /// Cells that no key uses.
    pub(super) fn empty(cells: Range<u64>) -> Result<Self, BuildError> {
        let length = usize::try_from(cells.end - cells.start)
            .map_err(|_| BuildError::OutOfMemory { bytes: usize::MAX })?;
        Ok(Self { first: cells.start, sums: zeroed(length)?, users: zeroed(length)? })
    }

    /// Adds keys. `false` if more than 255 use one cell, which only copies of one key do.
    #[must_use]
    pub(super) fn add<const ARITY: usize>(&mut self, geometry: &Geometry, keys: &[u64]) -> bool {
        let mut too_many = false;
        for &key in keys {
            for cell in geometry.cells::<ARITY>(key) {
                let (sum, users) = self.at(cell);
                *sum ^= key;
                *users = users.wrapping_add(1);
                too_many |= *users == 0;
            }
        }
        !too_many
    }

    /// Adds the users that another stretch knows for the first cells of this one. `false` as above.
    #[must_use]
    pub(super) fn take_over(&mut self, sums: &[u64], users: &[u8]) -> bool {
        for (sum, more) in self.sums.iter_mut().zip(sums) {
            *sum ^= more;
        }
        self.users.iter_mut().zip(users).all(|(users, &more)| {
            let (all, too_many) = users.overflowing_add(more);
            *users = all;
            !too_many
        })
    }

    /// Puts the cells of `candidates` that have one user on the stack.
    pub(super) fn find_single(&self, candidates: Range<u64>, stack: &mut Vec<u64>) {
        let users = &self.users[(candidates.start - self.first) as usize..]
            [..(candidates.end - candidates.start) as usize];
        stack.extend(candidates.zip(users).filter(|&(_, &users)| users == 1).map(|(cell, _)| cell));
    }
}

/// The cells at which keys were taken away, in that order.
pub(super) struct Order<'a> {
    cells: &'a mut [u64],
    taken: usize,
}

impl<'a> Order<'a> {
    /// An order in the making, for at most as many keys as there is room.
    pub(super) fn new(room: &'a mut [u64]) -> Self {
        Self { cells: room, taken: 0 }
    }

    fn push(&mut self, cell: u64) {
        self.cells[self.taken] = cell;
        self.taken += 1;
    }

    pub(super) fn taken(&self) -> &[u64] {
        &self.cells[..self.taken]
    }
}

/// Takes away keys as long as the stack has cells with one user, and those that become such if
/// they are `ready`.
#[inline]
pub(super) fn peel<const ARITY: usize>(
    geometry: &Geometry,
    cells: &mut impl Peeled,
    stack: &mut Vec<u64>,
    ready: Range<u64>,
    order: &mut Order<'_>,
) {
    while let Some(single) = stack.pop() {
        let (&mut key, &mut users) = cells.at(single);
        // Its user may have been taken away at another cell in the meantime.
        if users != 1 {
            continue;
        }
        order.push(single);
        for cell in geometry.cells::<ARITY>(key) {
            let (sum, users) = cells.at(cell);
            *sum ^= key;
            *users -= 1;
            if *users == 1 && ready.contains(&cell) {
                stack.push(cell);
            }
        }
        *cells.at(single).0 = key;
    }
}

/// Gives the cells of `order`, the last first, their values.
#[inline]
pub(super) fn assign<const ARITY: usize>(
    geometry: &Geometry,
    cells: &mut impl Peeled,
    order: &[u64],
) {
    for &single in order.iter().rev() {
        let key = *cells.at(single).0;
        // The cell itself is among those that are xored, and holds the key.
        let mut value = geometry.fingerprint(key) ^ key;
        for cell in geometry.cells::<ARITY>(key) {
            value ^= *cells.at(cell).0;
        }
        *cells.at(single).0 = value;
    }
}

/// Writes values of `width` bits one after another.
pub(super) fn pack(width: u32, values: impl Iterator<Item = u64>, words: &mut [u64]) {
    let mut words = words.iter_mut();
    let (mut word, mut filled) = (0, 0);
    for value in values {
        debug_assert!(value >> width == 0);
        word |= value << filled;
        filled += width;
        if filled >= 64 {
            filled -= 64;
            if let Some(place) = words.next() {
                *place = word;
            }
            // What did not fit; a width is at most 32.
            word = value >> (width - filled);
        }
    }
    if let Some(place) = words.next() {
        *place = word;
    }
}
