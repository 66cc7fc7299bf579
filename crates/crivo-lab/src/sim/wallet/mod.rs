//! A wallet that learns of its payments from a node that it does not trust: by a filter that it sends
//! (BIP 37), or by filters that it fetches (BIP 158).
//!
//! ```text
//!   BIP 37    wallet ── filter of all addresses ──▶ node
//!             wallet ◀── of every block: header, proof, transactions that match ── node
//!   BIP 158   wallet ◀── of every block: header, filter of all scripts ── node
//!             wallet ◀── whole blocks whose filters match ── node
//! ```
//!
//! ```
//! use crivo_lab::sim::wallet::{Chain, ChainPlan, by_block_filters, by_sent_filter};
//!
//! let plan = ChainPlan { blocks: 10, activity: 1.0, ..ChainPlan::default() };
//! let chain = Chain::generate(&plan);
//! let fetched = by_block_filters(&chain, 1_000);
//! let sent = by_sent_filter(&chain, 1_000, 0.001)?;
//! assert_eq!((fetched.missed, sent.missed), (0, 0));
//! // What the node can guess about the wallet is less if it does not see its filter.
//! assert!(fetched.precision() < sent.precision());
//! # Ok::<(), crivo::BuildError>(())
//! ```
//!
//! Transactions pay to hashes of public keys (25 bytes of script) and show key and signature when they
//! spend; sizes are those of such transactions. Contents are random bytes: nothing is signed.

mod chain;
mod proof;

use std::collections::{BTreeMap, BTreeSet};

use crivo::BuildError;
use crivo::theory::bloom;
use crivo_core::mix::mix;
use crivo_formats::bitcoin::{Bip37Bloom, Bip37Flags, Bip158Filter};
use serde::{Deserialize, Serialize};

pub use chain::{Chain, ChainPlan};

use chain::{Transaction, block_bytes, compact_size, is_own};
use proof::{expected_proof_bytes, proof_bytes};

const HEADER_BYTES: u64 = 80;
const HASH_BYTES: u64 = 32;

/// The inverse of the false-positive rate of an element in a filter of BIP 158.
const BIP158_INVERSE_FPR: f64 = 784_931.0;

/// What a wallet fetched in one way, and what the node can guess.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct WalletRow {
    /// `BIP 37` or `BIP 158`.
    pub protocol: String,
    /// The number of addresses of the wallet.
    pub addresses: u64,
    /// The false-positive rate that was asked for: of an element.
    pub fpr: f64,
    /// The false-positive rate of an element, in theory.
    pub fpr_theory: f64,
    /// The number of blocks.
    pub blocks: u64,
    /// Transactions of the wallet.
    pub own_transactions: u64,
    /// Transactions of the wallet that it did not learn of.
    pub missed: u64,
    /// The bytes of all blocks.
    pub chain_bytes: u64,
    /// The bytes of filters.
    pub filter_bytes: u64,
    /// The same in theory.
    pub filter_bytes_theory: f64,
    /// All bytes, with headers and proofs.
    pub bytes: u64,
    /// The same in theory.
    pub bytes_theory: f64,
    /// What could be fetched in vain: transactions (BIP 37) or blocks (BIP 158) without the wallet.
    pub candidates: u64,
    /// What of it was fetched.
    pub in_vain: u64,
    /// The same in theory.
    pub in_vain_theory: f64,
    /// Addresses of others that the node must suspect to be the wallet's.
    pub others_suspected: u64,
    /// The same in theory.
    pub others_suspected_theory: f64,
    /// Addresses of others that are in the blocks.
    pub others: u64,
    /// Addresses of the wallet that the node suspects.
    pub own_suspected: u64,
}

impl WalletRow {
    /// The probability that an address that the node suspects is the wallet's.
    pub fn precision(&self) -> f64 {
        self.own_suspected as f64 / (self.own_suspected + self.others_suspected).max(1) as f64
    }

    /// The same in theory.
    pub fn precision_theory(&self) -> f64 {
        self.own_suspected as f64
            / (self.own_suspected as f64 + self.others_suspected_theory).max(1.0)
    }
}

