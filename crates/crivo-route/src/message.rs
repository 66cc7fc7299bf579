//! The messages between nodes, and their bytes.
//!
//! ```text
//!   version (1)   kind   fields, in the order of their declaration
//!
//!   number        7 bits a byte, the low ones first
//!   set           count, Rice's parameter, bits (see `numbers`)
//!   bytes, path   length, content
//! ```

use super::numbers::SortedNumbers;
use super::wire::{MessageError, Reader, put_bytes, put_number};

/// The version of the protocol, and the only one that is understood.
const VERSION: u8 = 1;

/// The maximum length of a resource's name, in bytes.
///
/// ```
/// use crivo::KeyHasher;
/// use crivo_route::{Design, MAX_NAME_LENGTH, Node, NodeId};
///
/// let mut node = Node::new(NodeId(0), Design::sized(0.01, KeyHasher::default())?);
/// assert!(node.add(&[b'x'; MAX_NAME_LENGTH]).is_ok());
/// assert!(node.add(&[b'x'; MAX_NAME_LENGTH + 1]).is_err());
/// # Ok::<(), crivo::ParameterError>(())
/// ```
pub const MAX_NAME_LENGTH: usize = 1 << 16;

/// A node of a tree, by its number.
///
/// ```
/// assert_eq!(crivo_route::NodeId(7).to_string(), "node 7");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u64);

impl std::fmt::Display for NodeId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "node {}", self.0)
    }
}

/// Which way a request is going.
///
/// ```
/// use crivo_route::{Direction, Message, NodeId, Request};
///
/// let request = Request {
///     direction: Direction::Down,
///     hops: 1,
///     false_forwards: 0,
///     climbed: 0,
///     path: vec![NodeId(0)],
///     resource: b"a song".to_vec(),
/// };
/// let bytes = Message::Request(request.clone()).to_bytes();
/// assert_eq!(Message::from_bytes(&bytes), Ok(Message::Request(request)));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From a child: its subtree does not have the resource.
    Up,
    /// From the parent, whose filter of this subtree accepts the resource.
    Down,
    /// From a child whose subtree was searched without success.
    Back,
}

/// A request under way. It carries all of its state: nodes remember nothing of it.
///
/// ```
/// use crivo::KeyHasher;
/// use crivo_route::{Design, Direction, Message, Node, NodeAction, NodeId};
///
/// let mut leaf = Node::new(NodeId(1), Design::sized(0.01, KeyHasher::default())?);
/// leaf.attach(NodeId(0));
/// let asked = leaf.request(b"a song")?;
/// let NodeAction::Send { bytes, .. } = &asked[0] else { panic!("it asks its parent") };
/// let Message::Request(request) = Message::from_bytes(bytes)? else { panic!("a request") };
/// assert_eq!((request.direction, request.path), (Direction::Up, vec![NodeId(1)]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Which way it is going.
    pub direction: Direction,
    /// The hops so far, wrong turns included.
    pub hops: u64,
    /// How often it went down into a subtree without the resource.
    pub false_forwards: u64,
    /// The number of nodes on the path, the first ones, that were left upwards.
    pub climbed: u64,
    /// The nodes from the origin to the sender, without the branches that were searched without
    /// success. Reversed, it is the path of the answer.
    pub path: Vec<NodeId>,
    /// The name of the resource.
    pub resource: Vec<u8>,
}

/// The result of a request, on its way back to the origin.
///
/// ```
/// use crivo_route::{Answer, Message, NodeId};
///
/// let answer = Answer {
///     holder: Some(NodeId(7)),
///     hops: 4,
///     false_forwards: 0,
///     path: vec![NodeId(0)],
///     resource: b"a song".to_vec(),
/// };
/// let bytes = Message::Answer(answer.clone()).to_bytes();
/// assert_eq!(Message::from_bytes(&bytes), Ok(Message::Answer(answer)));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The node that has the resource, if any.
    pub holder: Option<NodeId>,
    /// The hops of the request.
    pub hops: u64,
    /// How often it went down into a subtree without the resource.
    pub false_forwards: u64,
    /// The nodes still to be passed, the origin first.
    pub path: Vec<NodeId>,
    /// The name of the resource.
    pub resource: Vec<u8>,
}

/// All that a subtree has, as its filter sees it.
///
/// ```
/// use crivo::KeyHasher;
/// use crivo_route::{Design, Node, NodeId};
///
/// let mut node = Node::new(NodeId(1), Design::sized(0.01, KeyHasher::default())?);
/// node.add(b"a song")?;
/// let whole = node.summary();
/// assert_eq!(whole.numbers.len(), 1); // a digest
/// # Ok::<(), crivo::ParameterError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Whole {
    /// The number of this summary; the next one has the next number.
    pub sequence: u64,
    /// The fingerprint of the sender's [`Design`](super::Design).
    pub design: u64,
    /// Whether the numbers are those that are *not* in the set, because they are fewer.
    pub complement: bool,
    /// Positions of bits, or digests, in ascending order.
    pub numbers: SortedNumbers,
}

