//! The texts of a search, in bounded memory.

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::ops::ControlFlow;
use std::path::PathBuf;

use crivo::KeyHasher;
use crivo_sketch::Shingles;
use serde::Serialize;

use crate::error::Error;
use crate::human;
use crate::input::{Chunk, Chunks, InputProgress, RecordFormat, in_parallel, too_long};
use crate::spill::RecordHasher;

/// What a text takes in addition to its bytes and its shingles.
const TEXT_BYTES: u64 = 64;

/// What a shingle takes, with its share of the index.
const SHINGLE_BYTES: u64 = 12;

/// The texts that have shingles, in the order of the input.
pub(super) struct Texts {
    shingles: Shingles,
    paths: Vec<PathBuf>,
    texts: Vec<Text>,
    /// The distinct sets of shingles.
    sets: Vec<Box<[u64]>>,
    /// By the digest of all their shingles.
    by_identity: HashMap<u128, u32>,
    /// The number of texts without shingles.
    empty: u64,
    memory: u64,
    used: u64,
}

/// A text that has shingles.
struct Text {
    file: u32,
    set: u32,
    /// The number of a line, counted from 1; 0 for a file.
    line: u64,
    /// The bytes of a line.
    bytes: Box<[u8]>,
}

/// A text as a worker makes it of a line.
struct Shingled {
    bytes: Box<[u8]>,
    set: Option<ShingleSet>,
}

/// Shingles that are not empty.
struct ShingleSet {
    identity: u128,
    digests: Box<[u64]>,
}

impl ShingleSet {
    fn of(bytes: &[u8], shingles: Shingles, identity: RecordHasher) -> Option<Self> {
        let set = shingles.set(&String::from_utf8_lossy(bytes), &KeyHasher::default());
        let digests: Box<[u64]> = set.digests().iter().map(|digest| digest.get()).collect();
        let bytes: Vec<u8> = digests.iter().flat_map(|digest| digest.to_le_bytes()).collect();
        let identity = identity.digest(&bytes);
        (!digests.is_empty()).then_some(Self { identity, digests })
    }
}

impl Texts {
    /// No texts yet.
    pub(super) fn new(shingles: Shingles, memory: u64) -> Self {
        Self {
            shingles,
            paths: Vec::new(),
            texts: Vec::new(),
            sets: Vec::new(),
            by_identity: HashMap::new(),
            empty: 0,
            memory,
            used: 0,
        }
    }

    /// Takes every file as one text.
    pub(super) fn read_files(
        &mut self,
        paths: &[PathBuf],
        format: &RecordFormat,
    ) -> Result<(), Error> {
        let identity = RecordHasher::new();
        self.each_file(paths, format, |texts, file, chunks| {
            let mut bytes = Vec::new();
            in_parallel(
                chunks,
                |_, (): &mut ()| (),
                |chunk, ()| {
                    bytes.extend_from_slice(chunk.bytes());
                    texts.check_memory(bytes.len() as u64)?;
                    Ok(ControlFlow::Continue(()))
                },
            )?;
            let set = ShingleSet::of(&bytes, texts.shingles, identity);
            texts.add(file, 0, Shingled { bytes: Box::default(), set })
        })
    }

    /// Takes every line of every file as a text. A line that is longer than `max_line` is an error.
    pub(super) fn read_lines(
        &mut self,
        paths: &[PathBuf],
        format: &RecordFormat,
        max_line: usize,
    ) -> Result<(), Error> {
        let identity = RecordHasher::new();
        self.each_file(paths, format, |texts, file, chunks| {
            let shingles = texts.shingles;
            let name = texts.paths[file as usize].display().to_string();
            let mut line = 0;
            in_parallel(
                chunks.with_max_record(max_line),
                move |chunk: &Chunk, made: &mut Vec<Option<Shingled>>| {
                    made.clear();
                    chunk.each(|_, key| {
                        made.push((key.len() <= max_line).then(|| Shingled {
                            bytes: key.into(),
                            set: ShingleSet::of(key, shingles, identity),
                        }));
                    });
                },
                |_, made| {
                    for shingled in made.drain(..) {
                        line += 1;
                        let shingled = shingled.ok_or_else(|| too_long(&name, max_line))?;
                        texts.add(file, line, shingled)?;
                    }
                    Ok(ControlFlow::Continue(()))
                },
            )
        })
    }

