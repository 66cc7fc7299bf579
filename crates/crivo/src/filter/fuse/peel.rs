//! Solving the equations: take away, one by one, keys that have a cell of their own.
//!
//! ```text
//!   repeat   find a cell that only one remaining key uses; note both, and take the key away
//!   then, in reverse   give each noted cell the value that its key's equation still lacks
//! ```
//!
//! A cell knows how many remaining keys use it, and the xor of their mixed digests: when it is
//! one key, that is the key itself. A cell that was never noted ends with the value 0, which is as good
//! as any.
//!
//! Values are made in an array of their own, as narrow as they are: that of a few segments, among which
//! the work is at any time, stays in the nearest cache.

use std::ops::Range;

use super::equation::FuseGeometry;
use crate::BuildError;
use crivo_core::memory::{lengthen, zeroed};

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
    pub(super) fn add<const ARITY: usize>(
        &mut self,
        geometry: &FuseGeometry,
        keys: &[u64],
    ) -> bool {
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

    /// Queues the cells of `candidates` that have one user.
    pub(super) fn find_single(
        &self,
        candidates: Range<u64>,
        queue: &mut Queue,
    ) -> Result<(), BuildError> {
        let start = (candidates.start - self.first) as usize;
        let users = &self.users[start..start + (candidates.end - candidates.start) as usize];
        queue.reserve(users.len())?;
        for (cell, &users) in candidates.zip(users) {
            queue.push_if(users == 1, cell);
        }
        Ok(())
    }
}

/// Cells that had one user when they were found.
///
/// First in, first out: the next cell in line does not depend on what becomes of this one, so that
/// the processor works on both.
#[derive(Default)]
pub(super) struct Queue {
    /// What lies beyond `end` has no meaning.
    cells: Vec<u64>,
    next: usize,
    end: usize,
}

impl Queue {
    /// Reserves room for more cells.
    #[inline]
    fn reserve(&mut self, more: usize) -> Result<(), BuildError> {
        if self.cells.len() - self.end < more { self.grow(more) } else { Ok(()) }
    }

    #[cold]
    fn grow(&mut self, more: usize) -> Result<(), BuildError> {
        lengthen(&mut self.cells, 2 * (self.end + more))
    }

    /// Adds a cell, without a branch that nobody could predict. There must be room.
    #[inline(always)]
    fn push_if(&mut self, condition: bool, cell: u64) {
        self.cells[self.end] = cell;
        self.end += usize::from(condition);
    }

    #[inline(always)]
    fn pop(&mut self) -> Option<u64> {
        if self.next == self.end {
            (self.next, self.end) = (0, 0);
            return None;
        }
        self.next += 1;
        Some(self.cells[self.next - 1])
    }
}

/// The keys in the order in which they were taken away, and at which of their cells.
pub(super) struct Order<'a> {
    keys: &'a mut [u64],
    cells: Vec<u8>,
    taken: usize,
}

impl<'a> Order<'a> {
    /// An order in the making, for at most as many keys as there is room.
    pub(super) fn new(room: &'a mut [u64]) -> Result<Self, BuildError> {
        Ok(Self { cells: zeroed(room.len())?, keys: room, taken: 0 })
    }

    #[inline(always)]
    fn push_if(&mut self, condition: bool, key: u64, cell: u8) {
        // There is room for every key; behind the last one, what is pushed is not meant.
        if let (Some(place), Some(of_place)) =
            (self.keys.get_mut(self.taken), self.cells.get_mut(self.taken))
        {
            (*place, *of_place) = (key, cell);
        }
        self.taken += usize::from(condition);
    }

    pub(super) fn len(&self) -> usize {
        self.taken
    }

    /// The keys and their cells, the last first.
    fn reversed(&self) -> impl Iterator<Item = (u64, u8)> {
        let (keys, cells) = (&self.keys[..self.taken], &self.cells[..self.taken]);
        keys.iter().copied().zip(cells.iter().copied()).rev()
    }
}

