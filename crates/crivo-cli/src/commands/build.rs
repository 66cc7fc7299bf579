//! `crivo build`: builds a filter from keys.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum, ValueHint};
use crivo::filter::choose::{Needs, choose, kind_for_keys};
use crivo::filter::{
    AnyFilter, BloomSpec, Bytes, FilterSpec, FuseOptions, KeyCollector, Kind, OperationError, Spec,
};
use crivo::{Digest, KeyHasher};
use crivo_core::spill::DistinctDigests;
#[cfg(feature = "formats")]
use crivo_formats::Format;
use serde::Serialize;

use crate::describe::{
    FilterSummary, distinct_keys, fpr_with, past_capacity_holding, past_capacity_with,
};
use crate::distinct::gather;
use crate::error::Error;
#[cfg(feature = "formats")]
use crate::foreign::{self, ForeignArgs, ForeignReport, KeyTypeArgs};
use crate::human;
use crate::input::InputArgs;
use crate::output;
use crate::secret::read_key;
use crate::spill::DEFAULT_MEMORY;
use crate::status::Status;
use crate::threads;
use crate::update;

/// Builds a filter from keys
///
/// Each distinct key is inserted once; only a counting filter counts its copies. Without --keys and
/// --size, the filter is just large enough for the distinct keys of the input at the false-positive
/// rate: their digests are collected first, on disk (TMPDIR) beyond --memory. With --keys, a filter
/// whose keys cannot be removed one by one, and a counting filter, is filled while the input is read,
/// in no more memory than it takes itself; the number of distinct keys is then an estimate.
///
/// A fuse filter is built from all its keys. Of more than 2^21 keys it is a sharded one, of which one
/// shard is built after another: that, too, takes no more than --memory beside the filter (but 61 MB at
/// least), and 8 bytes of disk space per key.
///
/// The file records which part of a record is the key, so that `query`, `insert` and `remove` take it
/// from there without being told.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct BuildArgs {
    /// The file to write; an existing one is replaced atomically; `-` is standard output
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: PathBuf,

    /// The kind of filter [default: what `crivo size` recommends for keys that come one by one]
    #[arg(long, value_parser = kinds())]
    kind: Option<Kind>,

    /// The false-positive rate: 0.01 or 1% [default: 0.01]
    #[arg(long, alias = "rate", value_name = "FPR", value_parser = human::parse_fpr)]
    #[arg(allow_negative_numbers = true)]
    fpr: Option<f64>,

    /// The capacity in distinct keys, if more will be inserted later
    #[arg(long, value_name = "N", value_parser = human::parse_count, allow_negative_numbers = true)]
    keys: Option<u64>,

    /// The maximum memory, as 64MB: gives the lowest FPR, or with --fpr the largest capacity
    #[arg(long, value_name = "BYTES", value_parser = human::parse_bytes, allow_negative_numbers = true)]
    size: Option<u64>,

    /// The maximum memory for digests of keys, and for building a fuse filter of them; the rest goes to
    /// temporary files
    #[arg(long, value_name = "SIZE", default_value = DEFAULT_MEMORY, value_parser = human::parse_bytes)]
    #[arg(allow_negative_numbers = true)]
    #[cfg_attr(feature = "formats", arg(conflicts_with = "format"))]
    memory: u64,

    /// The seed of the hash function; filters to be merged need the same [default: 0]
    #[arg(long, value_name = "S", allow_negative_numbers = true)]
    seed: Option<u64>,

    /// The hash function [default: fold64]
    #[arg(long, value_enum)]
    hash: Option<Hash>,

    /// The secret key for sip: a file of 16 raw bytes, or 32 hexadecimal digits; it is never stored
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    key_file: Option<PathBuf>,

    /// Print no summary
    #[arg(short, long, conflicts_with = "json")]
    quiet: bool,

    /// Print the summary to standard output, as JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    input: InputArgs,

    #[cfg(feature = "formats")]
    #[command(flatten)]
    foreign: ForeignArgs,

    #[cfg(feature = "formats")]
    #[command(flatten)]
    key_type: KeyTypeArgs,
}

