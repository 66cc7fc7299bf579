//! A message in transit, and its forwarding rule.

use super::square::Square;
use crate::wire::{MessageError, Reader, put_number};
use crivo::Digest;

/// The version of the encoding.
const VERSION: u8 = 1;

/// What to do with a [`Packet`] next.
///
/// ```
/// use crivo::KeyHasher;
/// use crivo_route::geographic::{Hop, Packet, Square};
///
/// // No filter accepts the device: it is sought at the root, and is not there.
/// let mut packet = Packet::new(KeyHasher::default().digest("ana"), Square::at(1, 0.1, 0.1));
/// assert_eq!(packet.step(false, |_| false), Hop::To(Square::WHOLE));
/// assert_eq!(packet.step(false, |_| false), Hop::Unknown);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hop {
    /// The device is here.
    Deliver,
    /// Send the packet to this square, a neighbour.
    To(Square),
    /// The device is not in the area.
    Unknown,
}

/// A message for a device. It carries all of its state: squares remember nothing of it.
///
/// The rule, at the square where the packet is:
///
/// ```text
///   the device is here                             deliver
///   searching below, a child accepts, untried      down
///   searching below, none                          back to where it came from
///   climbing, a sibling accepts, untried           over to it, and search below
///   climbing, none                                 up
///   at the root, the device is not in the area     unknown
///   at the root, a child accepts, untried          down; when all were tried, try all again
/// ```
///
/// A device at rest is found before the root is reached. The root checks its stored digests of all
/// devices, not a filter: the search starts again only for a device that moved into squares that were
/// just searched, and never for one that does not exist.
///
/// ```
/// use crivo::KeyHasher;
/// use crivo_route::geographic::{Hop, Packet, Square};
///
/// let (origin, target) = (Square::at(2, 0.1, 0.1), Square::at(2, 0.4, 0.1));
/// let mut packet = Packet::new(KeyHasher::default().digest("ana"), origin);
/// // Filters without mistakes: just the squares that contain the target accept.
/// let accepts = |square: Square| square.common_ancestor(target) == square;
/// assert_eq!(packet.step(false, accepts), Hop::To(target)); // a sibling
/// assert_eq!(packet.step(true, accepts), Hop::Deliver);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packet {
    device: Digest,
    /// The level of the smallest squares.
    depth: u8,
    /// How far it has climbed.
    top: Square,
    /// Which of the siblings of `top`, or at the root of its children, were tried: a bit for each
    /// quarter.
    tried: u8,
    /// Where it searches, from a neighbour of `top` down to where it is: which quarter, and which
    /// of that square's quarters were tried.
    below: Vec<(u8, u8)>,
    searches: u32,
    hops: u64,
    false_forwards: u64,
}

impl Packet {
    /// A packet for the device with this digest, from a smallest square.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo_route::geographic::{Packet, Square};
    ///
    /// let origin = Square::at(4, 0.1, 0.1);
    /// let packet = Packet::new(KeyHasher::default().digest("ana"), origin);
    /// assert_eq!((packet.here(), packet.hops()), (origin, 0));
    /// ```
    pub fn new(device: Digest, origin: Square) -> Self {
        Self {
            device,
            depth: origin.level(),
            top: origin,
            tried: 0,
            below: Vec::new(),
            searches: 0,
            hops: 0,
            false_forwards: 0,
        }
    }

    /// The digest of the device.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo_route::geographic::{Packet, Square};
    ///
    /// let ana = KeyHasher::default().digest("ana");
    /// assert_eq!(Packet::new(ana, Square::at(4, 0.1, 0.1)).device(), ana);
    /// ```
    pub fn device(&self) -> Digest {
        self.device
    }

    /// The square where it is.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo_route::geographic::{Packet, Square};
    ///
    /// let origin = Square::at(4, 0.1, 0.1);
    /// let mut packet = Packet::new(KeyHasher::default().digest("ana"), origin);
    /// packet.step(false, |_| false); // up
    /// assert_eq!(Some(packet.here()), origin.parent());
    /// ```
    pub fn here(&self) -> Square {
        let enter = |square: Option<Square>, &(quarter, _): &(u8, u8)| {
            let family = square.map_or_else(|| self.first_family(), Square::children);
            Some(family[usize::from(quarter)])
        };
        self.below.iter().fold(None, enter).unwrap_or(self.top)
    }

