//! The number of entries that an insertion moves.

use crivo::KeyHasher;
use crivo::hash::Indices;
use crivo::theory::cuckoo::load_threshold;
use crivo_exact::cuckoo::trace::{TraceError, TraceTable};
use crivo_exact::{CuckooMap, CuckooOptions, Eviction};
use serde::{Deserialize, Serialize};

use crate::StudyError;
use crate::context::Context;
use crate::data::Dataset;
use crate::plot::{Axis, Chart, Hue, Panel, Series, TickFormat, decimal, percent, thousands};
use crate::section::{Figure, Finding, Table, Verdict};
use crate::statistics::{CONFIDENCE, FALSE_ALARM, PointEstimate, mean_interval};

/// The insertions of one table within one percent of load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Chains {
    choices: u32,
    bucket_size: u32,
    search: String,
    repetition: u32,
    /// In percent, at the end of this interval.
    load_percent: u32,
    insertions: u64,
    moves: u64,
    longest: u64,
}

const WALK: &str = "random walk";
const BREADTH: &str = "breadth first";

/// d with single slots: both searches, in a table that reports every move.
const SINGLES: [(u32, Hue); 3] = [(2, Hue::Counting), (3, Hue::Quotient), (4, Hue::Bloom)];

/// d and b with larger buckets: `CuckooMap` itself, as it searches by default.
const BUCKETS: [(u32, u32, Hue); 4] =
    [(2, 2, Hue::Blocked), (2, 4, Hue::Fuse), (2, 8, Hue::Cuckoo), (3, 2, Hue::Linear)];

/// The records of one table.
struct Filling {
    places: u64,
    row: Chains,
    rows: Vec<Chains>,
}

impl Filling {
    fn new(shape: (u32, u32), search: &str, repetition: u32, places: usize) -> Self {
        let row = Chains {
            choices: shape.0,
            bucket_size: shape.1,
            search: search.to_string(),
            repetition,
            load_percent: 1,
            insertions: 0,
            moves: 0,
            longest: 0,
        };
        Self { places: places as u64, row, rows: Vec::new() }
    }

    /// Records an insertion, with the number of entries after it.
    fn note(&mut self, entries: u64, moves: u64) {
        self.row.insertions += 1;
        self.row.moves += moves;
        self.row.longest = self.row.longest.max(moves);
        if entries * 100 >= self.places * u64::from(self.row.load_percent) {
            self.rows.push(self.row.clone());
            let load_percent = self.row.load_percent + 1;
            self.row =
                Chains { load_percent, insertions: 0, moves: 0, longest: 0, ..self.row.clone() };
        }
    }
}

/// Fills a table of single slots until an insertion fails.
fn fill_singles(
    filling: &mut Filling,
    eviction: Eviction,
    hasher: KeyHasher,
) -> Result<(), StudyError> {
    let places = filling.places;
    let mut table = TraceTable::new(places as usize, eviction)?;
    for key in 0..places {
        let homes: Vec<usize> = Indices::new(hasher.digest(&key), places)
            .take(filling.row.choices as usize)
            .map(|place| place as usize)
            .collect();
        match table.insert(key, &homes) {
            // The first move is the new key itself.
            Ok(chain) => filling.note(key + 1, chain.as_slice().len() as u64 - 1),
            Err(TraceError::NoPlace) => break,
            Err(error) => return Err(StudyError::wrong(error)),
        }
    }
    Ok(())
}

/// Fills a map until it rehashes or grows. Moves are detected by the addresses of entries; no entry
/// moves twice in the shortest chain.
fn fill_buckets(filling: &mut Filling, hasher: KeyHasher) -> Result<(), StudyError> {
    let options = CuckooOptions {
        choices: filling.row.choices as usize,
        bucket_size: filling.row.bucket_size as usize,
        max_load: Some(1.0),
        hasher,
        ..CuckooOptions::default()
    };
    let mut map: CuckooMap<u64, ()> = options.build(filling.places as usize)?;
    filling.places = map.slot_count() as u64;
    let mut addresses: Vec<usize> = Vec::new();
    for key in 0..filling.places {
        map.insert(key, ())?;
        if map.slot_count() as u64 != filling.places || map.reseed_count() > 0 {
            break;
        }
        addresses.push(0);
        let mut moved = 0;
        for (entry, ()) in map.iter() {
            let address = std::ptr::from_ref(entry).addr();
            let before = std::mem::replace(&mut addresses[*entry as usize], address);
            moved += u64::from(before != address);
        }
        // The new key itself had no address.
        filling.note(key + 1, moved - 1);
    }
    Ok(())
}

