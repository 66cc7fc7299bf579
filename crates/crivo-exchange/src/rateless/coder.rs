//! The two sides: the encoder makes symbols of its set, the decoder takes them apart.

use std::ops::Range;

use super::estimate::{DifferenceEstimate, estimate_difference};
use super::symbol::{CodedSymbol, Table};
use crate::{ExchangeError, Id, IdSet};

/// Makes coded symbols of a set, as many as requested.
///
/// Beside the set it holds 32 bytes for each symbol made so far, whose number is rounded up to a
/// power of two. To make m symbols of n ids takes about n · 2·ln m steps of some nanoseconds.
///
/// ```
/// use crivo_exchange::rateless::{Decoder, DecoderStatus, Encoder};
/// use crivo_exchange::{ExchangeKey, IdSet};
///
/// let key = ExchangeKey::new([7; 16]);
/// let mut encoder = Encoder::new(IdSet::of_items(key, ["ana", "rui", "eva"]), 0);
/// let mut decoder = Decoder::new(IdSet::of_items(key, ["ana", "rui", "ivo"]), 0);
/// let mut sent = 0;
/// while decoder.receive(encoder.symbols(sent..sent + 1))? == DecoderStatus::More {
///     sent += 1;
/// }
/// let difference = decoder.difference().expect("it is decoded");
/// assert_eq!(difference.only_here, [key.id(b"ivo")]);
/// assert_eq!(difference.only_there, [key.id(b"eva")]);
/// # Ok::<(), crivo_exchange::ExchangeError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Encoder {
    set: IdSet,
    table: Table,
}

impl Encoder {
    /// An encoder of this set. The two sides must name the same `round`: another round of the same
    /// exchange has other symbols.
    ///
    /// ```
    /// use crivo_exchange::rateless::Encoder;
    /// use crivo_exchange::{ExchangeKey, IdSet};
    ///
    /// let set = IdSet::of_items(ExchangeKey::new([7; 16]), ["ana", "rui"]);
    /// let (mut first, mut second) = (Encoder::new(set.clone(), 0), Encoder::new(set, 1));
    /// assert_eq!(first.symbols(0..1)[0].sum, second.symbols(0..1)[0].sum); // all ids
    /// assert_ne!(first.symbols(0..8), second.symbols(0..8));
    /// ```
    pub fn new(set: IdSet, round: u64) -> Self {
        Self { table: Table::new(set.key(), round), set }
    }

    /// The coded symbols with these numbers; they are made if they are not there yet.
    ///
    /// ```
    /// use crivo_exchange::rateless::Encoder;
    /// use crivo_exchange::{ExchangeKey, IdSet};
    ///
    /// let set = IdSet::of_items(ExchangeKey::new([7; 16]), ["ana", "rui", "eva"]);
    /// assert_eq!(Encoder::new(set, 0).symbols(0..1)[0].count, 3); // the first takes in every id
    /// ```
    ///
    /// # Panics
    /// If the range goes backwards, or there is no memory for that many.
    pub fn symbols(&mut self, range: Range<u64>) -> &[CodedSymbol] {
        self.table.grow(range.end, self.set.ids().iter().map(|&id| (id, 1)));
        &self.table.symbols()[range.start as usize..range.end as usize]
    }

    /// The set.
    ///
    /// ```
    /// use crivo_exchange::rateless::Encoder;
    /// use crivo_exchange::{ExchangeKey, IdSet};
    ///
    /// let set = IdSet::of_items(ExchangeKey::new([7; 16]), ["ana", "rui"]);
    /// assert_eq!(Encoder::new(set.clone(), 0).set(), &set);
    /// ```
    pub fn set(&self) -> &IdSet {
        &self.set
    }

    /// Returns the set.
    ///
    /// ```
    /// use crivo_exchange::rateless::Encoder;
    /// use crivo_exchange::{ExchangeKey, IdSet};
    ///
    /// let set = IdSet::of_items(ExchangeKey::new([7; 16]), ["ana", "rui"]);
    /// assert_eq!(Encoder::new(set.clone(), 0).into_set(), set);
    /// ```
    pub fn into_set(self) -> IdSet {
        self.set
    }
}

/// Whether a decoder needs more symbols.
///
/// ```
/// use crivo_exchange::rateless::{Decoder, DecoderStatus, Encoder};
/// use crivo_exchange::{ExchangeKey, IdSet};
///
/// // Equal sets: one symbol is enough.
/// let set = IdSet::of_items(ExchangeKey::new([7; 16]), ["ana", "rui"]);
/// let (mut encoder, mut decoder) = (Encoder::new(set.clone(), 0), Decoder::new(set, 0));
/// assert_eq!(decoder.receive(encoder.symbols(0..1))?, DecoderStatus::Decoded);
/// # Ok::<(), crivo_exchange::ExchangeError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecoderStatus {
    /// It needs more symbols.
    More,
    /// It knows the whole difference.
    Decoded,
}

