//! A Bloom join of orders at A with customers at B, for more and more matching customers.
//!
//! ```text
//! cargo run --release --example join
//! ```

use std::collections::HashSet;

use crivo_exchange::join::{Answerer, Asker, JoinReport};
use crivo_exchange::{Action, ExchangeError};

const CUSTOMERS: u32 = 100_000;

fn main() -> Result<(), ExchangeError> {
    println!("{CUSTOMERS} customers at B; A wants those that have an order. Bytes sent:\n");
    println!("  matching  everything   semi-join  Bloom join  filter  false positives");
    for matching in [10, 1_000, 10_000, 50_000, 95_000, CUSTOMERS] {
        let report = join(&orders(matching, CUSTOMERS), CUSTOMERS)?;
        println!(
            "  {matching:>8} {:>11} {:>11} {:>11} {:>7} {:>16}",
            report.everything_bytes,
            report.semi_join_bytes,
            report.bytes,
            report.filter_bytes,
            report.rows_sent - report.rows_matched,
        );
    }
    Ok(())
}

/// The keys of orders: `matching` of customers that B has, and a tenth of B's number of customers of
/// others.
fn orders(matching: u32, customers: u32) -> HashSet<String> {
    let numbers = (0..matching).chain(customers..customers + customers / 10);
    numbers.map(|number| format!("c{number:07}")).collect()
}

/// The customers at B that have one of the orders, and what it took to find them.
fn join(orders: &HashSet<String>, customers: u32) -> Result<JoinReport, ExchangeError> {
    let customers = || (0..customers).map(|number| format!("c{number:07} and a long address"));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_customer_with_an_order_is_found() {
        for matching in [0, 1, 300, 2_000, 5_000] {
            let report = join(&orders(matching, 5_000), 5_000).unwrap();
            assert_eq!((report.rows, report.rows_matched), (5_000, u64::from(matching)));
        }
    }

    #[test]
    fn a_filter_is_sent_where_it_pays_and_nowhere_else() {
        let few = join(&orders(50, 5_000), 5_000).unwrap();
        assert!(few.filter_bytes > 0 && few.bytes < few.semi_join_bytes, "{few:?}");
        let all = join(&orders(5_000, 5_000), 5_000).unwrap();
        assert_eq!((all.filter_bytes, all.rows_sent), (0, 5_000), "{all:?}");
    }
}