    /// The hops it has taken.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo_route::geographic::{Packet, Square};
    ///
    /// let mut packet = Packet::new(KeyHasher::default().digest("ana"), Square::at(4, 0.1, 0.1));
    /// packet.step(false, |_| false);
    /// assert_eq!(packet.hops(), 1);
    /// ```
    pub fn hops(&self) -> u64 {
        self.hops
    }

    /// How often it went back from a square without the device.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo_route::geographic::{Packet, Square};
    ///
    /// // A sibling accepts by mistake.
    /// let mut packet = Packet::new(KeyHasher::default().digest("ana"), Square::at(1, 0.1, 0.1));
    /// packet.step(false, |square| square == Square::at(1, 0.9, 0.1));
    /// packet.step(false, |_| false); // and back
    /// assert_eq!(packet.false_forwards(), 1);
    /// ```
    pub fn false_forwards(&self) -> u64 {
        self.false_forwards
    }

    /// How often it started to search from the root.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo_route::geographic::{Packet, Square};
    ///
    /// let packet = Packet::new(KeyHasher::default().digest("ana"), Square::at(1, 0.1, 0.1));
    /// assert_eq!(packet.searches(), 0);
    /// ```
    pub fn searches(&self) -> u32 {
        self.searches
    }

    /// The four squares among which a search below `top` begins: its siblings, or the children of
    /// the root.
    fn first_family(&self) -> [Square; 4] {
        self.top.parent().unwrap_or(Square::WHOLE).children()
    }

    /// One step, decided by the square where the packet is.
    ///
    /// `holds`: the device is in this square. It must be exact, and is only used in a smallest
    /// square and at the root; elsewhere it may be `false`. `accepts`: whether the square's filter of
    /// a child or sibling accepts the device.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo_route::geographic::{Hop, Packet, Square};
    ///
    /// let origin = Square::at(2, 0.1, 0.1);
    /// let mut packet = Packet::new(KeyHasher::default().digest("ana"), origin);
    /// assert_eq!(packet.step(false, |_| false), Hop::To(Square::at(1, 0.1, 0.1)));
    /// let sibling = Square::at(1, 0.9, 0.1);
    /// assert_eq!(packet.step(false, |square| square == sibling), Hop::To(sibling));
    /// ```
    pub fn step(&mut self, holds: bool, accepts: impl Fn(Square) -> bool) -> Hop {
        let here = self.here();
        if here.level() == self.depth && holds {
            return Hop::Deliver;
        }
        if here == Square::WHOLE && !holds {
            return Hop::Unknown;
        }
        let hop = match self.below.last().copied() {
            Some((_, tried)) if here.level() < self.depth => {
                self.next(here.children(), tried, accepts)
            }
            Some(_) => None,
            None => self.first_hop(here, accepts),
        };
        match (hop, self.below.is_empty()) {
            (Some(to), _) => self.hop_to(to),
            (None, false) => {
                self.below.pop();
                self.false_forwards = self.false_forwards.saturating_add(1);
                self.hop_to(self.here())
            }
            (None, true) => match self.top.parent() {
                Some(parent) => {
                    (self.top, self.tried) = (parent, 0);
                    self.hop_to(parent)
                }
                None => Hop::Unknown,
            },
        }
    }

    /// The way down or over from the top of the climb.
    fn first_hop(&mut self, here: Square, accepts: impl Fn(Square) -> bool) -> Option<Square> {
        if here != Square::WHOLE {
            let own = here.parent()?.children().iter().position(|&square| square == here)?;
            return self.next(self.first_family(), self.tried | 1 << own, accepts);
        }
        if self.tried != 0
            && let Some(child) = self.next(self.first_family(), self.tried, &accepts)
        {
            return Some(child);
        }
        // All four have been asked on the way up, or searched from here: once more.
        self.searches = self.searches.saturating_add(1);
        self.tried = 0;
        self.next(self.first_family(), 0, accepts)
    }

