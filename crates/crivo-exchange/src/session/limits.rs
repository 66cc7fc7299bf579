//! What one session may cost. Both sides compute the limits from the same summary, so that an honest
//! initiator stays below what the responder allows.
//!
//! ```text
//!   E = bytes of all items + 10 per item           what sending a whole set takes at most
//!
//!   filters       one of each side                 5 bytes an id and a header: below E/2 + 1 KiB
//!   symbols       min(E/20, 4 per item) + 512      at most 37 bytes each: below 2·E + 20 KiB
//!   items         each once                        at most E
//! ```
//!
//! Together that is below 4·E + 32 KiB, whatever the peer requests and in whatever order. An initiator
//! also answers to what it receives: it names 8 bytes of each id that it found in symbols, and numbers
//! new items. That is less than it received.

use crate::ExchangeError;
use crate::rateless::codec::FIXED_BYTES;
use crate::wire::check_limit;

/// The number of bytes before an item, at most: its length.
const LENGTH_BYTES: u64 = 10;
/// 1.35 symbols for each differing item, of which there are two for each item if sets of the same
/// size have nothing in common. If the initiator's set is much larger, filters are far cheaper.
const SYMBOLS_PER_ITEM: u64 = 4;
/// Symbols that a session may send however small its set is.
const SPARE: u64 = 512;

/// The number of symbols that a session may still send, or ask for. It is never filled up again:
/// filters change which symbols come next, and not how many.
#[derive(Debug, Clone, Copy)]
pub(super) struct SymbolBudget {
    limit: u64,
    left: u64,
}

impl SymbolBudget {
    /// The budget for the symbols of a set with this number of items, of this length together.
    pub(super) fn new(item_count: u64, item_bytes: u64) -> Self {
        // An honest peer stops when symbols have cost as much as all items.
        let everything = item_bytes.saturating_add(item_count.saturating_mul(LENGTH_BYTES));
        let as_items = everything / FIXED_BYTES as u64;
        let as_ids = item_count.saturating_mul(SYMBOLS_PER_ITEM);
        let limit = as_items.min(as_ids) + SPARE;
        Self { limit, left: limit }
    }

    /// The number of symbols that are left.
    pub(super) fn left(&self) -> u64 {
        self.left
    }

    /// Takes symbols out of the budget.
    ///
    /// # Errors
    /// If there are not as many left.
    pub(super) fn spend(&mut self, symbols: u64) -> Result<(), ExchangeError> {
        let spent = (self.limit - self.left).saturating_add(symbols);
        check_limit("number of wanted symbols", spent, self.limit)?;
        self.left -= symbols;
        Ok(())
    }
}
