//! The exact dictionaries beside hashbrown and std's HashMap, u64 to u64.
//!
//! ```text
//! cargo run --release --bin dictionaries [-- --processes 5] [--csv FILE] [ENTRIES…]
//! ```
//!
//! Each map is filled to the load it is sized for. Hits and misses are asked in random order. With
//! `--processes` everything is measured in that many processes, and the table has the medians over
//! them.

use std::hash::{BuildHasher, Hasher};

use crivo::KeyHasher;
use crivo_bench::{
    Contender, csv, interleave, interleave_with, memory, number, processes, shuffle, table,
};
use crivo_exact::{ChainedMap, CuckooMap, Dictionary, LinearMap};

/// crivo's default hash for rivals, so that only the tables differ.
#[derive(Clone, Copy, Default)]
struct SameHash;

struct SameHasher(u64);

impl BuildHasher for SameHash {
    type Hasher = SameHasher;

    fn build_hasher(&self) -> SameHasher {
        SameHasher(0)
    }
}

impl Hasher for SameHasher {
    #[inline]
    fn write_u64(&mut self, key: u64) {
        self.0 = KeyHasher::default().digest(&key).get();
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("all keys are u64");
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }
}

type Rival = hashbrown::HashMap<u64, u64, SameHash>;
type Std = std::collections::HashMap<u64, u64, SameHash>;
type StdSip = std::collections::HashMap<u64, u64>;

/// What is asked of every map.
trait Subject {
    fn name(&self) -> &'static str;
    fn fill(&mut self, keys: &[u64]);
    /// The sum of the values found.
    fn ask(&self, keys: &[u64]) -> u64;
    /// Bytes taken and load, where they can be known.
    fn size(&self) -> (Option<usize>, Option<f64>);
}

macro_rules! subject {
    ($type:ty, $name:literal, |$n:ident| $new:expr, |$map:ident| $size:expr) => {{
        struct One(Option<$type>);
        impl Subject for One {
            fn name(&self) -> &'static str {
                $name
            }
            fn fill(&mut self, keys: &[u64]) {
                self.0 = None;
                let $n = keys.len();
                let mut map: $type = $new;
                for &key in keys {
                    let _ = map.insert(key, !key);
                }
                self.0 = Some(map);
            }
            fn ask(&self, keys: &[u64]) -> u64 {
                let map = self.0.as_ref().expect("filled before");
                let mut sum = 0u64;
                for key in keys {
                    if let Some(&value) = map.get(key) {
                        sum = sum.wrapping_add(value);
                    }
                }
                sum
            }
            fn size(&self) -> (Option<usize>, Option<f64>) {
                let $map = self.0.as_ref().expect("filled before");
                $size
            }
        }
        Box::new(One(None)) as Box<dyn Subject>
    }};
}

fn own<D: Dictionary<u64, u64>>(map: &D) -> (Option<usize>, Option<f64>) {
    (Some(map.size_in_bytes()), Some(map.load()))
}

fn subjects() -> Vec<Box<dyn Subject>> {
    vec![
        subject!(Rival, "hashbrown", |n| Rival::with_capacity_and_hasher(n, SameHash), |map| {
            (Some(map.allocation_size()), None)
        }),
        subject!(Std, "std HashMap", |n| Std::with_capacity_and_hasher(n, SameHash), |_map| {
            (None, None)
        }),
        subject!(StdSip, "std HashMap, SipHash", |n| StdSip::with_capacity(n), |_map| {
            (None, None)
        }),
        subject!(
            CuckooMap<u64, u64>,
            "CuckooMap",
            |n| CuckooMap::with_capacity(n).expect("memory"),
            |map| own(map)
        ),
        subject!(
            LinearMap<u64, u64>,
            "LinearMap",
            |n| LinearMap::with_capacity(n).expect("memory"),
            |map| own(map)
        ),
        subject!(
            ChainedMap<u64, u64>,
            "ChainedMap",
            |n| ChainedMap::with_capacity(n).expect("memory"),
            |map| own(map)
        ),
    ]
}

