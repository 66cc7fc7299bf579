//! A Bloom join of orders at A with customers at B, for more and more matching customers.
//!
//! ```text
//! cargo run --release --example join
//! ```

use std::collections::HashSet;

use crivo::exchange::join::{Answerer, Asker, JoinReport};
use crivo::exchange::{Action, ExchangeError};

const CUSTOMERS: u32 = 100_000;

fn main() -> Result<(), ExchangeError> {
    println!("{CUSTOMERS} customers at B; A wants those that have an order. Bytes sent:\n");
    println!("  matching  everything   semi-join  Bloom join  filter  rows sent in vain");
    for matching in [10, 1_000, 10_000, 50_000, 95_000] {
        // Ten orders in eleven are of customers that B does not have.
        let customers = (0..matching).chain(CUSTOMERS..CUSTOMERS + 10_000);
        let orders: HashSet<String> = customers.map(|number| format!("c{number:07}")).collect();
        let report = join(&orders)?;
        assert_eq!(report.rows_matched, u64::from(matching));
        println!(
            "  {matching:>8} {:>11} {:>11} {:>11} {:>7} {:>18}",
            report.everything_bytes,
            report.semi_join_bytes,
            report.bytes,
            report.filter_bytes,
            report.rows_sent - report.rows_matched,
        );
    }
    Ok(())
}

fn join(orders: &HashSet<String>) -> Result<JoinReport, ExchangeError> {
    let customers = || (0..CUSTOMERS).map(|number| format!("c{number:07} and a long address"));
    let key = |row: &str| row.as_bytes()[..8].to_vec();
    let seed = 7; // random, where someone else chooses the keys
    let (mut asker, mut answerer) = (Asker::new(seed), Answerer::new(seed));
    orders.iter().for_each(|key| asker.insert(key.as_bytes()));
    customers().for_each(|row| answerer.survey(&key(&row), row.len()));
    loop {
        match answerer.action() {
            Action::Send(message) => asker.receive(&message, |row| {
                std::str::from_utf8(&row[..8]).is_ok_and(|key| orders.contains(key))
            })?,
            // It is the asker's turn, with a request of one message or more.
            Action::Receive => {
                if let Action::Send(message) = asker.action() {
                    answerer.receive(&message)?;
                }
            }
            Action::Provide => {
                customers().for_each(|row| answerer.provide(&key(&row), row.as_bytes()));
                answerer.provided();
            }
            Action::Finished => break,
        }
    }
    Ok(asker.report())
}
