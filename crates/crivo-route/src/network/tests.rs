//! Trees under churn: everything is found, and only the way to the root is told.

use proptest::prelude::*;

use super::*;
use crivo::KeyHasher;

/// One change of a tree. Numbers choose among what there is.
#[derive(Debug, Clone, Copy)]
enum Step {
    Join(usize),
    Leave(usize),
    Move(usize, usize),
    Add(usize, u8),
    Remove(usize, u8),
}

fn step() -> impl Strategy<Value = Step> {
    let any = any::<usize>;
    prop_oneof![
        2 => any().prop_map(Step::Join),
        1 => any().prop_map(Step::Leave),
        1 => (any(), any()).prop_map(|(node, parent)| Step::Move(node, parent)),
        4 => (any(), 0u8..40).prop_map(|(node, name)| Step::Add(node, name)),
        2 => (any(), 0u8..40).prop_map(|(node, name)| Step::Remove(node, name)),
    ]
}

fn name(number: u8) -> Vec<u8> {
    format!("resource {number}").into_bytes()
}

fn designs() -> [Design; 3] {
    let hasher = KeyHasher::xxh3(9);
    [
        // Much too small: filters that accept nearly everything must not harm.
        Design::shared(3, 0.3, hasher).unwrap(),
        Design::shared(60, 0.02, hasher).unwrap(),
        Design::sized(0.1, hasher).unwrap(),
    ]
}

fn take(tree: &mut Network, step: Step) {
    let ids: Vec<NodeId> = tree.nodes().map(Node::id).collect();
    let pick = |number: usize| ids[number % ids.len()];
    match step {
        Step::Join(parent) => {
            tree.join_with(pick(parent), [name(7).as_slice()]).unwrap();
        }
        Step::Leave(node) => match tree.leave(pick(node)) {
            Ok(()) => assert!(tree.node(pick(node)).is_none()),
            Err(error) => assert_eq!(error, RouteError::RootCannotLeave),
        },
        Step::Move(node, parent) => match tree.reattach(pick(node), pick(parent)) {
            Ok(()) => assert_eq!(tree.node(pick(node)).unwrap().parent(), Some(pick(parent))),
            Err(RouteError::RootCannotLeave | RouteError::Ring { .. }) => {}
            Err(error) => panic!("{error}"),
        },
        Step::Add(node, number) => tree.add(pick(node), &name(number)).unwrap(),
        Step::Remove(node, number) => tree.remove(pick(node), &name(number)).unwrap(),
    }
}

/// Whether any node of the subtree has the resource.
fn subtree_has(tree: &Network, id: NodeId, resource: &[u8]) -> bool {
    let node = tree.node(id).unwrap();
    node.has(resource) || node.children().any(|child| subtree_has(tree, child, resource))
}

