//! Generated blocks, with the transactions of a wallet in them.

use std::collections::{BTreeMap, BTreeSet};

use crivo_core::Random;
use crivo_core::mix::mix;
use crivo_formats::bitcoin::Bip37Bloom;

use super::HEADER_BYTES;

/// The parameters of a chain of blocks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChainPlan {
    /// The number of blocks.
    pub blocks: u32,
    /// Transactions of others in each block.
    pub transactions: u32,
    /// The probability that the wallet is paid in a block; with the same, it pays.
    pub activity: f64,
    /// The number of addresses that the wallet uses. All others are only watched.
    pub used_addresses: u64,
    /// The seed of all randomness.
    pub seed: u64,
}

impl Default for ChainPlan {
    /// 100 blocks of 500 transactions.
    fn default() -> Self {
        Self { blocks: 100, transactions: 500, activity: 0.1, used_addresses: 100, seed: 1 }
    }
}

/// Addresses of others have numbers from here on; those of the wallet have smaller ones.
const FIRST_FOREIGN: u64 = 1 << 40;

/// An output that is not spent.
#[derive(Debug, Clone, Copy)]
struct Coin {
    transaction: u64,
    index: u32,
    address: u64,
}

#[derive(Debug, Clone)]
pub(super) struct Transaction {
    number: u64,
    inputs: Vec<Coin>,
    /// The addresses that are paid.
    outputs: Vec<u64>,
}

impl Transaction {
    pub(super) fn is_own(&self) -> bool {
        self.addresses().any(is_own)
    }

    pub(super) fn addresses(&self) -> impl Iterator<Item = u64> {
        let spent = self.inputs.iter().map(|coin| coin.address);
        spent.chain(self.outputs.iter().copied())
    }

    /// Version, counts, and lock time; an input with signature and key; an output.
    pub(super) fn bytes(&self) -> u64 {
        10 + 148 * self.inputs.len() as u64 + 34 * self.outputs.len() as u64
    }

    /// How many elements a node compares with the filter of BIP 37.
    pub(super) fn elements(&self) -> u32 {
        1 + self.outputs.len() as u32 + 3 * self.inputs.len() as u32
    }

    /// Whether a node finds it in the filter: by its id, what its outputs pay to, and the outpoint and
    /// the data of each input.
    pub(super) fn matches(&self, filter: &Bip37Bloom, keys: &Keys) -> bool {
        filter.contains(&keys.id(self.number)[..])
            || self.outputs.iter().any(|&address| filter.contains(&keys.hash(address)[..]))
            || self.inputs.iter().any(|coin| {
                filter.contains(&keys.outpoint(coin)[..])
                    || filter.contains(&keys.signature(coin)[..])
                    || filter.contains(&keys.public_key(coin.address)[..])
            })
    }
}

pub(super) fn is_own(address: u64) -> bool {
    address < FIRST_FOREIGN
}

/// The random bytes that stand for hashes, keys and signatures.
#[derive(Debug, Clone, Copy)]
pub(super) struct Keys {
    pub(super) seed: u64,
}

impl Keys {
    fn bytes<const N: usize>(&self, purpose: u64, number: u64) -> [u8; N] {
        let start = mix(self.seed ^ mix(purpose)).wrapping_add(number);
        let mut random = Random::new(mix(start));
        let mut bytes = [0; N];
        bytes.chunks_mut(8).for_each(|chunk| {
            chunk.copy_from_slice(&random.number().to_le_bytes()[..chunk.len()]);
        });
        bytes
    }

    pub(super) fn hash(&self, address: u64) -> [u8; 20] {
        self.bytes(1, address)
    }

    pub(super) fn public_key(&self, address: u64) -> [u8; 33] {
        self.bytes(2, address)
    }

    fn id(&self, transaction: u64) -> [u8; 32] {
        self.bytes(3, transaction)
    }

    pub(super) fn block_hash(&self, block: u64) -> [u8; 32] {
        self.bytes(4, block)
    }

    fn signature(&self, coin: &Coin) -> [u8; 72] {
        self.bytes(5, 8 * coin.transaction + u64::from(coin.index))
    }

    fn outpoint(&self, coin: &Coin) -> [u8; 36] {
        let mut bytes = [0; 36];
        bytes[..32].copy_from_slice(&self.id(coin.transaction));
        bytes[32..].copy_from_slice(&coin.index.to_le_bytes());
        bytes
    }

    /// The script that pays to the hash of a key.
    pub(super) fn script(&self, address: u64) -> [u8; 25] {
        let mut bytes = [0; 25];
        bytes[..3].copy_from_slice(&[0x76, 0xa9, 20]);
        bytes[3..23].copy_from_slice(&self.hash(address));
        bytes[23..].copy_from_slice(&[0x88, 0xac]);
        bytes
    }
}

