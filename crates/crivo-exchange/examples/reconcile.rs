//! Two sets become equal, and what that costs by every protocol. Runs in seconds.
//!
//! ```text
//! cargo run --release --example reconcile
//! ```

use crivo_exchange::{
    Action, ExchangeError, ExchangeKey, IdSet, Protocol, Session, Situation, SyncPolicy,
};

const ITEMS: u64 = 100_000;

fn main() -> Result<(), ExchangeError> {
    println!("Two sets of {ITEMS} items of 40 bytes; bytes sent beside the differing items\n");
    println!("  differing     symbols    filters  everything   chosen   by");
    for half in [1, 5, 50, 500, 1_000, 5_000, 50_000] {
        let Costs { symbols, filters, everything, chosen, by } = costs(ITEMS, half)?;
        let difference = 2 * half;
        println!(
            "  {difference:>9}  {symbols:>10} {filters:>10}  {everything:>10} {chosen:>8}   {by}"
        );
    }
    Ok(())
}

/// What every protocol costs, in bytes beside the differing items.
struct Costs {
    symbols: u64,
    filters: u64,
    everything: u64,
    /// A session that begins knowing nothing, and what it decided on.
    chosen: u64,
    by: String,
}

/// The costs for two sets of `count` items, each with `half` items that the other lacks.
fn costs(count: u64, half: u64) -> Result<Costs, ExchangeError> {
    let [here, there] = [0, half].map(|shift| items(shift..count + shift));
    let difference = 2.0 * half as f64;
    let situation = Situation { here: count, there: count, there_bytes: 40 * count, difference };
    let fixed = |protocol| reconcile(&here, &there, SyncPolicy::Fixed(protocol));
    let (symbols, _) = fixed(Protocol::Rateless)?;
    let (filters, _) = fixed(situation.best_filters().protocol)?;
    let (everything, _) = fixed(Protocol::Everything)?;
    let (chosen, by) = reconcile(&here, &there, SyncPolicy::Cheapest)?;
    Ok(Costs { symbols, filters, everything, chosen, by })
}

fn items(numbers: std::ops::Range<u64>) -> Vec<String> {
    numbers.map(|number| format!("item {number:035}")).collect()
}

/// Runs both sides in one process. The bytes of both directions without the differing items, and
/// the protocol that was chosen.
fn reconcile(
    here: &[String],
    there: &[String],
    policy: SyncPolicy,
) -> Result<(u64, String), ExchangeError> {
    let key = ExchangeKey::agreed([1; 16], [2; 16]);
    let items = [here, there];
    let [here, there] = items.map(|items| IdSet::of_items(key, items));
    let mut peers = [Session::initiator_with(here, policy), Session::responder(there)];
    let mut turn = 0;
    loop {
        match peers[turn].action()? {
            Action::Send(message) => peers[1 - turn].receive(&message, |_| {})?,
            Action::Provide => {
                items[turn].iter().for_each(|item| peers[turn].provide(item.as_bytes()));
                peers[turn].provided()?;
            }
            Action::Receive => turn = 1 - turn,
            Action::Finished if turn == 0 => break,
            Action::Finished => turn = 0,
        }
    }
    let traffic = peers[0].traffic();
    let differing = traffic.item_bytes_sent + traffic.item_bytes_received;
    let by = peers[0].plan().map_or_else(
        || "the first symbols".to_owned(),
        |plan| format!("{:?}, {:.0} more bytes expected", plan.protocol, plan.bytes),
    );
    Ok((traffic.sent + traffic.received - differing, by))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_chooses_about_the_cheapest_protocol() {
        for (count, half) in [(3_000, 1), (3_000, 30), (3_000, 900), (3_000, 3_000), (20, 3)] {
            let Costs { symbols, filters, everything, chosen, by } = costs(count, half).unwrap();
            let best = symbols.min(filters).min(everything) as f64;
            assert!(chosen as f64 <= 1.3 * best + 1024.0, "{count}, {half}: {chosen} by {by}");
        }
    }
}
