//! Filters that answer from a file without reading it first.

// Mapping is unsafe by nature: see `LoadOptions::map`.
#![allow(unsafe_code)]

use std::fmt;
use std::fs::File;
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;

use memmap2::Mmap;
use xxhash_rust::xxh3::xxh3_64;

use super::source::{Slice, Source};
use super::{
    CodecError, DecodeError, FileAction, FileError, Header, LoadOptions, Persist, payload,
};
use crivo_core::Words;

/// A filter that answers from a mapped file, by [`LoadOptions::map`]: it is there at once, however large the file, and the
/// system brings in those pages that are asked for.
///
/// The header has been verified, the payload only if [`LoadOptions::verify`] asked for it, or
/// [`verify`](Self::verify) is called. An unverified payload can make for wrong answers, never for unsafe ones.
///
/// It is used as the filter that it is, but for changes. [`into_filter`](Self::into_filter) gives
/// one that can also be changed: the first change copies the whole payload, and the file stays as it
/// is. Without memory for the copy, unions and whatever else returns a `RebuildError` fail and change
/// nothing; insertions, removals and `clear` end the program, as a `Vec` does that cannot grow.
///
/// ```
/// use crivo::codec::{LoadOptions, Mapped};
/// use crivo::filter::Bloom;
///
/// # if cfg!(target_endian = "big") { return Ok(()); }
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("seen.crivo");
/// let mut seen = Bloom::new(1_000, 0.01)?;
/// seen.insert("ana");
/// seen.save(&path)?;
/// // SAFETY: nobody changes the file.
/// let mapped: Mapped<Bloom> = unsafe { LoadOptions::new().map(&path) }?;
/// assert!(mapped.contains("ana"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Mapped<F> {
    filter: F,
    header: Header,
    file: Arc<Mmap>,
}

impl<F> Mapped<F> {
    /// What the file says of itself.
    ///
    /// ```
    /// use crivo::codec::{LoadOptions, Mapped};
    /// use crivo::filter::Bloom;
    ///
    /// # if cfg!(target_endian = "big") { return Ok(()); }
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("seen.crivo");
    /// Bloom::new(1_000, 0.01)?.save(&path)?;
    /// // SAFETY: nobody changes the file.
    /// let mapped: Mapped<Bloom> = unsafe { LoadOptions::new().map(&path) }?;
    /// assert_eq!(mapped.header().file_length(), std::fs::metadata(&path)?.len());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Reads the whole payload, and compares its checksum with that in the header.
    ///
    /// ```
    /// use crivo::codec::{DecodeError, LoadOptions, Mapped};
    /// use crivo::filter::Bloom;
    ///
    /// # if cfg!(target_endian = "big") { return Ok(()); }
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("seen.crivo");
    /// let mut bytes = Bloom::new(1_000, 0.01)?.to_bytes();
    /// *bytes.last_mut().unwrap() ^= 1;
    /// std::fs::write(&path, bytes)?;
    /// // SAFETY: nobody changes the file from here on.
    /// let mapped: Mapped<Bloom> = unsafe { LoadOptions::new().map(&path) }?;
    /// assert_eq!(mapped.verify(), Err(DecodeError::PayloadChecksum));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If they differ: the payload is damaged.
    pub fn verify(&self) -> Result<(), DecodeError> {
        verify(&self.file, &self.header)
    }

    /// The filter itself. It keeps the file mapped, until its first change copies the payload.
    ///
    /// ```
    /// use crivo::codec::{LoadOptions, Mapped};
    /// use crivo::filter::Bloom;
    ///
    /// # if cfg!(target_endian = "big") { return Ok(()); }
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("seen.crivo");
    /// Bloom::new(1_000, 0.01)?.save(&path)?;
    /// // SAFETY: nobody changes the file.
    /// let mapped: Mapped<Bloom> = unsafe { LoadOptions::new().map(&path) }?;
    /// let mut seen = mapped.into_filter();
    /// seen.insert("ana"); // in a copy
    /// assert!(Bloom::load(&path)?.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn into_filter(self) -> F {
        self.filter
    }
}

