//! Every family against vectors that its authors or well-known ports publish.

use super::*;

const PRIME32: u64 = 2_654_435_761;
const PRIME64: u64 = 11_400_714_785_074_694_797;

/// The bytes of `xxhsum`'s self-test, from a multiplicative generator.
fn xxhsum_bytes() -> Vec<u8> {
    let generator = std::iter::successors(Some(PRIME32), |state| Some(state.wrapping_mul(PRIME64)));
    generator.map(|state| (state >> 56) as u8).take(2048).collect()
}

/// `xxhsum`'s self-test with seeds 0 and a 64-bit prime.
#[test]
fn xxh3_gives_the_published_values() {
    let buffer = xxhsum_bytes();
    for (length, unseeded, seeded) in [
        (0, 0x2d06_8005_38d3_94c2, 0xa8a6_b918_b2f0_364a),
        (1, 0xc44b_dff4_074e_ecdb, 0x032b_e332_dd76_6ef8),
        (6, 0x27b5_6a84_cd2d_7325, 0x8458_9c11_6ab5_9ab9),
        (12, 0xa713_daf0_dfbb_77e7, 0xe730_3e1b_2336_de0e),
        (24, 0xa3fe_70bf_9d35_10eb, 0x850e_80fc_35bd_d690),
        (48, 0x397d_a259_ecba_1f11, 0xadc2_cbaa_44ac_c616),
        (80, 0xbcde_fbbb_2c47_c90a, 0xc6dd_0cb6_9953_2e73),
        (195, 0xcd94_217e_e362_ec3a, 0xba68_003d_370c_b3d9),
        (512, 0x617e_4959_9013_cb6b, 0x3ce4_57de_14c2_7708),
        (2048, 0xdd59_e2c3_a5f0_38e0, 0x66f8_1670_669a_babc),
    ] {
        let bytes = &buffer[..length];
        assert_eq!(KeyHasher::xxh3(0).digest(bytes).get(), unseeded, "{length} bytes");
        assert_eq!(KeyHasher::xxh3(PRIME64).digest(bytes).get(), seeded, "{length} bytes, seeded");
    }
}

/// `xxhsum`'s self-test with seeds 0 and a 32-bit prime.
#[test]
fn xxh64_gives_the_published_values() {
    let buffer = xxhsum_bytes();
    for (length, unseeded, seeded) in [
        (0, 0xef46_db37_51d8_e999, 0xac75_fda2_929b_17ef),
        (1, 0xe934_a84a_db05_2768, 0x5014_6076_43a9_b4c3),
        (14, 0x8282_dcc4_994e_35c8, 0xc3bd_6bf6_3deb_6df0),
        (222, 0xb641_ae8c_b691_c174, 0x20cb_8ab7_ae10_c14a),
    ] {
        let bytes = &buffer[..length];
        assert_eq!(KeyHasher::xxh64(0).digest(bytes).get(), unseeded, "{length} bytes");
        assert_eq!(KeyHasher::xxh64(PRIME32).digest(bytes).get(), seeded, "{length} bytes, seeded");
    }
}

/// The table in docs/format.md, which a second program made.
#[test]
fn fold64_gives_the_values_of_the_document() {
    let document = include_str!("../../../../../docs/format.md");
    let (_, table) = document.split_once("<!-- fold64 -->").unwrap();
    let rows = table.trim_start().lines().skip(2).take_while(|line| line.starts_with('|'));
    let mut count = 0;
    for row in rows {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let key: Vec<u8> =
            (0..cells[0].parse().unwrap()).map(|i: u32| (37 * i + 11) as u8).collect();
        for (seed, cell) in [0, 1, 0xfedc_ba98_7654_3210].into_iter().zip(&cells[1..]) {
            let digest = KeyHasher::fold64(seed).digest(&key).get();
            assert_eq!(format!("{digest:016x}"), **cell, "{} bytes, seed {seed:x}", key.len());
        }
        count += 1;
    }
    assert_eq!(count, 29);
}

/// Short keys are where a hash function that reads some bytes twice could confuse them: no two keys
/// of up to two bytes share a digest, nor do any of three bytes that differ in the last two.
#[test]
#[cfg_attr(miri, ignore = "sorts 130,000 digests")]
fn fold64_tells_short_keys_apart() {
    let hasher = KeyHasher::fold64(0);
    let pairs = || (0..=255u8).flat_map(|one| (0..=255u8).map(move |two| (one, two)));
    let mut digests = vec![hasher.digest(&[0u8; 0]).get()];
    digests.extend((0..=255u8).map(|one| hasher.digest(&[one]).get()));
    digests.extend(pairs().map(|(one, two)| hasher.digest(&[one, two]).get()));
    digests.extend(pairs().map(|(one, two)| hasher.digest(&[7, one, two]).get()));
    let count = digests.len();
    digests.sort_unstable();
    digests.dedup();
    assert_eq!(digests.len(), count);
}

