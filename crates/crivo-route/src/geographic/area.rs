//! The area as a whole: devices, filters, and packets in transit.

use std::collections::{BTreeMap, BTreeSet};

use super::packet::{Hop, Packet};
use super::square::Square;
use crate::message::{Message, Whole};
use crate::network::MessageCount;
use crate::numbers::SortedNumbers;
use crate::sized::{SizedFilter, Sizing};
use crivo::{Digest, KeyHasher, ParameterError};
use crivo_core::check::check_range;

/// A device of an [`Area`].
///
/// ```
/// use crivo_route::geographic::Area;
///
/// let mut area = Area::new(4, 0.01, 7)?;
/// let (ana, rui) = (area.enter(0.1, 0.1)?, area.enter(0.1, 0.1)?);
/// assert_ne!(ana, rui);
/// # Ok::<(), crivo::ParameterError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeviceId(usize);

/// Counts of what happened in an [`Area`] so far.
///
/// ```
/// use crivo_route::geographic::Area;
///
/// let mut area = Area::new(4, 0.01, 7)?;
/// let ana = area.enter(0.1, 0.1)?;
/// area.move_to(ana, 0.9, 0.9)?;
/// assert_eq!(area.statistics().moves, 1);
/// # Ok::<(), crivo::ParameterError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct AreaStatistics {
    /// Moves from one smallest square to another. Steps within a square send nothing.
    pub moves: u64,
    /// Messages of squares to their parents and siblings on moves, arrivals and departures.
    pub updates: MessageCount,
    /// Packets, a message for each hop, without their content.
    pub packets: MessageCount,
}

/// A packet from one device to another, and the squares it has visited.
///
/// ```
/// use crivo_route::geographic::Area;
///
/// let mut area = Area::new(4, 0.01, 7)?;
/// let (ana, rui) = (area.enter(0.1, 0.1)?, area.enter(0.9, 0.9)?);
/// let mut flight = area.launch(ana, rui)?;
/// let route = loop {
///     if let Some(route) = area.advance(&mut flight) {
///         break route;
///     }
/// };
/// assert!(route.delivered);
/// # Ok::<(), crivo::ParameterError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Flight {
    packet: Packet,
    to: DeviceId,
    squares: Vec<Square>,
}

/// The path of a packet that has arrived, or whose device does not exist.
///
/// ```
/// use crivo_route::geographic::Area;
///
/// let mut area = Area::new(4, 0.01, 7)?;
/// let (ana, rui) = (area.enter(0.1, 0.1)?, area.enter(0.9, 0.9)?);
/// let route = area.send(ana, rui)?;
/// assert!(route.delivered);
/// assert_eq!(route.squares.last().copied(), area.square_of(rui));
/// # Ok::<(), crivo::ParameterError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Route {
    /// Every square that the packet visited, in order, wrong turns included.
    pub squares: Vec<Square>,
    /// Whether it was delivered to the device.
    pub delivered: bool,
    /// How often it went back from a square without the device.
    pub false_forwards: u64,
    /// How often it had to start again from the root, because the device had moved behind it.
    pub searches: u32,
}

impl Route {
    /// The hops it has taken.
    ///
    /// ```
    /// use crivo_route::geographic::Area;
    ///
    /// let mut area = Area::new(4, 0.01, 7)?;
    /// let (ana, rui) = (area.enter(0.1, 0.1)?, area.enter(0.1, 0.1)?);
    /// assert_eq!(area.send(ana, rui)?.hops(), 0); // both in one square
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    pub fn hops(&self) -> u64 {
        self.squares.len() as u64 - 1
    }

    /// The minimum number of hops from its first square to its last.
    ///
    /// ```
    /// use crivo_route::geographic::Area;
    ///
    /// // Up to a quarter of the area, over to another, and down to a smallest square.
    /// let mut area = Area::new(4, 0.01, 7)?;
    /// let (ana, rui) = (area.enter(0.1, 0.1)?, area.enter(0.9, 0.9)?);
    /// assert_eq!(area.send(ana, rui)?.shortest_hops(), 3 + 1 + 3);
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    pub fn shortest_hops(&self) -> u64 {
        match (self.squares.first(), self.squares.last()) {
            (Some(&first), Some(&last)) => first.distance(last),
            _ => 0,
        }
    }

