//! Memory that the system has at hand.
//!
//! A virtual machine may give memory that it does not use back to its host, within seconds, and has to ask for it when it
//! is needed again. That can take twenty times as long as to clear it: a filter of a megabyte then takes milliseconds to
//! allocate, and all of it counts as insertions. Nothing of that is the work of a filter.

use std::hint::black_box;

/// The smallest pages.
const PAGE: usize = 4096;

/// What anything here takes for a key while it is built, and no more at once than the machine surely has.
pub fn for_keys(keys: usize) -> usize {
    (48 * keys).min(4 << 30)
}

/// Takes that much memory and gives it back, so that the next to ask for some finds it.
///
/// # Panics
/// If there is not so much.
pub fn warm(bytes: usize) {
    let mut memory = crivo_core::memory::zeros(bytes / size_of::<u64>()).expect("memory");
    memory.iter_mut().step_by(PAGE / size_of::<u64>()).for_each(|word| *word = 1);
    black_box(memory);
}
