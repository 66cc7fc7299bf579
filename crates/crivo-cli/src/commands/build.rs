//! `crivo build`: a filter from keys.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum, ValueHint};
use crivo::KeyHasher;
use crivo::codec::Kind;
use crivo::filter::choose::Abilities;
use crivo::filter::{AnyFilter, Filter, Plan};
use serde::Serialize;

use crate::describe::{Facts, past_capacity_with, rate_with};
use crate::distinct::{Distinct, gather};
use crate::human;
use crate::input::InputArgs;
use crate::outcome::{Error, Outcome};
use crate::output;
use crate::secret::read_key;
use crate::update;

/// Builds a filter from keys
///
/// Each distinct key is inserted once, however often it comes; only a counting filter counts its
/// copies. Without --keys and --size the filter is just large enough for the distinct keys of the
/// input to keep the rate.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct BuildArgs {
    /// The file to write; one of that name is replaced in one step
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: PathBuf,

    /// The kind of filter; `crivo size` helps to choose
    #[arg(long, default_value = "bloom", value_parser = kinds())]
    kind: Kind,

    /// The rate of wrong yeses: 0.01 or 1% [default: 0.01]
    #[arg(long, value_name = "R", value_parser = human::parse_rate, allow_negative_numbers = true)]
    rate: Option<f64>,

    /// Make it for so many distinct keys, where others will be inserted later
    #[arg(long, value_name = "N", value_parser = human::parse_count, allow_negative_numbers = true)]
    keys: Option<u64>,

    /// Make it fit into so much memory, as 64MB: the best rate for it, or with --rate as many keys
    #[arg(long, value_name = "BYTES", value_parser = human::parse_bytes, allow_negative_numbers = true)]
    size: Option<u64>,

    /// The seed of the hash function; filters to be merged need the same [default: 0]
    #[arg(long, value_name = "S", allow_negative_numbers = true)]
    seed: Option<u64>,

    /// The hash function: sip, under a secret key, for keys that an adversary may choose
    #[arg(long, value_enum)]
    hash: Option<Hash>,

    /// The secret key for sip: a file of 16 raw bytes, or 32 hexadecimal digits; it is never stored
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    key_file: Option<PathBuf>,

    /// Print the summary to standard output, as JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    input: InputArgs,
}

const EXAMPLES: &str = "\
Examples:
  crivo build -o seen.crivo urls.txt                  every line; 1 wrong yes in 100
  crivo build -o users.crivo --csv --column email a.csv b.csv.gz
  crivo build -o small.crivo --kind fuse --rate 0.001 words.txt
  crivo build -o live.crivo --kind cuckoo --keys 1M first.txt
  zcat *.log.gz | crivo build -o ips.crivo --field 1 --delimiter ' ' --size 64MB
";

/// The hash functions that a filter can be built with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Hash {
    /// XXH3, with a public seed
    Xxh3,
    /// SipHash-2-4, with a secret key
    Sip,
}

fn kinds() -> impl TypedValueParser<Value = Kind> {
    PossibleValuesParser::new(Kind::ALL.map(Kind::name)).try_map(|name| name.parse::<Kind>())
}

/// The rate where none is asked for.
const RATE: f64 = 0.01;

/// A rate that nobody wants who did not ask for it.
const HIGH_RATE: f64 = 0.1;

impl BuildArgs {
    pub(crate) fn run(self) -> Result<Outcome, Error> {
        self.check()?;
        let hasher = self.hasher()?;
        // A plan that no number of keys can change for the better should not wait for them.
        self.plan(1)?;
        update::check_output(&self.output, &self.input.inputs)?;
        let (filter, keys, distinct_keys) = match self.kind {
            Kind::Counting => self.build(gather::<2>(&self.input, hasher)?, hasher)?,
            _ => self.build(gather::<1>(&self.input, hasher)?, hasher)?,
        };
        update::replace(&self.output, &filter)?;
        if let Some(warning) = past_capacity_with(&filter, distinct_keys) {
            output::warn(warning);
        } else if let Some(size) = self.size {
            let rate = filter.expected_fpr_with(distinct_keys);
            if rate > HIGH_RATE {
                output::warn(format_args!(
                    "{} are little for {}: the rate of wrong yeses is {}; give a larger --size",
                    human::bytes(size),
                    human::counted(distinct_keys, "key"),
                    human::rate(rate)
                ));
            }
        }
        self.report(&filter, keys, distinct_keys)?;
        Ok(Outcome::Done)
    }

