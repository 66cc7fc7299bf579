//! Levels as bits, so that the highest of many is found by *or*.
//!
//! Only two things matter about the levels of a gap: which is the highest, and whether it is odd.
//! So a level is written as a row of ones, as long as the level is high: 1 is `1`, 2 is `11`, 3 is
//! `111`. The *or* of such rows is the row of the highest, and a break is allowed where the number
//! of ones is odd. Levels that no pattern uses take no bit.
//!
//! A [`Window`] holds the rows of the gaps behind the letter just read, in *planes*: first the
//! lowest one of every gap, then the second one of every gap, and so on, the latest gap at the top
//! of each plane. Reading a letter is one shift, by which every gap grows older by one, and one
//! *or*. The exclusive or of all planes tells all breaks of the window at once. Of the levels 5 4 0:
//!
//! ```text
//! ones         11111   1111   (none)
//! planes       110   110   110   110   100
//! together     100                            a break at 5, none at 4 and 0
//! ```

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

/// The levels of the gaps behind the letter just read: planes of bits, half of them in each word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Window([u64; 2]);

impl Window {
    /// Lets all gaps grow older, and raises levels.
    #[inline(always)]
    pub fn read(self, levels: Window) -> Self {
        let ([a, b], [c, d]) = (self.0, levels.0);
        Self([a >> 1 | c, b >> 1 | d])
    }
}

/// How a window is divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shape {
    /// Planes in each half of a window.
    planes: u32,
    /// Gaps per plane.
    plane_bits: u32,
    /// How many gaps back a letter can change levels.
    reach: u32,
    /// The gaps of every plane that no later letter can change.
    closed: u64,
}

impl Shape {
    /// A shape for these rows; none if they are too long for a window.
    pub fn of(rows: &[Rows]) -> Option<Self> {
        let ones = rows.iter().flatten().copied().max().unwrap_or(0).max(1);
        let planes = u32::from(ones).div_ceil(2);
        let plane_bits = u64::BITS / planes;
        let reach = rows.iter().map(Vec::len).max().unwrap_or(0).max(1) as u32;
        // There must be room for the end of the word and for one letter before it.
        if reach + 1 > plane_bits {
            return None;
        }
        let closed_of_plane = u64::MAX >> (u64::BITS - (plane_bits + 1 - reach));
        let closed = (0..planes).map(|plane| closed_of_plane << (plane * plane_bits)).sum();
        Some(Self { planes, plane_bits, reach, closed })
    }

    /// The window of one state's rows.
    pub fn window(self, rows: &Rows) -> Window {
        let mut window = Window::default();
        for (age, &ones) in rows.iter().rev().enumerate() {
            for plane in 0..u32::from(ones) {
                let bit = (plane / 2 + 1) * self.plane_bits - 1 - age as u32;
                window.0[plane as usize % 2] |= 1 << bit;
            }
        }
        window
    }

    /// How many letters can be read before gaps must be [closed](Self::close), if the end of the
    /// word is to be read, too.
    #[inline]
    pub fn letters_at_once(self) -> usize {
        (self.plane_bits - self.reach) as usize
    }

    /// The breaks of all gaps in the window, after so many letters.
    #[inline]
    pub fn breaks(self, window: Window, letters: usize) -> Breaks64 {
        let planes = window.0[0] ^ window.0[1];
        let shifted = |planes_away: u32| planes >> (planes_away * self.plane_bits);
        // Nine levels take at most five planes of each half.
        let odd = match self.planes {
            1 => planes,
            2 => planes ^ shifted(1),
            3 => planes ^ shifted(1) ^ shifted(2),
            4 => planes ^ shifted(1) ^ shifted(2) ^ shifted(3),
            _ => planes ^ shifted(1) ^ shifted(2) ^ shifted(3) ^ shifted(4),
        };
        let odd = odd & (u64::MAX >> (u64::BITS - self.plane_bits));
        Breaks64 { odd, first_gap: letters as isize + 1 - self.plane_bits as isize }
    }

    /// Takes the gaps out of the window that no later letter can change, and tells their breaks.
    #[inline]
    pub fn close(self, window: &mut Window, letters: usize) -> Breaks64 {
        let [a, b] = window.0;
        *window = Window([a & !self.closed, b & !self.closed]);
        self.breaks(Window([a & self.closed, b & self.closed]), letters)
    }
}

/// Breaks of up to 64 gaps in a row.
#[derive(Debug, Clone, Copy)]
pub(super) struct Breaks64 {
    odd: u64,
    /// The gap of bit 0; gaps below 0 lie before the word.
    first_gap: isize,
}

impl Breaks64 {
    /// Bit i is the gap before letter i, for the first 64 letters.
    #[inline]
    pub fn mask(self) -> u64 {
        match u32::try_from(self.first_gap) {
            Ok(shift) => self.odd.checked_shl(shift).unwrap_or(0),
            Err(_) => self.odd >> self.first_gap.unsigned_abs(),
        }
    }

    /// The same for words of any length: sets what is odd.
    pub fn add_to(self, odd: &mut [bool]) {
        for bit in 0..u64::BITS as usize {
            if self.odd >> bit & 1 == 1
                && let Some(cell) = odd.get_mut((self.first_gap + bit as isize) as usize)
            {
                *cell = true;
            }
        }
    }
}
