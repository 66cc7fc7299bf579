use super::*;
use crate::theory::bloom;
use proptest::prelude::*;

const DISTINCT: Block = Block { positions: Positions::Distinct, ..Block::CACHE_LINE };
const TEXTBOOK: Block = Block { positions: Positions::Textbook, ..Block::CACHE_LINE };

/// The best FPR at 8, 10, 12 and 16 bits per key, in per cent.
fn fprs_at_budgets(block: Block) -> [String; 4] {
    [(8.0, 2), (10.0, 3), (12.0, 3), (16.0, 4)].map(|(budget, digits)| {
        let k = best_probes(block, budget).unwrap();
        let percent = 100.0 * fpr_at(block, budget, k).unwrap();
        format!("{percent:.digits$}")
    })
}

#[test]
fn published_figures_are_reproduced() {
    let per_key = bits_per_key(TEXTBOOK, 0.01).unwrap();
    assert_eq!(format!("{per_key:.2}"), "9.90");
    assert_eq!(fprs_at_budgets(TEXTBOOK), ["2.31", "0.957", "0.407", "0.0825"]);
}

#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn the_table_of_the_documentation_holds() {
    let per_key = |block| format!("{:.2}", bits_per_key(block, 0.01).unwrap());
    assert_eq!(per_key(Block::CACHE_LINE), "9.92");
    assert_eq!(per_key(DISTINCT), "9.89");
    assert_eq!(fprs_at_budgets(Block::CACHE_LINE), ["2.33", "0.966", "0.413", "0.0844"]);
    assert_eq!(fprs_at_budgets(DISTINCT), ["2.31", "0.955", "0.408", "0.0822"]);
}

#[test]
fn the_mixture_agrees_with_another_program() {
    // The full occupancy distribution mixed over Poisson loads, in Python with NumPy.
    let got = fpr_at(Block::CACHE_LINE, 10.0, 6).unwrap();
    assert!((got / 0.009_664_748_360_480_27 - 1.0).abs() < 1e-10, "{got}");
    let got = fpr_at(DISTINCT, 16.0, 9).unwrap();
    assert!((got / 0.000_821_545_120_490_986_1 - 1.0).abs() < 1e-10, "{got}");
}

#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn one_block_is_a_classic_filter() {
    for (n, k) in [(1, 1), (40, 7), (100, 3), (5_000, 4)] {
        let one = fpr(Block::CACHE_LINE, 1, n, k).unwrap();
        let classic = bloom::fpr_exact(512, n, k).unwrap();
        assert!((one / classic - 1.0).abs() < 1e-11, "{n} {k}");
    }
}

#[test]
fn two_blocks_by_hand() {
    // Two keys, two blocks of 8 bits, one probe: the query's block holds 0, 1 or 2 keys with
    // probabilities 1/4, 1/2, 1/4, which set 0, 1 and on average 2 − 1/8 of its 8 bits.
    let block = Block { bits: 8, positions: Positions::Independent };
    let by_hand = 0.5 * (1.0 / 8.0) + 0.25 * (1.875 / 8.0);
    assert!((fpr(block, 2, 2, 1).unwrap() - by_hand).abs() < 1e-15);
    assert_eq!(fpr(block, 2, 0, 1).unwrap(), 0.0);
}

#[test]
fn distinct_positions_of_one_key_by_hand() {
    // One key, one block of 8 bits, two different positions out of C(8, 2) = 28 pairs.
    let block = Block { bits: 8, positions: Positions::Distinct };
    assert!((fpr(block, 1, 1, 2).unwrap() - 1.0 / 28.0).abs() < 1e-15);
}

