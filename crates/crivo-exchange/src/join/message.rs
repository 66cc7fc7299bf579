//! The messages of a join, and their bytes.

use crate::ExchangeError;
use crate::wire;

/// The maximum number of keys of a survey.
pub(super) const MAX_SAMPLES: usize = 256;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum JoinMessage<'a> {
    /// How much there is, a check of the seed, and the digests of some rows' keys.
    Survey { rows: u64, row_bytes: u64, check: u64, sample: Vec<u64> },
    /// Send all rows.
    All,
    /// A piece of the filter; more follow, or not.
    Filter { piece: &'a [u8], is_last: bool },
    /// A piece of the stream of rows.
    Rows { piece: &'a [u8] },
    /// The end of the stream, with its number of rows.
    End { rows: u64 },
}

impl<'a> JoinMessage<'a> {
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let tag = match self {
            Self::Survey { .. } => 33,
            Self::All => 34,
            Self::Filter { .. } => 35,
            Self::Rows { .. } => 36,
            Self::End { .. } => 37,
        };
        let mut bytes = wire::message(tag);
        match self {
            Self::Survey { rows, row_bytes, check, sample } => {
                wire::put_number(&mut bytes, *rows);
                wire::put_number(&mut bytes, *row_bytes);
                bytes.extend(check.to_le_bytes());
                bytes.extend(sample.iter().flat_map(|digest| digest.to_le_bytes()));
            }
            Self::All => {}
            Self::Filter { piece, is_last } => {
                bytes.push(u8::from(*is_last));
                bytes.extend_from_slice(piece);
            }
            Self::Rows { piece } => bytes.extend_from_slice(piece),
            Self::End { rows } => wire::put_number(&mut bytes, *rows),
        }
        bytes
    }

    pub(super) fn from_bytes(bytes: &'a [u8]) -> Result<Self, ExchangeError> {
        let (tag, mut reader) = wire::open(bytes)?;
        Ok(match tag {
            33 => {
                let (rows, row_bytes) = (reader.number()?, reader.number()?);
                let check = u64::from_le_bytes(reader.array()?);
                let (sample, rest) = reader.rest().as_chunks::<8>();
                if !rest.is_empty() {
                    return Err(ExchangeError::Truncated);
                }
                let limit = MAX_SAMPLES as u64;
                wire::check_limit("number of samples", sample.len() as u64, limit)?;
                let sample = sample.iter().map(|digest| u64::from_le_bytes(*digest)).collect();
                Self::Survey { rows, row_bytes, check, sample }
            }
            34 => {
                reader.end()?;
                Self::All
            }
            35 => {
                let is_last = reader.flag()?;
                Self::Filter { piece: reader.rest(), is_last }
            }
            36 => Self::Rows { piece: reader.rest() },
            37 => {
                let rows = reader.number()?;
                reader.end()?;
                Self::End { rows }
            }
            other => return Err(ExchangeError::UnknownMessage(other)),
        })
    }

    /// The error for this message where another was expected.
    pub(super) fn instead_of(&self, expected: &'static str) -> ExchangeError {
        let found = match self {
            Self::Survey { .. } => "a survey",
            Self::All => "a request for all rows",
            Self::Filter { .. } => "a filter",
            Self::Rows { .. } => "rows",
            Self::End { .. } => "the end of rows",
        };
        ExchangeError::Unexpected { expected, found }
    }
}
