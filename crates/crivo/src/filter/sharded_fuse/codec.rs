//! A sharded fuse filter as a file: the packed cells of its shards.
//!
//! | parameter | range |
//! |---|---|
//! | cells per key | 3 or 4 |
//! | width of a fingerprint | 1 to 32 |
//! | segment length | a power of two, at most 2^18 |
//! | segment count of a shard | 0 exactly if there are no keys; at most 2^63 bits in all |
//! | shards | a power of two, at most 2^15 |
//! | for each shard, its seed | odd |

use super::ShardedFuse;
use super::table::{MAX_SHARD_BITS, ShardedGeometry, ShardedTable};
use crate::ParameterError;
use crate::filter::Kind;
use crate::filter::fuse::equation::FuseGeometry;
use crate::persist::{Content, DecodeError, FileKind, Metadata, Parts, Persist};
use crate::theory::fuse::Arity;

/// The parameters of a file.
pub struct ShardedFuseLayout {
    geometry: ShardedGeometry,
    seeds: Vec<u64>,
}

impl Persist for ShardedFuse {
    type Layout = ShardedFuseLayout;

    fn parts(&self) -> Parts<'_> {
        let geometry = self.cells.geometry();
        let FuseGeometry { width, segment_length, first_cells, .. } = geometry.shard;
        let mut parameters = vec![
            geometry.shard.cells_per_key(),
            width.into(),
            segment_length,
            first_cells / segment_length,
            geometry.shards(),
        ];
        parameters.extend(self.cells.seeds());
        Parts {
            kind: Kind::ShardedFuse.file_kind(),
            hasher: self.hasher,
            key_count: self.key_count,
            parameters,
            payload: vec![self.cells.words()],
        }
    }

    fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    fn metadata_mut(&mut self) -> &mut Metadata {
        &mut self.metadata
    }

    fn parse(kind: FileKind, parameters: &[u64]) -> Result<ShardedFuseLayout, DecodeError> {
        Kind::ShardedFuse.file_kind().expect(kind)?;
        let Some((&[arity, width, segment_length, segment_count, shards], seeds)) =
            parameters.split_first_chunk()
        else {
            return Err(DecodeError::Inconsistent(
                "a sharded fuse filter has five parameters and its seeds",
            ));
        };
        let arity = match arity {
            3 => Arity::Three,
            4 => Arity::Four,
            _ => return Err(ParameterError::new("cells per key", arity, "3 or 4").into()),
        };
        if !shards.is_power_of_two() || shards > 1 << MAX_SHARD_BITS {
            let allowed = "a power of two, at most 2^15";
            return Err(ParameterError::new("shards", shards, allowed).into());
        }
        if seeds.len() as u64 != shards {
            return Err(DecodeError::Inconsistent("a sharded fuse filter has a seed per shard"));
        }
        if let Some(seed) = seeds.iter().find(|seed| seed.is_multiple_of(2)) {
            return Err(ParameterError::new("seed", seed, "odd").into());
        }
        // A number that is too large for 32 bits is out of range anyway.
        let width = u32::try_from(width).unwrap_or(u32::MAX);
        // So is a product that is too large for 64 bits.
        let first_cells = segment_count.saturating_mul(segment_length);
        let shard = FuseGeometry { arity, width, segment_length, first_cells, seed: 1 };
        let geometry = ShardedGeometry { shard, shard_bits: shards.trailing_zeros() };
        geometry.check()?;
        Ok(ShardedFuseLayout { geometry, seeds: seeds.to_vec() })
    }

    fn payload_length(layout: &ShardedFuseLayout) -> u64 {
        layout.geometry.word_count()
    }

    fn from_content(layout: ShardedFuseLayout, mut content: Content) -> Result<Self, DecodeError> {
        let ShardedFuseLayout { geometry, seeds } = layout;
        let shard = geometry.shard;
        if content.payload.len() as u64 == geometry.word_count() && shard.first_cells > 0 {
            // There are as many words in memory.
            let shard_words = geometry.shard_words() as usize;
            let used = shard.array_length() * u64::from(shard.width);
            let (full, rest) = ((used / 64) as usize, used % 64);
            // The kind is younger than version 1, whose files could have anything there.
            for start in (0..content.payload.len()).step_by(shard_words) {
                let padding = (full..shard_words)
                    .map(|word| (start + word, u64::MAX << if word == full { rest } else { 0 }));
                content.check_padding(1, padding)?;
            }
        }
        let Content { hasher, key_count, metadata, payload, .. } = content;
        if (key_count == 0) != (shard.first_cells == 0) {
            return Err(DecodeError::Inconsistent(
                "a sharded fuse filter has segments exactly if it has keys",
            ));
        }
        // At most 2^63 bits.
        if key_count > shard.array_length() << geometry.shard_bits {
            return Err(DecodeError::Inconsistent("a sharded fuse filter has a cell for each key"));
        }
        let cells = ShardedTable::new(geometry, &seeds, payload)?.ok_or(
            DecodeError::Inconsistent("a sharded fuse filter has just the words of its shards"),
        )?;
        Ok(Self { hasher, key_count, cells, metadata })
    }
}