impl<F> Deref for Mapped<F> {
    type Target = F;

    fn deref(&self) -> &F {
        &self.filter
    }
}

impl<F: fmt::Debug> fmt::Debug for Mapped<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Mapped").field(&self.filter).finish()
    }
}

fn verify(file: &Mmap, header: &Header) -> Result<(), DecodeError> {
    let payload = &file[header.payload_offset() as usize..];
    if xxh3_64(payload) == header.payload_checksum() {
        Ok(())
    } else {
        Err(DecodeError::PayloadChecksum)
    }
}

impl LoadOptions {
    /// Maps a file instead of reading it: a filter of any size is open in well under a
    /// millisecond, and costs only the memory of the pages that are asked for.
    ///
    /// ```
    /// use crivo::codec::{LoadOptions, Mapped};
    /// use crivo::filter::AnyFilter;
    /// # use crivo::filter::Bloom;
    ///
    /// # if cfg!(target_endian = "big") { return Ok(()); }
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("seen.crivo");
    /// # let mut seen = Bloom::new(1_000, 0.01)?;
    /// # seen.insert("ana");
    /// # seen.save(&path)?;
    /// // SAFETY: all that write the file use `save`, which replaces it.
    /// let mapped: Mapped<AnyFilter> = unsafe { LoadOptions::new().map(&path) }?;
    /// assert!(mapped.contains("ana"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Safety
    /// Nobody may change or shorten the file while it is mapped, that is until the last filter that
    /// answers from it is dropped. The compiler assumes of memory that is borrowed for reading that
    /// it does not change, and the system ends a program that reads behind the end of a file.
    ///
    /// Replacing the file is no change of it: [`save`](super::save) gives the name to a new file, and
    /// a process that has mapped the old one goes on with the old one. So where every writer uses
    /// `save`, this is safe. It is not safe against a writer who may do anything with the file: then
    /// load a copy.
    ///
    /// # Errors
    /// If the file cannot be mapped; if it is not a filter of this kind, with a whole and undamaged
    /// header, the right length and, if that was asked for, an undamaged payload; if the key is not
    /// the right one; and on big-endian machines, which must copy.
    pub unsafe fn map<F: Persist>(&self, path: impl AsRef<Path>) -> Result<Mapped<F>, FileError> {
        let path = path.as_ref();
        // SAFETY: as the caller promises.
        unsafe { self.map_file(path) }.map_err(FileError::at(path, FileAction::Map))
    }

    /// # Safety
    /// As for `map`.
    unsafe fn map_file<F: Persist>(&self, path: &Path) -> Result<Mapped<F>, CodecError> {
        if cfg!(target_endian = "big") {
            return Err(DecodeError::BigEndian.into());
        }
        // SAFETY: the caller promises that the file does not change.
        let file = Arc::new(unsafe { Mmap::map(&File::open(path)?) }?);
        let mut bytes = Slice(&file);
        let header = Header::read(&mut bytes)?;
        payload::check_length(&header, bytes.remaining())?;
        let accepted = self.accept::<F>(&header)?;
        if self.verifies_mapped() {
            verify(&file, &header)?;
        }
        let offset = header.payload_offset() as usize;
        // SAFETY: the mapping stays in its place while the Arc lives, and the caller promises that
        // nobody changes it. Any eight bytes are a u64, and these have the order of this machine.
        let payload = unsafe { Words::lent(Arc::clone(&file), |file| file[offset..].align_to().1) };
        // Mappings begin at pages and payloads at multiples of 64 bytes, so that this cannot be.
        let payload = payload
            .filter(|payload| payload.len() == accepted.length)
            .ok_or(DecodeError::Inconsistent("the mapping does not begin at a page"))?;
        let filter = accepted.into_filter(header.clone(), payload)?;
        Ok(Mapped { filter, header, file })
    }
}
