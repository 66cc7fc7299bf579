//! Every filter behind one interface.

use crivo::filter::{
    Blocked, Bloom, CounterWidth, CountingBloom, Cuckoo, DynamicFilter, Filter, FilterExt,
    FilterSpec, Fuse, FuseOptions, FuseSpec, Growing, Quotient,
};
use crivo::theory::fuse::Arity;
use crivo::{Digest, KeyHasher};

use crate::StudyError;
use crate::plot::Hue;

/// A filter that can be built repeatedly.
pub(super) trait Subject {
    fn name(&self) -> &'static str;
    fn hue(&self) -> Hue;
    /// Builds the filter from these keys, in place of any earlier one.
    fn fill(&mut self, keys: &[u64]) -> Result<(), StudyError>;
    /// How many of the keys it accepts, queried one by one.
    fn count(&self, keys: &[u64]) -> u64;
    /// How many of the keys it accepts, queried in batches.
    fn count_in_batches(&self, keys: &[u64]) -> u64;
    /// The size in bits, and the FPR in theory.
    fn size(&self) -> (u64, f64);
}

struct Contestant<F, B> {
    name: &'static str,
    hue: Hue,
    build: B,
    filter: Option<F>,
}

impl<F: Filter, B: Fn(&[u64]) -> Result<F, StudyError>> Subject for Contestant<F, B> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn hue(&self) -> Hue {
        self.hue
    }

    fn fill(&mut self, keys: &[u64]) -> Result<(), StudyError> {
        // The old filter is freed first, so that its memory can be reused.
        self.filter = None;
        self.filter = Some((self.build)(keys)?);
        Ok(())
    }

    fn count(&self, keys: &[u64]) -> u64 {
        let Some(filter) = &self.filter else { return 0 };
        keys.iter().map(|key| u64::from(filter.contains(key))).sum()
    }

    fn count_in_batches(&self, keys: &[u64]) -> u64 {
        let Some(filter) = &self.filter else { return 0 };
        let hasher = filter.hasher();
        let (mut digests, mut hits) = ([Digest::new(0); 1024], [false; 1024]);
        let mut found = 0;
        for chunk in keys.chunks(1024) {
            hasher.digest_batch(chunk, &mut digests[..chunk.len()]);
            let hits = &mut hits[..chunk.len()];
            filter.contains_batch(&digests[..chunk.len()], hits);
            found += hits.iter().map(|&hit| u64::from(hit)).sum::<u64>();
        }
        found
    }

    fn size(&self) -> (u64, f64) {
        self.filter
            .as_ref()
            .map_or((0, 0.0), |filter| (filter.size_in_bits(), filter.expected_fpr()))
    }
}

fn filled<F: DynamicFilter>(mut filter: F, keys: &[u64]) -> Result<F, StudyError> {
    for key in keys {
        filter.insert(key)?;
    }
    Ok(filter)
}

fn boxed<F: Filter + 'static>(
    name: &'static str,
    hue: Hue,
    build: impl Fn(&[u64]) -> Result<F, StudyError> + 'static,
) -> Box<dyn Subject> {
    Box::new(Contestant { name, hue, build, filter: None })
}

/// The two filters that the claims are about.
pub(super) const BLOOM: &str = "Bloom";
pub(super) const CUCKOO: &str = "cuckoo";

/// Every kind of filter, sized for this FPR.
pub(super) fn all(fpr: f64, hasher: KeyHasher) -> Vec<Box<dyn Subject>> {
    let fuse = move |arity: Arity| {
        move |keys: &[u64]| -> Result<Fuse, StudyError> {
            let spec = FuseSpec::for_fpr(keys.len() as u64, fpr)?.with_arity(arity)?;
            Ok(FuseOptions { threads: Some(1), ..spec.options(hasher) }.build(keys.iter())?)
        }
    };
    vec![
        boxed(BLOOM, Hue::Bloom, move |keys| {
            filled(Bloom::with_hasher(keys.len() as u64, fpr, hasher)?, keys)
        }),
        boxed("blocked", Hue::Blocked, move |keys| {
            filled(Blocked::with_hasher(keys.len() as u64, fpr, hasher)?, keys)
        }),
        boxed("counting", Hue::Counting, move |keys| {
            let width = CounterWidth::Four;
            filled(CountingBloom::with_width(keys.len() as u64, fpr, width, hasher)?, keys)
        }),
        boxed(CUCKOO, Hue::Cuckoo, move |keys| {
            filled(Cuckoo::with_hasher(keys.len() as u64, fpr, hasher)?, keys)
        }),
        boxed("quotient", Hue::Quotient, move |keys| {
            filled(Quotient::with_hasher(keys.len() as u64, fpr, hasher)?, keys)
        }),
        boxed("fuse, 3-wise", Hue::Fuse, fuse(Arity::Three)),
        boxed("fuse, 4-wise", Hue::Folded, fuse(Arity::Four)),
        boxed("growing", Hue::Growing, move |keys| {
            // Sized for a sixteenth of the keys.
            filled(Growing::with_hasher((keys.len() as u64 / 16).max(1), fpr, hasher)?, keys)
        }),
    ]
}

/// The colour of the filter of this name.
pub(super) fn hue(name: &str) -> Hue {
    // Any FPR will do: nothing is built.
    let of_name = all(0.01, KeyHasher::default());
    of_name
        .iter()
        .find(|subject| subject.name() == name)
        .map_or(Hue::Plain, |subject| subject.hue())
}