pub(super) fn measure(context: &Context<'_>, data: &mut Dataset) -> Result<(), StudyError> {
    let places: usize = context.pick(1_000, 20_000, 100_000);
    // Small tables: every entry is inspected after every insertion.
    let slots: usize = context.pick(512, 2_048, 4_096);
    let mut random = context.random("dictionaries chains");
    let mut rows = Vec::new();
    let searches = [(WALK, Eviction::random_walk()), (BREADTH, Eviction::breadth_first())];
    for repetition in 0..context.repetitions().min(10) {
        for (choices, _) in SINGLES {
            for (search, eviction) in searches {
                let mut filling = Filling::new((choices, 1), search, repetition, places);
                fill_singles(&mut filling, eviction, KeyHasher::xxh3(random.number()))?;
                rows.append(&mut filling.rows);
            }
        }
        for (choices, bucket_size, _) in BUCKETS {
            let mut filling = Filling::new((choices, bucket_size), BREADTH, repetition, slots);
            fill_buckets(&mut filling, KeyHasher::xxh3(random.number()))?;
            rows.append(&mut filling.rows);
        }
    }
    data.set_parameter("chain_places", places);
    data.set_parameter("chain_slots", slots);
    data.add("chains", &rows)
}

/// The rows of a data file, with queries.
struct Measured {
    rows: Vec<Chains>,
    tables: usize,
}

impl Measured {
    fn of<'a>(&'a self, shape: (u32, u32), search: &'a str) -> impl Iterator<Item = &'a Chains> {
        self.rows
            .iter()
            .filter(move |row| (row.choices, row.bucket_size) == shape && row.search == search)
    }

    /// Moves per insertion at a load that every table reached: otherwise tables that fail early would
    /// bias the mean.
    fn mean(
        &self,
        shape: (u32, u32),
        search: &str,
        load_percent: u32,
        confidence: f64,
    ) -> Option<PointEstimate> {
        let means: Vec<f64> = self
            .of(shape, search)
            .filter(|row| row.load_percent == load_percent && row.insertions > 0)
            .map(|row| row.moves as f64 / row.insertions as f64)
            .collect();
        (!means.is_empty() && means.len() == self.tables).then(|| mean_interval(&means, confidence))
    }

    fn longest(&self, shape: (u32, u32), search: &str) -> u64 {
        self.of(shape, search).map(|row| row.longest).max().unwrap_or(0)
    }

    /// The highest load that all tables reached with each of these searches.
    fn highest_load(&self, shape: (u32, u32), searches: &[&str]) -> Option<u32> {
        (1..=100).rev().find(|&load| {
            searches.iter().all(|search| self.mean(shape, search, load, CONFIDENCE).is_some())
        })
    }

    /// The curve of one shape, and the threshold beside it.
    fn series(
        &self,
        label: String,
        shape: (u32, u32),
        search: &str,
        hue: Hue,
    ) -> Result<[Series; 2], StudyError> {
        let threshold = load_threshold(shape.0, shape.1)?;
        let ends = [(threshold, 0.01), (threshold, 10.0)];
        let points: Vec<_> = (1..=99)
            .step_by(2)
            .filter_map(|load| {
                Some((f64::from(load) / 100.0, self.mean(shape, search, load, CONFIDENCE)?))
            })
            // A logarithmic axis cannot show 0.
            .filter(|(_, estimate)| estimate.low > 0.0)
            .collect();
        Ok([Series::dashed(String::new(), hue, ends), Series::trace(label, hue, points)])
    }
}