/// The vectors of the SipHash paper's reference code: key 00..0f, messages 00..len.
#[test]
fn sip24_gives_the_published_values() {
    let key: [u8; 16] = std::array::from_fn(|i| i as u8);
    let hasher = KeyHasher::sip24(SecretKey::new(key));
    for (length, expected) in [
        (0, 0x726f_db47_dd0e_0e31),
        (1, 0x74f8_39c5_93dc_67fd),
        (7, 0xab02_00f5_8b01_d137),
        (8, 0x93f5_f579_9a93_2462),
        (15, 0xa129_ca61_49be_45e5),
    ] {
        let message: Vec<u8> = (0..length).collect();
        assert_eq!(hasher.digest(&message).get(), expected, "{length} bytes");
    }
}

/// Fingerprint64: the values of FarmHash's own self-test and of Guava's.
#[test]
fn farm_fingerprint_gives_the_published_values() {
    let hasher = KeyHasher::farm_fingerprint();
    for (text, expected) in [
        (String::new(), 0x9ae1_6a3b_2f90_404f),
        ("a".into(), 0xb345_4265_b6df_75e3),
        ("ab".into(), 0xaa8d_6e52_42ad_a51e),
        ("abc".into(), 0x24a5_b3a0_74e7_f369),
        ("abcd".into(), 0x1a55_02de_4a1f_8101),
        ("test".into(), 8_581_389_452_482_819_506),
        ("test".repeat(8), (-4_196_240_717_365_766_262_i64) as u64),
        ("test".repeat(64), 3_500_507_768_004_279_527),
    ] {
        assert_eq!(hasher.digest(&text).get(), expected, "{text}");
    }
}

/// The walk over buffers of growing length with which Guava pins its port to the C++ reference:
/// each fingerprint decides the next bytes, and one number at the end stands for all of them.
#[test]
#[cfg_attr(miri, ignore = "takes long there")]
fn farm_fingerprint_agrees_with_the_reference_at_every_length() {
    let fingerprint = |bytes: &[u8]| KeyHasher::farm_fingerprint().digest(bytes).get();
    let mut buffer: Vec<u8> = Vec::new();
    let mut state = 0u64;
    for i in 0..800usize {
        for step in 0..4 {
            let length = buffer.len();
            let prefix = match step {
                0 => i,
                1 => i * i % length,
                // The reference computes the cube in 32 bits with sign.
                2 => ((i * i * i) as i32 % length as i32) as usize,
                _ => length,
            };
            state ^= fingerprint(&buffer[..prefix]);
            state = (state ^ (state >> 41)).wrapping_mul(949_921_979);
            buffer.push(b'a' + ((state & 0xf_ffff) % 26) as u8);
        }
        let length = buffer.len();
        let [x0, x1, x2, x3] =
            [length - 1, length - 2, length - 3, length / 2].map(|at| usize::from(buffer[at]));
        buffer[((x0 << 16) + (x1 << 8) + x2) % length] ^= x3 as u8;
        buffer[((x1 << 16) + (x2 << 8) + x3) % length] ^= i as u8;
    }
    assert_eq!(state, 0x7a1d_67c5_0ec7_e167);
}

/// Hash64WithSeed. For up to 16 bytes CityHash64WithSeed is the same function, and the value is
/// the one that its ports test.
#[test]
fn farm_with_a_seed_gives_the_published_value() {
    assert_eq!(KeyHasher::farm(12345).digest("test").get(), 9_154_302_171_269_876_511);
}