    /// Enters the first square of a family that was not tried and that accepts.
    fn next(
        &mut self,
        family: [Square; 4],
        tried: u8,
        accepts: impl Fn(Square) -> bool,
    ) -> Option<Square> {
        let quarter = (0..4u8)
            .find(|&quarter| tried >> quarter & 1 == 0 && accepts(family[usize::from(quarter)]))?;
        match self.below.last_mut() {
            Some((_, tried)) => *tried |= 1 << quarter,
            None => self.tried |= 1 << quarter,
        }
        self.below.push((quarter, 0));
        Some(family[usize::from(quarter)])
    }

    fn hop_to(&mut self, to: Square) -> Hop {
        self.hops = self.hops.saturating_add(1);
        Hop::To(to)
    }
}

/// Reading and writing.
impl Packet {
    /// The packet in bytes, without its content.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo_route::geographic::{Packet, Square};
    ///
    /// let packet = Packet::new(KeyHasher::default().digest("ana"), Square::at(10, 0.1, 0.1));
    /// assert!(packet.to_bytes().len() < 32);
    /// ```
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![VERSION];
        bytes.extend(self.device.get().to_le_bytes());
        bytes.extend([self.depth, self.top.level()]);
        put_number(&mut bytes, self.top.column().into());
        put_number(&mut bytes, self.top.row().into());
        bytes.push(self.tried);
        put_number(&mut bytes, self.searches.into());
        put_number(&mut bytes, self.hops);
        put_number(&mut bytes, self.false_forwards);
        put_number(&mut bytes, self.below.len() as u64);
        bytes.extend(self.below.iter().map(|(quarter, tried)| quarter << 4 | tried));
        bytes
    }

    /// Decodes a packet.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo_route::geographic::{Packet, Square};
    ///
    /// let packet = Packet::new(KeyHasher::default().digest("ana"), Square::at(10, 0.1, 0.1));
    /// let bytes = packet.to_bytes();
    /// assert_eq!(Packet::from_bytes(&bytes)?, packet);
    /// assert!(Packet::from_bytes(&bytes[1..]).is_err());
    /// # Ok::<(), crivo_route::MessageError>(())
    /// ```
    ///
    /// # Errors
    /// If the bytes are not a packet: cut short, too long, of another version, or contradictory.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, MessageError> {
        let mut reader = Reader::new(bytes);
        let version = reader.byte()?;
        if version != VERSION {
            return Err(MessageError::UnknownVersion(version));
        }
        let device = Digest::new(reader.fixed()?);
        let (depth, level) = (reader.byte()?, reader.byte()?);
        let mut number = || {
            u32::try_from(reader.number()?)
                .map_err(|_| MessageError::Inconsistent("a number is too large"))
        };
        let top = Square::new(level, number()?, number()?)
            .map_err(|_| MessageError::Inconsistent("there is no such square"))?;
        let tried = reader.byte()?;
        let searches = u32::try_from(reader.number()?)
            .map_err(|_| MessageError::Inconsistent("a number is too large"))?;
        let (hops, false_forwards) = (reader.number()?, reader.number()?);
        let count = reader.count(8)?;
        let below: Vec<(u8, u8)> = (0..count)
            .map(|_| reader.byte().map(|byte| (byte >> 4, byte & 0xf)))
            .collect::<Result<_, _>>()?;
        reader.end()?;
        let first_level = usize::from(level.max(1));
        let deepest = if below.is_empty() { usize::from(level) } else { first_level + count - 1 };
        if depth > Square::MAX_LEVEL || deepest > usize::from(depth) {
            return Err(MessageError::Inconsistent("the packet is below the smallest squares"));
        }
        if tried > 0xf || below.iter().any(|&(quarter, _)| quarter > 3) {
            return Err(MessageError::Inconsistent("a square has four quarters"));
        }
        Ok(Self { device, depth, top, tried, below, searches, hops, false_forwards })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Follows a packet to its end, through bytes at every hop.
    fn follow(
        origin: Square,
        holds: impl Fn(Square) -> bool,
        accepts: impl Fn(Square) -> bool,
    ) -> (Packet, Hop) {
        let mut packet = Packet::new(Digest::new(7), origin);
        loop {
            let here = packet.here();
            let hop = packet.step(holds(here), |square| {
                let related = square.parent() == Some(here)
                    || here.siblings().any(|sibling| sibling == square);
                assert!(related, "{square:?} asked about at {here:?}");
                accepts(square)
            });
            match hop {
                Hop::To(to) => assert_eq!((to, to.distance(here)), (packet.here(), 1)),
                end => return (packet, end),
            }
            packet = Packet::from_bytes(&packet.to_bytes()).unwrap();
        }
    }

    fn place() -> impl Strategy<Value = (f64, f64)> {
        (0.0..1.0, 0.0..1.0)
    }

    proptest! {
        #[test]
        fn a_device_at_rest_is_found_whatever_the_mistakes(
            depth in 1u8..5, origin in place(), target in place(), seed: u64, often: bool,
        ) {
            let (origin, target) =
                (Square::at(depth, origin.0, origin.1), Square::at(depth, target.0, target.1));
            let mistaken = |square: Square| {
                let bits = Digest::new(square.code() ^ seed).remix().get();
                if often { !bits.is_multiple_of(3) } else { bits.is_multiple_of(20) }
            };
            let contains = |square: Square| square.common_ancestor(target) == square;
            let accepts = |square: Square| contains(square) || mistaken(square);
            let (packet, end) = follow(origin, contains, accepts);
            prop_assert_eq!(end, Hop::Deliver);
            prop_assert_eq!(packet.here(), target);
            prop_assert_eq!(packet.searches(), 0);
            prop_assert_eq!(packet.hops(), origin.distance(target) + 2 * packet.false_forwards());
        }

        #[test]
        fn a_device_that_is_nowhere_is_unknown(
            depth in 1u8..4, origin in place(), seed: u64,
        ) {
            let origin = Square::at(depth, origin.0, origin.1);
            let mistaken = |square: Square| {
                Digest::new(square.code() ^ seed).remix().get().is_multiple_of(4)
            };
            let (packet, end) = follow(origin, |_| false, mistaken);
            prop_assert_eq!(end, Hop::Unknown);
            prop_assert_eq!((packet.here(), packet.searches()), (Square::WHOLE, 0));
        }

        #[test]
        fn hostile_bytes_are_an_error_or_a_packet_that_can_go_on(bytes: Vec<u8>) {
            let bytes = [&[VERSION][..], &bytes].concat();
            if let Ok(mut packet) = Packet::from_bytes(&bytes) {
                prop_assert_eq!(packet.to_bytes(), bytes);
                packet.step(false, |_| true);
            }
        }
    }

    #[test]
    fn packets_that_contradict_themselves_are_refused() {
        let origin = Square::at(4, 0.2, 0.3);
        let mut packet = Packet::new(Digest::new(1), origin);
        packet.step(false, |_| true);
        let bytes = packet.to_bytes();
        assert_eq!(Packet::from_bytes(&bytes), Ok(packet));
        for cut in 0..bytes.len() {
            assert_eq!(Packet::from_bytes(&bytes[..cut]), Err(MessageError::Truncated));
        }
        let mut deeper = bytes.clone();
        deeper[9] = 3; // the smallest squares are larger than the one where it is
        assert!(matches!(Packet::from_bytes(&deeper), Err(MessageError::Inconsistent(_))));
        let mut fifth = bytes.clone();
        *fifth.last_mut().unwrap() = 0x40;
        assert!(matches!(Packet::from_bytes(&fifth), Err(MessageError::Inconsistent(_))));
        assert_eq!(Packet::from_bytes(&[9]), Err(MessageError::UnknownVersion(9)));
    }
}