/// Blocks of transactions, some of which are the wallet's.
#[derive(Debug, Clone)]
pub struct Chain {
    pub(super) keys: Keys,
    pub(super) blocks: Vec<Vec<Transaction>>,
    /// The addresses of others, and whether an input shows their keys.
    pub(super) others: BTreeMap<u64, bool>,
    pub(super) own_transactions: u64,
    pub(super) own_addresses: u64,
}

/// The unspent outputs, and the numbers of what comes next.
struct Ledger {
    random: Random,
    coins: Vec<Coin>,
    own_coins: Vec<Coin>,
    transactions: u64,
    foreign_addresses: u64,
}

impl Ledger {
    fn foreign_address(&mut self) -> u64 {
        self.foreign_addresses += 1;
        FIRST_FOREIGN + self.foreign_addresses
    }

    /// One to three, two on average.
    fn few(&mut self) -> u64 {
        1 + self.random.below(3)
    }

    /// One to three unspent outputs of others.
    fn foreign_coins(&mut self) -> Vec<Coin> {
        let count = self.few();
        (0..count)
            .map(|_| match self.coins.is_empty() {
                // An output from before the first block.
                true => {
                    self.transactions += 1;
                    let address = self.foreign_address();
                    Coin { transaction: self.transactions, index: 0, address }
                }
                false => {
                    let index = self.random.index(self.coins.len());
                    self.coins.swap_remove(index)
                }
            })
            .collect()
    }

    fn transact(&mut self, inputs: Vec<Coin>, outputs: Vec<u64>) -> Transaction {
        self.transactions += 1;
        let transaction = self.transactions;
        for (index, &address) in (0..).zip(&outputs) {
            let coins = if is_own(address) { &mut self.own_coins } else { &mut self.coins };
            coins.push(Coin { transaction, index, address });
        }
        Transaction { number: transaction, inputs, outputs }
    }
}

impl Chain {
    /// A chain in which others pay to new addresses, and the wallet is paid and pays now and then.
    pub fn generate(plan: &ChainPlan) -> Self {
        let mut ledger = Ledger {
            random: Random::new(plan.seed),
            coins: Vec::new(),
            own_coins: Vec::new(),
            transactions: 0,
            foreign_addresses: 0,
        };
        let blocks = (0..plan.blocks).map(|_| {
            let mut block = Vec::new();
            for _ in 0..plan.transactions {
                let inputs = ledger.foreign_coins();
                let count = ledger.few();
                let outputs = (0..count).map(|_| ledger.foreign_address()).collect();
                block.push(ledger.transact(inputs, outputs));
            }
            if ledger.random.unit() < plan.activity {
                let inputs = ledger.foreign_coins();
                let own = ledger.random.below(plan.used_addresses);
                let outputs = vec![ledger.foreign_address(), own];
                block.push(ledger.transact(inputs, outputs));
            }
            if ledger.random.unit() < plan.activity && !ledger.own_coins.is_empty() {
                let index = ledger.random.index(ledger.own_coins.len());
                let input = ledger.own_coins.swap_remove(index);
                let outputs = vec![ledger.foreign_address()];
                block.push(ledger.transact(vec![input], outputs));
            }
            ledger.random.shuffle(&mut block);
            block
        });
        let blocks: Vec<Vec<Transaction>> = blocks.collect();
        let mut own_addresses = BTreeSet::new();
        let mut others: BTreeMap<u64, bool> = BTreeMap::new();
        for transaction in blocks.iter().flatten() {
            own_addresses.extend(transaction.addresses().filter(|address| is_own(*address)));
            for address in transaction.outputs.iter().filter(|address| !is_own(**address)) {
                others.entry(*address).or_default();
            }
            for coin in transaction.inputs.iter().filter(|coin| !is_own(coin.address)) {
                others.insert(coin.address, true);
            }
        }
        let is_own = |transaction: &&Transaction| transaction.is_own();
        Self {
            keys: Keys { seed: plan.seed },
            own_transactions: blocks.iter().flatten().filter(is_own).count() as u64,
            blocks,
            others,
            own_addresses: own_addresses.len() as u64,
        }
    }

    /// The bytes of all blocks: what a wallet fetches that needs no node to trust.
    pub fn bytes(&self) -> u64 {
        self.blocks.iter().map(|block| block_bytes(block)).sum()
    }
}

pub(super) fn block_bytes(block: &[Transaction]) -> u64 {
    HEADER_BYTES
        + compact_size(block.len() as u64)
        + block.iter().map(Transaction::bytes).sum::<u64>()
}

/// How many bytes Bitcoin writes such a length in.
pub(super) fn compact_size(number: u64) -> u64 {
    match number {
        0..=0xfc => 1,
        0xfd..=0xffff => 3,
        0x1_0000..=0xffff_ffff => 5,
        _ => 9,
    }
}
