//! Levels as bits, so that the highest of many is found by *or*.
//!
//! Only two things matter about the levels of a gap: which is the highest, and whether it is odd.
//! So a level is written as a row of ones, as long as the level is high: 1 is `1`, 2 is `11`, 3 is
//! `111`. The *or* of such rows is the row of the highest, and a break is allowed where the number
//! of ones is odd. Levels that no pattern uses take no bit.
//!
//! A window holds the rows of the gaps that patterns may still change: those behind the letter just
//! read. Reading a letter is one *or* and one shift.

use std::collections::HashMap;

/// The levels of one state: one number of ones per gap, the gap after the last letter last.
pub(super) type Rows = Vec<u8>;

/// How many ones stand for each level from 0 to 9.
pub(super) fn ones_of_levels(used: impl Iterator<Item = u8>) -> [u8; 10] {
    let mut is_used = [false; 10];
    used.for_each(|level| is_used[usize::from(level)] = true);
    let mut ones = [0; 10];
    let mut current = 0u8;
    for level in 1..10u8 {
        // Two neighbours of the same parity decide alike.
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
}

impl Pool {
    /// With one element, of no levels, whose number is 0.
    pub fn new() -> Self {
        Self { ids: HashMap::from([(Rows::new(), 0)]), rows: vec![Rows::new()] }
    }

    /// The number of the gapwise maximum of `own` and the rows of number `other`.
    pub fn merge(&mut self, mut own: Rows, other: u32) -> u32 {
        let other = &self.rows[other as usize];
        if own.len() < other.len() {
            own.splice(0..0, std::iter::repeat_n(0, other.len() - own.len()));
        }
        let offset = own.len() - other.len();
        own[offset..].iter_mut().zip(other).for_each(|(own, &other)| *own = other.max(*own));
        let leading = own.iter().take_while(|&&ones| ones == 0).count();
        own.drain(..leading);
        if let Some(&id) = self.ids.get(&own) {
            return id;
        }
        let id = self.rows.len() as u32;
        self.rows.push(own.clone());
        self.ids.insert(own, id);
        id
    }

    /// The rows that some state uses, numbered anew, and the new number of each state's rows.
    pub fn into_used(self, mut states: Vec<u32>) -> (Vec<u32>, Vec<Rows>) {
        let mut number_of = vec![u32::MAX; self.rows.len()];
        number_of[0] = 0;
        let mut used = vec![Rows::new()];
        for state in &mut states {
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

/// Levels of a run of gaps, as bits: an unsigned integer.
pub(super) trait Window: Copy {
    const BITS: usize;
    const EMPTY: Self;
    /// Gap `gap` of the window gets `ones` ones.
    fn with_ones(self, gap: usize, width: usize, ones: u8) -> Self;
    fn or(self, other: Self) -> Self;
    /// Lets the oldest gap go.
    fn shift(self, width: usize) -> Self;
    /// Whether the oldest gap has an odd number of ones.
    fn is_odd(self, mask: u16) -> bool;
}

macro_rules! window {
    ($word:ty) => {
        impl Window for $word {
            const BITS: usize = <$word>::BITS as usize;
            const EMPTY: Self = 0;

            fn with_ones(self, gap: usize, width: usize, ones: u8) -> Self {
                self | (((1 << ones) - 1) << (gap * width))
            }

            #[inline(always)]
            fn or(self, other: Self) -> Self {
                self | other
            }

            #[inline(always)]
            fn shift(self, width: usize) -> Self {
                self >> width
            }

            #[inline(always)]
            fn is_odd(self, mask: u16) -> bool {
                (self as u16 & mask).count_ones() % 2 == 1
            }
        }
    };
}

window!(u64);
window!(u128);

/// How a window is divided.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    /// Bits per gap.
    pub width: usize,
    /// Gaps per window, at least 3.
    pub gaps: usize,
}

impl Shape {
    /// The smallest that holds all these rows.
    pub fn of(rows: &[Rows]) -> Self {
        let width = rows.iter().flatten().copied().max().unwrap_or(0).max(1).into();
        let gaps = rows.iter().map(Vec::len).max().unwrap_or(0).max(3);
        Self { width, gaps }
    }
}

/// Rows as windows.
pub(super) fn pack<W: Window>(shape: Shape, rows: &[Rows]) -> Vec<W> {
    debug_assert!(shape.width * shape.gaps <= W::BITS);
    let window = |rows: &Rows| {
        let first = shape.gaps - rows.len();
        let gaps = rows.iter().enumerate();
        gaps.fold(W::EMPTY, |window, (i, &ones)| window.with_ones(first + i, shape.width, ones))
    };
    rows.iter().map(window).collect()
}
