//! Messages that find moving devices, in a square area that is divided in four again and again.
//!
//! The area is one square; it has four quarters, each of those has four, and so on, down to squares
//! so small that a device in them can be addressed directly. The squares are a tree with four
//! children a node. Devices wander about; a message is for a device, wherever it is now.
//!
//! ```text
//!   ┌───────────────┬───────┬───────┐       o  sends to  d:
//!   │               │       │       │
//!   │               │       │       │       smallest square of o    d not here; siblings? no   up
//!   │               ├───────┼───┬───┤       its parent              siblings? no               up
//!   │               │       │ d │   │       quarter lower left      upper right? yes         over
//!   │               │       ├───┼───┤       quarter upper right     lower right? yes         down
//!   ├───┬───┬───────┼───────┴───┴───┤       its lower right         upper left? yes          down
//!   │ o │   │       │               │       there it is: 5 hops
//!   ├───┼───┤       │               │
//!   │   │   │       │               │
//!   ├───┴───┼───────┤               │
//!   │       │       │               │
//!   └───────┴───────┴───────────────┘
//! ```
//!
//! Each square keeps filters of the devices within its four **children** and within its three
//! **siblings**. A message goes down where a child's filter accepts; on its way up it asks the
//! siblings' filters, and goes over to the one that accepts. The step over saves a hop: from a
//! smallest square to one that shares only the ancestor at level c, in an area of depth D, there
//! are 2·(D − c) − 1 hops. A wrong turn is taken back, as in [the tree](super).
//!
//! ```
//! use crivo_route::geographic::{Area, Square};
//!
//! let mut area = Area::new(3, 0.01, 7)?; // 64 smallest squares
//! let (ana, rui) = (area.enter(0.1, 0.9)?, area.enter(0.95, 0.2)?);
//! let route = area.send(ana, rui)?;
//! assert!(route.delivered);
//! assert_eq!(route.hops(), 5);
//! assert_eq!(route.squares[0], Square::at(3, 0.1, 0.9)); // and so on: what a picture needs
//!
//! area.move_to(rui, 0.2, 0.9)?; // next to ana now
//! assert_eq!(area.send(ana, rui)?.hops(), 1);
//! # Ok::<(), crivo::ParameterError>(())
//! ```
//!
//! # A move
//!
//! A device that moves from one smallest square to another is taken out of the squares from the
//! old one up to, and not including, the first that contains both, and put into those from there
//! down to the new one. Each of them sends its parent and its three siblings a digest, and whether
//! it came or went. Squares above are not notified, because nothing changed for them. A step across
//! the border of two smallest squares notifies 8 neighbours if they are siblings, and 8·D if the border
//! is the middle line of the area.
//!
//! # Messages to devices that move
//!
//! Filters follow their devices, so that a message that comes to where a device was goes on from
//! there. It can still miss the device, if that moves into squares that the message has just
//! searched. Then the message arrives at the root with nothing left to try. The root keeps the
//! digests of all devices in storage, from which its filters are rebuilt: if the device is among
//! them, the search begins again from there, and if not, the device does not exist. [`Packet`] has
//! the rule.
//!
//! # When not to use it
//! Where devices can report to a known place (a home register, a hash of the name), a single query to
//! that place is enough. Squares and filters pay where messages are local: neighbours find each
//! other without messages to distant squares.
//!
//! # References
//! - P.-H. Hsiao, *Geographical region summary service for geographical routing*, MobiHoc 2001
//!   (poster): the scheme of filters for children and siblings.

mod area;
mod packet;
mod square;

pub use area::{Area, AreaStatistics, DeviceId, Flight, Route};
pub use packet::{Hop, Packet};
pub use square::{Rectangle, Square};