/// One message between neighbours.
///
/// ```
/// use crivo_route::{Message, MessageError};
///
/// let bytes = Message::Leave.to_bytes();
/// assert_eq!(Message::from_bytes(&bytes), Ok(Message::Leave));
/// assert_eq!(Message::from_bytes(b""), Err(MessageError::Truncated));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Message {
    /// From a child: all resources of its subtree. The sender becomes a child.
    Whole(Whole),
    /// From a child: these numbers are in its set if they were not, and not if they were.
    Change {
        /// The number of this summary.
        sequence: u64,
        /// Positions of bits, or digests, in ascending order.
        flipped: SortedNumbers,
    },
    /// To a child: a summary is missing; send all.
    WholeWanted,
    /// From a child: it leaves this parent.
    Leave,
    /// To a child: the sender leaves; this is the new parent.
    Reattach(NodeId),
    /// A search for a resource.
    Request(Request),
    /// The result of a search.
    Answer(Answer),
}

/// Reading and writing.
impl Message {
    /// The message in bytes.
    ///
    /// ```
    /// use crivo_route::{Message, NodeId};
    ///
    /// assert_eq!(Message::Reattach(NodeId(7)).to_bytes().len(), 3); // version, kind, number
    /// ```
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![VERSION, self.kind()];
        match self {
            Self::Whole(whole) => {
                put_number(&mut bytes, whole.sequence);
                bytes.extend(whole.design.to_le_bytes());
                bytes.push(u8::from(whole.complement));
                whole.numbers.put(&mut bytes);
            }
            Self::Change { sequence, flipped } => {
                put_number(&mut bytes, *sequence);
                flipped.put(&mut bytes);
            }
            Self::WholeWanted | Self::Leave => {}
            Self::Reattach(parent) => put_number(&mut bytes, parent.0),
            Self::Request(request) => {
                bytes.push(match request.direction {
                    Direction::Up => 0,
                    Direction::Down => 1,
                    Direction::Back => 2,
                });
                put_number(&mut bytes, request.hops);
                put_number(&mut bytes, request.false_forwards);
                put_number(&mut bytes, request.climbed);
                put_path(&mut bytes, &request.path);
                put_bytes(&mut bytes, &request.resource);
            }
            Self::Answer(answer) => {
                bytes.push(u8::from(answer.holder.is_some()));
                put_number(&mut bytes, answer.holder.map_or(0, |holder| holder.0));
                put_number(&mut bytes, answer.hops);
                put_number(&mut bytes, answer.false_forwards);
                put_path(&mut bytes, &answer.path);
                put_bytes(&mut bytes, &answer.resource);
            }
        }
        bytes
    }

    /// Decodes a message.
    ///
    /// ```
    /// use crivo_route::{Message, MessageError, NodeId};
    ///
    /// let bytes = Message::Reattach(NodeId(7)).to_bytes();
    /// assert_eq!(Message::from_bytes(&bytes), Ok(Message::Reattach(NodeId(7))));
    /// assert_eq!(Message::from_bytes(&bytes[..2]), Err(MessageError::Truncated));
    /// ```
    ///
    /// # Errors
    /// If the bytes are not a message: cut short, too long, of another version, or contradictory.
    /// Memory is allocated only in proportion to the bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, MessageError> {
        let mut reader = Reader::new(bytes);
        let version = reader.byte()?;
        if version != VERSION {
            return Err(MessageError::UnknownVersion(version));
        }
        let message = match reader.byte()? {
            1 => Self::Whole(Whole {
                sequence: reader.number()?,
                design: reader.fixed()?,
                complement: reader.flag()?,
                numbers: SortedNumbers::read(&mut reader)?,
            }),
            2 => Self::Change {
                sequence: reader.number()?,
                flipped: SortedNumbers::read(&mut reader)?,
            },
            3 => Self::WholeWanted,
            4 => Self::Leave,
            5 => Self::Reattach(NodeId(reader.number()?)),
            6 => Self::Request(Request {
                direction: match reader.byte()? {
                    0 => Direction::Up,
                    1 => Direction::Down,
                    2 => Direction::Back,
                    _ => return Err(MessageError::Inconsistent("there is no such direction")),
                },
                hops: reader.number()?,
                false_forwards: reader.number()?,
                climbed: reader.number()?,
                path: read_path(&mut reader)?,
                resource: read_name(&mut reader)?,
            }),
            7 => {
                let (found, holder) = (reader.flag()?, reader.number()?);
                if !found && holder != 0 {
                    return Err(MessageError::Inconsistent("a holder of what was not found"));
                }
                Self::Answer(Answer {
                    holder: found.then_some(NodeId(holder)),
                    hops: reader.number()?,
                    false_forwards: reader.number()?,
                    path: read_path(&mut reader)?,
                    resource: read_name(&mut reader)?,
                })
            }
            kind => return Err(MessageError::UnknownKind(kind)),
        };
        reader.end()?;
        Ok(message)
    }

    /// The number of this kind in messages. It never changes.
    const fn kind(&self) -> u8 {
        match self {
            Self::Whole(_) => 1,
            Self::Change { .. } => 2,
            Self::WholeWanted => 3,
            Self::Leave => 4,
            Self::Reattach(_) => 5,
            Self::Request(_) => 6,
            Self::Answer(_) => 7,
        }
    }
}