#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn sizes_from_one_key_to_a_million_million() {
    for n in [1, 2, 100, 10_000, 1_000_000, 1_000_000_000_000] {
        for target in [0.5, 0.1, 0.01, 1e-3, 1e-6] {
            let found = size(Block::CACHE_LINE, n, target).unwrap();
            let fpr_of = |blocks| fpr(Block::CACHE_LINE, blocks, n, found.probes).unwrap();
            assert!(fpr_of(found.blocks) <= target, "{n} {target} {found:?}");
            if found.blocks > 1 {
                assert!(fpr_of(found.blocks - 1) > target, "{n} {target} {found:?}");
            }
            // Many keys need what the limit says.
            if n >= 1_000_000 {
                let per_key = found.blocks as f64 * 512.0 / n as f64;
                let limit = bits_per_key(Block::CACHE_LINE, target).unwrap();
                assert!((per_key / limit - 1.0).abs() < 1e-3, "{n} {target}: {per_key} {limit}");
            }
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn no_other_number_of_probes_needs_fewer_blocks() {
    for (n, target) in
        [(2, 0.001), (5, 0.01), (30, 1e-4), (64, 0.2), (300, 0.45), (1_000, 0.01), (100_000, 0.001)]
    {
        let found = size(Block::CACHE_LINE, n, target).unwrap();
        for k in 1..=20 {
            let blocks = blocks_for_probes(Block::CACHE_LINE, n, target, k).unwrap();
            let better = (blocks, k) < (found.blocks, found.probes);
            assert!(!better, "{n} {target} {k}");
        }
    }
}

#[test]
fn overfull_blocks_accept_everything() {
    assert_eq!(fpr(Block::CACHE_LINE, 1, u64::MAX, 3).unwrap(), 1.0);
    assert_eq!(fpr(Block::CACHE_LINE, 1_000, 1 << 40, 3).unwrap(), 1.0);
    assert_eq!(fpr_at(Block::CACHE_LINE, 1e-9, 3).unwrap(), 1.0);
}

#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn other_block_sizes_approach_the_classic_filter() {
    let per_key = |bits| {
        let block = Block { bits, ..Block::CACHE_LINE };
        bits_per_key(block, 0.01).unwrap()
    };
    let sizes = [64, 128, 256, 512, 1024, 4096, 65_536].map(per_key);
    assert!(sizes.is_sorted_by(|a, b| a > b), "{sizes:?}");
    assert!((sizes[6] - 9.593).abs() < 0.01, "{sizes:?}");
}

#[test]
fn bad_parameters_are_named() {
    let parameter = |error: ParameterError| error.parameter;
    let block = Block::CACHE_LINE;
    assert_eq!(fpr(block, 0, 1, 1).map_err(parameter), Err("number of blocks"));
    assert_eq!(fpr(block, 1, 1, 0).map_err(parameter), Err("k"));
    assert_eq!(size(block, 0, 0.1).map_err(parameter), Err("n"));
    assert_eq!(size(block, 1, f64::NAN).map_err(parameter), Err("fpr"));
    assert_eq!(size(block, u64::MAX, 0.01).map_err(parameter), Err("size in bits"));
    assert_eq!(bits_per_key(block, 1.0).map_err(parameter), Err("fpr"));
    assert_eq!(fpr_at(block, -1.0, 3).map_err(parameter), Err("bits per key"));
    for bits in [0, 4, 65_537] {
        let odd = Block { bits, ..block };
        assert_eq!(fpr(odd, 1, 1, 1).map_err(parameter), Err("block size"));
        assert_eq!(size(odd, 1, 0.1).map_err(parameter), Err("block size"));
        assert_eq!(bits_per_key(odd, 0.1).map_err(parameter), Err("block size"));
        assert_eq!(best_probes(odd, 8.0).map_err(parameter), Err("block size"));
    }
    let crowded = Block { bits: 8, ..DISTINCT };
    assert_eq!(fpr(crowded, 1, 1, 9).map_err(parameter), Err("k"));
}

proptest! {
    #[test]
    #[cfg_attr(miri, ignore = "takes long there")]
    fn more_blocks_and_fewer_keys_err_less(blocks in 1u64..200, n in 1u64..5_000, k in 1u32..12) {
        for block in [Block::CACHE_LINE, DISTINCT, TEXTBOOK] {
            let here = fpr(block, blocks, n, k).unwrap() * (1.0 + 1e-12);
            prop_assert!(fpr(block, blocks + 1, n, k).unwrap() <= here);
            prop_assert!(fpr(block, blocks, n - 1, k).unwrap() <= here);
        }
    }

    #[test]
    fn blocks_err_more_than_one_array_of_their_size(
        blocks in 2u64..50, share in 0.01..1.0f64, k in 2u32..9,
    ) {
        // Up to half full. A filter that is overfull may gain by being divided.
        let n = (blocks as f64 * 350.0 / f64::from(k) * share).ceil() as u64;
        let blocked = fpr(Block::CACHE_LINE, blocks, n, k).unwrap();
        let classic = bloom::fpr_exact(blocks * 512, n, k).unwrap();
        prop_assert!(blocked >= classic * (1.0 - 1e-12));
    }
}