    /// Hops taken over hops needed, to where the device was found in the end; 1 where none were
    /// needed and none taken.
    ///
    /// ```
    /// use crivo_route::geographic::Area;
    ///
    /// let mut area = Area::new(4, 0.01, 7)?;
    /// let (ana, rui) = (area.enter(0.1, 0.1)?, area.enter(0.9, 0.9)?);
    /// let route = area.send(ana, rui)?;
    /// assert_eq!(route.stretch(), route.hops() as f64 / route.shortest_hops() as f64);
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    pub fn stretch(&self) -> f64 {
        match (self.hops(), self.shortest_hops()) {
            (0, _) => 1.0,
            // The device came to the packet's first square while the packet was away.
            (hops, 0) => hops as f64,
            (hops, shortest) => hops as f64 / shortest as f64,
        }
    }

    /// The centres of its squares, in an area whose sides are from 0 to 1: the line of a picture.
    ///
    /// ```
    /// use crivo_route::geographic::Area;
    ///
    /// // Of four squares: from the north-west to the south-east.
    /// let mut area = Area::new(1, 0.01, 7)?;
    /// let (ana, rui) = (area.enter(0.1, 0.1)?, area.enter(0.9, 0.9)?);
    /// assert_eq!(area.send(ana, rui)?.line(), [(0.25, 0.25), (0.75, 0.75)]);
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    pub fn line(&self) -> Vec<(f64, f64)> {
        self.squares.iter().map(|square| square.rectangle().centre()).collect()
    }
}

/// The state of a square with devices in it.
///
/// Its parent and its three siblings all hold the same filter, because all receive the same messages:
/// it is stored once here, and counted four times.
#[derive(Debug, Clone)]
struct Occupied {
    digests: BTreeSet<u64>,
    filter: SizedFilter,
    sequence: u64,
}

#[derive(Debug, Clone, Copy)]
struct Device {
    digest: Digest,
    /// `None`: it has left.
    square: Option<Square>,
}

/// A square area with devices in it. See [the module](super).
///
/// Messages between squares arrive at once.
///
/// ```
/// use crivo_route::geographic::Area;
///
/// let mut area = Area::new(6, 0.01, 7)?; // 4,096 smallest squares
/// let (ana, rui) = (area.enter(0.1, 0.1)?, area.enter(0.9, 0.9)?);
/// area.move_to(rui, 0.2, 0.9)?;
/// assert!(area.send(ana, rui)?.delivered);
/// # Ok::<(), crivo::ParameterError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Area {
    depth: u8,
    sizing: Sizing,
    hasher: KeyHasher,
    devices: Vec<Device>,
    occupied: BTreeMap<Square, Occupied>,
    statistics: AreaStatistics,
}

/// Devices.
impl Area {
    /// An area that is divided `depth` times, with filters of this false-positive rate.
    ///
    /// ```
    /// use crivo_route::geographic::Area;
    ///
    /// assert!(Area::new(28, 0.01, 7).is_ok());
    /// assert!(Area::new(29, 0.01, 7).is_err());
    /// ```
    ///
    /// # Errors
    /// If the depth is not from 1 to [`Square::MAX_LEVEL`], or the FPR not between 0 and 1.
    pub fn new(depth: u8, fpr: f64, seed: u64) -> Result<Self, ParameterError> {
        check_range("depth", depth.into(), 1..=Square::MAX_LEVEL.into(), "from 1 to 28")?;
        Ok(Self {
            depth,
            sizing: Sizing::new(fpr)?,
            hasher: KeyHasher::xxh3(seed),
            devices: Vec::new(),
            occupied: BTreeMap::new(),
            statistics: AreaStatistics::default(),
        })
    }

    /// The level of the smallest squares.
    ///
    /// ```
    /// assert_eq!(crivo_route::geographic::Area::new(4, 0.01, 7)?.depth(), 4);
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    pub fn depth(&self) -> u8 {
        self.depth
    }

