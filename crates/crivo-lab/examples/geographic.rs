//! Packets to moving devices in a square that is recursively divided in four.
//!
//! ```text
//! cargo run --release --example geographic
//! ```

use std::error::Error;

use crivo_lab::sim::routing::area::{AreaPlan, measure, picture};

fn main() -> Result<(), Box<dyn Error>> {
    let plan = AreaPlan::default();
    println!("{} moving devices, depth {}\n", plan.devices, plan.depth);
    println!(
        "  FPR    packets  lost  stretch  at rest, theory    moves   bytes/move  messages/move"
    );
    for fpr in [0.001, 0.01, 0.1] {
        let row = measure(&AreaPlan { fpr, ..plan })?;
        println!(
            "  {:<5}  {:>7}  {:>4}  {:>7.4}  {:>7.4}   {:>7.4}  {:>6}  {:>10.0}  {:>13.1}",
            format!("{}%", fpr * 100.0),
            row.packets,
            row.lost,
            row.stretch,
            row.stretch_at_rest,
            row.stretch_at_rest_theory,
            row.moves,
            row.bytes_per_move,
            row.messages_per_move,
        );
    }

    println!("\nOne packet, square by square: level and centre\n");
    let route = picture(&AreaPlan { depth: 6, ..plan })?;
    for (square, (x, y)) in route.squares.iter().zip(route.line()) {
        println!(
            "  {:indent$}{}  ({x:.3}, {y:.3})",
            "",
            square.level(),
            indent = 2 * usize::from(square.level())
        );
    }
    println!("\n  {} hops, {} on the shortest path", route.hops(), route.shortest_hops());
    Ok(())
}