fn measure(entries: usize, results: &mut Vec<Vec<String>>) {
    let keys: Vec<u64> = (0..entries as u64).map(number).collect();
    let absent: Vec<u64> = (entries as u64..2 * entries as u64).map(number).collect();
    let mut hits = keys.clone();
    shuffle(&mut hits);
    let asked = entries.min(2_000_000);
    let (hits, misses) = (&hits[..asked], &absent[..asked]);
    let expected: u64 = hits.iter().fold(0, |sum, &key| sum.wrapping_add(!key));
    let rounds = if entries > 2_000_000 { 9 } else { 41 };

    let mut subjects = subjects();
    let names: Vec<&str> = subjects.iter().map(|subject| subject.name()).collect();
    let mut filling: Vec<Contender<'_>> = subjects
        .iter_mut()
        .map(|subject| {
            let keys = &keys;
            Contender::new(subject.name(), move || {
                subject.fill(keys);
                0
            })
        })
        .collect();
    let fill_rounds = if entries > 2_000_000 { 2 } else { 5 };
    let bytes = memory::for_keys(entries);
    let insert = interleave_with(bytes, &mut filling, entries, fill_rounds, Some(0));
    drop(filling);
    let ask = |keys, expected| {
        let mut asking: Vec<Contender<'_>> = subjects
            .iter()
            .map(|subject| Contender::new(subject.name(), move || subject.ask(keys)))
            .collect();
        interleave(&mut asking, asked, rounds, Some(expected))
    };
    let hit = ask(hits, expected);
    let miss = ask(misses, 0);

    let mut rows = vec![
        ["map", "load", "bytes/entry", "insert ns", "hit ns", "miss ns", "insert", "hit", "miss"]
            .map(String::from)
            .to_vec(),
    ];
    for (i, subject) in subjects.iter().enumerate() {
        let (bytes, load) = subject.size();
        let dash = || String::from("-");
        let row = vec![
            names[i].to_string(),
            load.map_or_else(dash, |load| format!("{load:.3}")),
            bytes.map_or_else(dash, |bytes| format!("{:.1}", bytes as f64 / entries as f64)),
            format!("{:.1}", insert[i]),
            format!("{:.1}", hit[i]),
            format!("{:.1}", miss[i]),
            format!("{:.2}×", insert[i] / insert[0]),
            format!("{:.2}×", hit[i] / hit[0]),
            format!("{:.2}×", miss[i] / miss[0]),
        ];
        results.push([vec![entries.to_string()], row.clone()].concat());
        rows.push(row);
    }
    println!("\n{entries} entries; the last three columns are ratios to hashbrown's time");
    print!("{}", table(&rows));
}

fn main() -> std::process::ExitCode {
    match run(std::env::args().skip(1).collect()) {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            std::process::ExitCode::from(2)
        }
    }
}

fn run(mut arguments: Vec<String>) -> Result<(), String> {
    let process_count = processes::take_option(&mut arguments)?;
    let mut sizes = Vec::new();
    let mut csv_file = None;
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--csv" => csv_file = Some(rest.next().ok_or("--csv needs a file")?),
            number => sizes.push(number.replace('_', "").parse().map_err(|_| {
                format!(
                    "{number} is not a number of entries; \
                     usage: dictionaries [--processes N] [--csv FILE] [ENTRIES…]"
                )
            })?),
        }
    }
    if sizes.is_empty() {
        sizes = vec![100_000, 1_000_000, 10_000_000];
    }
    let results = match process_count {
        None => measure_all(&sizes),
        Some(count) => {
            let medians = processes::medians(&processes::run(count, &arguments)?);
            print!("{}", table(&medians));
            medians
        }
    };
    if let Some(path) = csv_file {
        let written = std::fs::write(path, csv(&results));
        written.map_err(|error| format!("the results could not be written: {error}"))?;
    }
    Ok(())
}

fn measure_all(sizes: &[usize]) -> Vec<Vec<String>> {
    let header = "entries,map,load,bytes_per_entry,insert_ns,hit_ns,miss_ns,insert_ratio,hit_ratio,miss_ratio";
    let mut results = vec![header.split(',').map(String::from).collect()];
    for &entries in sizes {
        measure(entries, &mut results);
    }
    results
}