/// Takes away the users of queued cells, and of cells that are left with one user if those are
/// `ready`: if no more keys will be added to them.
#[inline]
pub(super) fn peel<const ARITY: usize>(
    geometry: &FuseGeometry,
    cells: &mut impl Peeled,
    queue: &mut Queue,
    ready: Range<u64>,
    order: &mut Order<'_>,
) -> Result<(), BuildError> {
    let ready_length = ready.end - ready.start;
    let segment_bits = geometry.segment_length.trailing_zeros();
    let mut last_key = 0;
    while let Some(single) = queue.pop() {
        let (&mut sum, &mut users) = cells.at(single);
        // Its user may have been taken away at another cell in the meantime. Nobody could predict
        // that, so that there is no branch: nothing is then taken away from the cells of the key
        // before. There is one, because the first cell of a queue still has its user.
        let is_there = users == 1;
        let taken = if is_there { sum } else { 0 };
        last_key = if is_there { sum } else { last_key };
        let cells_of_key = geometry.cells::<ARITY>(last_key);
        // Each lies in the segment after that of the one before.
        let which = (single >> segment_bits).wrapping_sub(cells_of_key[0] >> segment_bits);
        order.push_if(is_there, last_key, which as u8);
        queue.reserve(ARITY)?;
        for cell in cells_of_key {
            let (sum, users) = cells.at(cell);
            *sum ^= taken;
            *users -= u8::from(is_there);
            let is_ready = cell.wrapping_sub(ready.start) < ready_length;
            queue.push_if(is_there & (*users == 1) & is_ready, cell);
        }
    }
    Ok(())
}

/// A number as wide as a fingerprint, or somewhat wider.
pub(super) trait Value: Copy + Default + Send + Sync + Into<u64> {
    /// The low bits of `bits`.
    fn low(bits: u64) -> Self;
}

macro_rules! values {
    ($($number:ty),*) => {$(
        impl Value for $number {
            #[inline(always)]
            fn low(bits: u64) -> Self {
                bits as Self
            }
        }
    )*};
}

values!(u8, u16, u32);

/// The values of some cells.
pub(super) trait Assigned<V> {
    fn at(&mut self, cell: u64) -> &mut V;
}

/// The values of the cells from `first` on.
pub(super) struct Values<V> {
    first: u64,
    pub(super) values: Vec<V>,
}

impl<V: Value> Values<V> {
    /// All 0.
    pub(super) fn zeroed(cells: Range<u64>) -> Result<Self, BuildError> {
        Ok(Self { first: cells.start, values: zeroed((cells.end - cells.start) as usize)? })
    }
}

impl<V> Assigned<V> for Values<V> {
    #[inline(always)]
    fn at(&mut self, cell: u64) -> &mut V {
        &mut self.values[(cell - self.first) as usize]
    }
}

/// As [`Joined`].
pub(super) struct JoinedValues<'a, V> {
    pub(super) left: &'a mut Values<V>,
    pub(super) right: &'a mut Values<V>,
}

impl<V> Assigned<V> for JoinedValues<'_, V> {
    #[inline]
    fn at(&mut self, cell: u64) -> &mut V {
        if cell < self.right.first { self.left.at(cell) } else { self.right.at(cell) }
    }
}

/// Gives the cells of `order`, the last first, their values.
#[inline]
pub(super) fn assign<const ARITY: usize, V: Value>(
    geometry: &FuseGeometry,
    values: &mut impl Assigned<V>,
    order: &Order<'_>,
) {
    for (key, which) in order.reversed() {
        // The cell itself is among those that are xored, and is still 0.
        let mut value = geometry.wide_fingerprint(key) & geometry.mask();
        let cells = geometry.cells::<ARITY>(key);
        for cell in cells {
            value ^= (*values.at(cell)).into();
        }
        *values.at(cells[usize::from(which) % ARITY]) = V::low(value);
    }
}

/// Writes values of `width` bits one after another.
pub(super) fn pack<V: Value>(width: u32, values: &[V], words: &mut [u64]) {
    if width == 8 {
        for (word, eight) in words.iter_mut().zip(values.chunks(8)) {
            *word = eight.iter().rev().fold(0, |word, &value| word << 8 | value.into());
        }
        return;
    }
    let mut words = words.iter_mut();
    let (mut word, mut filled) = (0, 0);
    for value in values.iter().map(|&value| value.into()) {
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
