//! Levels as bits, so that the maximum of many is a bitwise *or*.
//!
//! Only two things matter about the levels of a gap: the maximum, and whether it is odd. So a level
//! is encoded in unary, as a row of ones: 1 is `1`, 2 is `11`, 3 is `111`. The *or* of such rows is
//! the row of the maximum, and a break is allowed where the number of ones is odd. Levels that no
//! pattern uses take no bit.
//!
//! A [`Window`] holds the rows of the gaps before the current position, in *planes*: one machine
//! word for the first bit of every gap, one for the second bit of every gap, and so on, with the
//! latest gap in the top bit. Reading a letter shifts every plane by one gap and *or*s the planes of
//! the new state: a few vector instructions for all planes. The exclusive or of all planes gives all
//! breaks of the window at once. For the levels 5 4 0:
//!
//! ```text
//! ones         11111   1111   (none)
//! planes       110   110   110   110   100
//! together     100                            a break at 5, none at 4 and 0
//! ```

use std::collections::HashMap;

/// The levels of one state: the number of ones of each gap, the gap after the last letter last.
pub(super) type Rows = Vec<u8>;

/// The number of ones that encode each level from 0 to 9.
pub(super) fn ones_of_levels(used: impl Iterator<Item = u8>) -> [u8; 10] {
    let mut is_used = [false; 10];
    used.for_each(|level| is_used[usize::from(level)] = true);
    let mut ones = [0; 10];
    let mut current = 0u8;
    for level in 1..10u8 {
        // Adjacent used levels of the same parity mean the same and share a code.
        if is_used[usize::from(level)] && level % 2 != current % 2 {
            current += 1;
        }
        ones[usize::from(level)] = current;
    }
    ones
}

/// The distinct [`Rows`] of all states, each stored once.
#[derive(Debug)]
pub(super) struct Pool {
    ids: HashMap<Rows, u32>,
    pub rows: Vec<Rows>,
    /// Results of earlier merges: there are few distinct pairs.
    merged: HashMap<(u32, u32), u32>,
}

impl Pool {
    /// A pool with one element, without levels, whose number is 0.
    pub fn new() -> Self {
        let ids = HashMap::from([(Rows::new(), 0)]);
        Self { ids, rows: vec![Rows::new()], merged: HashMap::new() }
    }

    /// The number of these rows; leading gaps without a level do not matter.
    pub fn number(&mut self, rows: &[u8]) -> u32 {
        let leading = rows.iter().take_while(|&&ones| ones == 0).count();
        let rows = &rows[leading..];
        if let Some(&id) = self.ids.get(rows) {
            return id;
        }
        let id = self.rows.len() as u32;
        self.rows.push(rows.to_vec());
        self.ids.insert(rows.to_vec(), id);
        id
    }

    /// The number of the maximum of two rows, gap by gap.
    pub fn merge(&mut self, one: u32, other: u32) -> u32 {
        if one == 0 || other == 0 {
            return one.max(other);
        }
        if let Some(&id) = self.merged.get(&(one, other)) {
            return id;
        }
        let [short, long] = {
            let mut both = [&self.rows[one as usize], &self.rows[other as usize]];
            both.sort_by_key(|rows| rows.len());
            both
        };
        let mut highest = long.clone();
        let end = highest[long.len() - short.len()..].iter_mut();
        end.zip(short).for_each(|(highest, &ones)| *highest = ones.max(*highest));
        let id = self.number(&highest);
        self.merged.insert((one, other), id);
        id
    }

    /// The rows that some state uses, renumbered in this order of states, and the new number of each
    /// state's rows.
    pub fn into_used(self, mut states: Vec<u32>, order: &[u32]) -> (Vec<u32>, Vec<Rows>) {
        let mut number_of = vec![u32::MAX; self.rows.len()];
        number_of[0] = 0;
        let mut used = vec![Rows::new()];
        for &state in order {
            let state = &mut states[state as usize];
            let old = *state as usize;
            if number_of[old] == u32::MAX {
                number_of[old] = used.len() as u32;
                used.push(self.rows[old].clone());
            }
            *state = number_of[old];
        }
        (states, used)
    }
}

