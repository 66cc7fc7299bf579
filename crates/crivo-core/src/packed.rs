//! Slots of any width, packed without waste.
//!
//! A table of 12-bit fingerprints in a `Vec<u16>` leaves a quarter of its memory empty.
//! [`PackedSlots`] puts the slots next to each other, across the borders of words:
//!
//! ```text
//!   width 12:  slot 0      slot 1      slot 2      slot 3      slot 4      slot 5
//!            |0        11|12       23|24       35|36       47|48       59|60 … |… 71|
//!   words:   |0                                                             63|64 …
//! ```
//!
//! Slot i is the bits from i·width to i·width + width − 1, counted from the lowest bit of the first
//! word. It lies across two words at most, because it has at most 64 bits: so a read is two loads, a
//! shift and a mask, whatever the width.
//!
//! *When not to use it:* at widths of 8, 16, 32 and 64 bits a plain vector is as small, and faster to
//! read.

use std::fmt;

use crate::memory::zeros;
use crate::{BuildError, ParameterError};

/// A fixed number of slots of `width` bits each, packed without gaps. They start as 0.
///
/// ```
/// use crivo_core::PackedSlots;
///
/// let mut slots = PackedSlots::try_new(5, 3)?;
/// slots.set(1, 31);
/// assert_eq!([slots.get(0), slots.get(1), slots.get(2)], [0, 31, 0]);
/// # Ok::<(), crivo_core::BuildError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct PackedSlots {
    // One word more than the slots need, so that the second load of a read is never past the end.
    words: Vec<u64>,
    slots: usize,
    width: u32,
}

impl PackedSlots {
    /// `slots` slots of `width` bits, all 0.
    ///
    /// ```
    /// use crivo_core::PackedSlots;
    ///
    /// let slots = PackedSlots::try_new(12, 1_000)?;
    /// assert_eq!((slots.get(999), slots.size_in_bits()), (0, 12_000));
    /// assert!(PackedSlots::try_new(65, 1_000).is_err());
    /// # Ok::<(), crivo_core::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// If the width is not from 1 to 64, if there are 2^64 bits or more in all, or if there is no
    /// memory for them.
    pub fn try_new(width: u32, slots: usize) -> Result<Self, BuildError> {
        if !(1..=64).contains(&width) {
            return Err(ParameterError::new("width", width, "from 1 to 64").into());
        }
        let word_count = (slots as u64)
            .checked_mul(u64::from(width))
            .and_then(|bits| usize::try_from(bits.div_ceil(64)).ok())
            .map(|needed| needed.saturating_add(1))
            .ok_or_else(|| {
                ParameterError::new("slot count", slots, "less than 2^64 bits in all")
            })?;
        Ok(Self { words: zeros(word_count)?, slots, width })
    }

    /// The value in slot `index`.
    ///
    /// ```
    /// let mut slots = crivo_core::PackedSlots::try_new(12, 10)?;
    /// slots.set(3, 4_095);
    /// assert_eq!([2, 3, 4].map(|index| slots.get(index)), [0, 4_095, 0]);
    /// # Ok::<(), crivo_core::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If `index` is not below [`slot_count`](Self::slot_count).
    #[inline]
    pub fn get(&self, index: usize) -> u64 {
        let (word, shift) = self.place(index);
        (self.pair(word) >> shift) as u64 & self.mask()
    }

    /// Puts `value` into slot `index`.
    ///
    /// ```
    /// let mut slots = crivo_core::PackedSlots::try_new(12, 10)?;
    /// slots.set(3, 17);
    /// slots.set(3, 18);
    /// assert_eq!(slots.get(3), 18);
    /// # Ok::<(), crivo_core::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If `index` is not below [`slot_count`](Self::slot_count), or if `value` has more than
    /// [`width`](Self::width) bits.
    #[inline]
    pub fn set(&mut self, index: usize, value: u64) {
        let mask = self.mask();
        assert!(value <= mask, "{value} has more than {} bits", self.width);
        let (word, shift) = self.place(index);
        let kept = self.pair(word) & !(u128::from(mask) << shift);
        let pair = kept | (u128::from(value) << shift);
        self.words[word] = pair as u64;
        self.words[word + 1] = (pair >> 64) as u64;
    }

    /// Sets every slot to 0.
    ///
    /// ```
    /// let mut slots = crivo_core::PackedSlots::try_new(12, 10)?;
    /// slots.set(3, 17);
    /// slots.clear();
    /// assert_eq!(slots.get(3), 0);
    /// # Ok::<(), crivo_core::BuildError>(())
    /// ```
    pub fn clear(&mut self) {
        self.words.fill(0);
    }

    /// How many slots there are.
    ///
    /// ```
    /// assert_eq!(crivo_core::PackedSlots::try_new(12, 10)?.slot_count(), 10);
    /// # Ok::<(), crivo_core::BuildError>(())
    /// ```
    #[inline]
    pub const fn slot_count(&self) -> usize {
        self.slots
    }

    /// How many bits a slot has.
    ///
    /// ```
    /// assert_eq!(crivo_core::PackedSlots::try_new(12, 10)?.width(), 12);
    /// # Ok::<(), crivo_core::BuildError>(())
    /// ```
    #[inline]
    pub const fn width(&self) -> u32 {
        self.width
    }

