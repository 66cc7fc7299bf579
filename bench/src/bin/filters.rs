//! Every filter beside its rivals.
//!
//! ```text
//! cargo run --release --bin filters -- [--processes 5] [--fpr 0.01] [--csv FILE] [--only GROUP]… [--keys u64|text] [N…]
//! ```
//!
//! Times are nanoseconds per key with hashing, the median of interleaved rounds; ratios are rival
//! over crivo, for the first crivo filter of the group: above 1, crivo is faster. Present keys must
//! all be found, and the observed rate stands beside the bits, for comparing speeds at one rate. What is
//! called "batches" is asked in batches, and filled in batches, too, unless it is built from all its keys.
//!
//! With `--processes` everything is measured in that many processes, and the medians over them stand in
//! one table, in Markdown, beside the goals. `CRIVO_SIMD=avx2` in the environment shows what crivo
//! does without AVX-512; sbbf-rs-safe and fastbloom have no code for it in any case.

use crivo_bench::filters::{BenchKey, Subject, goals, ours, rivals};
use crivo_bench::{Contender, csv, interleave, interleave_with, memory, processes, shuffle, table};

#[derive(Clone)]
struct Settings {
    fpr: f64,
    sizes: Vec<usize>,
    groups: Vec<String>,
    keys: Vec<String>,
    csv: Option<String>,
}

fn settings(arguments: &[String]) -> Result<Settings, String> {
    let mut settings =
        Settings { fpr: 0.01, sizes: Vec::new(), groups: Vec::new(), keys: Vec::new(), csv: None };
    let mut arguments = arguments.iter().cloned();
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
        match argument.as_str() {
            "--fpr" => settings.fpr = value()?.parse().map_err(|_| "an FPR is a number")?,
            "--csv" => settings.csv = Some(value()?),
            "--only" => settings.groups.push(value()?),
            "--keys" => settings.keys.push(value()?),
            number => match number.replace('_', "").parse() {
                Ok(n) => settings.sizes.push(n),
                Err(_) => {
                    return Err(format!("{number} is neither an option nor a number of keys"));
                }
            },
        }
    }
    if settings.sizes.is_empty() {
        settings.sizes = vec![100_000, 1_000_000, 10_000_000, 100_000_000];
    }
    Ok(settings)
}