/// The difference of two sets, in no particular order.
///
/// ```
/// use crivo_exchange::rateless::{Decoder, Encoder};
/// use crivo_exchange::{ExchangeKey, IdSet};
///
/// let key = ExchangeKey::new([7; 16]);
/// let mut encoder = Encoder::new(IdSet::of_items(key, ["ana", "eva"]), 0);
/// let mut decoder = Decoder::new(IdSet::of_items(key, ["ana"]), 0);
/// decoder.receive(encoder.symbols(0..16))?;
/// let difference = decoder.difference().expect("one id takes one symbol");
/// assert!(difference.only_here.is_empty());
/// assert_eq!(difference.only_there, [key.id(b"eva")]);
/// # Ok::<(), crivo_exchange::ExchangeError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Difference {
    /// Ids in the decoder's set and not in the encoder's.
    pub only_here: Vec<Id>,
    /// Ids in the encoder's set and not in the decoder's.
    pub only_there: Vec<Id>,
}

impl Difference {
    /// The number of ids on both sides together.
    ///
    /// ```
    /// use crivo_exchange::ExchangeKey;
    /// use crivo_exchange::rateless::Difference;
    ///
    /// let key = ExchangeKey::new([7; 16]);
    /// let (only_here, only_there) = (vec![key.id(b"ana")], vec![key.id(b"rui"), key.id(b"eva")]);
    /// assert_eq!(Difference { only_here, only_there }.size(), 3);
    /// ```
    pub fn size(&self) -> u64 {
        (self.only_here.len() + self.only_there.len()) as u64
    }
}

/// Decodes the difference between its own set and the peer's from coded symbols of the latter.
///
/// Memory and time are those of an [`Encoder`] of its own set, and little more.
///
/// ```
/// use crivo_exchange::rateless::{Decoder, Encoder};
/// use crivo_exchange::{ExchangeKey, IdSet};
///
/// let key = ExchangeKey::new([7; 16]);
/// let set = |items: std::ops::Range<u32>| IdSet::of_items(key, items.map(u32::to_le_bytes));
/// let (mut encoder, mut decoder) =
///     (Encoder::new(set(0..1_000), 0), Decoder::new(set(5..1_005), 0));
/// decoder.receive(encoder.symbols(0..64))?;
/// assert_eq!(decoder.difference().map(|difference| difference.size()), Some(10));
/// # Ok::<(), crivo_exchange::ExchangeError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Decoder {
    set: IdSet,
    /// What has been received less what is here, and less what was found.
    table: Table,
    received: usize,
    /// How many of the symbols received have something left in them. To look at all of them after
    /// each message would take time that grows with the square of what a peer sends.
    filled: usize,
    found: Difference,
}

impl Decoder {
    /// A decoder whose own set is this one; see [`Encoder::new`] for the round.
    ///
    /// ```
    /// use crivo_exchange::rateless::Decoder;
    /// use crivo_exchange::{ExchangeKey, IdSet};
    ///
    /// let set = IdSet::of_items(ExchangeKey::new([7; 16]), ["ana"]);
    /// assert_eq!(Decoder::new(set, 0).received(), 0);
    /// ```
    pub fn new(set: IdSet, round: u64) -> Self {
        let table = Table::new(set.key(), round);
        Self { set, table, received: 0, filled: 0, found: Difference::default() }
    }

    /// Processes the next symbols of the peer, from the number [`received`](Self::received) on.
    ///
    /// ```
    /// use crivo_exchange::rateless::{Decoder, DecoderStatus, Encoder};
    /// use crivo_exchange::{ExchangeKey, IdSet};
    ///
    /// let key = ExchangeKey::new([7; 16]);
    /// let mut encoder = Encoder::new(IdSet::of_items(key, ["ana", "eva"]), 0);
    /// let mut decoder = Decoder::new(IdSet::of_items(key, ["ana"]), 0);
    /// assert_eq!(decoder.receive(encoder.symbols(0..1))?, DecoderStatus::Decoded);
    /// # Ok::<(), crivo_exchange::ExchangeError>(())
    /// ```
    ///
    /// # Errors
    /// If the symbols cannot be those of any set: there are more ids in them than symbols. The decoder
    /// must then be discarded. Most damaged or forged symbols are not an error; they are just never
    /// decoded.
    pub fn receive(&mut self, symbols: &[CodedSymbol]) -> Result<DecoderStatus, ExchangeError> {
        let end = self.received + symbols.len();
        let Self { set, table, found, .. } = self;
        let here = set.ids().iter().map(|&id| (id, -1));
        let only_here = found.only_here.iter().map(|&id| (id, 1));
        let only_there = found.only_there.iter().map(|&id| (id, -1));
        table.grow(end as u64, here.chain(only_here).chain(only_there));
        for (index, symbol) in (self.received..).zip(symbols) {
            table.symbol_mut(index).add_symbol(symbol);
            self.filled += usize::from(!table.symbols()[index].is_empty());
        }
        let mut candidates: Vec<usize> = (self.received..end).collect();
        self.received = end;
        self.peel(&mut candidates)?;
        Ok(if self.difference().is_some() { DecoderStatus::Decoded } else { DecoderStatus::More })
    }

