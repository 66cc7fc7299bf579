//! Coded symbols, and tables of them.

use super::mapping::{Block, Mapping, block_range, blocks_for};
use crate::{ExchangeKey, Id};

/// A coded symbol: the ids that it took in, folded into three sums.
///
/// The difference of two symbols with the same number is the symbol of the sets' difference: what
/// both sets have cancels out.
///
/// ```
/// use crivo_exchange::rateless::Encoder;
/// use crivo_exchange::{ExchangeKey, IdSet};
///
/// let key = ExchangeKey::new([7; 16]);
/// let mut encoder = Encoder::new(IdSet::of_items(key, ["ana", "rui"]), 0);
/// let first = encoder.symbols(0..1)[0];
/// assert_eq!((first.sum, first.count), (key.id(b"ana").get() ^ key.id(b"rui").get(), 2));
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CodedSymbol {
    /// The xor of the ids.
    pub sum: u128,
    /// The xor of the ids' checksums under the exchange's key.
    pub check: u32,
    /// How many ids there are; in a difference, how many more there than here.
    pub count: i64,
}

impl CodedSymbol {
    /// Adds (or takes away) an id that counts `weight`.
    #[inline]
    pub(super) fn add(&mut self, id: Id, check: u32, weight: i64) {
        self.sum ^= id.get();
        self.check ^= check;
        // Hostile counts may be anything; honest ones are far from the end of the range.
        self.count = self.count.wrapping_add(weight);
    }

    /// Adds another symbol.
    pub(super) fn add_symbol(&mut self, other: &Self) {
        self.sum ^= other.sum;
        self.check ^= other.check;
        self.count = self.count.wrapping_add(other.count);
    }

    /// Whether no id is left in it.
    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The first 2^b coded symbols of some ids.
#[derive(Debug, Clone)]
pub(super) struct Table {
    mapping: Mapping,
    symbols: Vec<CodedSymbol>,
}

impl Table {
    pub(super) fn new(key: ExchangeKey, round: u64) -> Self {
        Self { mapping: Mapping::new(key, round), symbols: Vec::new() }
    }

    pub(super) fn symbols(&self) -> &[CodedSymbol] {
        &self.symbols
    }

    pub(super) fn symbol_mut(&mut self, index: usize) -> &mut CodedSymbol {
        &mut self.symbols[index]
    }

    /// Makes the table long enough for `symbols` symbols. The ids with their weights are all that
    /// were ever added: they are walked through once, whatever the number of new blocks.
    pub(super) fn grow(&mut self, symbols: u64, ids: impl Iterator<Item = (Id, i64)>) {
        let old = self.symbols.len() as u64;
        if symbols <= old {
            return;
        }
        let blocks = first_block_at(old)..=blocks_for(symbols);
        self.symbols.resize(block_range(*blocks.end()).end as usize, CodedSymbol::default());
        for (id, weight) in ids {
            self.add_to(id, weight, blocks.clone());
        }
    }

    /// Adds an id to all symbols that take it in. `on_change` is told which, and whether the symbol
    /// was empty and whether it is.
    pub(super) fn add(
        &mut self,
        id: Id,
        weight: i64,
        mut on_change: impl FnMut(usize, bool, bool),
    ) {
        let check = self.mapping.check(id);
        let places = self.mapping.places(id);
        for block in 0..first_block_at(self.symbols.len() as u64) {
            places.for_each(block, |index| {
                let symbol = &mut self.symbols[index];
                let was_empty = symbol.is_empty();
                symbol.add(id, check, weight);
                on_change(index, was_empty, symbol.is_empty());
            });
        }
    }

    #[inline]
    fn add_to(&mut self, id: Id, weight: i64, blocks: std::ops::RangeInclusive<Block>) {
        let check = self.mapping.check(id);
        let places = self.mapping.places(id);
        for block in blocks {
            places.for_each(block, |index| self.symbols[index].add(id, check, weight));
        }
    }

    /// The id of a symbol that seems to have just one, and whether it counts +1 or −1.
    pub(super) fn only_id(&self, index: usize) -> Option<(Id, i64)> {
        let symbol = &self.symbols[index];
        let id = Id::new(symbol.sum);
        let seems_alone = symbol.count.unsigned_abs() == 1
            && self.mapping.check(id) == symbol.check
            && self.mapping.places(id).includes(index);
        seems_alone.then_some((id, symbol.count))
    }
}

/// The block that begins where a table of `length` symbols ends.
fn first_block_at(length: u64) -> Block {
    if length == 0 { 0 } else { blocks_for(length) + 1 }
}