const EXAMPLES: &str = "\
Examples:
  crivo build -o seen.crivo urls.txt                  every line; FPR 1%
  crivo build -o users.crivo --csv --column email a.csv b.csv.gz
  crivo build -o pairs.crivo --field 1,3 edges.tsv    two fields are one key
  crivo build -o small.crivo --kind fuse --fpr 0.001 words.txt
  crivo build -o leaked.crivo --kind fuse --memory 500MB leaked.txt.zst
  crivo build -o live.crivo --kind cuckoo --keys 1M first.txt
  crivo build -o ids.spark --format spark-v2 --key-type int64 ids.txt
  zcat *.log.gz | crivo build -o ips.crivo --field 1 --delimiter ' ' --size 64MB
";

/// The hash functions that a filter can be built with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Hash {
    /// Folded multiplications, with a public seed: the fastest
    Fold64,
    /// XXH3, with a public seed: to merge with filters that have it
    Xxh3,
    /// SipHash-2-4, with a secret key: for keys that an adversary may choose
    Sip,
}

fn kinds() -> impl TypedValueParser<Value = Kind> {
    PossibleValuesParser::new(Kind::ALL.map(Kind::name)).try_map(|name| name.parse::<Kind>())
}

/// The default false-positive rate.
const DEFAULT_FPR: f64 = 0.01;

/// How many keys are inserted at a time: what they look at must stay in a cache.
const BATCH: usize = 1024;

/// Above this, a filter that was sized by memory is hardly useful.
const HIGH_FPR: f64 = 0.1;

impl BuildArgs {
    pub(crate) fn run(self) -> Result<Status, Error> {
        #[cfg(feature = "formats")]
        {
            if let Some(format) = self.foreign.format() {
                return self.build_foreign(format);
            }
            self.key_type.refuse()?;
        }
        self.check()?;
        update::check_summary(&self.output, self.json)?;
        let hasher = self.hasher()?;
        // What fails for one key fails for any number: do not read the input first.
        let spec = self.spec(1)?;
        update::check_output(&self.output, &self.input.inputs)?;
        let (mut filter, counts) = if self.keys.is_some() && needs_no_set(spec.kind()) {
            self.stream(&spec, hasher)?
        } else if !spec.kind().capabilities().insert {
            self.build_at_once(hasher)?
        } else if spec.kind().capabilities().free_copies {
            self.build(gather::<2>(&self.input, hasher, self.memory)?, hasher)?
        } else {
            self.build(gather::<1>(&self.input, hasher, self.memory)?, hasher)?
        };
        self.input.format.record(filter.metadata_mut()).map_err(Error::new)?;
        update::replace(&self.output, &filter)?;
        if let Some(warning) = counts.past_capacity(&filter) {
            output::print_warning(warning);
        } else if let Some(size) = self.size {
            let fpr = filter.expected_fpr_with(counts.distinct);
            if fpr > HIGH_FPR {
                output::print_warning(format_args!(
                    "{} are too little for {}: the false-positive rate is {}; raise --size",
                    human::bytes(size),
                    human::counted(counts.distinct, "key"),
                    human::percentage(fpr)
                ));
            }
        }
        if !self.quiet {
            self.report(&filter, &counts)?;
        }
        Ok(Status::Success)
    }

    /// Builds a filter of another system.
    #[cfg(feature = "formats")]
    fn build_foreign(&self, format: &'static Format) -> Result<Status, Error> {
        let given = [
            ("--kind", self.kind.is_some()),
            ("--size", self.size.is_some()),
            ("--seed", self.seed.is_some()),
            ("--hash", self.hash.is_some()),
            ("--key-file", self.key_file.is_some()),
        ];
        if let Some((name, _)) = given.into_iter().find(|(_, is_given)| *is_given) {
            return Err(Error::new(format_args!("{name} has no meaning with --format")));
        }
        let key_type = self.key_type.require(format.name)?;
        update::check_summary(&self.output, self.json)?;
        update::check_output(&self.output, &self.input.inputs)?;
        let fpr = self.fpr.unwrap_or(DEFAULT_FPR);
        let (filter, distinct_keys) =
            foreign::build(&self.input, format, &self.foreign, key_type, self.keys, fpr)?;
        update::replace_bytes(&self.output, &filter.to_bytes())?;
        let what = format!("of {distinct_keys}");
        if !self.quiet {
            ForeignReport::of(update::output_name(&self.output), &*filter)
                .print_written(self.json, &what)?;
        }
        Ok(Status::Success)
    }