    /// A new device, at a place with coordinates from 0 to 1.
    ///
    /// ```
    /// use crivo_route::geographic::{Area, Square};
    ///
    /// let mut area = Area::new(4, 0.01, 7)?;
    /// let ana = area.enter(0.3, 0.7)?;
    /// assert_eq!(area.square_of(ana), Some(Square::at(4, 0.3, 0.7)));
    /// assert!(area.enter(1.3, 0.7).is_err());
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    ///
    /// # Errors
    /// If the place is not in the area.
    pub fn enter(&mut self, x: f64, y: f64) -> Result<DeviceId, ParameterError> {
        let square = self.square_at(x, y)?;
        let id = self.devices.len();
        let digest = self.hasher.digest(&(id as u64));
        self.devices.push(Device { digest, square: None });
        self.place(id, Some(square));
        Ok(DeviceId(id))
    }

    /// Moves a device. If the new place is in another smallest square, neighbours are notified.
    ///
    /// ```
    /// use crivo_route::geographic::{Area, Square};
    ///
    /// let mut area = Area::new(4, 0.01, 7)?;
    /// let ana = area.enter(0.3, 0.7)?;
    /// area.move_to(ana, 0.9, 0.9)?;
    /// assert_eq!(area.square_of(ana), Some(Square::at(4, 0.9, 0.9)));
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    ///
    /// # Errors
    /// If the place is not in the area, or the device is not of this area. Nothing has changed.
    pub fn move_to(&mut self, device: DeviceId, x: f64, y: f64) -> Result<(), ParameterError> {
        self.device(device)?;
        let square = self.square_at(x, y)?;
        self.place(device.0, Some(square));
        Ok(())
    }

    /// The device leaves the area.
    ///
    /// ```
    /// let mut area = crivo_route::geographic::Area::new(4, 0.01, 7)?;
    /// let ana = area.enter(0.3, 0.7)?;
    /// area.leave(ana)?;
    /// assert_eq!(area.square_of(ana), None);
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    ///
    /// # Errors
    /// If the device is not of this area.
    pub fn leave(&mut self, device: DeviceId) -> Result<(), ParameterError> {
        self.device(device)?;
        self.place(device.0, None);
        Ok(())
    }

    /// The smallest square in which the device is; `None` if it has left, or never was here.
    ///
    /// ```
    /// use crivo_route::geographic::{Area, Square};
    ///
    /// let mut area = Area::new(1, 0.01, 7)?;
    /// let ana = area.enter(0.9, 0.1)?;
    /// assert_eq!(area.square_of(ana), Some(Square::new(1, 1, 0)?));
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    pub fn square_of(&self, device: DeviceId) -> Option<Square> {
        self.devices.get(device.0)?.square
    }

    /// Whether the filter of a square, which its parent and its siblings hold, accepts a device.
    /// `false` is certain.
    ///
    /// ```
    /// use crivo_route::geographic::{Area, Square};
    ///
    /// let mut area = Area::new(4, 0.01, 7)?;
    /// let ana = area.enter(0.1, 0.1)?;
    /// assert!(area.accepts(Square::at(1, 0.1, 0.1), ana));
    /// assert!(!area.accepts(Square::at(1, 0.9, 0.9), ana)); // nobody is there
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    pub fn accepts(&self, square: Square, device: DeviceId) -> bool {
        self.devices.get(device.0).is_some_and(|known| self.filter_accepts(square, known.digest))
    }

    fn filter_accepts(&self, square: Square, digest: Digest) -> bool {
        self.occupied.get(&square).is_some_and(|occupied| occupied.filter.contains(digest))
    }

