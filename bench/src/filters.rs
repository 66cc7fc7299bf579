//! What is asked of every filter, crivo's and rivals'.

use std::hash::{BuildHasher, Hash};

pub mod goals;
pub mod ours;
pub mod rivals;

/// A key of the benchmarks.
pub trait BenchKey: crivo::Key + Hash + Clone + Sync + 'static {
    /// The key for a number: different keys for different numbers.
    fn make(number: u64) -> Self;

    /// What it is called in tables.
    const NAME: &'static str;

    /// The hash for rivals that take a hash: foldhash, the fastest of the field.
    #[inline(always)]
    fn fold(&self) -> u64 {
        foldhash::fast::FixedState::with_seed(7).hash_one(self)
    }

    /// Our own hash for the same rivals: what differs then is the filter alone.
    #[inline(always)]
    fn fold64(&self) -> u64 {
        crivo::KeyHasher::default().digest(self).get()
    }
}

impl BenchKey for u64 {
    const NAME: &'static str = "u64";

    fn make(number: u64) -> Self {
        crate::number(number)
    }
}

/// Texts of 16 to 32 bytes.
impl BenchKey for String {
    const NAME: &'static str = "16–32 bytes";

    fn make(number: u64) -> Self {
        let bits = crate::number(number);
        let length = 16 + (bits % 17) as usize;
        format!("{bits:016x}/{:015x}", bits.rotate_left(29) >> 4)[..length].to_string()
    }
}

/// A filter under test.
pub trait Subject<K> {
    fn name(&self) -> &str;

    /// Makes the filter of these keys, in place of any it had.
    fn fill(&mut self, keys: &[K]);

    /// How many of these keys are found.
    fn ask(&self, keys: &[K]) -> u64;

    /// The filter's table, in bits.
    fn bits(&self) -> f64;
}

/// A name and three functions make a [`Subject`]; everything is inlined into its loops.
pub struct Contestant<F, Build, Ask, Bits> {
    name: String,
    build: Build,
    ask: Ask,
    bits: Bits,
    filter: Option<F>,
}

impl<F, Build, Ask, Bits> Contestant<F, Build, Ask, Bits> {
    /// `ask` counts the members among many keys; [`each`] makes it of a question about one.
    pub fn boxed<'a, K>(
        name: impl Into<String>,
        build: Build,
        ask: Ask,
        bits: Bits,
    ) -> Box<dyn Subject<K> + 'a>
    where
        F: 'a,
        Build: Fn(&[K]) -> F + 'a,
        Ask: Fn(&F, &[K]) -> u64 + 'a,
        Bits: Fn(&F) -> f64 + 'a,
    {
        Box::new(Self { name: name.into(), build, ask, bits, filter: None })
    }
}

/// Asks one by one.
pub fn each<F, K>(contains: impl Fn(&F, &K) -> bool) -> impl Fn(&F, &[K]) -> u64 {
    move |filter, keys| keys.iter().map(|key| u64::from(contains(filter, key))).sum()
}

impl<K, F, Build, Ask, Bits> Subject<K> for Contestant<F, Build, Ask, Bits>
where
    Build: Fn(&[K]) -> F,
    Ask: Fn(&F, &[K]) -> u64,
    Bits: Fn(&F) -> f64,
{
    fn name(&self) -> &str {
        &self.name
    }

    fn fill(&mut self, keys: &[K]) {
        self.filter = None;
        self.filter = Some((self.build)(keys));
    }

    fn ask(&self, keys: &[K]) -> u64 {
        (self.ask)(self.filter.as_ref().expect("filled before"), keys)
    }

    fn bits(&self) -> f64 {
        (self.bits)(self.filter.as_ref().expect("filled before"))
    }
}
