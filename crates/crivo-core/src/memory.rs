//! Memory for large tables: asked for with an answer, on huge pages, and prefetched.
//!
//! Where a system or a processor does not support the hints, they do nothing.

#![allow(unsafe_code)]

use std::alloc::{Layout, alloc_zeroed};

use crate::BuildError;

/// An empty vector with room for `length` elements, on huge pages if it is large; `None` if there
/// is not enough memory.
///
/// ```
/// use crivo_core::memory;
///
/// assert!(memory::reserved::<u64>(1_000).is_some_and(|vector| vector.capacity() >= 1_000));
/// assert!(memory::reserved::<u64>(usize::MAX).is_none());
/// ```
pub fn reserved<T>(length: usize) -> Option<Vec<T>> {
    let mut vector = Vec::new();
    vector.try_reserve_exact(length).ok()?;
    ask_for_huge_pages(vector.spare_capacity_mut());
    Some(vector)
}

/// `length` elements, all of the default value, on huge pages if they are many.
///
/// # Errors
/// If there is no memory for them.
///
/// ```
/// use crivo_core::memory::zeroed;
///
/// assert_eq!(zeroed::<u32>(3)?, [0, 0, 0]);
/// assert!(zeroed::<u32>(usize::MAX).is_err());
/// # Ok::<(), crivo_core::BuildError>(())
/// ```
pub fn zeroed<T: Copy + Default>(length: usize) -> Result<Vec<T>, BuildError> {
    let mut values = reserved(length).ok_or_else(|| out_of_memory::<T>(length))?;
    values.resize(length, T::default());
    Ok(values)
}

/// `length` words, all 0, on huge pages if they are many.
///
/// Unlike those of [`zeroed`], they are usually not touched: the system clears a page of fresh memory when it is
/// first needed, on the thread that needs it.
///
/// ```
/// use crivo_core::memory::zeros;
///
/// assert_eq!(zeros(3)?, [0, 0, 0]);
/// assert!(zeros(usize::MAX).is_err());
/// # Ok::<(), crivo_core::BuildError>(())
/// ```
///
/// # Errors
/// If there is no memory for them.
pub fn zeros(length: usize) -> Result<Vec<u64>, BuildError> {
    if length == 0 {
        return Ok(Vec::new());
    }
    let layout = Layout::array::<u64>(length).map_err(|_| out_of_memory::<u64>(length))?;
    // SAFETY: the layout has a size, because there is a word.
    let start = unsafe { alloc_zeroed(layout) }.cast::<u64>();
    if start.is_null() {
        return Err(out_of_memory::<u64>(length));
    }
    // SAFETY: the memory is the global allocator's, with the layout that a vector of this capacity has, and zeros
    // are words.
    let mut words = unsafe { Vec::from_raw_parts(start, length, length) };
    ask_for_huge_pages(&mut words);
    Ok(words)
}

/// Makes the vector longer, by default values.
///
/// ```
/// use crivo_core::memory;
///
/// let mut values = vec![7u32];
/// memory::lengthen(&mut values, 3)?;
/// assert_eq!(values, [7, 0, 0]);
/// assert!(memory::lengthen(&mut values, usize::MAX).is_err());
/// assert_eq!(values.len(), 3);
/// # Ok::<(), crivo_core::BuildError>(())
/// ```
///
/// # Errors
/// If there is no memory. The vector is as it was.
pub fn lengthen<T: Copy + Default>(values: &mut Vec<T>, length: usize) -> Result<(), BuildError> {
    let more = length.saturating_sub(values.len());
    values.try_reserve_exact(more).map_err(|_| out_of_memory::<T>(length))?;
    values.resize(length, T::default());
    Ok(())
}

/// All elements of an iterator, on huge pages if they are many.
///
/// # Errors
/// If there is no memory for them.
///
/// ```
/// use crivo_core::memory::collected;
///
/// assert_eq!(collected((0..4u32).map(|n| n * n))?, [0, 1, 4, 9]);
/// # Ok::<(), crivo_core::BuildError>(())
/// ```
pub fn collected<T>(values: impl IntoIterator<Item = T>) -> Result<Vec<T>, BuildError> {
    let values = values.into_iter();
    let mut vector = Vec::new();
    reserve(&mut vector, values.size_hint().0)?;
    for value in values {
        if vector.len() == vector.capacity() {
            let more = vector.len().max(64);
            reserve(&mut vector, more)?;
        }
        vector.push(value);
    }
    Ok(vector)
}