fn put_path(bytes: &mut Vec<u8>, path: &[NodeId]) {
    put_number(bytes, path.len() as u64);
    for node in path {
        put_number(bytes, node.0);
    }
}

fn read_path(reader: &mut Reader<'_>) -> Result<Vec<NodeId>, MessageError> {
    let count = reader.count(8)?;
    (0..count).map(|_| Ok(NodeId(reader.number()?))).collect()
}

fn read_name(reader: &mut Reader<'_>) -> Result<Vec<u8>, MessageError> {
    let name = reader.bytes()?;
    if name.len() > MAX_NAME_LENGTH {
        return Err(MessageError::Inconsistent("the name of the resource is too long"));
    }
    Ok(name.to_vec())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn path() -> impl Strategy<Value = Vec<NodeId>> {
        proptest::collection::vec(any::<u64>().prop_map(NodeId), 0..20)
    }

    fn numbers() -> impl Strategy<Value = SortedNumbers> {
        let sets = proptest::collection::btree_set(any::<u64>(), 0..20);
        sets.prop_map(|set| SortedNumbers::from_sorted(set.iter().copied()))
    }

    fn message() -> impl Strategy<Value = Message> {
        let direction =
            prop_oneof![Just(Direction::Up), Just(Direction::Down), Just(Direction::Back)];
        prop_oneof![
            (any::<(u64, u64, bool)>(), numbers()).prop_map(
                |((sequence, design, complement), numbers)| Message::Whole(Whole {
                    sequence,
                    design,
                    complement,
                    numbers,
                })
            ),
            (any::<u64>(), numbers())
                .prop_map(|(sequence, flipped)| Message::Change { sequence, flipped }),
            Just(Message::WholeWanted),
            Just(Message::Leave),
            any::<u64>().prop_map(|parent| Message::Reattach(NodeId(parent))),
            (direction, any::<[u64; 3]>(), path(), any::<Vec<u8>>()).prop_map(
                |(direction, [hops, false_forwards, climbed], path, resource)| {
                    Message::Request(Request {
                        direction,
                        hops,
                        false_forwards,
                        climbed,
                        path,
                        resource,
                    })
                }
            ),
            (any::<Option<u64>>(), any::<[u64; 2]>(), path(), any::<Vec<u8>>()).prop_map(
                |(holder, [hops, false_forwards], path, resource)| {
                    Message::Answer(Answer {
                        holder: holder.map(NodeId),
                        hops,
                        false_forwards,
                        path,
                        resource,
                    })
                }
            ),
        ]
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_and_nothing_shorter_or_longer(message in message()) {
            let bytes = message.to_bytes();
            prop_assert_eq!(Message::from_bytes(&bytes), Ok(message));
            for cut in 0..bytes.len() {
                prop_assert!(Message::from_bytes(&bytes[..cut]).is_err());
            }
            let longer = [&bytes[..], &[0]].concat();
            prop_assert!(Message::from_bytes(&longer).is_err());
        }

        #[test]
        fn hostile_bytes_are_an_error_or_a_message(kind in 0u8..9, rest: Vec<u8>) {
            let bytes = [&[VERSION, kind][..], &rest].concat();
            if let Ok(message) = Message::from_bytes(&bytes) {
                // Rice's parameter is the writer's choice: another one means the same.
                prop_assert_eq!(Message::from_bytes(&message.to_bytes()), Ok(message));
            }
        }
    }

    #[test]
    fn other_versions_and_kinds_are_told_apart() {
        assert_eq!(Message::from_bytes(&[2, 4]), Err(MessageError::UnknownVersion(2)));
        assert_eq!(Message::from_bytes(&[1, 99]), Err(MessageError::UnknownKind(99)));
    }
}