    /// Rejects contradictory arguments.
    fn check(&self) -> Result<(), Error> {
        let refuse = |message: &str| Err(Error::new(message));
        if self.keys.is_some() && self.size.is_some() && self.fpr.is_some() {
            return refuse(
                "--keys, --fpr and --size: any two of them determine the third; leave one out",
            );
        }
        if self.keys.is_some() && self.kind.is_some_and(|kind| !kind.capabilities().insert) {
            return refuse(
                "--keys has no meaning for a fuse filter: it is built from the keys of the input \
                 and cannot be added to",
            );
        }
        match (self.hash, &self.key_file, self.seed) {
            (Some(Hash::Sip), None, _) => refuse(
                "--hash sip needs a secret key: --key-file FILE; \
                 `head -c 16 /dev/urandom > FILE` makes one",
            ),
            (Some(Hash::Fold64 | Hash::Xxh3), Some(_), _) => {
                refuse("--key-file is for --hash sip; the others take no secret key, but a --seed")
            }
            (_, Some(_), Some(_)) => {
                refuse("--seed has no meaning with --key-file: the secret key takes its place")
            }
            _ => Ok(()),
        }
    }

    fn hasher(&self) -> Result<KeyHasher, Error> {
        let seed = self.seed.unwrap_or(0);
        Ok(match (&self.key_file, self.hash) {
            (Some(path), _) => KeyHasher::sip24(read_key(path)?),
            (None, Some(Hash::Xxh3)) => KeyHasher::xxh3(seed),
            (None, _) => KeyHasher::fold64(seed),
        })
    }

    /// The kind that was asked for, in shards if there are many keys; or the one to choose for keys that
    /// come one by one.
    fn kind(&self, capacity: u64) -> Result<Kind, Error> {
        if let Some(kind) = self.kind {
            return Ok(kind_for_keys(kind, capacity));
        }
        let fpr = match (self.fpr, self.size) {
            (Some(fpr), _) => fpr,
            (None, None) => DEFAULT_FPR,
            // About the FPR that comes out. Where there is no memory for any filter, it does not
            // matter which kind says so.
            (None, Some(bytes)) => BloomSpec::for_memory(capacity, Bytes(bytes))
                .map_or(DEFAULT_FPR, |spec| spec.fpr_when_full().clamp(1e-9, 0.99)),
        };
        Ok(choose(&Needs { keys: Some(capacity), ..Needs::fpr(fpr) })?.kind)
    }

    /// The specification of the filter for this number of distinct keys.
    fn spec(&self, distinct: u64) -> Result<Spec, Error> {
        // A filter of no keys has a table, too.
        let capacity = self.keys.unwrap_or(distinct).max(1);
        let kind = self.kind(capacity)?;
        match (self.size, self.fpr) {
            (None, fpr) => Ok(Spec::for_fpr(kind, capacity, fpr.unwrap_or(DEFAULT_FPR))?),
            (Some(bytes), None) => Spec::for_memory(kind, capacity, Bytes(bytes)).map_err(|_| {
                Error::new(format_args!(
                    "--size: {} are too little for a {} filter of {}",
                    human::bytes(bytes),
                    kind,
                    human::counted(capacity, "key")
                ))
            }),
            (Some(bytes), Some(fpr)) => {
                let largest = Spec::for_max_keys(kind, fpr, Bytes(bytes))?;
                if largest.capacity() < distinct {
                    return Err(Error::new(format_args!(
                        "--size: {} hold {} in a {} filter with a false-positive rate of {}, but there \
                         are {}; raise --size or --fpr",
                        human::bytes(bytes),
                        human::counted(largest.capacity(), "key"),
                        kind,
                        human::percentage(fpr),
                        human::count(distinct)
                    )));
                }
                match kind.capabilities().insert {
                    true => Ok(largest),
                    // A static filter has no spare capacity: it is as large as its keys need.
                    false => Ok(Spec::for_fpr(kind, capacity, fpr)?),
                }
            }
        }
    }

