//! How much memory loading an index takes, counted by the allocator.

#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use crivo_sketch::{Banding, SignatureBits, SimilarityIndex, Sketcher};

/// The system's allocator, which counts the bytes that are in use.
struct Counting;

static IN_USE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let in_use = IN_USE.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK.fetch_max(in_use, Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        IN_USE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The result, and the most bytes that were in use beyond those at the beginning.
fn peak_of<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = IN_USE.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    let result = work();
    (result, PEAK.load(Ordering::Relaxed) - before)
}

/// One test, so that no other thread allocates meanwhile. Of the constant part 64 KiB are a buffer. The
/// shapes have as many bands as a file can
/// describe with few bytes: bands of 8 bits; and numbers of entries just above a power of two.
#[test]
fn loading_takes_a_small_multiple_of_the_file() {
    for (length, bits, bands, rows) in
        [(4_096, 1, 512, 8), (4_096, 8, 4_096, 1), (64, 1, 8, 8), (8, 1, 1, 8), (128, 64, 13, 7)]
    {
        for entries in [0, 1, 2, 3, 17, 129, 1_025] {
            let sketcher = Sketcher::one_permutation(length).unwrap();
            let bits = SignatureBits::new(bits).unwrap();
            let banding = Banding::new(bands, rows).unwrap();
            let mut index = SimilarityIndex::with_bits(sketcher, bits, banding).unwrap();
            for id in 0..entries {
                let signature = sketcher.sketch_keys(50 * id..50 * id + 60).unwrap();
                index.insert(id, &signature.shortened(bits).unwrap()).unwrap();
            }
            let bytes = index.to_bytes();
            let (read, peak) = peak_of(|| SimilarityIndex::from_bytes(&bytes));
            assert!(read.unwrap() == index);
            let limit = 20 * bytes.len() + (80 << 10);
            assert!(
                peak <= limit,
                "{peak} bytes for a file of {} with {entries} entries of {length} values",
                bytes.len()
            );
        }
    }
}
