//! The filter as numbers and words.
//!
//! | parameter | range |
//! |---|---|
//! | cells per key | 3 or 4 |
//! | width of a fingerprint | 1 to 32 |
//! | segment length | a power of two, at most 2^18 |
//! | segment count | at most 2^58 cells in all; 0 exactly if there are no keys |
//! | seed | odd |
//!
//! The words are the packed cells.

use super::Fuse;
use super::cells::Cells;
use super::equation::Geometry;
use crate::bits::Words;
use crate::codec::{DecodeError, Kind, Persist};
use crate::theory::fuse::Arity;
use crate::{KeyHasher, ParameterError};

impl Persist for Fuse {
    const KIND: Kind = Kind::Fuse;

    fn parameters(&self) -> Vec<u64> {
        let geometry = self.cells.geometry();
        vec![
            geometry.cells_per_key(),
            geometry.width.into(),
            geometry.segment_length,
            geometry.first_cells / geometry.segment_length,
            geometry.seed,
        ]
    }

    fn payload_length(parameters: &[u64]) -> Result<u64, DecodeError> {
        Ok(geometry_of(parameters)?.word_count())
    }

    fn payload(&self) -> Vec<&[u64]> {
        vec![self.cells.words()]
    }

    fn from_parts(
        hasher: KeyHasher,
        key_count: u64,
        parameters: &[u64],
        payload: Words,
    ) -> Result<Self, DecodeError> {
        let geometry = geometry_of(parameters)?;
        if (key_count == 0) != (geometry.first_cells == 0) {
            return Err(DecodeError::Inconsistent(
                "a fuse filter has segments exactly if it has keys",
            ));
        }
        if key_count > geometry.array_length() {
            return Err(DecodeError::Inconsistent("a fuse filter has a cell for each key"));
        }
        let cells = Cells::new(geometry, payload)?
            .ok_or(DecodeError::Inconsistent("a fuse filter has just the words of its cells"))?;
        Ok(Self::new(hasher, key_count, cells))
    }
}

fn geometry_of(parameters: &[u64]) -> Result<Geometry, DecodeError> {
    let &[arity, width, segment_length, segment_count, seed] = parameters else {
        return Err(DecodeError::Inconsistent("a fuse filter has five parameters"));
    };
    let arity = match arity {
        3 => Arity::Three,
        4 => Arity::Four,
        _ => return Err(ParameterError::new("cells per key", arity, "3 or 4").into()),
    };
    // A number that is too large for 32 bits is out of range anyway.
    let width = u32::try_from(width).unwrap_or(u32::MAX);
    // So is a product that is too large for 64 bits.
    let first_cells = segment_count.saturating_mul(segment_length);
    let geometry = Geometry { arity, width, segment_length, first_cells, seed };
    geometry.check()?;
    Ok(geometry)
}