    /// The false-positive rate of that filter, by its size and the devices in the square.
    ///
    /// ```
    /// use crivo_route::geographic::{Area, Square};
    ///
    /// let mut area = Area::new(4, 0.01, 7)?;
    /// for _ in 0..100 {
    ///     area.enter(0.1, 0.1)?;
    /// }
    /// assert!(area.expected_fpr(Square::at(1, 0.1, 0.1)) <= 0.01);
    /// assert_eq!(area.expected_fpr(Square::at(1, 0.9, 0.9)), 0.0);
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    pub fn expected_fpr(&self, square: Square) -> f64 {
        self.occupied.get(&square).map_or(0.0, |occupied| occupied.filter.expected_fpr())
    }

    /// The number of squares with devices in them, of all levels but the whole area.
    ///
    /// ```
    /// let mut area = crivo_route::geographic::Area::new(4, 0.01, 7)?;
    /// area.enter(0.1, 0.1)?;
    /// assert_eq!(area.occupied_count(), 4); // one of each level
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    pub fn occupied_count(&self) -> u64 {
        self.occupied.len() as u64
    }

    /// The bytes of all filters, at the parents and siblings that hold them.
    ///
    /// ```
    /// let mut area = crivo_route::geographic::Area::new(4, 0.01, 7)?;
    /// assert_eq!(area.filter_bytes(), 0);
    /// area.enter(0.1, 0.1)?;
    /// assert!(area.filter_bytes() > 0);
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    pub fn filter_bytes(&self) -> u64 {
        self.occupied.values().map(|square| 4 * square.filter.size_in_bits()).sum::<u64>() / 8
    }

    /// The counts so far.
    ///
    /// ```
    /// let mut area = crivo_route::geographic::Area::new(4, 0.01, 7)?;
    /// let (ana, rui) = (area.enter(0.1, 0.1)?, area.enter(0.9, 0.9)?);
    /// let route = area.send(ana, rui)?;
    /// assert_eq!(area.statistics().packets.messages, route.hops());
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    pub fn statistics(&self) -> AreaStatistics {
        self.statistics
    }

    /// Resets the counts to 0.
    ///
    /// ```
    /// use crivo_route::geographic::{Area, AreaStatistics};
    ///
    /// let mut area = Area::new(4, 0.01, 7)?;
    /// area.enter(0.1, 0.1)?;
    /// area.reset_statistics();
    /// assert_eq!(area.statistics(), AreaStatistics::default());
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    pub fn reset_statistics(&mut self) {
        self.statistics = AreaStatistics::default();
    }

    fn square_at(&self, x: f64, y: f64) -> Result<Square, ParameterError> {
        for (name, value) in [("x", x), ("y", y)] {
            if !(0.0..=1.0).contains(&value) {
                return Err(ParameterError::of_real(name, value, "from 0 to 1"));
            }
        }
        Ok(Square::at(self.depth, x, y))
    }

    fn device(&self, device: DeviceId) -> Result<Device, ParameterError> {
        let known = self.devices.get(device.0).copied();
        known.ok_or_else(|| ParameterError::new("device", device.0, "one of this area"))
    }

    /// Moves a device into another square, or out of the area, and notifies the squares concerned.
    fn place(&mut self, id: usize, new: Option<Square>) {
        let Device { digest, square: old } = self.devices[id];
        if old == new {
            return;
        }
        self.devices[id].square = new;
        let common = match (old, new) {
            (Some(old), Some(new)) => {
                self.statistics.moves += 1;
                old.common_ancestor(new)
            }
            _ => Square::WHOLE,
        };
        for square in old.into_iter().chain(new).flat_map(|square| square.up_to(common)) {
            self.flip(square, digest);
        }
    }