    /// Removes ids that are alone in a symbol, until there are none.
    fn peel(&mut self, candidates: &mut Vec<usize>) -> Result<(), ExchangeError> {
        while let Some(index) = candidates.pop() {
            let Some((id, count)) = self.table.only_id(index) else { continue };
            // Each id that is found empties a symbol for good.
            if self.found.size() >= self.received as u64 {
                return Err(ExchangeError::Inconsistent("there are more ids than symbols"));
            }
            match (count > 0, self.set.contains(id)) {
                (true, false) => self.found.only_there.push(id),
                (false, true) => self.found.only_here.push(id),
                // Several ids that look like one: it cannot be there.
                _ => continue,
            }
            let (received, filled) = (self.received, &mut self.filled);
            self.table.add(id, -count, |index, was_empty, is_empty| {
                if index < received {
                    *filled = *filled + usize::from(!is_empty) - usize::from(!was_empty);
                    candidates.push(index);
                }
            });
        }
        Ok(())
    }

    /// The number of symbols received.
    ///
    /// ```
    /// use crivo_exchange::rateless::{Decoder, Encoder};
    /// use crivo_exchange::{ExchangeKey, IdSet};
    ///
    /// let set = IdSet::of_items(ExchangeKey::new([7; 16]), ["ana"]);
    /// let (mut encoder, mut decoder) = (Encoder::new(set.clone(), 0), Decoder::new(set, 0));
    /// decoder.receive(encoder.symbols(0..16))?;
    /// assert_eq!(decoder.received(), 16);
    /// # Ok::<(), crivo_exchange::ExchangeError>(())
    /// ```
    pub fn received(&self) -> u64 {
        self.received as u64
    }

    /// The difference, if it is known: nothing is left in any symbol.
    ///
    /// ```
    /// use crivo_exchange::rateless::{Decoder, Encoder};
    /// use crivo_exchange::{ExchangeKey, IdSet};
    ///
    /// let key = ExchangeKey::new([7; 16]);
    /// let mut encoder = Encoder::new(IdSet::of_items(key, ["ana", "eva", "rui"]), 0);
    /// let mut decoder = Decoder::new(IdSet::of_items(key, ["ana"]), 0);
    /// assert_eq!(decoder.difference(), None);
    /// decoder.receive(encoder.symbols(0..16))?;
    /// assert_eq!(decoder.difference().map(|difference| difference.size()), Some(2));
    /// # Ok::<(), crivo_exchange::ExchangeError>(())
    /// ```
    pub fn difference(&self) -> Option<&Difference> {
        (self.received > 0 && self.filled == 0).then_some(&self.found)
    }

    /// The estimated size of the difference, from the counts of the symbols received; `None` before
    /// there are two. It comes with the symbols, and costs no bytes of its own.
    ///
    /// ```
    /// use crivo_exchange::rateless::{Decoder, Encoder};
    /// use crivo_exchange::{ExchangeKey, IdSet};
    ///
    /// let key = ExchangeKey::new([7; 16]);
    /// let set = |items: std::ops::Range<u32>| IdSet::of_items(key, items.map(u32::to_le_bytes));
    /// let (mut encoder, mut decoder) =
    ///     (Encoder::new(set(0..2_000), 0), Decoder::new(set(500..2_500), 0));
    /// decoder.receive(encoder.symbols(0..256))?; // too few to find 1,000 ids
    /// let estimate = decoder.estimate().expect("there are symbols");
    /// assert!((estimate.size - 1_000.0).abs() < 4.0 * estimate.standard_error);
    /// # Ok::<(), crivo_exchange::ExchangeError>(())
    /// ```
    pub fn estimate(&self) -> Option<DifferenceEstimate> {
        let counts = self.table.symbols()[..self.received].iter().map(|symbol| symbol.count);
        let rest = estimate_difference(counts)?;
        Some(DifferenceEstimate { size: rest.size + self.found.size() as f64, ..rest })
    }

    /// The decoder's own set.
    ///
    /// ```
    /// use crivo_exchange::rateless::Decoder;
    /// use crivo_exchange::{ExchangeKey, IdSet};
    ///
    /// let set = IdSet::of_items(ExchangeKey::new([7; 16]), ["ana"]);
    /// assert_eq!(Decoder::new(set.clone(), 0).set(), &set);
    /// ```
    pub fn set(&self) -> &IdSet {
        &self.set
    }

    /// Returns the decoder's own set, and the difference found so far.
    ///
    /// ```
    /// use crivo_exchange::rateless::{Decoder, Encoder};
    /// use crivo_exchange::{ExchangeKey, IdSet};
    ///
    /// let key = ExchangeKey::new([7; 16]);
    /// let mut encoder = Encoder::new(IdSet::of_items(key, ["ana", "eva"]), 0);
    /// let mut decoder = Decoder::new(IdSet::of_items(key, ["ana"]), 0);
    /// decoder.receive(encoder.symbols(0..16))?;
    /// let (set, difference) = decoder.into_parts();
    /// assert_eq!((set.item_count(), difference.size()), (1, 1));
    /// # Ok::<(), crivo_exchange::ExchangeError>(())
    /// ```
    pub fn into_parts(self) -> (IdSet, Difference) {
        (self.set, self.found)
    }
}
