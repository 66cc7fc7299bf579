//! Nodes by themselves: lost, repeated, forged and hostile messages.

use proptest::prelude::*;

use super::*;
use crivo::KeyHasher;

const ROOT: NodeId = NodeId(0);
const CHILD: NodeId = NodeId(1);
const STRANGER: NodeId = NodeId(9);

fn designs() -> [Design; 2] {
    let hasher = KeyHasher::xxh3(3);
    [Design::shared(20, 0.01, hasher).unwrap(), Design::sized(0.01, hasher).unwrap()]
}

/// The bytes of all messages among the actions.
fn sent(actions: Vec<NodeAction>) -> Vec<Vec<u8>> {
    let bytes = |action| match action {
        NodeAction::Send { bytes, .. } => Some(bytes),
        _ => None,
    };
    actions.into_iter().filter_map(bytes).collect()
}

/// A root that knows one child, which has "first".
fn family(design: Design) -> (Node, Node) {
    let (mut root, mut child) = (Node::new(ROOT, design), Node::new(CHILD, design));
    child.add(b"first").unwrap();
    for bytes in sent(child.attach(ROOT)) {
        root.receive(CHILD, &bytes).unwrap();
    }
    (root, child)
}

#[test]
fn a_lost_summary_is_noticed_and_made_good() {
    for design in designs() {
        let (mut root, mut child) = family(design);
        assert!(root.accepts(CHILD, b"first") && !root.accepts(CHILD, b"absent"));
        child.add(b"lost on the way").unwrap();
        let next = sent(child.add(b"third").unwrap());
        let answer = sent(root.receive(CHILD, &next[0]).unwrap());
        assert_eq!(Message::from_bytes(&answer[0]), Ok(Message::WholeWanted));
        // A summary is missing: everything may be there.
        assert!(root.accepts(CHILD, b"lost on the way") && root.accepts(CHILD, b"absent"));
        let whole = sent(child.receive(ROOT, &answer[0]).unwrap());
        root.receive(CHILD, &whole[0]).unwrap();
        for resource in [&b"first"[..], b"lost on the way", b"third"] {
            assert!(root.accepts(CHILD, resource));
        }
        assert!(!root.accepts(CHILD, b"absent"));
        // And on as before.
        let next = sent(child.remove(b"third"));
        assert!(root.receive(CHILD, &next[0]).unwrap().is_empty());
        assert!(!root.accepts(CHILD, b"third"));
    }
}

#[test]
fn a_filter_that_is_mostly_set_travels_by_its_complement() {
    let design = Design::shared(5, 0.1, KeyHasher::default()).unwrap();
    let (mut root, mut child) = (Node::new(ROOT, design), Node::new(CHILD, design));
    for number in 0..30 {
        child.add(format!("resource {number}").as_bytes()).unwrap();
    }
    assert!(child.summary().complement);
    let whole = sent(child.attach(ROOT));
    root.receive(CHILD, &whole[0]).unwrap();
    for number in 0..30 {
        assert!(root.accepts(CHILD, format!("resource {number}").as_bytes()));
    }
    assert_eq!(root.children[&CHILD].numbers, child.told);
}

#[test]
fn only_neighbours_of_the_right_kind_are_heard() {
    let [shared, sized] = designs();
    let (mut root, mut child) = family(sized);
    let bytes = |message: Message| message.to_bytes();
    let change = bytes(Message::Change { sequence: 1, flipped: SortedNumbers::from_sorted([1]) });
    assert_eq!(root.receive(STRANGER, &change), Err(RouteError::NotAChild(STRANGER)));
    assert_eq!(
        root.receive(STRANGER, &bytes(Message::Leave)),
        Err(RouteError::NotAChild(STRANGER))
    );
    let reattach = bytes(Message::Reattach(STRANGER));
    assert_eq!(child.receive(STRANGER, &reattach), Err(RouteError::NotTheParent(STRANGER)));
    assert!(child.receive(ROOT, &bytes(Message::Reattach(CHILD))).is_err());
    let wanted = bytes(Message::WholeWanted);
    assert_eq!(child.receive(STRANGER, &wanted), Err(RouteError::NotTheParent(STRANGER)));
    // Another design, and digests by their complement.
    let other = bytes(Message::Whole(Node::new(STRANGER, shared).summary()));
    assert_eq!(root.receive(STRANGER, &other), Err(RouteError::OtherDesign(STRANGER)));
    let mut whole = child.summary();
    whole.complement = true;
    assert!(root.receive(CHILD, &bytes(Message::Whole(whole))).is_err());
    // A position outside of the filter.
    let (mut root, _) = family(shared);
    let outside =
        bytes(Message::Change { sequence: 2, flipped: SortedNumbers::from_sorted([u64::MAX]) });
    assert!(matches!(root.receive(CHILD, &outside), Err(RouteError::Message(_))));
    // An answer on a way that does not exist.
    let answer = |path| {
        bytes(Message::Answer(Answer {
            holder: None,
            hops: 0,
            false_forwards: 0,
            path,
            resource: Vec::new(),
        }))
    };
    let error = Err(RouteError::NotANeighbour(STRANGER));
    assert_eq!(root.receive(CHILD, &answer(vec![STRANGER])), error);
    assert_eq!(root.receive(STRANGER, &answer(Vec::new())), error);
}

#[test]
fn requests_with_a_forged_path_are_refused() {
    let [_, sized] = designs();
    let (mut root, _) = family(sized);
    let request = |direction, climbed, path: &[NodeId]| {
        let path = path.to_vec();
        let (hops, false_forwards, resource) = (1, 0, b"first".to_vec());
        Message::Request(Request { direction, hops, false_forwards, climbed, path, resource })
            .to_bytes()
    };
    assert!(root.receive(CHILD, &request(Direction::Up, 1, &[CHILD])).is_ok());
    for forged in [
        request(Direction::Up, 0, &[CHILD]),
        request(Direction::Up, 1, &[STRANGER]),
        request(Direction::Up, 0, &[]),
        request(Direction::Down, 0, &[CHILD]),
        request(Direction::Back, 0, &[CHILD]),
        request(Direction::Back, 7, &[ROOT]),
    ] {
        assert!(root.receive(CHILD, &forged).is_err());
    }
}

proptest! {
    #[test]
    fn hostile_bytes_are_an_error_or_harmless(
        inputs in proptest::collection::vec((any::<bool>(), 1u8..8, any::<Vec<u8>>()), 0..20),
    ) {
        for design in designs() {
            let (_, mut node) = family(design);
            let below = NodeId(2);
            let whole = Message::Whole(Node::new(below, design).summary());
            node.receive(below, &whole.to_bytes()).unwrap();
            for (from_below, kind, rest) in &inputs {
                let bytes = [&[1, *kind][..], rest].concat();
                let _ = node.receive(if *from_below { below } else { ROOT }, &bytes);
            }
            prop_assert!(node.has(b"first"));
        }
    }
}
