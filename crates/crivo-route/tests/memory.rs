//! How much memory a node takes for a message, counted by the allocator.

use crivo::KeyHasher;
use crivo_core::counting::{CountingAllocator, peak_of};
use crivo_route::{Design, Message, Node, NodeId, SortedNumbers, Whole};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

const PARENT: NodeId = NodeId(0);
const NODE: NodeId = NodeId(1);
const CHILD: NodeId = NodeId(2);

/// A node that has a parent, and a child without resources.
fn node(design: Design) -> Node {
    let mut node = Node::new(NODE, design);
    node.attach(PARENT);
    let whole = Message::Whole(Node::new(CHILD, design).summary()).to_bytes();
    node.receive(CHILD, &whole).unwrap();
    node
}

/// One test, so that no other thread allocates meanwhile.
///
/// A message about a shared filter takes no more than 6 times that filter. Once 13 bytes, that every bit
/// is set, took 280 times a filter of 1.2 MB. Digests take no more than 40 times their message.
#[test]
fn a_message_takes_a_small_multiple_of_what_it_describes() {
    let design = Design::shared(200_000, 0.01, KeyHasher::default()).unwrap();
    let filter_bytes = design.plain_bits(0).0 as usize / 8;
    let fingerprint = Node::new(CHILD, design).summary().design;
    let whole = |complement, numbers: SortedNumbers| {
        Message::Whole(Whole { sequence: 1, design: fingerprint, complement, numbers }).to_bytes()
    };
    let bits = 8 * filter_bytes as u64;
    let every = |step: u64| SortedNumbers::from_sorted((0..bits).step_by(step as usize));
    let messages = [
        whole(true, SortedNumbers::default()),
        whole(false, every(1)),
        whole(false, every(2)),
        whole(true, every(3)),
        whole(false, every(100)),
    ];
    for message in &messages {
        let mut node = node(design);
        // As a new summary, and in place of another one.
        for message in [message, &messages[0], message] {
            let (actions, peak) = peak_of(|| node.receive(CHILD, message));
            assert!(actions.is_ok());
            assert!(peak <= 6 * filter_bytes, "{peak} for a filter of {filter_bytes}");
        }
        let (_, peak) = peak_of(|| node.receive(CHILD, &Message::Leave.to_bytes()));
        assert!(peak <= 6 * filter_bytes, "{peak} for a filter of {filter_bytes}");
    }

    let design = Design::sized(0.01, KeyHasher::default()).unwrap();
    let fingerprint = Node::new(CHILD, design).summary().design;
    // Spread over 64 bits, as close as is allowed, and closer.
    for (distance, is_accepted) in [(1 << 48, true), (1 << 16, true), (1, false)] {
        let numbers = SortedNumbers::from_sorted((1..50_000u64).map(|number| number * distance));
        let whole = Whole { sequence: 1, design: fingerprint, complement: false, numbers };
        let message = Message::Whole(whole).to_bytes();
        let mut node = node(design);
        let (actions, peak) = peak_of(|| node.receive(CHILD, &message));
        assert_eq!(actions.is_ok(), is_accepted);
        assert!(peak <= 40 * message.len(), "{peak} for a message of {}", message.len());
    }
}
