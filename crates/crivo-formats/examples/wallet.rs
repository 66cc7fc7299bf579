//! A wallet looks for its payments: by a filter that it sends to a node (BIP 37), and by filters that
//! it fetches (BIP 158).
//!
//! ```text
//!   cargo run --example wallet -- [ADDRESSES [FPR]]
//! ```
//!
//! The study (`crivo study wallet`) measures the same at length, with theory.

use std::collections::HashSet;
use std::env;
use std::error::Error;

use crivo_core::Random;
use crivo_formats::bitcoin::{Bip37Bloom, Bip37Flags, Bip158Filter};

const BLOCKS: u64 = 200;
const PAYMENTS: usize = 2_000;
/// A transaction with one or two inputs and two outputs.
const TRANSACTION_BYTES: usize = 300;

/// What a payment is made to: the hash of a public key.
type Address = [u8; 20];

fn address(random: &mut Random) -> Address {
    let numbers: Vec<u8> = (0..3).flat_map(|_| random.number().to_le_bytes()).collect();
    std::array::from_fn(|i| numbers[i])
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let addresses: u64 = arguments.next().map_or(Ok(5_000), |text| text.parse())?;
    let fpr: f64 = arguments.next().map_or(Ok(0.001), |text| text.parse())?;
    let mut random = Random::new(1);
    let wallet: Vec<Address> = (0..addresses).map(|_| address(&mut random)).collect();
    let own: HashSet<&Address> = wallet.iter().collect();

    let mut sent = Bip37Bloom::new(addresses, fpr, random.number() as u32, Bip37Flags::None)?;
    wallet.iter().for_each(|address| {
        sent.insert(&address[..]);
    });

    let mut payments = 0;
    let (mut sent_bytes, mut matched, mut matched_own) = (sent.to_bytes().len(), 0, 0);
    let (mut fetched_bytes, mut blocks, mut blocks_with_own, mut found) = (0, 0, 0, 0);
    for number in 0..BLOCKS {
        let mut block: Vec<Address> = (0..PAYMENTS).map(|_| address(&mut random)).collect();
        // One block in ten pays to the wallet.
        if random.below(10) == 0 {
            block[0] = wallet[random.index(wallet.len())];
        }
        let in_block = block.iter().filter(|address| own.contains(address)).count();
        payments += in_block;

        // BIP 37: the node sends what matches the wallet's filter.
        let matches = block.iter().filter(|address| sent.contains(&address[..]));
        for address in matches {
            matched += 1;
            matched_own += usize::from(own.contains(address));
            sent_bytes += TRANSACTION_BYTES;
        }

        // BIP 158: the wallet fetches the block if the block's filter matches.
        let mut hash = [0; 32];
        hash[..8].copy_from_slice(&number.to_le_bytes());
        let filter = Bip158Filter::build(&hash, block.iter().map(|address| &address[..]));
        fetched_bytes += filter.to_bytes().len();
        if filter.contains_any(wallet.iter().map(|address| &address[..])) {
            blocks += 1;
            blocks_with_own += usize::from(in_block > 0);
            found += in_block;
            fetched_bytes += block.len() * TRANSACTION_BYTES;
        }
    }
    // A filter has no false negatives.
    assert_eq!((matched_own, found), (payments, payments));

    println!("{addresses} addresses, {payments} payments in {BLOCKS} blocks of {PAYMENTS}");
    println!(
        "BIP 37:  {sent_bytes:>9} bytes; the node sent {matched} transactions, {matched_own} of them the wallet's,"
    );
    println!(
        "         and knows a filter that matches {:.3}% of all addresses",
        100.0 * sent.expected_fpr()
    );
    println!(
        "BIP 158: {fetched_bytes:>9} bytes; the wallet fetched {blocks} blocks, {blocks_with_own} of them with its payments,"
    );
    println!("         and the node knows which blocks");
    Ok(())
}
