//! The levels of the gaps of a word, raised by one state after the other.
//!
//! A [`Window`] holds the levels of the latest gaps, one in a byte. Reading a letter moves all of them by
//! one place and raises them to those of the new state: two vector instructions, however many patterns
//! match. For the levels 5 4 0 and a state that brings 1 3 at the last two gaps:
//!
//! ```text
//! before        … 5 4 0
//! moved       … 5 4 0 0
//! the state   …     1 3
//! together    … 5 4 1 3
//! ```
//!
//! A break is allowed where the level is odd.

use std::collections::HashMap;

use super::lanes::{LANES, Lanes};

/// The levels of one state, that of the gap after the last letter last.
pub(super) type Rows = Vec<u8>;

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
        let leading = rows.iter().take_while(|&&level| level == 0).count();
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
        end.zip(short).for_each(|(highest, &level)| *highest = level.max(*highest));
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

/// The levels that a state brings, in one register.
pub(super) fn lanes_of(rows: &Rows) -> Lanes {
    let mut levels = [0; LANES];
    levels[LANES - rows.len()..].copy_from_slice(rows);
    Lanes::new(levels)
}

/// The levels of the latest gaps.
pub(super) trait Window: Copy {
    /// How many gaps it has.
    const GAPS: usize;

    fn new() -> Self;

    /// Moves the window by one letter, and raises levels to those of the new state.
    fn read(&mut self, state: Lanes);

    /// Bit i: whether gap i of the window has an odd level; the latest gap is the last.
    fn odd(self) -> u32;

    /// The breaks of all gaps in the window, after `letters` letters.
    #[inline(always)]
    fn breaks(self, letters: usize) -> WindowBreaks {
        WindowBreaks { odd: self.odd(), first_gap: letters as isize + 1 - Self::GAPS as isize }
    }
}

/// For short words: the older gaps are forgotten.
#[derive(Debug, Clone, Copy)]
pub(super) struct ShortWindow(Lanes);

impl Window for ShortWindow {
    const GAPS: usize = LANES;

    #[inline(always)]
    fn new() -> Self {
        Self(Lanes::zero())
    }

    #[inline(always)]
    fn read(&mut self, state: Lanes) {
        self.0 = self.0.advance(Lanes::zero()).0.max(state);
    }

    #[inline(always)]
    fn odd(self) -> u32 {
        self.0.odd().into()
    }
}

/// For words of any length.
#[derive(Debug, Clone, Copy)]
pub(super) struct LongWindow {
    /// The gaps that the next letter can change.
    latest: Lanes,
    older: Lanes,
}

impl Window for LongWindow {
    const GAPS: usize = 2 * LANES;

    #[inline(always)]
    fn new() -> Self {
        Self { latest: Lanes::zero(), older: Lanes::zero() }
    }

    #[inline(always)]
    fn read(&mut self, state: Lanes) {
        let (latest, older) = self.latest.advance(self.older);
        *self = Self { latest: latest.max(state), older };
    }

    #[inline(always)]
    fn odd(self) -> u32 {
        u32::from(self.older.odd()) | u32::from(self.latest.odd()) << LANES
    }
}

impl LongWindow {
    /// The breaks of the gaps that later letters cannot change.
    #[inline(always)]
    pub fn settled(self, letters: usize) -> WindowBreaks {
        let WindowBreaks { odd, first_gap } = self.breaks(letters);
        WindowBreaks { odd: odd & u32::from(u16::MAX), first_gap }
    }
}

/// Breaks of consecutive gaps.
#[derive(Debug, Clone, Copy)]
pub(super) struct WindowBreaks {
    odd: u32,
    /// The gap of bit 0; gaps below 0 lie before the word.
    first_gap: isize,
}

impl WindowBreaks {
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
