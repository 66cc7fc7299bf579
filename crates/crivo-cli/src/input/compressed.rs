//! Decompression, with error messages for users.

use std::error::Error;
use std::io::{self, BufRead, ErrorKind, Read};

use bzip2::bufread::MultiBzDecoder;
use flate2::bufread::GzDecoder;
use lzma_rust2::XzReader;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use super::file_type::Compression;

/// The memory that a file may ask for to be decompressed, in KiB: four times what `xz -9` needs.
const MAX_XZ_MEMORY: u32 = 256 << 10;

/// The first byte of a gzip member.
const GZIP_FIRST: u8 = 0x1f;

/// Compressed bytes.
pub(super) type Compressed = Box<dyn BufRead + Send>;

/// What they were compressed from.
pub(super) fn decompressed(compression: Compression, bytes: Compressed) -> Box<dyn Read + Send> {
    match compression {
        Compression::Gzip => Box::new(GzipMembers::new(bytes)),
        Compression::Zstd => Box::new(ZstdFrames::new(bytes)),
        Compression::Xz => {
            Box::new(ForUsers("xz", XzReader::new_mem_limit(bytes, true, MAX_XZ_MEMORY)))
        }
        Compression::Bzip2 => Box::new(ForUsers("bzip2", MultiBzDecoder::new(bytes))),
    }
}

/// A decoder of concatenated streams of this format, with its errors in words for users.
struct ForUsers<R>(&'static str, R);

impl<R: Read> Read for ForUsers<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Self(format, decoder) = self;
        decoder.read(buffer).map_err(|error| for_users(format, &error))
    }
}

/// Decompresses concatenated gzip members, as `cat a.gz b.gz` makes them. Zeros after the last member
/// (the padding of tapes) are ignored, as gzip(1) does.
struct GzipMembers {
    decoder: GzDecoder<Compressed>,
}

impl GzipMembers {
    fn new(compressed: Compressed) -> Self {
        Self { decoder: GzDecoder::new(compressed) }
    }

    /// Begins the next member. Returns whether there is one.
    fn begin(&mut self) -> io::Result<bool> {
        let compressed = self.decoder.get_mut();
        let is_padded = compressed.fill_buf()?.first() == Some(&0);
        skip_zeros(compressed)?;
        let Some(first) = compressed.fill_buf()?.first() else { return Ok(false) };
        if is_padded || *first != GZIP_FIRST {
            return Err(io::Error::new(
                ErrorKind::InvalidData,
                "the gzip data is followed by something else",
            ));
        }
        let compressed = self.decoder.reset(Box::new(io::empty()));
        self.decoder.reset(compressed);
        Ok(true)
    }
}

impl Read for GzipMembers {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let count = self.decoder.read(buffer).map_err(|error| for_users("gzip", &error))?;
            if count > 0 || buffer.is_empty() || !self.begin()? {
                return Ok(count);
            }
        }
    }
}

fn skip_zeros(compressed: &mut Compressed) -> io::Result<()> {
    loop {
        let bytes = compressed.fill_buf()?;
        let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
        if zeros == 0 {
            return Ok(());
        }
        compressed.consume(zeros);
    }
}

/// Decompresses concatenated zstd frames, as `cat a.zst b.zst` makes them.
struct ZstdFrames {
    compressed: Compressed,
    decoder: FrameDecoder,
    is_inside: bool,
}

impl ZstdFrames {
    fn new(compressed: Compressed) -> Self {
        Self { compressed, decoder: FrameDecoder::new(), is_inside: false }
    }

    /// Begins the next frame. Returns whether there is one. Skippable frames are skipped.
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
                        return Err(cut_short("zstd"));
                    }
                }
                Err(FrameDecoderError::WindowSizeTooBig { .. }) => {
                    let message = "the zstd data was compressed with a very long window; \
                                 decompress it with `zstd -d --long=31` first";
                    return Err(io::Error::new(ErrorKind::Unsupported, message));
                }
                Err(FrameDecoderError::DictNotProvided { .. }) => {
                    let message = "the zstd data was compressed with a dictionary; \
                                 decompress it with `zstd -d -D DICTIONARY` first";
                    return Err(io::Error::new(ErrorKind::Unsupported, message));
                }
                Err(error) => return Err(for_users("zstd", &error)),
            }
        }
        Ok(false)
    }

    /// Checks the checksum at the end of a frame, if it has one.
    fn end(&self) -> io::Result<()> {
        let written = self.decoder.get_checksum_from_data();
        if written.is_some() && written != self.decoder.get_calculated_checksum() {
            return Err(damaged("zstd"));
        }
        Ok(())
    }
}

impl Read for ZstdFrames {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if !self.is_inside && !self.begin()? {
                return Ok(0);
            }
            self.is_inside = true;
            while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                self.decoder
                    .decode_blocks(&mut self.compressed, BlockDecodingStrategy::UptoBlocks(1))
                    .map_err(|error| for_users("zstd", &error))?;
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

/// A decoder's error for users. Decoders name the internal table where they failed; users need to
/// know whether the system failed, or the file is cut short or damaged.
fn for_users(format: &str, error: &(dyn Error + 'static)) -> io::Error {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref::<io::Error>() {
            if let Some(number) = error.raw_os_error() {
                return io::Error::from_raw_os_error(number);
            }
            match error.kind() {
                ErrorKind::UnexpectedEof => return cut_short(format),
                ErrorKind::OutOfMemory => return needs_memory(format),
                _ => {}
            }
        }
        cause = error.source();
    }
    damaged(format)
}

fn needs_memory(format: &str) -> io::Error {
    let message =
        format!("its {format} data needs much memory; decompress it with `{format} -d` first");
    io::Error::new(ErrorKind::OutOfMemory, message)
}

fn cut_short(format: &str) -> io::Error {
    let message = format!("its {format} data is cut short; fetch or compress the file again");
    io::Error::new(ErrorKind::UnexpectedEof, message)
}

fn damaged(format: &str) -> io::Error {
    let message = format!("its {format} data is damaged; fetch or compress the file again");
    io::Error::new(ErrorKind::InvalidData, message)
}
