//! One input as plain bytes, whatever it is compressed with.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Cursor, ErrorKind, Read};
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use super::is_standard_input;
use super::progress::Progress;
use crate::outcome::{Error, plain};

/// How compressed bytes are read, and about how much is decompressed before it is handed on.
const COMPRESSED_BYTES: usize = 1 << 18;

const GZIP: &[u8] = &[0x1f, 0x8b, 0x08];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

/// What a file is compressed with, if it is.
pub(crate) fn compression_of(mut file: impl Read) -> io::Result<Option<&'static str>> {
    let first = first_bytes(&mut file)?;
    Ok([(GZIP, "gzip"), (ZSTD, "zstd")]
        .into_iter()
        .find_map(|(magic, name)| (first == magic).then_some(name)))
}

/// An input that is being read.
pub(super) struct Source {
    name: String,
    reader: Box<dyn Read + Send>,
    /// How many bytes at least are read at once, if there are any more.
    at_once: usize,
    has_ended: bool,
}

impl std::fmt::Debug for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Source").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Where bytes come from, before they are asked for.
#[derive(Debug)]
pub(super) enum Input {
    Standard,
    File(PathBuf),
    /// A temporary file, at its beginning, with what was read from elsewhere.
    Spooled {
        file: File,
        name: String,
    },
}

impl Input {
    /// The input of this name, if it is there, as far as that can be told without opening it.
    pub(super) fn named(path: &Path) -> Result<Self, Error> {
        if is_standard_input(path) {
            return Ok(Self::Standard);
        }
        match fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => Err(Error::new(format_args!(
                "cannot read {}: it is a folder; name the files in it",
                path.display()
            ))),
            Ok(_) => Ok(Self::File(path.to_owned())),
            Err(error) => Err(cannot_read(&path.display().to_string(), &error)),
        }
    }

    /// What to call it in a message.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Standard => "standard input".to_owned(),
            Self::File(path) => path.display().to_string(),
            Self::Spooled { name, .. } => name.clone(),
        }
    }

    /// Its bytes, as they are.
    pub(super) fn open(self) -> io::Result<Box<dyn Read + Send>> {
        Ok(match self {
            Self::Standard => Box::new(io::stdin()),
            Self::File(path) => Box::new(File::open(path)?),
            Self::Spooled { file, .. } => Box::new(file),
        })
    }
}

impl Source {
    /// Opens an input. What has been read to see how it is compressed goes into `head`, if it is
    /// not compressed: these are its first bytes.
    pub(super) fn open(
        input: Input,
        progress: &Progress,
        head: &mut Vec<u8>,
    ) -> Result<Self, Error> {
        let name = input.name();
        let open = || {
            let mut raw = progress.watch(input.open()?);
            let first = first_bytes(&mut raw)?;
            let (is_gzip, is_zstd) = (first == GZIP, first == ZSTD);
            if !is_gzip && !is_zstd {
                *head = first;
                return Ok((Box::new(raw) as Box<dyn Read + Send>, 0));
            }
            let compressed =
                BufReader::with_capacity(COMPRESSED_BYTES, Cursor::new(first).chain(raw));
            let reader: Box<dyn Read + Send> = match is_gzip {
                true => Box::new(MultiGzDecoder::new(compressed)),
                false => Box::new(ZstdFrames::new(compressed)),
            };
            Ok((reader, COMPRESSED_BYTES))
        };
        let (reader, at_once) = open().map_err(|error| cannot_read(&name, &error))?;
        Ok(Self { name, reader, at_once, has_ended: false })
    }

    /// What to call it in a message.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Reads some bytes; none only at the end. A pipe is not waited for longer than needed.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Error> {
        let mut count = 0;
        while !self.has_ended && count < buffer.len() && (count == 0 || count < self.at_once) {
            match self.reader.read(&mut buffer[count..]) {
                Ok(0) => self.has_ended = true,
                Ok(more) => count += more,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(cannot_read(&self.name, &error)),
            }
        }
        Ok(count)
    }
}

/// A whole input for those who take no records: its bytes, decompressed.
///
/// What goes wrong is an [`Error`] inside the [`io::Error`].
#[derive(Debug)]
pub(crate) struct Text {
    head: Cursor<Vec<u8>>,
    rest: Source,
}

impl Text {
    pub(crate) fn open(path: &Path, progress: &Progress) -> Result<Self, Error> {
        let mut head = Vec::new();
        let rest = Source::open(Input::named(path)?, progress, &mut head)?;
        Ok(Self { head: Cursor::new(head), rest })
    }
}

impl Read for Text {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.head.read(buffer)? {
            0 => self.rest.read(buffer).map_err(io::Error::other),
            count => Ok(count),
        }
    }
}

pub(super) fn cannot_read(name: &str, error: &io::Error) -> Error {
    let advice = match error.kind() {
        ErrorKind::NotFound => "; is the path right?",
        ErrorKind::PermissionDenied => "; may you read the file?",
        ErrorKind::UnexpectedEof => "; the compressed data is cut short",
        _ => "",
    };
    Error::new(format_args!("cannot read {name}: {}{advice}", plain(error)))
}

/// The first bytes, as many as it takes to know that this is not, or is, compressed.
fn first_bytes(reader: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut first = Vec::new();
    while [GZIP, ZSTD].iter().any(|magic| magic.starts_with(&first) && first.len() < magic.len()) {
        let mut byte = [0];
        match reader.read(&mut byte) {
            Ok(0) => break,
            Ok(_) => first.extend(byte),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(first)
}

/// Decompresses zstd frames, one after another, as `cat a.zst b.zst` makes them.
struct ZstdFrames<R> {
    compressed: R,
    decoder: FrameDecoder,
    is_inside: bool,
}

impl<R: BufRead> ZstdFrames<R> {
    fn new(compressed: R) -> Self {
        Self { compressed, decoder: FrameDecoder::new(), is_inside: false }
    }

    /// Begins the next frame: whether there is one. Frames with other programs' data are skipped.
    fn begin(&mut self) -> io::Result<bool> {
        while !self.compressed.fill_buf()?.is_empty() {
            match self.decoder.reset(&mut self.compressed) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    let skipped = (&mut self.compressed).take(u64::from(length));
                    if io::copy(&mut { skipped }, &mut io::sink())? < u64::from(length) {
                        return Err(ErrorKind::UnexpectedEof.into());
                    }
                }
                Err(error) => return Err(io::Error::new(ErrorKind::InvalidData, error)),
            }
        }
        Ok(false)
    }

    /// A frame may end with a checksum of what it holds.
    fn end(&self) -> io::Result<()> {
        let written = self.decoder.get_checksum_from_data();
        if written.is_some() && written != self.decoder.get_calculated_checksum() {
            let words = "the zstd data is damaged: its checksum is wrong";
            return Err(io::Error::new(ErrorKind::InvalidData, words));
        }
        Ok(())
    }
}

impl<R: BufRead> Read for ZstdFrames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if !self.is_inside && !self.begin()? {
                return Ok(0);
            }
            self.is_inside = true;
            while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                self.decoder
                    .decode_blocks(&mut self.compressed, BlockDecodingStrategy::UptoBlocks(1))
                    .map_err(|error| io::Error::new(ErrorKind::InvalidData, error))?;
            }
            let count = self.decoder.read(buffer)?;
            if count > 0 || buffer.is_empty() {
                return Ok(count);
            }
            self.end()?;
            self.is_inside = false;
        }
    }
}