pub(super) fn figure(data: &Dataset) -> Result<Figure, StudyError> {
    let rows: Vec<Chains> = data.rows("chains")?;
    let tables = rows.iter().map(|row| row.repetition + 1).max().unwrap_or(0) as usize;
    let measured = Measured { rows, tables };
    let places: u64 = data.parameter("chain_places")?;
    let slots: u64 = data.parameter("chain_slots")?;
    let chart = |title: String, series: Vec<Series>| {
        Panel::Chart(Chart {
            title,
            x: Axis::linear("load").with_format(TickFormat::Percent),
            y: Axis::logarithmic("entries moved, mean"),
            series,
        })
    };
    let mut panels = Vec::new();
    for search in [WALK, BREADTH] {
        let mut series = Vec::new();
        for (choices, hue) in SINGLES {
            series.extend(measured.series(format!("{choices} × 1"), (choices, 1), search, hue)?);
        }
        panels.push(chart(format!("single slots, {search}"), series));
    }
    let mut series = Vec::new();
    for (choices, size, hue) in BUCKETS {
        series.extend(measured.series(
            format!("{choices} × {size}"),
            (choices, size),
            BREADTH,
            hue,
        )?);
    }
    panels.push(chart(format!("larger buckets, {BREADTH}"), series));

    let mut table = Table::new(&[
        "d × b",
        "load",
        "random walk",
        "breadth first",
        "longest walk",
        "longest search",
    ]);
    // Two intervals for each d, six in all, at a joint confidence of 99%.
    let confidence = 1.0 - FALSE_ALARM / (2 * SINGLES.len()) as f64;
    let (mut compared, mut shorter) = (0, 0);
    let mut last = String::new();
    for (choices, _) in SINGLES {
        let shape = (choices, 1);
        let Some(load) = measured.highest_load(shape, &[WALK, BREADTH]) else { continue };
        let mean = |search| measured.mean(shape, search, load, confidence);
        let (Some(walk), Some(breadth)) = (mean(WALK), mean(BREADTH)) else { continue };
        compared += 1;
        shorter += usize::from(breadth.high < walk.low);
        let load = percent(f64::from(load) / 100.0, 2);
        let (walk, breadth) = (decimal(walk.value, 3), decimal(breadth.value, 3));
        last = format!(
            " At {load}, {choices} × 1 moves {walk} entries by random walk and {breadth} by breadth-first search."
        );
        table.row([
            format!("{choices} × 1"),
            load,
            walk,
            breadth,
            measured.longest(shape, WALK).to_string(),
            measured.longest(shape, BREADTH).to_string(),
        ]);
    }
    for (choices, size, _) in BUCKETS {
        let shape = (choices, size);
        let Some(load) = measured.highest_load(shape, &[BREADTH]) else { continue };
        let Some(mean) = measured.mean(shape, BREADTH, load, CONFIDENCE) else { continue };
        table.row([
            format!("{choices} × {size}"),
            percent(f64::from(load) / 100.0, 2),
            "–".to_string(),
            decimal(mean.value, 3),
            "–".to_string(),
            measured.longest(shape, BREADTH).to_string(),
        ]);
    }
    let longest = |search: &str| {
        SINGLES.map(|(choices, _)| measured.longest((choices, 1), search)).into_iter().max()
    };
    Ok(Figure {
        id: "dictionaries-chains",
        title: "Entries moved per insertion, by load".to_string(),
        question: "How long are eviction chains, and does the search strategy matter?".to_string(),
        method: format!(
            "Tables of {} single slots, filled until an insertion fails; and maps of {} slots in larger \
             buckets. The plot shows the mean number of entries moved per insertion, within one percent \
             of load, over {tables} tables, with Student’s 95% interval. A random walk evicts a random \
             entry; a breadth-first search finds the shortest chain. Dashes: thresholds in theory, each \
             in the colour of its shape. Table: at the highest load that all tables reached.",
            thousands(places),
            thousands(slots),
        ),
        panels,
        table: Some(table),
        verdict: Verdict {
            finding: Finding::Measured,
            sentence: format!(
                "At the highest loads that both reach, chains of breadth-first search are shorter than random \
                 walks for {shorter} of {compared} values of d.{last} The longest random walk moved {} \
                 entries, the longest chain of breadth-first search {}.",
                longest(WALK).unwrap_or(0),
                longest(BREADTH).unwrap_or(0),
            ),
            test: format!(
                "Test: the intervals of both means do not overlap, corrected for {} intervals (Bonferroni); \
                 probability of a false alarm at most {}%.",
                2 * SINGLES.len(),
                100.0 * FALSE_ALARM
            ),
        },
    })
}