    /// The device comes into a square in which it was not, or goes from one in which it was.
    fn flip(&mut self, square: Square, digest: Digest) {
        let sizing = self.sizing;
        let occupied = self.occupied.entry(square).or_insert_with(|| {
            let digests = BTreeSet::new();
            let filter = SizedFilter::new(sizing, square.code(), &digests);
            Occupied { digests, filter, sequence: 0 }
        });
        if !occupied.digests.remove(&digest.get()) {
            occupied.digests.insert(digest.get());
        }
        let rebuilt = occupied.filter.update(digest, &occupied.digests);
        occupied.sequence += 1;
        let sequence = occupied.sequence;
        let change =
            Message::Change { sequence, flipped: SortedNumbers::from_sorted([digest.get()]) }
                .to_bytes();
        // The parent has the digests and rebuilds by itself. Siblings have not, unless the square
        // was or is empty but for this device.
        let to_sibling = if rebuilt && occupied.digests.len() > 1 {
            let numbers = SortedNumbers::from_sorted(occupied.digests.iter().copied());
            Message::Whole(Whole { sequence, design: 0, complement: false, numbers }).to_bytes()
        } else {
            change.clone()
        };
        self.statistics.updates.count(&change);
        for _ in 0..3 {
            self.statistics.updates.count(&to_sibling);
        }
        if occupied.digests.is_empty() {
            self.occupied.remove(&square);
        }
    }
}

/// Packets.
impl Area {
    /// Sends a packet from one device to another, while no device moves.
    ///
    /// ```
    /// let mut area = crivo_route::geographic::Area::new(4, 0.01, 7)?;
    /// let (ana, rui) = (area.enter(0.1, 0.1)?, area.enter(0.9, 0.9)?);
    /// assert!(area.send(ana, rui)?.delivered);
    /// area.leave(rui)?;
    /// assert!(!area.send(ana, rui)?.delivered);
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    ///
    /// # Errors
    /// If a device is not of this area, or the sender has left it.
    pub fn send(&mut self, from: DeviceId, to: DeviceId) -> Result<Route, ParameterError> {
        let mut flight = self.launch(from, to)?;
        loop {
            if let Some(route) = self.advance(&mut flight) {
                return Ok(route);
            }
        }
    }

    /// A packet from one device to another, at its first square.
    ///
    /// ```
    /// let mut area = crivo_route::geographic::Area::new(4, 0.01, 7)?;
    /// let (ana, rui) = (area.enter(0.1, 0.1)?, area.enter(0.9, 0.9)?);
    /// let mut flight = area.launch(ana, rui)?;
    /// assert!(area.advance(&mut flight).is_none()); // one hop is not enough
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    ///
    /// # Errors
    /// If a device is not of this area, or the sender has left it.
    pub fn launch(&self, from: DeviceId, to: DeviceId) -> Result<Flight, ParameterError> {
        let origin = self.device(from)?.square;
        let origin =
            origin.ok_or_else(|| ParameterError::new("sender", from.0, "a device in the area"))?;
        let packet = Packet::new(self.device(to)?.digest, origin);
        Ok(Flight { packet, to, squares: vec![origin] })
    }