/// BIP 37: the wallet sends a filter of the hashes and keys of its addresses, and is sent the
/// transactions that match. The node suspects every address whose hash matches, and its key too where a
/// block shows it.
///
/// # Errors
/// If there is no such filter: nodes take at most 36,000 bytes.
pub fn by_sent_filter(chain: &Chain, addresses: u64, fpr: f64) -> Result<WalletRow, BuildError> {
    let keys = &chain.keys;
    let elements = 2 * addresses;
    let tweak = mix(keys.seed) as u32;
    let mut filter = Bip37Bloom::new(elements, fpr, tweak, Bip37Flags::None)?;
    for address in 0..addresses {
        filter.insert(&keys.hash(address)[..]);
        filter.insert(&keys.public_key(address)[..]);
    }
    let element_fpr = bloom::fpr_exact(filter.size_in_bits(), elements, filter.probes())?;
    let filter_bytes = filter.to_bytes().len() as u64;
    let (mut bytes, mut bytes_theory) = (filter_bytes, filter_bytes as f64);
    let (mut missed, mut candidates, mut in_vain, mut in_vain_theory) = (0, 0, 0, 0.0);
    for block in &chain.blocks {
        let matches: Vec<bool> = block.iter().map(|each| each.matches(&filter, keys)).collect();
        bytes += proof_bytes(&matches);
        let mut probabilities = Vec::new();
        for (transaction, is_sent) in block.iter().zip(&matches) {
            let probability = match transaction.is_own() {
                true => 1.0,
                false => 1.0 - (1.0 - element_fpr).powi(transaction.elements() as i32),
            };
            bytes += if *is_sent { transaction.bytes() } else { 0 };
            bytes_theory += probability * transaction.bytes() as f64;
            probabilities.push(probability);
            if transaction.is_own() {
                missed += u64::from(!is_sent);
            } else {
                candidates += 1;
                in_vain += u64::from(*is_sent);
                in_vain_theory += probability;
            }
        }
        bytes_theory += expected_proof_bytes(&probabilities);
    }
    let is_suspected = |(address, is_shown): &(&u64, &bool)| {
        filter.contains(&keys.hash(**address)[..])
            && (!**is_shown || filter.contains(&keys.public_key(**address)[..]))
    };
    let shown = chain.others.values().filter(|is_shown| **is_shown).count() as f64;
    let hidden = chain.others.len() as f64 - shown;
    Ok(WalletRow {
        protocol: "BIP 37".to_owned(),
        addresses,
        fpr,
        fpr_theory: element_fpr,
        blocks: chain.blocks.len() as u64,
        own_transactions: chain.own_transactions,
        missed,
        chain_bytes: chain.bytes(),
        filter_bytes,
        filter_bytes_theory: filter_bytes as f64,
        bytes,
        bytes_theory,
        candidates,
        in_vain,
        in_vain_theory,
        others_suspected: chain.others.iter().filter(is_suspected).count() as u64,
        others_suspected_theory: hidden * element_fpr + shown * element_fpr.powi(2),
        others: chain.others.len() as u64,
        // All of them match.
        own_suspected: chain.own_addresses,
    })
}

/// BIP 158: the wallet fetches the filter of every block, and the blocks whose filters match. The node
/// suspects every address of a block that is fetched.
pub fn by_block_filters(chain: &Chain, addresses: u64) -> WalletRow {
    let keys = &chain.keys;
    let scripts: Vec<[u8; 25]> = (0..addresses).map(|address| keys.script(address)).collect();
    let element_fpr = 1.0 / BIP158_INVERSE_FPR;
    let block_fpr = 1.0 - (1.0 - element_fpr).powi(addresses as i32);
    let (mut filter_bytes, mut filter_theory, mut bytes, mut bytes_theory) = (0, 0.0, 0, 0.0);
    let (mut missed, mut candidates, mut in_vain) = (0, 0, 0);
    let mut suspected = BTreeSet::new();
    // P(no block with this address is fetched).
    let mut unsuspected: BTreeMap<u64, f64> = BTreeMap::new();
    for (number, block) in (0..).zip(&chain.blocks) {
        let in_block: BTreeSet<u64> = block.iter().flat_map(Transaction::addresses).collect();
        let elements: Vec<[u8; 25]> = in_block.iter().map(|&it| keys.script(it)).collect();
        let filter =
            Bip158Filter::build(&keys.block_hash(number), elements.iter().map(|it| &it[..]));
        filter_bytes += filter.size_in_bits() / 8;
        filter_theory += expected_filter_bytes(filter.key_count());
        // The headers of the chain and of its filters.
        let headers = HEADER_BYTES + HASH_BYTES;
        bytes += headers;
        bytes_theory += headers as f64;
        let own = block.iter().filter(|transaction| transaction.is_own()).count() as u64;
        let others = in_block.iter().copied().filter(|address| !is_own(*address));
        let is_fetched = filter.contains_any(scripts.iter().map(|script| &script[..]));
        let probability = if own > 0 { 1.0 } else { block_fpr };
        bytes += if is_fetched { block_bytes(block) } else { 0 };
        bytes_theory += probability * block_bytes(block) as f64;
        for address in others.clone() {
            *unsuspected.entry(address).or_insert(1.0) *= 1.0 - probability;
        }
        if is_fetched {
            suspected.extend(others);
        }
        if own > 0 {
            missed += if is_fetched { 0 } else { own };
        } else {
            candidates += 1;
            in_vain += u64::from(is_fetched);
        }
    }
    WalletRow {
        protocol: "BIP 158".to_owned(),
        addresses,
        fpr: element_fpr,
        fpr_theory: element_fpr,
        blocks: chain.blocks.len() as u64,
        own_transactions: chain.own_transactions,
        missed,
        chain_bytes: chain.bytes(),
        filter_bytes,
        filter_bytes_theory: filter_theory,
        bytes: bytes + filter_bytes,
        bytes_theory: bytes_theory + filter_theory,
        candidates,
        in_vain,
        in_vain_theory: block_fpr * candidates as f64,
        others_suspected: suspected.len() as u64,
        others_suspected_theory: unsuspected.values().map(|none| 1.0 - none).sum(),
        others: chain.others.len() as u64,
        own_suspected: chain.own_addresses,
    }
}