/// Every node's family is as it thinks, and no filter hides a resource.
fn check(tree: &Network) {
    for node in tree.nodes() {
        for child in node.children() {
            assert_eq!(tree.node(child).unwrap().parent(), Some(node.id()));
            for number in 0..40 {
                let resource = name(number);
                if subtree_has(tree, child, &resource) {
                    assert!(node.accepts(child, &resource), "{child} of {}", node.id());
                }
            }
        }
        match node.parent() {
            Some(parent) => {
                let parent = tree.node(parent).unwrap();
                assert!(parent.children().any(|child| child == node.id()));
            }
            None => assert_eq!(node.id(), tree.root()),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 1 } else { 60 }))]

    #[test]
    fn everything_is_found_under_churn(
        steps in proptest::collection::vec(step(), 0..60),
        origins in proptest::collection::vec(any::<usize>(), 40),
    ) {
        for design in designs() {
            let mut tree = Network::new(design);
            for &step in &steps {
                take(&mut tree, step);
            }
            check(&tree);
            let ids: Vec<NodeId> = tree.nodes().map(Node::id).collect();
            for (number, origin) in (0u8..).zip(&origins) {
                let resource = name(number);
                let delivery = tree.request(ids[origin % ids.len()], &resource).unwrap();
                let outcome = &delivery.outcome;
                match outcome.holder {
                    Some(holder) => prop_assert!(tree.node(holder).unwrap().has(&resource)),
                    None => prop_assert!(!subtree_has(&tree, tree.root(), &resource)),
                }
                prop_assert!(outcome.hops >= delivery.shortest_hops);
                let holders = ids.iter().filter(|&&id| tree.node(id).unwrap().has(&resource));
                if holders.count() <= 1 {
                    prop_assert_eq!(
                        outcome.hops,
                        delivery.shortest_hops + 2 * outcome.false_forwards
                    );
                }
            }
        }
    }

    #[test]
    fn a_change_is_told_on_the_way_to_the_root_only(
        steps in proptest::collection::vec(step(), 0..60),
        node: usize,
    ) {
        for design in designs() {
            let mut tree = Network::new(design);
            for &step in &steps {
                take(&mut tree, step);
            }
            let ids: Vec<NodeId> = tree.nodes().map(Node::id).collect();
            let node = ids[node % ids.len()];
            let depth = tree.ancestors(node).len() as u64 - 1;
            tree.reset_statistics();
            tree.add(node, b"something new").unwrap();
            let added = tree.statistics();
            prop_assert!(added.changes.messages <= depth);
            prop_assert_eq!(added.wholes.messages + added.others.messages, 0);
            tree.remove(node, b"something new").unwrap();
            prop_assert_eq!(tree.statistics().changes.messages, 2 * added.changes.messages);
        }
    }
}

#[test]
fn a_shared_filter_is_the_or_of_its_parts() {
    let design = Design::shared(50, 0.05, KeyHasher::default()).unwrap();
    let mut tree = Network::new(design);
    let parent = tree.join(tree.root()).unwrap();
    let children = [(); 3].map(|()| tree.join(parent).unwrap());
    for (number, &child) in (0u8..30).zip(children.iter().cycle()) {
        tree.add(child, &name(number)).unwrap();
    }
    let numbers = |id| tree.node(id).unwrap().summary().numbers;
    let mut union: Vec<u64> =
        children.iter().flat_map(|&child| numbers(child).iter().collect::<Vec<_>>()).collect();
    union.sort_unstable();
    union.dedup();
    assert!(numbers(parent).iter().eq(union));
}

#[test]
fn the_nearest_of_many_holders_is_what_stretch_is_measured_by() {
    let mut tree = Network::new(Design::sized(0.01, KeyHasher::default()).unwrap());
    let left = tree.join(tree.root()).unwrap();
    let right = tree.join(tree.root()).unwrap();
    let below = tree.join(right).unwrap();
    tree.add(left, b"song").unwrap();
    tree.add(tree.root(), b"song").unwrap();
    let delivery = tree.request(below, b"song").unwrap();
    assert_eq!((delivery.outcome.holder, delivery.shortest_hops), (Some(tree.root()), 2));
    assert_eq!(delivery.stretch(), 1.0);
    assert_eq!(tree.request(left, b"song").unwrap().stretch(), 1.0);
}

#[test]
fn unknown_nodes_and_rings_are_refused() {
    let mut tree = Network::new(Design::sized(0.01, KeyHasher::default()).unwrap());
    let node = tree.join(tree.root()).unwrap();
    let below = tree.join(node).unwrap();
    let unknown = NodeId(99);
    assert_eq!(tree.join(unknown), Err(RouteError::UnknownNode(unknown)));
    assert_eq!(tree.leave(tree.root()), Err(RouteError::RootCannotLeave));
    assert_eq!(tree.reattach(node, below), Err(RouteError::Ring { node, parent: below }));
    assert_eq!(tree.reattach(node, node), Err(RouteError::Ring { node, parent: node }));
    assert!(tree.request(unknown, b"song").is_err());
    assert!(tree.add(node, &vec![0; 70_000]).is_err());
}
