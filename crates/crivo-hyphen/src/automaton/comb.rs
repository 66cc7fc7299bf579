//! Many sparse rows in one array, combed into each other's gaps.
//!
//! A row maps some classes to entries. Its base is a place in the array such that for each of its
//! classes c the slot `base + c` is free; there its entry goes, marked with c. No two rows share a
//! base, so a slot marked c that is reached from a base by adding c belongs to that base's row.

use super::alphabet::Class;

/// What a letter leads to, in one machine word: 16 bits of the letter's class, 20 bits of the
/// number of the levels, 28 bits of the base of the next row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Slot(u64);

const LABEL_BITS: u32 = 16;
const LEVELS_BITS: u32 = 20;

impl Slot {
    /// A class that no letter has marks a free slot.
    const FREE: Self = Self(Class::MAX as u64);

    pub fn new(label: Class, levels: u32, next: u32) -> Self {
        debug_assert!(levels < 1 << LEVELS_BITS && next < MAX_SLOTS as u32);
        let levels = u64::from(levels) << LABEL_BITS;
        Self(u64::from(label) | levels | u64::from(next) << (LABEL_BITS + LEVELS_BITS))
    }

    #[inline(always)]
    pub fn label(self) -> Class {
        self.0 as Class
    }

    /// The number of the levels.
    #[inline(always)]
    pub fn levels(self) -> usize {
        (self.0 >> LABEL_BITS) as usize & ((1 << LEVELS_BITS) - 1)
    }

    /// The base of the next row; of the end of a word, the number of its exception, 0 for none.
    #[inline(always)]
    pub fn next(self) -> usize {
        (self.0 >> (LABEL_BITS + LEVELS_BITS)) as usize
    }
}

/// As many slots as a base can tell apart: two gigabytes of them.
pub(super) const MAX_SLOTS: usize = 1 << (64 - LABEL_BITS - LEVELS_BITS);

/// Finds places for rows, the first that fits.
#[derive(Debug)]
pub(super) struct Placer {
    /// One bit per slot: taken.
    slots: Vec<u64>,
    /// One bit per slot: the base of some row.
    bases: Vec<u64>,
    /// Where to begin to look, by the length of the row: what did not fit before will hardly now.
    cursors: Vec<usize>,
    /// The end of the last row placed.
    end: usize,
}

impl Placer {
    /// An array that begins with the row of no entries, whose base is 0.
    pub fn new(classes: usize) -> Self {
        let mut placer = Self {
            slots: Vec::new(),
            bases: Vec::new(),
            cursors: vec![0; classes + 1],
            end: classes,
        };
        (0..classes).for_each(|slot| set(&mut placer.slots, slot));
        set(&mut placer.bases, 0);
        placer
    }

    /// Takes the slots of a row of these classes, and tells its base.
    pub fn place(&mut self, row: &[Class]) -> usize {
        let mut word = self.cursors[row.len()];
        loop {
            let taken = row.iter().fold(at(&self.bases, word * 64), |taken, &class| {
                taken | at(&self.slots, word * 64 + usize::from(class))
            });
            if taken != u64::MAX {
                let base = word * 64 + (!taken).trailing_zeros() as usize;
                self.cursors[row.len()] = word;
                set(&mut self.bases, base);
                for &class in row {
                    set(&mut self.slots, base + usize::from(class));
                    self.end = self.end.max(base + usize::from(class) + 1);
                }
                return base;
            }
            word += 1;
        }
    }

    /// An array of free slots, long enough for every class after every base.
    pub fn free_slots(&self, classes: usize) -> Vec<Slot> {
        vec![Slot::FREE; self.end + classes]
    }
}

/// 64 bits from bit `position` on; bits beyond the end are zero.
fn at(bits: &[u64], position: usize) -> u64 {
    let word = |index: usize| bits.get(index).copied().unwrap_or(0);
    let (index, shift) = (position / 64, position % 64);
    match shift {
        0 => word(index),
        _ => word(index) >> shift | word(index + 1) << (64 - shift),
    }
}

fn set(bits: &mut Vec<u64>, position: usize) {
    if position / 64 >= bits.len() {
        bits.resize(position / 64 + 1, 0);
    }
    bits[position / 64] |= 1 << (position % 64);
}