    /// A filter of a kind that [needs no set](needs_no_set), filled while the input is read.
    fn stream(&self, spec: &Spec, hasher: KeyHasher) -> Result<(AnyFilter, KeyCounts), Error> {
        let mut filter = spec.build(hasher)?;
        let counts_copies = spec.kind().capabilities().free_copies;
        let mut hits = [false; BATCH];
        let mut total = 0;
        self.input.each_batch(hasher, |digests| {
            total += digests.len() as u64;
            for digests in digests.chunks(BATCH) {
                if counts_copies {
                    filter.insert_batch(digests).map_err(Error::new)?;
                } else {
                    insert_absent(&mut filter, digests, &mut hits[..digests.len()])?;
                }
            }
            Ok(())
        })?;
        let counts = KeyCounts::estimated(&filter, total);
        Ok((filter, counts))
    }

    /// A filter of a kind that is built from all its keys.
    fn build_at_once(&self, hasher: KeyHasher) -> Result<(AnyFilter, KeyCounts), Error> {
        let mut collector = KeyCollector::within(Bytes(self.memory), hasher);
        collector = collector.with_threads(threads::count())?;
        self.input
            .each_batch(hasher, |digests| collector.insert_digests(digests).map_err(Error::new))?;
        let keys = collector.finish().map_err(Error::new)?;
        let (total, distinct) = (keys.total(), keys.count());
        let filter = match self.spec(distinct)? {
            Spec::ShardedFuse(spec) => spec.build_from_keys(keys).map_err(Error::new)?.into(),
            Spec::Fuse(spec) => {
                let threads = Some(threads::count());
                let options = FuseOptions { threads, ..spec.options(hasher) };
                let digests = keys.into_digests().map_err(Error::new)?;
                options.build_digests(digests).map_err(Error::new)?.into()
            }
            spec => spec.build_from(keys.into_digests().map_err(Error::new)?, hasher)?,
        };
        let counts = KeyCounts { total, distinct, is_estimate: false, is_minimum: false };
        Ok((filter, counts))
    }

    /// The filter of these keys.
    fn build<const W: usize>(
        &self,
        keys: DistinctDigests<W>,
        hasher: KeyHasher,
    ) -> Result<(AnyFilter, KeyCounts), Error> {
        let (total, distinct) = (keys.total(), keys.count());
        let counts = KeyCounts { total, distinct, is_estimate: false, is_minimum: false };
        let mut filter = self.spec(distinct)?.build(hasher)?;
        let mut batch = Vec::with_capacity(BATCH);
        keys.each(|digest, copies| {
            for _ in 0..copies {
                if batch.len() == BATCH {
                    self.insert_all(&mut filter, &batch, distinct)?;
                    batch.clear();
                }
                batch.push(Digest::new(digest));
            }
            Ok::<(), Error>(())
        })?;
        self.insert_all(&mut filter, &batch, distinct)?;
        Ok((filter, counts))
    }

    fn insert_all(
        &self,
        filter: &mut AnyFilter,
        digests: &[Digest],
        distinct: u64,
    ) -> Result<(), Error> {
        filter.insert_batch(digests).map_err(|error| match error {
            OperationError::Full(full) => Error::new(format_args!(
                "there are {}, which do not fit into a {} filter with a capacity of {}; raise \
                 --keys, or leave it out",
                human::counted(distinct, "distinct key"),
                filter.kind(),
                human::count(full.capacity)
            )),
            error => Error::new(error),
        })
    }

