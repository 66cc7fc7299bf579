//! The texts of a search: read, sketched, and compared.

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::ops::ControlFlow;
use std::path::PathBuf;

use crivo::Digest;
use crivo_sketch::{
    Banding, DigestSet, Shingles, Signature, SignatureBits, SimilarityIndex, Sketcher,
};
use serde::Serialize;

use super::{Found, Pair};
use crate::input::{Chunks, Format, Progress, in_parallel};
use crate::outcome::Error;

/// Texts with an index of their signatures.
pub(super) struct Collection {
    maker: Maker,
    /// Whether sets are compared, or only signatures.
    is_exact: bool,
    /// Whether the words of lines are kept: to be compared, or to be shown.
    keeps_words: bool,
    paths: Vec<PathBuf>,
    texts: Vec<Text>,
    /// How many texts had no shingle at all.
    empty: u64,
    index: SimilarityIndex,
    /// The first text with some set: copies are paired with it, and not indexed again.
    first: HashMap<Digest, usize>,
    /// Each copy with the first.
    copies: Vec<(usize, usize)>,
}

/// A text that has shingles.
struct Text {
    /// Which file.
    file: usize,
    /// Which line of it; none for a whole file.
    line: Option<Line>,
    /// The shingles of a file. Those of a line are made again where they are needed.
    set: Option<DigestSet>,
}

/// A line of a file.
struct Line {
    /// Counted from 1.
    number: u64,
    /// Its words, where they are needed again.
    words: Option<String>,
}

/// Makes sets and signatures. It goes to every core.
#[derive(Clone, Copy)]
struct Maker {
    shingles: Shingles,
    sketcher: Sketcher,
    bits: SignatureBits,
}

impl Maker {
    fn set(&self, text: &str) -> DigestSet {
        self.shingles.set(text, &self.sketcher.hasher())
    }

    /// What the index needs to know of a set, unless it is empty.
    fn sketch(&self, set: &DigestSet) -> Option<Sketch> {
        let whole = self.sketcher.sketch(set.digests().iter().copied())?;
        let bytes: Vec<u8> =
            set.digests().iter().flat_map(|digest| digest.get().to_le_bytes()).collect();
        let identity = self.sketcher.hasher().digest(&bytes);
        Some(Sketch { identity, signature: whole.shortened(self.bits).ok()? })
    }
}

/// What stands for a text.
struct Sketch {
    /// The same for equal sets.
    identity: Digest,
    signature: Signature,
}

/// Where a text stands, for people and programs.
#[derive(Serialize)]
pub(super) struct Place<'a> {
    file: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A name must not look like two columns or two lines.
        for character in self.file.chars() {
            match character.is_control() {
                true => write!(f, "{}", character.escape_default())?,
                false => write!(f, "{character}")?,
            }
        }
        self.line.map_or(Ok(()), |line| write!(f, ":{line}"))
    }
}

impl Collection {
    /// No texts yet.
    pub(super) fn new(
        shingles: Shingles,
        sketcher: Sketcher,
        bits: SignatureBits,
        banding: Banding,
        is_exact: bool,
        shows_words: bool,
    ) -> Result<Self, Error> {
        Ok(Self {
            maker: Maker { shingles, sketcher, bits },
            is_exact,
            keeps_words: is_exact || shows_words,
            paths: Vec::new(),
            texts: Vec::new(),
            empty: 0,
            index: SimilarityIndex::with_bits(sketcher, bits, banding)?,
            first: HashMap::new(),
            copies: Vec::new(),
        })
    }

    /// Takes every file as one text.
    pub(super) fn read_files(&mut self, paths: &[PathBuf], format: &Format) -> Result<(), Error> {
        self.each_file(paths, format, |collection, file, chunks| {
            let mut bytes = Vec::new();
            in_parallel(
                chunks,
                |_, (): &mut ()| (),
                |chunk, ()| {
                    bytes.extend_from_slice(chunk.bytes());
                    Ok(ControlFlow::Continue(()))
                },
            )?;
            let set = collection.maker.set(&String::from_utf8_lossy(&bytes));
            let sketch = collection.maker.sketch(&set);
            let set = Some(set).filter(|_| collection.is_exact);
            collection.add(Text { file, line: None, set }, sketch)
        })
    }

