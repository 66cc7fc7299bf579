//! How much memory loading an index takes, counted by the allocator.

use crivo_core::counting::{CountingAllocator, peak_of};
use crivo_sketch::{Banding, SignatureBits, SimilarityIndex, Sketcher};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

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
