//! Requests through a tree of nodes with filters: two designs, compared with theory.
//!
//! ```text
//! cargo run --release --example route
//! ```

use std::error::Error;

use crivo::KeyHasher;
use crivo_lab::sim::routing::tree::{TreePlan, measure};
use crivo_route::{Design, Network};

fn main() -> Result<(), Box<dyn Error>> {
    one_request()?;
    two_designs()
}

/// The tree of the module's documentation.
fn one_request() -> Result<(), Box<dyn Error>> {
    let mut network = Network::new(Design::sized(0.01, KeyHasher::default())?);
    let root = network.root();
    let (a, b) = (network.join(root)?, network.join(root)?);
    let (c, _d, e) = (network.join(a)?, network.join(a)?, network.join(b)?);
    network.add(e, b"song")?;
    let delivery = network.request(c, b"song")?;
    println!(
        "A song of {e}, requested by {c}: {} hops, {} on the shortest path",
        delivery.outcome.hops, delivery.shortest_hops
    );
    let nobody = network.request(c, b"film")?;
    println!("A film that nobody has: {} hops, to the root\n", nobody.outcome.hops);
    Ok(())
}

fn two_designs() -> Result<(), Box<dyn Error>> {
    let plan = TreePlan::default();
    println!(
        "Trees with {} children a node, depth {}, {} resources a node, {} requests\n",
        plan.arity, plan.depth, plan.resources_per_node, plan.requests
    );
    println!(
        "  {:<16}  {:>5}  {:>4}  {:>8}  {:>8}  {:>11}  {:>11}  {:>12}",
        "filters", "FPR", "lost", "stretch", "theory", "filters, KB", "digests, KB", "bytes/change"
    );
    for fpr in [0.01, 0.1, 0.5] {
        for row in measure(&TreePlan { fpr, ..plan })? {
            println!(
                "  {:<16}  {:>4}%  {:>4}  {:>8.4}  {:>8.4}  {:>11}  {:>11}  {:>12.1}",
                row.design,
                fpr * 100.0,
                row.lost,
                row.stretch,
                row.stretch_theory,
                row.filter_bytes / 1024,
                row.storage_bytes / 1024,
                row.bytes_per_change,
            );
        }
    }
    Ok(())
}
