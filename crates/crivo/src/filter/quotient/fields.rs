//! Several remainders in one word, compared at once.

/// As many remainders as fit, side by side from the lowest bit on. What lies above them is noise.
pub(super) struct Fields {
    fields: u64,
    /// The lowest bit of each.
    ones: u64,
    /// The highest bit of each.
    highs: u64,
}

impl Fields {
    /// Fields of `bits` bits, whose lowest bits are `ones`.
    #[inline(always)]
    pub(super) fn new(fields: u64, bits: u32, ones: u64) -> Self {
        Self { fields, ones, highs: ones << (bits - 1) }
    }

    /// The highest bit of each: where a comparison says yes.
    #[inline(always)]
    pub(super) fn highs(&self) -> u64 {
        self.highs
    }

    /// Those that are equal to this one.
    #[inline(always)]
    pub(super) fn equal_to(&self, remainder: u64) -> u64 {
        let lows = self.highs - self.ones;
        let differences = self.fields ^ self.ones.wrapping_mul(remainder);
        // A sum has the highest bit of its field if the lower bits are not all 0; none goes beyond.
        !(((differences & lows) + lows) | differences) & self.highs
    }

    /// Those that are greater than this one.
    #[inline(always)]
    pub(super) fn greater_than(&self, remainder: u64) -> u64 {
        let lows = self.highs - self.ones;
        let copies = self.ones.wrapping_mul(remainder);
        // The highest bit, set in each copy, stays where the lower bits of the copy are not less; so
        // nothing is borrowed from the next. Where the highest bits differ, they decide.
        let not_less = (copies | self.highs) - (self.fields & lows);
        (self.fields & !copies | !(self.fields ^ copies) & !not_less) & self.highs
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Digest;

    /// Fields of every width, few or many different ones, and those that are next to the one sought.
    #[test]
    #[cfg_attr(miri, ignore = "takes long there")]
    fn fields_are_compared_one_by_one() {
        let mut random = Digest::new(5);
        let mut next = || {
            random = random.remix();
            random.get()
        };
        for bits in 1..=57 {
            let (count, mask) = (57 / bits, u64::MAX >> (64 - bits));
            let ones = (0..count).fold(0, |ones, field| ones | 1 << (field * bits));
            for round in 0..2_000 {
                let remainder = next() & mask;
                let noise = next();
                let words =
                    (0..count).fold(noise & !(u64::MAX >> (64 - count * bits)), |all, i| {
                        let field = match (next() % 4, round % 2) {
                            (0, _) | (_, 1) => next() & mask,
                            (change, _) => remainder.wrapping_add(change).wrapping_sub(2) & mask,
                        };
                        all | field << (i * bits)
                    });
                let fields = Fields::new(words, bits, ones);
                for i in 0..count {
                    let field = words >> (i * bits) & mask;
                    let says = |yes: u64| yes >> (i * bits + bits - 1) & 1 == 1;
                    assert_eq!(says(fields.equal_to(remainder)), field == remainder);
                    assert_eq!(says(fields.greater_than(remainder)), field > remainder);
                }
                let both = fields.equal_to(remainder) | fields.greater_than(remainder);
                assert_eq!(both & !fields.highs(), 0);
            }
        }
    }
}
