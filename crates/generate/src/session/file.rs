//! Reading and writing files of bounded length.

use super::SessionError;
use crate::memory::reserve;
use crate::{Error, Result};
use inkstone_tensor::ErrorKind;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// The name of a file in messages.
pub(super) fn name(path: &Path) -> String {
    path.display().to_string()
}

fn failed(path: &Path, action: &'static str) -> impl FnOnce(io::Error) -> Error {
    let file = name(path);
    move |source| Error::Session(SessionError::Io { file, action, source })
}

/// Reads a file of at most `most` bytes. A longer one is refused before it is read.
///
/// # Errors
/// [`SessionError`], or [`Error::NoMemory`].
pub(super) fn read(path: &Path, most: u64) -> Result<Vec<u8>> {
    let file = open(path)?;
    let len = file.metadata().map_err(failed(path, "read the length of the file"))?.len();
    if len > most {
        let expected = format!("at most {most}; the text is too long for the context, or the file is of another model");
        return unusable(path, "length", format!("{len} bytes"), expected);
    }
    let mut bytes = Vec::new();
    reserve(&mut bytes, usize::try_from(len).unwrap_or(usize::MAX), "a session file")?;
    // No more than there is memory for, also if the file grows.
    file.take(len).read_to_end(&mut bytes).map_err(failed(path, "read the file"))?;
    Ok(bytes)
}

/// Checks that there is a file that can be opened, or none, and that its folder takes a file.
///
/// # Errors
/// [`SessionError`].
pub(super) fn check(path: &Path) -> Result<()> {
    match open(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let (_, temporary) = create(path)?;
    fs::remove_file(&temporary).map_err(failed(path, "remove a file from the folder"))
}

fn open(path: &Path) -> Result<File> {
    // First, because opening a pipe waits for its other end.
    let kind = fs::metadata(path).map_err(failed(path, "open the file"))?;
    if !kind.is_file() {
        let found = if kind.is_dir() { "a folder" } else { "a device or a pipe" };
        return unusable(path, "kind", found.to_owned(), "a file".to_owned());
    }
    File::open(path).map_err(failed(path, "open the file"))
}

fn unusable<T>(path: &Path, field: &'static str, found: String, expected: String) -> Result<T> {
    Err(Error::Session(SessionError::Unusable { file: name(path), field, found, expected }))
}

/// Writes a file, or leaves what is there as it was: the bytes go to a new file in the same folder, which takes the
/// name when all of them are on the disk.
///
/// # Errors
/// [`SessionError::Io`]. The new file is removed.
pub(super) fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let (file, temporary) = create(path)?;
    let written = fill(file, bytes).map_err(failed(path, "write the file"));
    let renamed = written.and_then(|()| fs::rename(&temporary, path).map_err(failed(path, "replace the file")));
    if renamed.is_err() {
        // The first error is the one that counts.
        drop(fs::remove_file(&temporary));
    }
    renamed
}

/// Makes a file in the folder of `path`. Returns it with its own path.
fn create(path: &Path) -> Result<(File, PathBuf)> {
    loop {
        let temporary = temporary(path).map_err(failed(path, "write to the path"))?;
        match OpenOptions::new().write(true).create_new(true).open(&temporary) {
            Ok(file) => return Ok((file, temporary)),
            // A process with the same number left it when it was killed.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(failed(path, "make a file in the folder")(error)),
        }
    }
}

fn fill(mut file: File, bytes: &[u8]) -> io::Result<()> {
    file.write_all(bytes)?;
    file.sync_all()
}

/// A name in the same folder that no other save of a running process uses.
fn temporary(path: &Path) -> io::Result<PathBuf> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let name = path.file_name().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "it has no file name"))?;
    let mut temporary = name.to_owned();
    temporary.push(format!(".{}-{}.tmp", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed)));
    Ok(path.with_file_name(temporary))
}
