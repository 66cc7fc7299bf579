//! RedisBloom's filters, as `BF.SCANDUMP` and `CF.SCANDUMP` dump them.
//!
//! A dump is a header and then the tables, in chunks of at most 16 MiB. Each chunk comes with a
//! number, which `LOADCHUNK` wants to have with it again. [`RedisBloom::from_chunks`] and
//! [`RedisBloom::to_chunks`] work on both; a file holds the bytes of all chunks one after another,
//! from which the numbers follow. In Python:
//!
//! ```text
//!   iterator, chunk = client.bf().scandump(key, 0)
//!   while chunk:
//!       file.write(chunk)
//!       iterator, chunk = client.bf().scandump(key, iterator)
//! ```
//!
//! All numbers are little-endian. Keys are bytes; a text is its UTF-8. The hash is MurmurHash64A.

mod bloom;
mod cuckoo;

pub use bloom::RedisBloom;
pub use cuckoo::{RedisCuckoo, RedisCuckooOptions};

pub(crate) use bloom::FORMAT as BLOOM_FORMAT;
pub(crate) use cuckoo::FORMAT as CUCKOO_FORMAT;

use crate::FormatError;
use crate::key::bytes_of;

/// The most that a chunk has.
const MAX_CHUNK: usize = 16 << 20;

/// The bytes of a dump: those of its chunks, if none is missing.
fn join_chunks<'a>(
    chunks: impl IntoIterator<Item = (u64, &'a [u8])>,
) -> Result<Vec<u8>, FormatError> {
    let mut chunks = chunks.into_iter();
    let (Some((1, header)), mut end) = (chunks.next(), 1) else {
        return Err(FormatError::Inconsistent("the first chunk is not the header, with number 1"));
    };
    let mut bytes = header.to_vec();
    for (number, chunk) in chunks {
        end += chunk.len() as u64;
        if number != end {
            return Err(FormatError::Inconsistent("a chunk is missing, or at another place"));
        }
        bytes.extend(chunk);
    }
    Ok(bytes)
}

/// A header and tables as chunks with their numbers. No chunk has parts of two tables.
fn split_chunks<'a>(
    header: Vec<u8>,
    tables: impl IntoIterator<Item = &'a [u8]>,
) -> Vec<(u64, Vec<u8>)> {
    let mut chunks = vec![(1, header)];
    let mut end = 1;
    for chunk in tables.into_iter().flat_map(|table| table.chunks(MAX_CHUNK)) {
        end += chunk.len() as u64;
        chunks.push((end, chunk.to_vec()));
    }
    chunks
}

/// MurmurHash64A, by Austin Appleby.
fn murmur64a(bytes: &[u8], seed: u64) -> u64 {
    const M: u64 = 0xc6a4_a793_5bd1_e995;
    let (blocks, tail) = bytes.as_chunks::<8>();
    let mut hash = seed ^ (bytes.len() as u64).wrapping_mul(M);
    for block in blocks {
        let word = u64::from_le_bytes(*block).wrapping_mul(M);
        hash = (hash ^ (word ^ (word >> 47)).wrapping_mul(M)).wrapping_mul(M);
    }
    if !tail.is_empty() {
        let word = tail.iter().rev().fold(0, |word, &byte| (word << 8) | u64::from(byte));
        hash = (hash ^ word).wrapping_mul(M);
    }
    hash = (hash ^ (hash >> 47)).wrapping_mul(M);
    hash ^ (hash >> 47)
}
