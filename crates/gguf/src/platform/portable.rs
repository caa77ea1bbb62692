//! The standard library alone: no map, and a place in the file that calls share.

use inkstone_tensor::Resident;
use std::fs::{File, FileType};
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// The file has one position, so only one caller may move it and read.
static POSITION: Mutex<()> = Mutex::new(());

/// Opens a file to read. What is no file is not opened: it might wait for a writer.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    match special_kind(std::fs::metadata(path)?.file_type()) {
        Some(kind) => Err(io::Error::other(format!("it is {kind}"))),
        None => File::open(path),
    }
}

/// What it is, if it is no regular file.
pub(crate) fn special_kind(kind: FileType) -> Option<&'static str> {
    match () {
        () if kind.is_file() => None,
        () if kind.is_dir() => Some("a directory"),
        () => Some("a special file"),
    }
}

/// Fills `bytes` from the place at `offset`.
pub(crate) fn read_exact_at(mut file: &File, bytes: &mut [u8], offset: u64) -> io::Result<()> {
    let _position = POSITION.lock().unwrap_or_else(PoisonError::into_inner);
    file.seek(SeekFrom::Start(offset))?;
    file.read_exact(bytes)
}

/// A mapped file: there is none on this system.
pub(crate) enum Map {}

impl AsRef<[u8]> for Map {
    fn as_ref(&self) -> &[u8] {
        match *self {}
    }
}

impl Resident for Map {
    fn stream(&self) {}

    fn lock(&self, _bytes: Range<usize>) -> bool {
        false
    }
}

/// Maps a file; `None`: not on this system.
pub(crate) fn map(_file: &File) -> io::Result<Option<Arc<Map>>> {
    Ok(None)
}