/// crivo's filters come first.
type Group<K> = (&'static str, Vec<Box<dyn Subject<K>>>);

fn groups<K: BenchKey>(fpr: f64) -> Vec<Group<K>> {
    vec![
        ("bloom", [ours::bloom(fpr), rivals::bloom(fpr)]),
        ("blocked", [ours::blocked(fpr), rivals::blocked(fpr)]),
        ("split-block", [ours::split_block(), rivals::split_block()]),
        ("counting", [ours::counting(fpr), rivals::counting(fpr)]),
        ("blocked-counting", [ours::blocked_counting(fpr), rivals::counting(fpr)]),
        ("cuckoo", [ours::cuckoo(fpr), rivals::cuckoo(fpr)]),
        ("quotient", [ours::quotient(fpr), rivals::quotient(fpr)]),
        ("fuse", [ours::fuse(fpr), rivals::fuse(fpr)]),
        ("sharded-7", [ours::sharded_fuse(7), ours::fuse_without_shards(7)]),
        ("sharded-8", [ours::sharded_fuse(8), ours::fuse_without_shards(8)]),
    ]
    .into_iter()
    .map(|(name, subjects)| (name, subjects.into_iter().flatten().collect()))
    .collect()
}

fn measure<K: BenchKey>(settings: &Settings, results: &mut Vec<Vec<String>>) {
    for &n in &settings.sizes {
        let keys: Vec<K> = (0..n as u64).map(K::make).collect();
        let asked = n.min(2_000_000);
        let mut order: Vec<usize> = (0..n).collect();
        shuffle(&mut order);
        let present: Vec<K> = order[..asked].iter().map(|&i| keys[i].clone()).collect();
        drop(order);
        let absent: Vec<K> = (n as u64..(n + asked) as u64).map(K::make).collect();
        for (group, mut subjects) in groups::<K>(settings.fpr) {
            if !settings.groups.is_empty() && !settings.groups.iter().any(|only| only == group) {
                continue;
            }
            let rounds = if n > 2_000_000 { 5 } else { 11 };
            let mut filling: Vec<Contender<'_>> = subjects
                .iter_mut()
                .map(|subject| {
                    let keys = &keys;
                    Contender::new(subject.name().to_string(), move || {
                        subject.fill(keys);
                        0
                    })
                })
                .collect();
            let fill_rounds = if n > 2_000_000 { 1 } else { 5 };
            let bytes = memory::for_keys(n);
            let insert = interleave_with(bytes, &mut filling, n, fill_rounds, Some(0));
            drop(filling);
            let ask = |keys: &[K], expected| {
                let mut asking: Vec<Contender<'_>> = subjects
                    .iter()
                    .map(|subject| {
                        Contender::new(subject.name().to_string(), move || subject.ask(keys))
                    })
                    .collect();
                interleave(&mut asking, asked, rounds, expected)
            };
            let hit = ask(&present, Some(asked as u64));
            let miss = ask(&absent, None);

            let header = ["bits/key", "rate", "insert", "present", "absent"];
            let mut rows = vec![
                [&["filter"][..], &header, &["insert ×", "present ×", "absent ×"]]
                    .concat()
                    .into_iter()
                    .map(String::from)
                    .collect::<Vec<_>>(),
            ];
            for (i, subject) in subjects.iter().enumerate() {
                let observed = subject.ask(&absent) as f64 / asked as f64;
                let mut row = vec![
                    subject.name().to_string(),
                    format!("{:.2}", subject.bits() / n as f64),
                    format!("{:.3}%", 100.0 * observed),
                ];
                let times = [insert[i], hit[i], miss[i]];
                row.extend(times.iter().map(|time| format!("{time:.2}")));
                let ours = [insert[0], hit[0], miss[0]];
                row.extend(
                    times.iter().zip(ours).map(|(time, ours)| format!("{:.2}", time / ours)),
                );
                results.push(
                    [vec![K::NAME.into(), n.to_string(), group.into()], row.clone()].concat(),
                );
                rows.push(row);
            }
            println!("\n{group}, {n} keys ({})", K::NAME);
            print!("{}", table(&rows));
        }
    }
}

/// Of each result what is compared: for each rival, and each other way of asking, the ratios.
fn ratios(results: &[Vec<String>]) -> Vec<Vec<String>> {
    const COMPARED: [usize; 9] = [0, 1, 2, 3, 4, 5, 9, 10, 11];
    let first_of_group = |row: &[String]| row[9..].iter().all(|ratio| ratio == "1.00");
    results
        .iter()
        .filter(|row| !first_of_group(row))
        .map(|row| COMPARED.map(|column| row[column].clone()).to_vec())
        .collect()
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
    let settings = settings(&arguments)?;
    let results = match process_count {
        None => measure_all(&settings),
        Some(count) => {
            let all = processes::run(count, &arguments)?;
            print!("{}", goals::markdown(&all));
            processes::medians(&all)
        }
    };
    if let Some(path) = settings.csv {
        let written = std::fs::write(path, csv(&results));
        written.map_err(|error| format!("the results could not be written: {error}"))?;
    }
    Ok(())
}

fn measure_all(settings: &Settings) -> Vec<Vec<String>> {
    let header = "keys,n,group,filter,bits_per_key,rate,insert_ns,present_ns,absent_ns,\
                  insert_ratio,present_ratio,absent_ratio";
    let mut results = vec![header.split(',').map(String::from).collect()];
    let wanted = |name| settings.keys.is_empty() || settings.keys.iter().any(|key| key == name);
    if wanted("u64") {
        measure::<u64>(settings, &mut results);
    }
    if wanted("text") {
        let few = settings.sizes.iter().copied().filter(|&n| n <= 10_000_000).collect();
        measure::<String>(&Settings { sizes: few, ..settings.clone() }, &mut results);
    }
    println!("\nrival's time over crivo's, at a glance");
    print!("{}", table(&ratios(&results)));
    results
}
