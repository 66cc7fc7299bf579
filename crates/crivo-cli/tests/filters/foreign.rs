//! Filters of other systems: `--format` and `--key-type`.

use crivo_formats::{Create, FORMATS, Recognition};

use crate::support::TestDir;

/// What bip158 needs; the others do not mind.
const BLOCK: &str = "--block-hash \
                     000000000933ea01ad0ee984209779baaec3ced90fa3f408719526f8d77f4943";

#[test]
fn every_format_is_built_queried_inspected_and_merged() {
    let dir = TestDir::new();
    dir.numbers("all", 0..600);
    dir.numbers("low", 0..300);
    dir.numbers("high", 300..600);
    for format in FORMATS {
        let (name, key_type) = (format.name, format.key_types[0]);
        let options = format!("--format {name} {BLOCK}");
        let build = format!("build {options} --key-type {key_type} --fpr 0.05");
        dir.ok(&format!("{build} -o all.f all"));
        let query = format!("query {options} --key-type {key_type}");
        let finished = dir.ok(&format!("{query} -c all.f all"));
        assert_eq!(finished.out, "600\n", "{name}");
        let finished = dir.ok(&format!("inspect {options} all.f"));
        assert!(finished.out.contains(&format!("a filter of {name}\n")), "{finished:?}");
        let piped = |command: &str| dir.shell(&format!("cat all.f | \"$CRIVO\" {command}")).out;
        assert_eq!(piped(&format!("{query} -c - all")), "600\n", "{name}");
        let expected = finished.out.replacen("all.f:", "standard input:", 1);
        assert_eq!(piped(&format!("inspect {options} -")), expected, "{name}");
        if let Recognition::Magic(_) = format.recognition {
            assert_eq!(piped("inspect -"), expected, "{name}");
        }
        let facts = dir.ok(&format!("inspect {options} --json all.f")).json();
        assert_eq!(facts["format"], name);
        assert!(facts["expected_fpr"].as_f64().unwrap() < 0.1, "{name}");
        if format.operations.contains(&crivo::filter::Operation::Union) {
            dir.ok(&format!("{build} --keys 600 -o low.f low"));
            dir.ok(&format!("{build} --keys 600 -o high.f high"));
            dir.ok(&format!("merge {options} -o both.f low.f high.f"));
            assert!(dir.read("both.f").len() == dir.read("all.f").len(), "{name}");
            assert_eq!(dir.ok(&format!("{query} -c both.f all")).out, "600\n", "{name}");
        }
        assert!(matches!(format.create, Create::Empty(_) | Create::FromKeys(_)));
    }
}

#[test]
fn files_with_a_magic_are_recognised_and_others_name_their_candidates() {
    let dir = TestDir::new();
    dir.numbers("keys", 0..600);
    for format in FORMATS {
        let (name, key_type) = (format.name, format.key_types[0]);
        dir.ok(&format!(
            "build --format {name} {BLOCK} --key-type {key_type} --fpr 0.05 -o f keys"
        ));
        let query = format!("query -c --key-type {key_type} f keys");
        match format.recognition {
            Recognition::Magic(_) => assert_eq!(dir.ok(&query).out, "600\n", "{name}"),
            Recognition::Structure => {
                let finished = dir.run(&query);
                assert_eq!(finished.status, 2);
                assert!(finished.err.contains(name), "{finished:?}");
                assert!(finished.err.contains("--format"), "{finished:?}");
            }
            Recognition::Nothing => assert_eq!(dir.run(&query).status, 2, "{name}"),
        }
    }
}

/// A Bloom filter whose capacity is given needs no set of its keys; the others tell exactly how many there are.
#[test]
fn with_keys_a_bloom_filter_is_filled_while_the_input_is_read() {
    let dir = TestDir::new();
    dir.numbers("keys", 0..600);
    let mut estimates = 0;
    for format in FORMATS {
        let (name, key_type) = (format.name, format.key_types[0]);
        let options = format!("--format {name} {BLOCK} --key-type {key_type}");
        let build =
            |arguments: &str| dir.ok(&format!("build {options} --fpr 0.05 {arguments}")).err;
        let told = build("-o streamed --keys 600 keys keys");
        build("-o collected keys keys");
        let found = dir.ok(&format!("query -c {options} streamed keys")).out;
        assert_eq!(found, "600\n", "{name}");
        if told.contains(" of about ") {
            estimates += 1;
            // These count the keys that seemed to be new, of which the order decides.
            let counts = ["dcso", "redis-bloom"].contains(&name);
            assert!(counts || dir.read("streamed") == dir.read("collected"), "{name}");
            let full = build("-o full --keys 30 keys keys");
            assert!(!full.contains(" of 600 distinct keys"), "{full}");
        } else {
            assert!(told.contains(" of 600 distinct keys"), "{name}: {told}");
        }
    }
    assert_eq!(estimates, 13);
}

#[test]
fn the_type_of_keys_must_be_given_and_right() {
    let dir = TestDir::new();
    dir.numbers("keys", 0..600);
    let fails = |arguments: &str, message: &str| {
        let finished = dir.run(arguments);
        assert_eq!(finished.status, 2, "{finished:?}");
        assert!(finished.err.contains(message), "{arguments}: {finished:?}");
    };
    fails("build --format spark-v2 -o f keys", "say --key-type int32 or int64 or text or bytes");
    dir.ok("build --format spark-v2 --key-type int64 -o f keys");
    fails("query --format spark-v2 f keys", "does not tell the type of its keys");
    fails("query --format spark-v2 --key-type double f keys", "has keys of type int32");
    dir.write("text", "seven\n");
    fails("query --format spark-v2 --key-type int64 f text", "\"seven\" is not a key of type");
    fails("build --format spark-v2 --key-type int64 -o g text", "\"seven\" is not a key of type");
    fails("build --format spark-v2 --key-type int64 --kind bloom -o g keys", "--kind");
    dir.ok("build -o own keys");
    fails("query --key-type int64 own keys", "--key-type is for filters of other systems");
    fails("build --key-type int64 -o g keys", "--key-type is for filters of other systems");
    fails("inspect --format guava keys", "this is not a filter of Guava");
}