fn reserve<T>(vector: &mut Vec<T>, more: usize) -> Result<(), BuildError> {
    let length = vector.len().saturating_add(more);
    vector.try_reserve(more).map_err(|_| out_of_memory::<T>(length))?;
    ask_for_huge_pages(vector.spare_capacity_mut());
    Ok(())
}

fn out_of_memory<T>(length: usize) -> BuildError {
    BuildError::OutOfMemory { bytes: length.saturating_mul(size_of::<T>()) }
}

/// Asks that memory, not yet touched, be laid on huge pages: a table of many megabytes that is
/// read at random is slowed down by page-table walks more than by anything else.
///
/// Small regions are left as they are.
///
/// ```
/// // The system gives zeros without touching them.
/// let mut table = vec![0_u64; 1 << 20];
/// crivo_core::memory::ask_for_huge_pages(&mut table);
/// ```
pub fn ask_for_huge_pages<T>(memory: &mut [T]) {
    #[cfg(all(target_os = "linux", not(miri)))]
    {
        const PAGE: usize = 4096;
        const WORTH_IT: usize = 1 << 21;
        let start = memory.as_mut_ptr().addr();
        let end = start + size_of_val(memory);
        let (first, last) = (start.next_multiple_of(PAGE), end - end % PAGE);
        if size_of_val(memory) >= WORTH_IT && first < last {
            let pages = memory.as_mut_ptr().cast::<libc::c_void>().with_addr(first);
            // SAFETY: the whole pages between `first` and `last` lie inside `memory`, which is
            // borrowed here; the advice changes nothing about what they contain.
            unsafe { libc::madvise(pages, last - first, libc::MADV_HUGEPAGE) };
        }
    }
    #[cfg(not(all(target_os = "linux", not(miri))))]
    let _ = memory;
}

/// The cache of a core to which a line is fetched.
///
/// ```
/// use crivo_core::memory::{Cache, prefetch};
///
/// let table = [0_u64; 1000];
/// prefetch(&table[123], Cache::Second);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cache {
    /// For one key: what comes there is at hand.
    First,
    /// For batches: far more lines can be under way to it at a time.
    Second,
}

/// Asks the processor to fetch a cache line that will be read soon. Any address may be named.
///
/// ```
/// use crivo_core::memory::{Cache, prefetch};
///
/// let table = [0_u64; 1000];
/// prefetch(&table[123], Cache::First);
/// ```
#[inline(always)]
pub fn prefetch<T>(address: *const T, cache: Cache) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: SSE is part of every x86-64 processor, and a prefetch may name any address.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _MM_HINT_T1, _mm_prefetch};
        match cache {
            Cache::First => _mm_prefetch::<_MM_HINT_T0>(address.cast()),
            Cache::Second => _mm_prefetch::<_MM_HINT_T1>(address.cast()),
        }
    }
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    // SAFETY: a prefetch may name any address, and changes nothing but what lies in the caches.
    unsafe {
        let address = address.cast::<u8>();
        match cache {
            Cache::First => std::arch::asm!(
                "prfm pldl1keep, [{address}]",
                address = in(reg) address,
                options(readonly, nostack, preserves_flags),
            ),
            Cache::Second => std::arch::asm!(
                "prfm pldl2keep, [{address}]",
                address = in(reg) address,
                options(readonly, nostack, preserves_flags),
            ),
        }
    }
    #[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
    let _ = (address, cache);
}

/// [`prefetch`] for memory that is about to be changed while other threads change it, too: the line is taken
/// away from their caches at once, not when it is changed.
///
/// ```
/// let table = [0_u64; 1000];
/// crivo_core::memory::prefetch_for_change(&table[123]);
/// ```
#[inline(always)]
pub fn prefetch_for_change<T>(address: *const T) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: x86-64 processors that do not know the instruction skip it. It may name any address, and changes
    // nothing but what lies in the caches. The compiler's own function would read instead on processors as
    // old as those that the program is compiled for.
    unsafe {
        std::arch::asm!(
            "prefetchw [{address}]",
            address = in(reg) address.cast::<u8>(),
            options(readonly, nostack, preserves_flags),
        );
    }
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    // SAFETY: a prefetch may name any address, and changes nothing but what lies in the caches.
    unsafe {
        std::arch::asm!(
            "prfm pstl1keep, [{address}]",
            address = in(reg) address.cast::<u8>(),
            options(readonly, nostack, preserves_flags),
        );
    }
    #[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
    let _ = address;
}
