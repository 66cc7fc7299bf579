//! A counting filter as a file.
//!
//! Four parameters: the capacity, the number of counters, the number of probes per key, and the
//! bits of a counter. The payload is the counters, packed from the low end of each word; what is
//! left of the last word is 0.

use super::counters::Counters;
use super::{CounterWidth, CountingBloom, CountingSpec};
use crate::filter::Kind;
use crate::persist::{Content, DecodeError, FileKind, Metadata, Parts, Persist};

impl Persist for CountingBloom {
    type Layout = CountingSpec;

    fn parts(&self) -> Parts<'_> {
        Parts {
            kind: Kind::Counting.file_kind(),
            hasher: self.hasher,
            key_count: self.key_count,
            parameters: vec![
                self.capacity,
                self.counter_count(),
                u64::from(self.probes()),
                u64::from(self.width().bits()),
            ],
            payload: vec![self.counters.words()],
        }
    }

    fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    fn metadata_mut(&mut self) -> &mut Metadata {
        &mut self.metadata
    }

    fn parse(kind: FileKind, parameters: &[u64]) -> Result<CountingSpec, DecodeError> {
        Kind::Counting.file_kind().expect(kind)?;
        let &[capacity, count, probes, bits] = parameters else {
            return Err(DecodeError::Inconsistent("a counting filter has four parameters"));
        };
        // What does not fit into 32 bits is out of range in any case.
        let probes = u32::try_from(probes).unwrap_or(u32::MAX);
        let width = CounterWidth::from_bits(bits)?;
        Ok(CountingSpec::from_parts(count, probes, width, capacity)?)
    }

    fn payload_length(spec: &CountingSpec) -> u64 {
        spec.word_count()
    }

    fn from_content(spec: CountingSpec, mut content: Content) -> Result<Self, DecodeError> {
        let CountingSpec { counters: count, probes, width, capacity } = spec;
        content.check_padding(1, content.padding_from(count * u64::from(width.bits())))?;
        let Content { hasher, key_count, metadata, payload, .. } = content;
        let counters = Counters::new(payload, count, probes, width)
            .ok_or(DecodeError::Inconsistent("the counters are not as many as the words"))?;
        Ok(Self { counters, hasher, capacity, key_count, metadata })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::KeyHasher;
    use crivo_core::Words;

    fn filter(width: CounterWidth) -> CountingBloom {
        let mut filter =
            CountingBloom::with_width(100, 0.01, width, KeyHasher::xxh3(5)).expect("valid");
        filter.extend(0..100u64);
        filter
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes long there")]
    fn what_is_written_is_read() {
        for width in [CounterWidth::Four, CounterWidth::Eight] {
            let filter = filter(width);
            let again = CountingBloom::from_bytes(&filter.to_bytes()).unwrap();
            assert_eq!(again, filter);
            assert_eq!(again.capacity(), 100);
            assert!((0..100u64).all(|key| again.contains(&key)));
        }
    }

    #[test]
    fn bad_parameters_are_refused() {
        let parse =
            |parameters: &[u64]| CountingBloom::parse(Kind::Counting.file_kind(), parameters);
        let length = |parameters: &[u64]| {
            parse(parameters).map(|layout| CountingBloom::payload_length(&layout))
        };
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
        let from = |words: &[u64]| {
            let layout = CountingBloom::parse(Kind::Counting.file_kind(), &[3, 33, 7, 4])?;
            let content = Content {
                version: 1,
                hasher: KeyHasher::default(),
                key_count: 9,
                metadata: Metadata::new(),
                payload: Words::copied(words)?,
            };
            CountingBloom::from_content(layout, content)
        };
        let full = from(&[u64::MAX, u64::MAX, 15]).unwrap();
        assert!((0..1000u64).all(|key| full.contains(&key)));
        assert!(matches!(from(&[0, 0, 16]), Err(DecodeError::Inconsistent(_))));
        assert!(from(&[0, 0]).is_err());
    }
}