/// The bytes of a filter of BIP 158, in theory. An element takes 20 bits, and one for each 2^19 in its
/// distance from the one before; distances between n random points of a range r exceed x with the
/// probability (1 − x/r)ⁿ.
fn expected_filter_bytes(elements: u64) -> f64 {
    let count = elements as f64;
    let step = f64::from(1 << 19) / (count * BIP158_INVERSE_FPR);
    let exceeds = (1..).map(|steps| (1.0 - f64::from(steps) * step).max(0.0).powf(count));
    let ones: f64 = exceeds.take_while(|probability| *probability > 1e-12).sum();
    // The last byte lacks three and a half bits on average.
    compact_size(elements) as f64 + (count * (20.0 + ones) + 3.5) / 8.0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Over 40 chains of one seed each, fixed: five standard errors fail by chance once in a million
    /// times, and in nine comparisons once in a hundred thousand.
    #[test]
    fn nothing_is_missed_and_theory_holds() {
        let plan = ChainPlan { blocks: 20, transactions: 100, ..ChainPlan::default() };
        let mut sums: BTreeMap<String, [Vec<f64>; 3]> = BTreeMap::new();
        for seed in 0..40 {
            let chain = Chain::generate(&ChainPlan { seed, ..plan });
            for row in [
                by_block_filters(&chain, 20_000),
                by_sent_filter(&chain, 1_000, 0.01).unwrap(),
                by_sent_filter(&chain, 20_000, 0.0001).unwrap(),
            ] {
                assert_eq!(row.missed, 0, "{row:?}");
                assert!(row.own_suspected <= row.own_transactions, "{row:?}");
                let case = format!("{} {}", row.protocol, row.addresses);
                let [in_vain, bytes, suspected] = sums.entry(case).or_default();
                in_vain.push(row.in_vain as f64 - row.in_vain_theory);
                bytes.push(row.bytes as f64 - row.bytes_theory);
                suspected.push(row.others_suspected as f64 - row.others_suspected_theory);
            }
        }
        for (case, differences) in sums {
            for (what, sample) in ["in vain", "bytes", "suspected"].iter().zip(differences) {
                let mean = sample.iter().sum::<f64>() / 40.0;
                let squares: f64 = sample.iter().map(|value| (value - mean).powi(2)).sum();
                let error = (squares / 39.0 / 40.0).sqrt();
                assert!(mean.abs() < 5.0 * error + 0.5, "{case}, {what}: {mean} ± {error}");
            }
        }
    }

    #[test]
    fn a_filter_that_nodes_do_not_take_is_an_error() {
        let chain = Chain::generate(&ChainPlan { blocks: 1, ..ChainPlan::default() });
        assert!(by_sent_filter(&chain, 1 << 20, 0.01).is_err());
        assert!(by_sent_filter(&chain, 100, 1.0).is_err());
    }
}
