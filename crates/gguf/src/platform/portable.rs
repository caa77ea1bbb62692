//! The standard library only: no map, and one file position that all calls share.

use inkstone_tensor::Resident;
use std::fs::{File, FileType};
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// The file has one position, so only one caller may move it and read.
static POSITION: Mutex<()> = Mutex::new(());

/// Opens a regular file to read. A FIFO is refused, because opening it might wait for a writer.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    match special_kind(std::fs::metadata(path)?.file_type()) {
        Some(kind) => Err(io::Error::other(format!("it is {kind}"))),
        None => File::open(path),
    }
}

/// The kind of a path that is not a regular file.
pub(crate) fn special_kind(kind: FileType) -> Option<&'static str> {
    match () {
        () if kind.is_file() => None,
        () if kind.is_dir() => Some("a directory"),
        () => Some("a special file"),
    }
}

/// Fills `bytes` with the bytes of the file from `offset` on.
pub(crate) fn read_exact_at(mut file: &File, bytes: &mut [u8], offset: u64) -> io::Result<()> {
    let _position = POSITION.lock().unwrap_or_else(PoisonError::into_inner);
    file.seek(SeekFrom::Start(offset))?;
    file.read_exact(bytes)
}

/// A mapped file, which this system does not have.
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

/// Returns `None`: files are not mapped on this system.
pub(crate) fn map(_file: &File) -> io::Result<Option<Arc<Map>>> {
    Ok(None)
}