/// The C++ reference, version 1.1, `farmhashna::Hash64WithSeed`, on the alphabet over and over:
/// every class of lengths, with a small and a large seed.
#[test]
fn farm_with_a_seed_agrees_with_the_reference_at_every_class_of_lengths() {
    let alphabet: Vec<u8> = (b'a'..=b'z').cycle().take(300).collect();
    for (length, small, large) in [
        (4, 328_844_984_056_539_084, 14_853_240_150_430_103_359),
        (16, 9_964_206_602_006_583_043, 10_597_111_804_321_600_485),
        (20, 16_134_757_157_159_065_254, 10_570_292_396_730_194_594),
        (40, 5_637_739_889_603_985_438, 10_481_576_855_866_500_090),
        (65, 209_279_795_323_561_201, 17_227_881_665_565_342_945),
        (128, 12_068_710_135_611_994_547, 4_613_917_340_521_139_881),
        (300, 6_038_317_347_805_587_833, 13_286_534_797_163_025_684),
    ] {
        let key = &alphabet[..length];
        assert_eq!(KeyHasher::farm(12_345).digest(key).get(), small, "{length}");
        assert_eq!(KeyHasher::farm(0x0123_4567_89ab_cdef).digest(key).get(), large, "{length}");
    }
}

/// SMHasher's verification value for `MurmurHash3_x64_128`, which covers every length to 255.
#[test]
fn murmur3_gives_the_published_values() {
    let mut hashes = Vec::new();
    for length in 0..=255u8 {
        let key: Vec<u8> = (0..length).collect();
        let seed = 256 - u32::from(length);
        let (low, high) = mur3::murmurhash3_x64_128(&key, seed);
        assert_eq!(KeyHasher::murmur3(seed).digest(&key).get(), low);
        hashes.extend(low.to_le_bytes());
        hashes.extend(high.to_le_bytes());
    }
    let verification = KeyHasher::murmur3(0).digest(&hashes).get() as u32;
    assert_eq!(verification, 0x6384_ba69);

    let fox = "The quick brown fox jumps over the lazy dog";
    assert_eq!(KeyHasher::murmur3(0).digest(fox).get(), 0xe34b_bc7b_bc07_1b6c);
}

#[test]
fn identities_survive_being_written_and_read() {
    for family in Family::ALL {
        for seed in [0, 1, 0xffff_ffff] {
            let hasher = family.with_seed(seed);
            let identity = hasher.identity();
            let family = Family::from_id(identity.family().id()).unwrap();
            let restored = HashIdentity::from_parts(family, identity.value()).unwrap();
            assert_eq!(restored, identity);
            match restored.hasher() {
                Some(restored) => assert_eq!(restored, hasher),
                None => assert_eq!(family, Family::Sip24),
            }
            assert_eq!(family.name().parse(), Ok(family));
        }
    }
    assert_eq!(Family::from_id(0), None);
    assert_eq!(Family::from_id(8), None);
}

#[test]
fn impossible_identities_are_errors() {
    let error = HashIdentity::from_parts(Family::Murmur3, 1 << 32).unwrap_err();
    assert_eq!((error.parameter, error.value.as_str()), ("hash seed", "4294967296"));
    assert!(HashIdentity::from_parts(Family::FarmFingerprint, 1).is_err());
    let error = "md5".parse::<Family>().unwrap_err();
    assert!(error.to_string().contains("\"md5\""), "{error}");
}

#[test]
fn a_secret_key_is_recognised_and_never_shown() {
    let key = SecretKey::new(*b"sixteen  letters");
    let hasher = KeyHasher::sip24(key);
    let identity = hasher.identity();
    assert_eq!(identity.hasher_with_key(key), Ok(hasher));
    assert!(identity.hasher_with_key(SecretKey::new([0; 16])).is_err());
    assert!(KeyHasher::xxh3(0).identity().hasher_with_key(key).is_err());
    let shown = format!("{hasher:?} {identity:?} {identity}");
    assert!(!shown.contains(&key.halves[0].to_string()), "{shown}");
    assert!(!shown.contains(&format!("{:x}", key.halves[0])), "{shown}");
}

#[test]
fn reseeding_gives_other_functions_of_the_same_family() {
    for family in Family::ALL.into_iter().filter(|family| family.is_seeded()) {
        let hasher = family.with_seed(5);
        assert_eq!(hasher.reseeded(0), hasher);
        let digests: Vec<_> = (0..4).map(|i| hasher.reseeded(i).digest("ana")).collect();
        assert!((1..4).all(|i| digests[i] != digests[0] && digests[i] != digests[i - 1]));
        assert!((0..4).all(|i| hasher.reseeded(i).family() == family));
    }
    assert_eq!(KeyHasher::farm_fingerprint().reseeded(1), KeyHasher::farm_fingerprint());
}

#[test]
fn every_name_of_a_family_is_read_as_that_family() {
    let error = "md5".parse::<Family>().unwrap_err().to_string();
    for family in Family::ALL {
        assert_eq!(family.name().parse(), Ok(family));
        assert!(error.contains(family.name()), "{error}");
    }
}