    /// Lets a packet take one hop. Returns its route once it has ended.
    ///
    /// ```
    /// let mut area = crivo_route::geographic::Area::new(4, 0.01, 7)?;
    /// let (ana, rui) = (area.enter(0.1, 0.1)?, area.enter(0.9, 0.9)?);
    /// let mut flight = area.launch(ana, rui)?;
    /// area.advance(&mut flight);
    /// area.move_to(rui, 0.1, 0.9)?; // while the packet is on its way
    /// let route = loop {
    ///     if let Some(route) = area.advance(&mut flight) {
    ///         break route;
    ///     }
    /// };
    /// assert!(route.delivered);
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    pub fn advance(&mut self, flight: &mut Flight) -> Option<Route> {
        let here = flight.packet.here();
        let square = self.square_of(flight.to);
        let holds = square.is_some_and(|square| here == Square::WHOLE || here == square);
        let digest = flight.packet.device();
        match flight.packet.step(holds, |square| self.filter_accepts(square, digest)) {
            Hop::To(square) => {
                self.statistics.packets.count(&flight.packet.to_bytes());
                flight.squares.push(square);
                None
            }
            end => Some(Route {
                squares: std::mem::take(&mut flight.squares),
                delivered: end == Hop::Deliver,
                false_forwards: flight.packet.false_forwards(),
                searches: flight.packet.searches(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// No filter hides a device, and each square has just its devices.
    fn check(area: &Area) {
        for (index, device) in area.devices.iter().enumerate() {
            let Some(square) = device.square else { continue };
            for square in square.up_to(Square::WHOLE) {
                assert!(area.accepts(square, DeviceId(index)));
            }
        }
        for (square, occupied) in &area.occupied {
            let contains = |place: Square| place.common_ancestor(*square) == *square;
            let inside = area.devices.iter().filter(|device| device.square.is_some_and(contains));
            let digests: BTreeSet<u64> = inside.map(|device| device.digest.get()).collect();
            assert_eq!(digests, occupied.digests);
            assert!(!digests.is_empty());
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 1 } else { 60 }))]

        #[test]
        fn no_packet_is_lost_under_random_moves(
            depth in 1u8..7,
            fpr in prop_oneof![Just(0.01), Just(0.4)],
            places in proptest::collection::vec((0.0..=1.0, 0.0..=1.0), 2..40),
            moves in proptest::collection::vec((any::<usize>(), 0.0..=1.0, 0.0..=1.0), 0..200),
        ) {
            let mut area = Area::new(depth, fpr, 3)?;
            let devices: Vec<DeviceId> =
                places.iter().map(|&(x, y)| area.enter(x, y).unwrap()).collect();
            let pick = |number: usize| devices[number % devices.len()];
            // A packet for every device is on its way all the time, and takes a hop per move.
            let mut flights: Vec<Flight> = Vec::new();
            for &(number, x, y) in &moves {
                area.move_to(pick(number), x, y)?;
                flights.push(area.launch(pick(number / 3), pick(number / 7))?);
                let mut under_way = Vec::new();
                for mut flight in flights {
                    match area.advance(&mut flight) {
                        Some(route) => prop_assert!(route.delivered, "{:?}", route),
                        None => under_way.push(flight),
                    }
                }
                flights = under_way;
            }
            check(&area);
            for mut flight in flights {
                let route = std::iter::from_fn(|| Some(area.advance(&mut flight))).flatten().next();
                prop_assert!(route.is_some_and(|route| route.delivered));
            }
            for (&from, &to) in devices.iter().zip(devices.iter().rev()) {
                let route = area.send(from, to)?;
                prop_assert!(route.delivered && route.searches == 0);
                prop_assert_eq!(route.squares.last().copied(), area.square_of(to));
                prop_assert_eq!(route.hops(), route.shortest_hops() + 2 * route.false_forwards);
            }
        }

        #[test]
        fn a_move_tells_squares_below_the_common_ancestor_only(
            from in (0.0..=1.0, 0.0..=1.0), to in (0.0..=1.0, 0.0..=1.0), depth in 1u8..12,
        ) {
            let mut area = Area::new(depth, 0.01, 1)?;
            let device = area.enter(from.0, from.1)?;
            prop_assert_eq!(area.statistics().updates.messages, 4 * u64::from(depth));
            area.reset_statistics();
            let (old, new) = (Square::at(depth, from.0, from.1), Square::at(depth, to.0, to.1));
            area.move_to(device, to.0, to.1)?;
            let steps = u64::from(depth - old.common_ancestor(new).level());
            prop_assert_eq!(area.statistics().updates.messages, 8 * steps);
            prop_assert_eq!(area.statistics().moves, u64::from(old != new));
            area.leave(device)?;
            prop_assert_eq!(area.occupied_count(), 0);
        }
    }

    #[test]
    fn packets_for_devices_that_left_end_at_the_root() {
        let mut area = Area::new(4, 0.01, 1).unwrap();
        let (ana, rui) = (area.enter(0.1, 0.1).unwrap(), area.enter(0.8, 0.8).unwrap());
        area.leave(rui).unwrap();
        let route = area.send(ana, rui).unwrap();
        assert!(!route.delivered);
        assert_eq!(route.squares.last(), Some(&Square::WHOLE));
        assert!(area.send(rui, ana).is_err(), "who has left sends nothing");
        assert!(area.enter(1.5, 0.0).is_err());
        assert!(area.move_to(DeviceId(9), 0.0, 0.0).is_err());
        assert!(Area::new(0, 0.01, 1).is_err() && Area::new(29, 0.01, 1).is_err());
    }
}
