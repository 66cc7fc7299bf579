//! The sample for all checks.

use crivo::{Digest, Key, KeyHasher, ParameterError};

/// The digests of many keys under several functions: a column for each function, a row for each
/// key.
///
/// ```
/// use crivo::KeyHasher;
/// use crivo_lab::quality::DigestTable;
///
/// let hashers = [KeyHasher::xxh3(0), KeyHasher::xxh3(1)];
/// let table = DigestTable::of_hashers(&hashers, ["ana", "bia", "caio"])?;
/// assert_eq!((table.function_count(), table.key_count()), (2, 3));
/// assert_eq!(table.column(1)[2], KeyHasher::xxh3(1).digest("caio"));
/// # Ok::<(), crivo::ParameterError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DigestTable {
    columns: Vec<Vec<Digest>>,
}

impl DigestTable {
    /// Applies every function to every key. The keys must be distinct, which is not verified.
    ///
    /// ```
    /// use crivo::Digest;
    /// use crivo_lab::quality::DigestTable;
    ///
    /// // Not a good hash, but a simple one.
    /// let sum_of_bytes = |key: &&str| Digest::new(key.bytes().map(u64::from).sum());
    /// let table = DigestTable::new(&[sum_of_bytes], ["ana", "naa"])?;
    /// assert_eq!(table.column(0)[0], table.column(0)[1]);
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    ///
    /// # Errors
    /// If there are no functions or no keys.
    pub fn new<K>(
        functions: &[impl Fn(&K) -> Digest],
        keys: impl IntoIterator<Item = K>,
    ) -> Result<Self, ParameterError> {
        if functions.is_empty() {
            return Err(ParameterError::new("functions", 0, "at least one"));
        }
        let mut columns = vec![Vec::new(); functions.len()];
        for key in keys {
            for (column, function) in columns.iter_mut().zip(functions) {
                column.push(function(&key));
            }
        }
        if columns[0].is_empty() {
            return Err(ParameterError::new("keys", 0, "at least one"));
        }
        Ok(Self { columns })
    }

    /// The digests that `hashers` make of `keys`. The keys must be distinct, which is not
    /// verified.
    ///
    /// # Errors
    /// If there are no hashers or no keys.
    pub fn of_hashers<K: Key>(
        hashers: &[KeyHasher],
        keys: impl IntoIterator<Item = K>,
    ) -> Result<Self, ParameterError> {
        let functions: Vec<_> = hashers.iter().map(|hasher| |key: &K| hasher.digest(key)).collect();
        Self::new(&functions, keys)
    }

    /// The number of functions: at least one.
    pub fn function_count(&self) -> usize {
        self.columns.len()
    }

    /// The number of keys: at least one.
    pub fn key_count(&self) -> usize {
        self.columns[0].len()
    }

    /// The digests of all keys under one function.
    ///
    /// # Panics
    /// If there is no function of this number; the first is 0.
    pub fn column(&self, function: usize) -> &[Digest] {
        &self.columns[function]
    }

    pub(super) fn columns(&self) -> impl Iterator<Item = &[Digest]> {
        self.columns.iter().map(Vec::as_slice)
    }
}