    fn report(&self, filter: &AnyFilter, counts: &KeyCounts) -> Result<(), Error> {
        let KeyCounts { total: keys, distinct: distinct_keys, is_estimate, is_minimum } = *counts;
        let expected_fpr = fpr_with(filter, distinct_keys);
        let facts = FilterSummary { expected_fpr, ..FilterSummary::of(filter) };
        let file = update::output_name(&self.output);
        if self.json {
            return output::print_json(&BuildSummary {
                file,
                distinct_keys,
                distinct_keys_are_estimated: is_estimate,
                distinct_keys_are_minimum: is_minimum,
                facts: FilterSummary { keys, ..facts },
            });
        }
        output::print_message(format_args!(
            "{file}: a {} filter of {} ({} distinct), {}",
            filter.kind(),
            human::counted(keys, "key"),
            counts.distinct_text(),
            human::bytes(facts.size_bytes),
        ));
        if distinct_keys > 0 {
            let fpr = human::percentage(facts.expected_fpr_at_capacity);
            let later = match facts.capacity {
                None => format!(", never above {fpr}"),
                Some(capacity) if capacity > distinct_keys => {
                    format!(", {fpr} with {}", human::counted(capacity, "key"))
                }
                Some(_) => String::new(),
            };
            output::print_message(format_args!(
                "{:.2} bits per key; expected false-positive rate: {}{later}",
                facts.bits_per_key,
                human::percentage(facts.expected_fpr)
            ));
        }
        Ok(())
    }
}

/// Whether a filter of this kind can be filled with keys of which some come again: copies change
/// nothing, or are counted. A cuckoo or quotient filter would store each.
fn needs_no_set(kind: Kind) -> bool {
    let can = kind.capabilities();
    can.insert && (can.free_copies || !can.remove)
}

/// Inserts the keys that do not seem to be present, so that the key count of the filter counts
/// each key once.
fn insert_absent(
    filter: &mut AnyFilter,
    digests: &[Digest],
    hits: &mut [bool],
) -> Result<(), Error> {
    filter.contains_batch(digests, hits);
    for (&digest, _) in digests.iter().zip(hits).filter(|(_, hit)| !**hit) {
        // It may have come twice in this batch.
        if !filter.contains_digest(digest) {
            filter.insert_digest(digest).map_err(Error::new)?;
        }
    }
    Ok(())
}

/// The keys of the input.
struct KeyCounts {
    total: u64,
    distinct: u64,
    /// Whether the number of distinct keys is only estimated.
    is_estimate: bool,
    /// Whether a table that is full gave no estimate, so that there may be many more.
    is_minimum: bool,
}

impl KeyCounts {
    /// The counts of a filter that was filled without a set of distinct keys.
    fn estimated(filter: &AnyFilter, total: u64) -> Self {
        // Those that did not seem to be present were certainly distinct. Of a counting filter, all
        // that is certain is that there are keys.
        let certain = match filter.kind().capabilities().free_copies {
            true => total.min(1),
            false => filter.key_count(),
        };
        let estimate = filter.estimated_key_count().map(|found| found.keys.round() as u64);
        let is_estimate = certain < total;
        let can = filter.kind().capabilities();
        let is_minimum = is_estimate && estimate.is_none() && !can.grow && !can.free_copies;
        // Without an estimate, which a full table and a growing filter do not give.
        let distinct = estimate.unwrap_or_else(|| distinct_keys(filter));
        Self { total, distinct: distinct.clamp(certain, total), is_estimate, is_minimum }
    }

    fn distinct_text(&self) -> String {
        let prefix = match (self.is_minimum, self.is_estimate) {
            (true, _) => "at least ",
            (false, true) => "about ",
            (false, false) => "",
        };
        format!("{prefix}{}", human::count(self.distinct))
    }

    /// A warning if there are more distinct keys than the filter is made for.
    fn past_capacity(&self, filter: &AnyFilter) -> Option<String> {
        match self.is_estimate {
            true => past_capacity_holding(filter, &self.distinct_text()),
            false => past_capacity_with(filter, self.distinct),
        }
    }
}

#[derive(Serialize)]
struct BuildSummary {
    file: String,
    distinct_keys: u64,
    /// With `--keys`, most kinds are filled without a set of distinct keys.
    distinct_keys_are_estimated: bool,
    /// A full table gives no estimate: there may be many more.
    distinct_keys_are_minimum: bool,
    /// Here, `keys` counts the keys of the input.
    #[serde(flatten)]
    facts: FilterSummary,
}