    /// Takes every line of every file as a text.
    pub(super) fn read_lines(&mut self, paths: &[PathBuf], format: &Format) -> Result<(), Error> {
        self.each_file(paths, format, |collection, file, chunks| {
            let maker = collection.maker;
            let mut number = 0;
            in_parallel(
                chunks,
                move |chunk, made: &mut Vec<(String, Option<Sketch>)>| {
                    made.clear();
                    chunk.each(|_, key| {
                        let text = String::from_utf8_lossy(key).into_owned();
                        let sketch = maker.sketch(&maker.set(&text));
                        made.push((text, sketch));
                    });
                },
                |_, made| {
                    for (text, sketch) in made.drain(..) {
                        number += 1;
                        let words = Some(text).filter(|_| collection.keeps_words);
                        let line = Some(Line { number, words });
                        collection.add(Text { file, line, set: None }, sketch)?;
                    }
                    Ok(ControlFlow::Continue(()))
                },
            )
        })
    }

    fn each_file(
        &mut self,
        paths: &[PathBuf],
        format: &Format,
        mut read: impl FnMut(&mut Self, usize, Chunks) -> Result<(), Error>,
    ) -> Result<(), Error> {
        // All must be there before any is read.
        Chunks::open(paths, format.clone(), Progress::NONE)?;
        for path in paths {
            let one = std::slice::from_ref(path);
            let chunks = Chunks::open(one, format.clone(), Progress::over(one))?;
            self.paths.push(path.clone());
            read(self, self.paths.len() - 1, chunks)?;
        }
        Ok(())
    }

    fn add(&mut self, text: Text, sketch: Option<Sketch>) -> Result<(), Error> {
        let Some(Sketch { identity, signature }) = sketch else {
            self.empty += 1;
            return Ok(());
        };
        let number = self.texts.len();
        self.texts.push(text);
        match self.first.entry(identity) {
            Entry::Occupied(first) => self.copies.push((*first.get(), number)),
            Entry::Vacant(vacant) => {
                vacant.insert(number);
                self.index.insert(number as u64, &signature).map_err(Error::new)?;
            }
        }
        Ok(())
    }

    /// How many texts there are, without empty ones.
    pub(super) fn text_count(&self) -> u64 {
        self.texts.len() as u64
    }

    /// How many had no shingle, and are left out.
    pub(super) fn empty_count(&self) -> u64 {
        self.empty
    }

    /// Where a text stands.
    pub(super) fn place(&self, number: usize) -> Place<'_> {
        let Text { file, line, .. } = &self.texts[number];
        Place {
            file: self.paths[*file].to_string_lossy(),
            line: line.as_ref().map(|line| line.number),
            text: line.as_ref().and_then(|line| line.words.as_deref()),
        }
    }

    /// The pairs that are at least so similar.
    pub(super) fn pairs_from(&self, threshold: f64) -> Found {
        let shared = self.index.pairs().map(|(one, other)| (one as usize, other as usize));
        let mut candidates = 0;
        let mut pairs: Vec<Pair> = self
            .copies
            .iter()
            .copied()
            .chain(shared)
            .inspect(|_| candidates += 1)
            .filter_map(|(one, other)| self.compare(one, other))
            .filter(|pair| pair.similarity >= threshold)
            .collect();
        pairs.sort_by(|a, b| {
            let by_place = (a.one, a.other).cmp(&(b.one, b.other));
            b.similarity.total_cmp(&a.similarity).then(by_place)
        });
        Found { pairs, candidates }
    }

    /// How similar two texts are: exactly, or by their signatures. Copies are not in the index, and
    /// are what they are.
    fn compare(&self, one: usize, other: usize) -> Option<Pair> {
        if self.is_exact {
            let similarity = self.set(one).jaccard(&self.set(other));
            return Some(Pair { similarity, standard_error: None, one, other });
        }
        let Some(theirs) = self.index.get(other as u64) else {
            return Some(Pair { similarity: 1.0, standard_error: Some(0.0), one, other });
        };
        let estimate = self.index.get(one as u64)?.estimate(&theirs).ok()?;
        let standard_error = Some(estimate.standard_error);
        Some(Pair { similarity: estimate.jaccard, standard_error, one, other })
    }

    /// The shingles of a text: kept, or made again.
    fn set(&self, number: usize) -> Cow<'_, DigestSet> {
        let text = &self.texts[number];
        match (&text.set, text.line.as_ref().and_then(|line| line.words.as_ref())) {
            (Some(set), _) => Cow::Borrowed(set),
            (None, Some(words)) => Cow::Owned(self.maker.set(words)),
            // What has kept neither is only compared by signatures.
            (None, None) => Cow::Owned(DigestSet::default()),
        }
    }
}
