//! The file of a filter, which may be a pipe or standard input.

#[cfg(feature = "formats")]
use std::borrow::Cow;
use std::fs::{self, File};
use std::io::{self, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};

use crivo::codec::{self, Header, LoadOptions};
use crivo::filter::AnyFilter;

use crate::error::Error;
use crate::input::{InputArgs, is_standard_input, open_standard_input};
use crate::output;

/// A filter that is read, perhaps several times.
#[derive(Debug)]
pub(crate) enum FilterFile {
    /// A regular file.
    File(PathBuf),
    /// What a pipe or standard input had.
    Bytes {
        /// Its name in messages.
        name: String,
        bytes: Vec<u8>,
    },
}

impl FilterFile {
    /// The filter with this name; `-` is standard input.
    pub(crate) fn open(path: &Path) -> Result<Self, Error> {
        let read = |mut reader: Box<dyn Read>| {
            let mut bytes = Vec::new();
            reader.read_to_end(&mut bytes).map(|_| bytes)
        };
        if is_standard_input(path) {
            let name = "standard input".to_owned();
            let bytes = open_standard_input().and_then(|input| read(Box::new(input)));
            let bytes = bytes.map_err(Error::reading(Path::new(&name)))?;
            return Ok(Self::Bytes { name, bytes });
        }
        match fs::metadata(path) {
            Ok(found) if !found.is_file() && !found.is_dir() => {
                let bytes = File::open(path).and_then(|file| read(Box::new(file)));
                let bytes = bytes.map_err(Error::reading(path))?;
                Ok(Self::Bytes { name: path.display().to_string(), bytes })
            }
            // What is wrong with it is reported when it is read.
            _ => Ok(Self::File(path.to_owned())),
        }
    }

    /// Its name in messages.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::File(path) => path.display().to_string(),
            Self::Bytes { name, .. } => name.clone(),
        }
    }

    /// All of its bytes.
    #[cfg(feature = "formats")]
    pub(crate) fn bytes(&self) -> Result<Cow<'_, [u8]>, Error> {
        match self {
            Self::File(path) => fs::read(path).map(Cow::Owned).map_err(Error::reading(path)),
            Self::Bytes { bytes, .. } => Ok(Cow::Borrowed(bytes)),
        }
    }

    /// Its first bytes, at most so many. A file that cannot be read has none.
    #[cfg(feature = "formats")]
    pub(crate) fn head(&self, length: usize) -> Vec<u8> {
        match self {
            Self::File(path) => {
                let mut head = Vec::new();
                let read = File::open(path)
                    .and_then(|file| file.take(length as u64).read_to_end(&mut head));
                read.map(|_| head).unwrap_or_default()
            }
            Self::Bytes { bytes, .. } => bytes[..length.min(bytes.len())].to_vec(),
        }
    }

    /// Its header.
    pub(crate) fn header(&self) -> Result<Header, Error> {
        match self {
            Self::File(path) => Ok(Header::load(path)?),
            Self::Bytes { name, bytes } => Header::from_bytes(bytes).map_err(Error::decoding(name)),
        }
    }

    /// Its header, when all of it has been verified.
    pub(crate) fn verify(&self) -> Result<Header, Error> {
        match self {
            Self::File(path) => Ok(codec::verify(path)?),
            Self::Bytes { name, bytes } => {
                codec::verify_bytes(bytes).map_err(Error::decoding(name))
            }
        }
    }

    /// The filter.
    pub(crate) fn load(&self, options: &LoadOptions) -> Result<AnyFilter, Error> {
        match self {
            Self::File(path) => Ok(options.load(path)?),
            Self::Bytes { name, bytes } => options.from_bytes(bytes).map_err(Error::decoding(name)),
        }
    }
}

/// Fails if a filter and the keys are both to be read from standard input.
pub(crate) fn check_standard_input(filter: &Path, input: &InputArgs) -> Result<(), Error> {
    if is_standard_input(filter) && input.paths().iter().any(|path| is_standard_input(path)) {
        return Err(Error::new(
            "standard input is the filter, and cannot be the keys as well; name a file of keys",
        ));
    }
    Ok(())
}

/// Fails if standard output is a terminal, which cannot show a filter.
pub(crate) fn check_not_terminal() -> Result<(), Error> {
    match io::stdout().is_terminal() {
        true => Err(Error::new(
            "a filter is not text, and standard output is a terminal; redirect it to a file",
        )),
        false => Ok(()),
    }
}

/// Writes a filter to standard output.
pub(crate) fn print_filter(filter: &AnyFilter) -> Result<(), Error> {
    check_not_terminal()?;
    let mut out = output::data();
    codec::write_to(filter, &mut out).and_then(|()| out.flush()).map_err(Error::output)
}
