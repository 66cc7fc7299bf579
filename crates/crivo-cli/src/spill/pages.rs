//! Large tables on large pages.

// One call, which changes nothing about what memory contains.
#![allow(unsafe_code)]

/// So many zeros, on huge pages if they are many: a table that is read at random is slowed down by
/// page-table walks, and in short runs by the first touch of each small page.
///
/// It is a wish. A system that does not know it or does not grant it gives the pages it has.
pub(super) fn zeros(length: usize) -> Vec<u128> {
    let zeros = vec![0u128; length];
    #[cfg(target_os = "linux")]
    {
        const PAGE: usize = 4096;
        const WORTH_IT: usize = 1 << 21;
        let start = zeros.as_ptr().addr();
        let end = start + size_of_val(&zeros[..]);
        let (first, last) = (start.next_multiple_of(PAGE), end - end % PAGE);
        if end - start >= WORTH_IT {
            let pages = zeros.as_ptr().with_addr(first).cast_mut().cast::<libc::c_void>();
            // SAFETY: the whole pages between `first` and `last` lie inside `zeros`, which we own;
            // the advice does not change what they contain.
            unsafe { libc::madvise(pages, last - first, libc::MADV_HUGEPAGE) };
        }
    }
    zeros
}
