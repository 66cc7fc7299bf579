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

use crate::error::Error;
use crate::input::{Chunks, InputProgress, RecordFormat, in_parallel};

/// Texts with an index of their signatures.
pub(super) struct Collection {
    maker: Maker,
    /// Whether sets are compared, or only signatures.
    is_exact: bool,
    /// Whether the text of lines is kept, to be compared or printed.
    keeps_text: bool,
    paths: Vec<PathBuf>,
    texts: Vec<Document>,
    /// The number of texts without shingles.
    empty: u64,
    index: SimilarityIndex,
    /// The first text with each set: copies are paired with it and not indexed.
    first: HashMap<Digest, usize>,
    /// Each copy with its first text.
    copies: Vec<(usize, usize)>,
}

/// A text that has shingles.
struct Document {
    /// The index of its file.
    file: usize,
    /// The line; `None` for a whole file.
    line: Option<DocumentLine>,
    /// The shingles of a file. Those of a line are recomputed when needed.
    set: Option<DigestSet>,
}

/// A line of a file.
struct DocumentLine {
    /// Counted from 1.
    number: u64,
    /// Its text, if it is needed again.
    text: Option<String>,
}

/// Computes sets and signatures. Every worker has a copy.
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

    /// The sketch of a set, unless it is empty.
    fn sketch(&self, set: &DigestSet) -> Option<Sketch> {
        let whole = self.sketcher.sketch(set.digests().iter().copied())?;
        let bytes: Vec<u8> =
            set.digests().iter().flat_map(|digest| digest.get().to_le_bytes()).collect();
        let identity = self.sketcher.hasher().digest(&bytes);
        Some(Sketch { identity, signature: whole.shortened(self.bits).ok()? })
    }
}

/// The identity and the signature of a text.
struct Sketch {
    /// Equal for equal sets.
    identity: Digest,
    signature: Signature,
}

/// The position of a text, for messages and JSON.
#[derive(Serialize)]
pub(super) struct Location<'a> {
    file: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
}

impl fmt::Display for Location<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Control characters must not break the output into more columns or lines.
        for character in self.file.chars() {
            match character.is_control() {
                true => write!(f, "{}", character.escape_default())?,
                false => write!(f, "{character}")?,
            }
        }
        self.line.map_or(Ok(()), |line| write!(f, ":{line}"))
    }
}

/// The result of a search.
pub(super) struct SearchResult {
    /// The most similar first; of equals, in the order of the input.
    pub(super) pairs: Vec<SimilarPair>,
    /// How many pairs were compared.
    pub(super) candidates: u64,
}

/// Two texts, by their numbers in the order of the input.
pub(super) struct SimilarPair {
    pub(super) similarity: f64,
    /// `None` if the similarity is exact.
    pub(super) standard_error: Option<f64>,
    pub(super) one: usize,
    pub(super) other: usize,
}

impl Collection {
    /// No texts yet.
    pub(super) fn new(
        shingles: Shingles,
        sketcher: Sketcher,
        bits: SignatureBits,
        banding: Banding,
        is_exact: bool,
        shows_text: bool,
    ) -> Result<Self, Error> {
        Ok(Self {
            maker: Maker { shingles, sketcher, bits },
            is_exact,
            keeps_text: is_exact || shows_text,
            paths: Vec::new(),
            texts: Vec::new(),
            empty: 0,
            index: SimilarityIndex::with_bits(sketcher, bits, banding)?,
            first: HashMap::new(),
            copies: Vec::new(),
        })
    }

    /// Takes every file as one text.
    pub(super) fn read_files(
        &mut self,
        paths: &[PathBuf],
        format: &RecordFormat,
    ) -> Result<(), Error> {
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
            collection.add(Document { file, line: None, set }, sketch)
        })
    }

    /// Takes every line of every file as a text.
    pub(super) fn read_lines(
        &mut self,
        paths: &[PathBuf],
        format: &RecordFormat,
    ) -> Result<(), Error> {
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
                        let text = Some(text).filter(|_| collection.keeps_text);
                        let line = Some(DocumentLine { number, text });
                        collection.add(Document { file, line, set: None }, sketch)?;
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
        mut read: impl FnMut(&mut Self, usize, Chunks) -> Result<(), Error>,
    ) -> Result<(), Error> {
        // All files must exist before any is read.
        Chunks::open(paths, format.clone(), InputProgress::NONE)?;
        for path in paths {
            let one = std::slice::from_ref(path);
            let chunks = Chunks::open(one, format.clone(), InputProgress::over(one))?;
            self.paths.push(path.clone());
            read(self, self.paths.len() - 1, chunks)?;
        }
        Ok(())
    }

    fn add(&mut self, text: Document, sketch: Option<Sketch>) -> Result<(), Error> {
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

    /// The number of texts that are not empty.
    pub(super) fn text_count(&self) -> u64 {
        self.texts.len() as u64
    }

    /// The number of texts without shingles, which are left out.
    pub(super) fn empty_count(&self) -> u64 {
        self.empty
    }

    /// The position of a text.
    pub(super) fn location(&self, number: usize) -> Location<'_> {
        let Document { file, line, .. } = &self.texts[number];
        Location {
            file: self.paths[*file].to_string_lossy(),
            line: line.as_ref().map(|line| line.number),
            text: line.as_ref().and_then(|line| line.text.as_deref()),
        }
    }

    /// The pairs whose similarity is at least the threshold.
    pub(super) fn pairs_from(&self, threshold: f64) -> SearchResult {
        let shared = self.index.pairs().map(|(one, other)| (one as usize, other as usize));
        let mut candidates = 0;
        let mut pairs: Vec<SimilarPair> = self
            .copies
            .iter()
            .copied()
            .chain(shared)
            .inspect(|_| candidates += 1)
            .filter_map(|(one, other)| self.compare(one, other))
            .filter(|pair| pair.similarity >= threshold)
            .collect();
        pairs.sort_by(|a, b| {
            let by_position = (a.one, a.other).cmp(&(b.one, b.other));
            b.similarity.total_cmp(&a.similarity).then(by_position)
        });
        SearchResult { pairs, candidates }
    }

    /// The similarity of two texts: exact, or estimated from their signatures. Copies, which are not
    /// in the index, have similarity 1.
    fn compare(&self, one: usize, other: usize) -> Option<SimilarPair> {
        if self.is_exact {
            let similarity = self.set(one).jaccard(&self.set(other));
            return Some(SimilarPair { similarity, standard_error: None, one, other });
        }
        let Some(theirs) = self.index.get(other as u64) else {
            return Some(SimilarPair { similarity: 1.0, standard_error: Some(0.0), one, other });
        };
        let estimate = self.index.get(one as u64)?.estimate(&theirs).ok()?;
        let standard_error = Some(estimate.standard_error);
        Some(SimilarPair { similarity: estimate.jaccard, standard_error, one, other })
    }

    /// The shingles of a text: kept or recomputed.
    fn set(&self, number: usize) -> Cow<'_, DigestSet> {
        let text = &self.texts[number];
        match (&text.set, text.line.as_ref().and_then(|line| line.text.as_ref())) {
            (Some(set), _) => Cow::Borrowed(set),
            (None, Some(text)) => Cow::Owned(self.maker.set(text)),
            // If neither was kept, only signatures are compared.
            (None, None) => Cow::Owned(DigestSet::default()),
        }
    }
}