    /// The bits of all slots together: slots times width.
    ///
    /// ```
    /// assert_eq!(crivo_core::PackedSlots::try_new(12, 10)?.size_in_bits(), 120);
    /// # Ok::<(), crivo_core::BuildError>(())
    /// ```
    pub const fn size_in_bits(&self) -> u64 {
        // No overflow: `try_new` has checked this product.
        self.slots as u64 * self.width as u64
    }

    /// The memory taken: the bits, rounded up to whole words, and one word more that makes reads
    /// simple.
    ///
    /// ```
    /// // 120 bits are two words, and one more.
    /// assert_eq!(crivo_core::PackedSlots::try_new(12, 10)?.size_in_bytes(), 24);
    /// # Ok::<(), crivo_core::BuildError>(())
    /// ```
    pub const fn size_in_bytes(&self) -> usize {
        self.words.capacity() * size_of::<u64>()
    }

    /// The word in which slot `index` starts, and the bit of that word.
    #[inline]
    fn place(&self, index: usize) -> (usize, u32) {
        assert!(index < self.slots, "slot {index} of only {} slots", self.slots);
        let bit = index as u64 * u64::from(self.width);
        ((bit / 64) as usize, (bit % 64) as u32)
    }

    #[inline]
    fn pair(&self, word: usize) -> u128 {
        u128::from(self.words[word]) | (u128::from(self.words[word + 1]) << 64)
    }

    #[inline]
    const fn mask(&self) -> u64 {
        u64::MAX >> (64 - self.width)
    }
}

impl fmt::Debug for PackedSlots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries((0..self.slots).map(|index| self.get(index))).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use proptest::test_runner::{Config, RngSeed};

    #[test]
    fn the_layout_is_the_one_of_the_documentation() {
        let mut slots = PackedSlots::try_new(12, 6).unwrap();
        slots.set(0, 0x321);
        slots.set(5, 0xabc);
        assert_eq!(slots.words, [0xc000_0000_0000_0321, 0xab, 0]);
        assert_eq!(slots.size_in_bits(), 72);
        assert_eq!(slots.size_in_bytes(), 24);
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes long there")]
    fn every_width_holds_its_largest_value_beside_empty_neighbours() {
        for width in 1..=64 {
            let mut slots = PackedSlots::try_new(width, 130).unwrap();
            let largest = u64::MAX >> (64 - width);
            for index in 0..130 {
                slots.set(index, largest);
                for other in index.saturating_sub(2)..(index + 3).min(130) {
                    let expected = if other == index { largest } else { 0 };
                    assert_eq!(slots.get(other), expected, "width {width}, slot {other}");
                }
                slots.set(index, 0);
            }
            assert!(slots.words.iter().all(|&word| word == 0));
        }
    }

    proptest! {
        #![proptest_config(Config { rng_seed: RngSeed::Fixed(1), ..Config::default() })]

        #[test]
        fn packed_slots_are_a_vector_of_numbers(
            width in 1u32..=64,
            count in 1usize..300,
            writes in prop::collection::vec((any::<prop::sample::Index>(), any::<u64>()), 0..400),
        ) {
            let mut slots = PackedSlots::try_new(width, count).unwrap();
            let mut model = vec![0u64; count];
            for (index, value) in writes {
                let (index, value) = (index.index(count), value >> (64 - width));
                slots.set(index, value);
                model[index] = value;
                prop_assert_eq!(slots.get(index), value);
            }
            let read: Vec<u64> = (0..count).map(|index| slots.get(index)).collect();
            prop_assert_eq!(&read, &model);
            prop_assert_eq!(format!("{slots:?}"), format!("{model:?}"));

            prop_assert_eq!((slots.slot_count(), slots.width()), (count, width));
            let bits = count as u64 * u64::from(width);
            prop_assert_eq!(slots.size_in_bits(), bits);
            prop_assert_eq!(slots.size_in_bytes() as u64, (bits.div_ceil(64) + 1) * 8);

            slots.clear();
            prop_assert_eq!(slots, PackedSlots::try_new(width, count).unwrap());
        }
    }

    #[test]
    fn no_slots_are_allowed() {
        let slots = PackedSlots::try_new(7, 0).unwrap();
        assert_eq!((slots.slot_count(), slots.size_in_bits()), (0, 0));
    }

    #[test]
    #[should_panic(expected = "slot 5 of only 5 slots")]
    fn a_read_in_the_padding_is_refused() {
        PackedSlots::try_new(3, 5).unwrap().get(5);
    }

    #[test]
    #[should_panic(expected = "8 has more than 3 bits")]
    fn a_value_that_is_too_wide_is_refused() {
        PackedSlots::try_new(3, 5).unwrap().set(0, 8);
    }

    // Other machines cannot even name these sizes.
    #[cfg(target_pointer_width = "64")]
    #[test]
    #[cfg_attr(miri, ignore = "asks for more memory than there is")]
    fn impossible_sizes_are_errors() {
        for width in [0, 65] {
            assert_eq!(
                PackedSlots::try_new(width, 1).unwrap_err().to_string(),
                format!("width is {width}, but it must be from 1 to 64")
            );
        }
        for (width, slots) in [(64, usize::MAX), (2, usize::MAX), (64, 1 << 58)] {
            assert!(matches!(
                PackedSlots::try_new(width, slots),
                Err(BuildError::Parameter(ParameterError { parameter: "slot count", .. }))
            ));
        }
        for (width, slots) in [(64, 1 << 50), (1, usize::MAX)] {
            assert!(matches!(
                PackedSlots::try_new(width, slots),
                Err(BuildError::OutOfMemory { .. })
            ));
        }
    }
}