/// The largest number of ones of any level.
pub(super) fn max_ones(rows: &[Rows]) -> usize {
    rows.iter().flatten().copied().max().unwrap_or(0).into()
}

/// The levels of the gaps before the current position, in planes.
// Aligned like vector registers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(align(16))]
pub(super) struct Window<const PLANES: usize>([u32; PLANES]);

impl<const PLANES: usize> Window<PLANES> {
    #[inline(always)]
    pub fn new() -> Self {
        Self([0; PLANES])
    }

    /// The levels of a state, which must fit.
    pub fn of(rows: &Rows) -> Self {
        let mut window = Self::new();
        for (age, &ones) in rows.iter().rev().enumerate() {
            let raised = window.0.iter_mut().take(ones.into());
            raised.for_each(|plane| *plane |= 1 << (u32::BITS - 1) >> age);
        }
        window
    }

    /// Moves the window by one letter, and raises levels to those of the new state.
    #[inline(always)]
    pub fn read(&mut self, levels: &Self) {
        for (plane, &raised) in self.0.iter_mut().zip(&levels.0) {
            *plane = *plane >> 1 | raised;
        }
    }

    /// The breaks of all gaps in the window, after `letters` letters.
    #[inline(always)]
    pub fn breaks(&self, letters: usize) -> Breaks32 {
        let odd = self.0.iter().fold(0, |odd, plane| odd ^ plane);
        Breaks32 { odd, first_gap: letters as isize + 1 - u32::BITS as isize }
    }

    /// Removes the gaps from the window that later letters cannot change, and returns their breaks.
    #[inline(always)]
    pub fn close(&mut self, reach: Reach, letters: usize) -> Breaks32 {
        let closed = u32::MAX >> (reach.0 - 1);
        let Breaks32 { odd, first_gap } = self.breaks(letters);
        self.0.iter_mut().for_each(|plane| *plane &= !closed);
        Breaks32 { odd: odd & closed, first_gap }
    }
}

/// The number of preceding gaps whose levels a letter can change: at least 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Reach(u32);

impl Reach {
    /// The reach of these rows; `None` if they are too long for a window, which must have room for the
    /// end of the word and one letter before it.
    pub fn of(rows: &[Rows]) -> Option<Self> {
        let longest = rows.iter().map(Vec::len).max().unwrap_or(0).max(1) as u32;
        (longest < u32::BITS).then_some(Self(longest))
    }

    /// The number of letters that can be read before gaps must be [closed](Window::close), such that
    /// the end of the word can be read as well.
    #[inline(always)]
    pub fn letters_at_once(self) -> usize {
        (u32::BITS - self.0) as usize
    }
}

/// Breaks of up to 32 consecutive gaps.
#[derive(Debug, Clone, Copy)]
pub(super) struct Breaks32 {
    odd: u32,
    /// The gap of bit 0; gaps below 0 lie before the word.
    first_gap: isize,
}

impl Breaks32 {
    /// Bit i is the gap before letter i, for the first 64 letters.
    #[inline(always)]
    pub fn mask(self) -> u64 {
        let odd = u64::from(self.odd);
        match u32::try_from(self.first_gap) {
            Ok(shift) => odd.checked_shl(shift).unwrap_or(0),
            Err(_) => odd >> self.first_gap.unsigned_abs(),
        }
    }

    /// The same for words of any length: sets the elements of gaps with an odd level.
    pub fn add_to(self, odd: &mut [bool]) {
        for bit in 0..u32::BITS as usize {
            if self.odd >> bit & 1 == 1
                && let Some(cell) = odd.get_mut((self.first_gap + bit as isize) as usize)
            {
                *cell = true;
            }
        }
    }
}
