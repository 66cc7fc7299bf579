//! Coded symbols in messages.
//!
//! ```text
//!   sum: 16 bytes     checksum: 4 bytes     surplus
//! ```
//!
//! Of n ids symbol i has about 2n/(i+2). The surplus is what its count has beyond that, rounded
//! down, as a zigzag number: one byte up to ±63, two up to ±8,191.

use super::CodedSymbol;
use super::mapping::density;
use crate::ExchangeError;
use crate::wire::{Reader, put_signed};

/// The bytes of a symbol's sum and checksum.
pub(crate) const FIXED_BYTES: usize = 16 + 4;

/// Appends a symbol whose count is a surplus.
pub(crate) fn put_symbol(bytes: &mut Vec<u8>, symbol: &CodedSymbol) {
    bytes.extend(symbol.sum.to_le_bytes());
    bytes.extend(symbol.check.to_le_bytes());
    put_signed(bytes, symbol.count);
}

/// Reads a symbol whose count is a surplus.
pub(crate) fn read_symbol(reader: &mut Reader<'_>) -> Result<CodedSymbol, ExchangeError> {
    Ok(CodedSymbol {
        sum: u128::from_le_bytes(reader.array()?),
        check: u32::from_le_bytes(reader.array()?),
        count: reader.signed()?,
    })
}

/// The symbols from number `start` on, with the surplus over what `item_count` ids leave as counts.
pub(crate) fn with_surplus(
    symbols: &[CodedSymbol],
    start: u64,
    item_count: u64,
) -> Vec<CodedSymbol> {
    shifted(symbols, start, |index| expected_count(item_count, index).wrapping_neg())
}

/// The reverse of [`with_surplus`].
pub(crate) fn with_count(symbols: &[CodedSymbol], start: u64, item_count: u64) -> Vec<CodedSymbol> {
    shifted(symbols, start, |index| expected_count(item_count, index))
}

fn shifted(symbols: &[CodedSymbol], start: u64, by: impl Fn(u64) -> i64) -> Vec<CodedSymbol> {
    let shift = |(index, symbol): (u64, &CodedSymbol)| CodedSymbol {
        // Hostile counts may be anything.
        count: symbol.count.wrapping_add(by(index)),
        ..*symbol
    };
    (start..).zip(symbols).map(shift).collect()
}

/// How many of `count` ids symbol `index` is expected to have, rounded down.
fn expected_count(count: u64, index: u64) -> i64 {
    (2 * u128::from(count) / (u128::from(index) + 2)) as i64
}

/// The bytes that the first symbols of a set take, about.
pub(crate) fn symbols_bytes(item_count: f64, symbols: f64) -> f64 {
    let p = density((symbols / 2.0) as u64);
    let deviation = (item_count * p * (1.0 - p)).sqrt().max(1e-9);
    let beyond = |limit: f64| (-limit / deviation).exp();
    symbols * (FIXED_BYTES as f64 + 1.0 + beyond(64.0) + beyond(8192.0))
}
