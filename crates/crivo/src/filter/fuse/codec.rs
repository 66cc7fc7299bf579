//! A fuse filter as a file: its packed cells.
//!
//! | parameter | range |
//! |---|---|
//! | cells per key | 3 or 4 |
//! | width of a fingerprint | 1 to 32 |
//! | segment length | a power of two, at most 2^18 |
//! | segment count | at most 2^58 cells in all; 0 exactly if there are no keys |
//! | seed | odd |

use super::Fuse;
use super::equation::FuseGeometry;
use super::table::FuseTable;
use crate::ParameterError;
use crate::filter::Kind;
use crate::persist::{Content, DecodeError, FileKind, Metadata, Parts, Persist};
use crate::theory::fuse::Arity;

/// The parameters of a file.
pub struct FuseLayout(FuseGeometry);

impl Persist for Fuse {
    type Layout = FuseLayout;

    fn parts(&self) -> Parts<'_> {
        let geometry = self.cells.geometry();
        Parts {
            kind: Kind::Fuse.file_kind(),
            hasher: self.hasher,
            key_count: self.key_count,
            parameters: vec![
                geometry.cells_per_key(),
                geometry.width.into(),
                geometry.segment_length,
                geometry.first_cells / geometry.segment_length,
                geometry.seed,
            ],
            payload: vec![self.cells.words()],
        }
    }

    fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    fn metadata_mut(&mut self) -> &mut Metadata {
        &mut self.metadata
    }

    fn parse(kind: FileKind, parameters: &[u64]) -> Result<FuseLayout, DecodeError> {
        Kind::Fuse.file_kind().expect(kind)?;
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
        let geometry = FuseGeometry { arity, width, segment_length, first_cells, seed };
        geometry.check()?;
        Ok(FuseLayout(geometry))
    }

    fn payload_length(layout: &FuseLayout) -> u64 {
        layout.0.word_count()
    }

    fn from_content(layout: FuseLayout, mut content: Content) -> Result<Self, DecodeError> {
        let FuseLayout(geometry) = layout;
        if content.payload.len() as u64 == geometry.word_count() {
            // At most 2^58 cells of 2^5 bits, and a few segments.
            let used = geometry.array_length() * u64::from(geometry.width);
            content.check_padding(2, content.padding_from(used))?;
        }
        let Content { hasher, key_count, metadata, payload, .. } = content;
        if (key_count == 0) != (geometry.first_cells == 0) {
            return Err(DecodeError::Inconsistent(
                "a fuse filter has segments exactly if it has keys",
            ));
        }
        if key_count > geometry.array_length() {
            return Err(DecodeError::Inconsistent("a fuse filter has a cell for each key"));
        }
        let cells = FuseTable::new(geometry, payload)?
            .ok_or(DecodeError::Inconsistent("a fuse filter has just the words of its cells"))?;
        Ok(Self { hasher, key_count, cells, metadata })
    }
}
