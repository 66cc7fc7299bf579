//! How large a table must be, so that its keys find room.

use super::fields::BUCKET_SIZE;
use crate::ParameterError;
use crate::theory::cuckoo as theory;

pub(super) fn buckets_for(capacity: u64, _width: u32) -> Result<u64, ParameterError> {
    Ok(((capacity as f64 / 0.95 / 8.0).ceil() as u64).max(1) * 2)
}

pub(super) fn fingerprint_bits(capacity: u64, rate: f64) -> Result<u32, ParameterError> {
    for width in 4..=32 {
        let load = capacity as f64 / (buckets_for(capacity, width)? * u64::from(BUCKET_SIZE)) as f64;
        if theory::fingerprint_bits(rate, BUCKET_SIZE, load)? <= width {
            return Ok(width);
        }
    }
    Err(ParameterError::new("rate", rate, "at least 2e-9"))
}