    fn each_file(
        &mut self,
        paths: &[PathBuf],
        format: &RecordFormat,
        mut read: impl FnMut(&mut Self, u32, Chunks) -> Result<(), Error>,
    ) -> Result<(), Error> {
        // All files must exist before any is read.
        Chunks::open(paths, format.clone(), InputProgress::NONE)?;
        for (number, path) in (0..).zip(paths) {
            let one = std::slice::from_ref(path);
            let chunks = Chunks::open(one, format.clone(), InputProgress::over(one))?;
            self.paths.push(path.clone());
            read(self, number, chunks)?;
        }
        Ok(())
    }

    fn add(&mut self, file: u32, line: u64, shingled: Shingled) -> Result<(), Error> {
        let Shingled { bytes, set } = shingled;
        let Some(ShingleSet { identity, digests }) = set else {
            self.empty += 1;
            return Ok(());
        };
        self.used += TEXT_BYTES + bytes.len() as u64;
        let next = self.sets.len();
        let set = match self.by_identity.entry(identity) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(vacant) => {
                let number = u32::try_from(next).map_err(|_| {
                    Error::new("there are more than 4,294,967,295 texts; divide the input")
                })?;
                self.used += TEXT_BYTES + SHINGLE_BYTES * digests.len() as u64;
                self.sets.push(digests);
                *vacant.insert(number)
            }
        };
        self.texts.push(Text { file, set, line, bytes });
        self.check_memory(0)
    }

    /// Fails if this many bytes more are too many.
    fn check_memory(&self, more: u64) -> Result<(), Error> {
        if self.used + more <= self.memory {
            return Ok(());
        }
        Err(Error::new(format_args!(
            "the shingles of these texts need more than the {} of --memory; raise it, or divide the \
             input",
            human::bytes(self.memory)
        )))
    }

    /// The number of texts that are not empty.
    pub(super) fn count(&self) -> u64 {
        self.texts.len() as u64
    }

    /// The number of texts without shingles, which are left out.
    pub(super) fn empty_count(&self) -> u64 {
        self.empty
    }

    /// The distinct sets of shingles, which are no longer needed here.
    pub(super) fn take_sets(&mut self) -> Vec<Box<[u64]>> {
        self.by_identity = HashMap::new();
        std::mem::take(&mut self.sets)
    }

    /// The number of the set of each text.
    pub(super) fn set_numbers(&self) -> impl Iterator<Item = usize> {
        self.texts.iter().map(|text| text.set as usize)
    }

    /// The number of the set of a text.
    pub(super) fn set_number(&self, text: usize) -> usize {
        self.texts[text].set as usize
    }

    /// Where a text is, and what it is if it is a line.
    pub(super) fn location(&self, text: usize) -> Location<'_> {
        let Text { file, line, bytes, .. } = &self.texts[text];
        let is_line = *line > 0;
        Location {
            file: self.paths[*file as usize].to_string_lossy(),
            line: is_line.then_some(*line),
            text: is_line.then(|| String::from_utf8_lossy(bytes)),
        }
    }
}

/// The position of a text, for people and JSON.
#[derive(Serialize)]
pub(super) struct Location<'a> {
    file: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<Cow<'a, str>>,
}

impl fmt::Display for Location<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_escaped(f, &self.file)?;
        self.line.map_or(Ok(()), |line| write!(f, ":{line}"))?;
        self.text.as_ref().map_or(Ok(()), |text| {
            f.write_str("\t")?;
            write_escaped(f, text)
        })
    }
}

/// Control characters must not break the output into more columns or lines.
fn write_escaped(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    text.chars().try_for_each(|character| match character.is_control() {
        true => write!(f, "{}", character.escape_default()),
        false => write!(f, "{character}"),
    })
}
