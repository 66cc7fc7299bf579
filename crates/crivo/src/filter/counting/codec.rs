//! A counting filter as numbers and words.

use super::counters::Counters;
use super::{CounterWidth, CountingBloom};
use crate::bits::Words;
use crate::codec::{DecodeError, Kind, Persist};
use crate::theory::check::{check_positive, check_probes};
use crate::{KeyHasher, ParameterError};

/// The numbers of the file, checked.
struct Parameters {
    capacity: u64,
    count: u64,
    probes: u32,
    width: CounterWidth,
}

impl Parameters {
    fn read(parameters: &[u64]) -> Result<Self, DecodeError> {
        let &[capacity, count, probes, bits] = parameters else {
            return Err(DecodeError::Inconsistent("a counting filter has four parameters"));
        };
        check_positive("capacity", capacity)?;
        check_positive("number of counters", count)?;
        // What does not fit into 32 bits is out of range in any case.
        let probes = u32::try_from(probes).unwrap_or(u32::MAX);
        check_probes(probes)?;
        let width = [CounterWidth::Four, CounterWidth::Eight]
            .into_iter()
            .find(|width| u64::from(width.bits()) == bits)
            .ok_or_else(|| ParameterError::new("bits of a counter", bits, "4 or 8"))?;
        super::check_size(count, width)?;
        Ok(Self { capacity, count, probes, width })
    }
}

/// Four parameters: the capacity, the number of counters, the number of probes per key, and the
/// bits of a counter. The payload is the counters, packed from the low end of each word; what is
/// left of the last word is 0.
impl Persist for CountingBloom {
    const KIND: Kind = Kind::Counting;

    fn parameters(&self) -> Vec<u64> {
        vec![
            self.capacity,
            self.counter_count(),
            u64::from(self.probes()),
            u64::from(self.width().bits()),
        ]
    }

    fn payload_length(parameters: &[u64]) -> Result<u64, DecodeError> {
        let parameters = Parameters::read(parameters)?;
        Ok(Counters::word_count(parameters.count, parameters.width))
    }

    fn payload(&self) -> Vec<&[u64]> {
        vec![self.counters.words()]
    }

    fn from_parts(
        hasher: KeyHasher,
        key_count: u64,
        parameters: &[u64],
        payload: Words,
    ) -> Result<Self, DecodeError> {
        let Parameters { capacity, count, probes, width } = Parameters::read(parameters)?;
        let used_of_last_word = count % u64::from(64 / width.bits()) * u64::from(width.bits());
        let beyond = payload.last().map_or(0, |last| last >> used_of_last_word);
        if used_of_last_word > 0 && beyond != 0 {
            return Err(DecodeError::Inconsistent("there are counts beyond the last counter"));
        }
        let counters = Counters::new(payload, count, probes, width)
            .ok_or(DecodeError::Inconsistent("the counters are not as many as the words"))?;
        Ok(Self { counters, hasher, capacity, key_count })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter(width: CounterWidth) -> CountingBloom {
        let mut filter =
            CountingBloom::with_width(100, 0.01, width, KeyHasher::xxh3(5)).expect("valid");
        filter.extend(0..100u64);
        filter
    }

    fn restored(filter: &CountingBloom) -> Result<CountingBloom, DecodeError> {
        let words = Words::copied(&filter.payload().concat()).expect("memory");
        let parameters = filter.parameters();
        assert_eq!(CountingBloom::payload_length(&parameters), Ok(words.len() as u64));
        CountingBloom::from_parts(filter.hasher(), filter.key_count(), &parameters, words)
    }

    #[test]
    fn what_is_written_is_read() {
        for width in [CounterWidth::Four, CounterWidth::Eight] {
            let filter = filter(width);
            let again = restored(&filter).unwrap();
            assert_eq!(again, filter);
            assert_eq!(again.capacity(), 100);
            assert!((0..100u64).all(|key| again.contains(&key)));
        }
    }

    #[test]
    fn bad_parameters_are_refused() {
        let length = CountingBloom::payload_length;
        assert_eq!(length(&[1, 33, 7, 4]), Ok(3));
        assert_eq!(length(&[1, 33, 255, 8]), Ok(5));
        assert_eq!(length(&[1, u64::MAX / 4, 7, 4]), Ok(u64::MAX / 64 + 1));
        for bad in [
            &[][..],
            &[1, 33, 7],
            &[1, 33, 7, 4, 0],
            &[0, 33, 7, 4],
            &[1, 0, 7, 4],
            &[1, 33, 0, 4],
            &[1, 33, 256, 4],
            &[1, 33, (1 << 32) + 7, 4],
            &[1, 33, 7, 5],
            &[1, u64::MAX, 7, 4],
        ] {
            assert!(length(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn any_words_make_a_filter_that_is_safe_to_ask() {
        let parameters = [3, 33, 7, 4];
        let from = |words: &[u64]| {
            let words = Words::copied(words).expect("memory");
            CountingBloom::from_parts(KeyHasher::default(), 9, &parameters, words)
        };
        let full = from(&[u64::MAX, u64::MAX, 15]).unwrap();
        assert!((0..1000u64).all(|key| full.contains(&key)));
        assert_eq!(
            from(&[0, 0, 16]),
            Err(DecodeError::Inconsistent("there are counts beyond the last counter"))
        );
        assert!(from(&[0, 0]).is_err());
    }
}