    /// Refuses what contradicts itself.
    fn check(&self) -> Result<(), Error> {
        let refuse = |message: &str| Err(Error::new(message));
        if self.keys.is_some() && self.size.is_some() && self.rate.is_some() {
            return refuse(
                "--keys, --rate and --size: any two of them decide about the third; leave one out",
            );
        }
        if self.keys.is_some() && !Abilities::of(self.kind).dynamic {
            return refuse(
                "--keys has no meaning for a fuse filter: it is made of the keys that there are, \
                 and takes no others later",
            );
        }
        match (self.hash, &self.key_file, self.seed) {
            (Some(Hash::Sip), None, _) => refuse(
                "--hash sip needs a secret key: --key-file FILE; \
                 `head -c 16 /dev/urandom > FILE` makes one",
            ),
            (Some(Hash::Xxh3), Some(_), _) => {
                refuse("--key-file is for --hash sip; xxh3 takes no secret key, but a --seed")
            }
            (_, Some(_), Some(_)) => {
                refuse("--seed has no meaning with --key-file: the secret key takes its place")
            }
            _ => Ok(()),
        }
    }

    fn hasher(&self) -> Result<KeyHasher, Error> {
        Ok(match &self.key_file {
            Some(path) => KeyHasher::sip24(read_key(path)?),
            None => KeyHasher::xxh3(self.seed.unwrap_or(0)),
        })
    }

    /// The filter for so many distinct keys.
    fn plan(&self, distinct: u64) -> Result<Plan, Error> {
        // Also the filter of no keys has a table.
        let capacity = self.keys.unwrap_or(distinct).max(1);
        match (self.size, self.rate) {
            (None, rate) => Ok(Plan::for_rate(self.kind, capacity, rate.unwrap_or(RATE))?),
            (Some(bytes), None) => Plan::for_memory(self.kind, capacity, bytes).map_err(|_| {
                Error::new(format_args!(
                    "--size: {} are too little for a {} filter of {}",
                    human::bytes(bytes),
                    self.kind,
                    human::counted(capacity, "key")
                ))
            }),
            // A fuse filter has no room to spare: it is as large as its keys need.
            (Some(bytes), Some(rate)) => {
                let most = Plan::for_most_keys(self.kind, rate, bytes)?;
                if most.capacity() < distinct {
                    return Err(Error::new(format_args!(
                        "--size: {} hold {} in a {} filter at a rate of {}, and there are {}; \
                         give more memory or a higher rate",
                        human::bytes(bytes),
                        human::counted(most.capacity(), "key"),
                        self.kind,
                        human::rate(rate),
                        human::count(distinct)
                    )));
                }
                match Abilities::of(self.kind).dynamic {
                    true => Ok(most),
                    false => Ok(Plan::for_rate(self.kind, capacity, rate)?),
                }
            }
        }
    }

    /// The filter, and how many keys there were, all and distinct.
    fn build<const W: usize>(
        &self,
        keys: Distinct<W>,
        hasher: KeyHasher,
    ) -> Result<(AnyFilter, u64, u64), Error> {
        let (total, distinct) = (keys.total, keys.distinct);
        let plan = self.plan(distinct)?;
        if !Abilities::of(self.kind).dynamic {
            let mut digests = Vec::new();
            keys.each(|digest, _| {
                digests.push(digest);
                Ok(())
            })?;
            return Ok((plan.build(hasher, digests)?, total, distinct));
        }
        let mut filter = plan.make(hasher)?;
        if let Some(filter) = filter.as_dynamic_mut() {
            keys.each(|digest, copies| {
                (0..copies).try_for_each(|_| filter.insert_digest(digest)).map_err(|_| {
                    Error::new(format_args!(
                        "there are {}, and a {} filter made for {} has no place for all of them; \
                         give a larger --keys, or none",
                        human::counted(distinct, "distinct key"),
                        self.kind,
                        human::count(filter.capacity())
                    ))
                })
            })?;
        }
        Ok((filter, total, distinct))
    }

    fn report(&self, filter: &AnyFilter, keys: u64, distinct_keys: u64) -> Result<(), Error> {
        let bits_per_key = filter.size_in_bits() as f64 / distinct_keys.max(1) as f64;
        let expected_rate = rate_with(filter, distinct_keys);
        let facts = Facts { bits_per_key, expected_rate, ..Facts::of(filter) };
        let file = self.output.display();
        if self.json {
            let summary =
                Summary { file: file.to_string(), distinct_keys, facts: Facts { keys, ..facts } };
            return output::print_json(&summary);
        }
        output::say(format_args!(
            "{file}: a {} filter of {} ({} distinct), {}",
            self.kind,
            human::counted(keys, "key"),
            human::count(distinct_keys),
            human::bytes(facts.size_bytes),
        ));
        if distinct_keys > 0 {
            let rate = human::rate(facts.expected_rate_at_capacity);
            let later = match facts.capacity {
                None => format!(", never above {rate}"),
                Some(capacity) if capacity > distinct_keys => {
                    format!(", {rate} with {}", human::counted(capacity, "key"))
                }
                Some(_) => String::new(),
            };
            output::say(format_args!(
                "{bits_per_key:.2} bits per key; expected rate of wrong yeses: {}{later}",
                human::rate(facts.expected_rate)
            ));
        }
        Ok(())
    }
}

#[derive(Serialize)]
struct Summary {
    file: String,
    distinct_keys: u64,
    /// Here, keys are those of the input.
    #[serde(flatten)]
    facts: Facts,
}
