//! Hostile bytes for the messages of routing: reading is total, what could be read is written and
//! read again as the same, and a node that gets it from a neighbour goes on.

#![no_main]

use crivo::KeyHasher;
use crivo_route::geographic::{Hop, Packet};
use crivo_route::{Design, Message, Node, NodeId};
use libfuzzer_sys::fuzz_target;

const PARENT: NodeId = NodeId(0);
const NODE: NodeId = NodeId(1);
const CHILD: NodeId = NodeId(2);

fuzz_target!(|input: &[u8]| {
    check_message(input);
    check_letter(input);
    let Some((&first, rest)) = input.split_first() else { return };
    // The version is right, and the kind exists.
    let message = [&[1, 1 + first % 7], rest].concat();
    check_message(&message);
    check_letter(&[&[1], rest].concat());

    let hasher = KeyHasher::default();
    for design in [Design::shared(10, 0.1, hasher).unwrap(), Design::sized(0.1, hasher).unwrap()] {
        let mut node = Node::new(NODE, design);
        node.add(b"resource").unwrap();
        node.attach(PARENT);
        let whole = Message::Whole(Node::new(CHILD, design).summary()).to_bytes();
        node.receive(CHILD, &whole).unwrap();
        for from in [PARENT, CHILD] {
            let _ = node.receive(from, &message);
        }
        assert!(node.has(b"resource"));
    }
});

fn check_message(bytes: &[u8]) {
    if let Ok(message) = Message::from_bytes(bytes) {
        assert_eq!(message.to_bytes(), bytes, "a message has one form");
        assert_eq!(Message::from_bytes(bytes), Ok(message));
    }
}

fn check_letter(bytes: &[u8]) {
    if let Ok(mut packet) = Packet::from_bytes(bytes) {
        assert_eq!(packet.to_bytes(), bytes);
        for accepts in [true, false, false, true] {
            if let Hop::To(square) = packet.step(false, |_| accepts) {
                assert_eq!(square, packet.here());
            }
        }
    }
}
