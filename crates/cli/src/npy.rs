//! Arrays as NumPy files, version 1.0 (<https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html>).

use crate::error::Error;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// The number of values that are written between two checks for an interrupt.
const CHUNK: usize = 1 << 16;

/// A file that is written completely or not at all: it is written under a temporary name in the same folder, then
/// renamed. If it is dropped before [`Destination::keep`], it is removed.
pub(crate) struct Destination {
    /// The final path, with links resolved.
    path: PathBuf,
    /// The temporary path; `None` if the path is not a regular file (for example a pipe), which can't be replaced.
    partial: Option<PathBuf>,
    file: File,
}

impl Destination {
    /// Checks that a file can be created at a path, and leaves nothing behind. A path that exists and is not a regular
    /// file is not opened, because the reader of a pipe would see an end of file.
    pub(crate) fn probe(path: &Path) -> Result<(), Error> {
        if fs::metadata(path).is_ok_and(|m| !m.is_file() && !m.is_dir()) {
            return Ok(());
        }
        Destination::create(path).map(drop)
    }

    /// Creates the temporary file, or opens the path if it exists and is not a regular file.
    fn create(path: &Path) -> Result<Destination, Error> {
        let error = |source| Error::Write { file: path.display().to_string(), source };
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        if fs::metadata(&path).is_ok_and(|m| !m.is_file()) {
            let file = File::options().write(true).open(&path).map_err(error)?;
            return Ok(Destination { path, partial: None, file });
        }
        let name = path.file_name().ok_or_else(|| error(io::Error::other("the path names no file")))?;
        let mut partial_name = std::ffi::OsString::from(".");
        partial_name.push(name);
        partial_name.push(format!(".{}.part", std::process::id()));
        let partial = path.with_file_name(partial_name);
        let file = File::options().write(true).create_new(true).open(&partial).map_err(error)?;
        Ok(Destination { path, partial: Some(partial), file })
    }

    /// Moves the written file to its final path.
    fn keep(mut self) -> io::Result<()> {
        if let Some(partial) = &self.partial {
            fs::rename(partial, &self.path)?;
            self.partial = None;
        }
        Ok(())
    }
}

impl Drop for Destination {
    fn drop(&mut self) {
        if let Some(partial) = &self.partial {
            let _ = fs::remove_file(partial);
        }
    }
}

/// Writes `f32[rows, values.len() / rows]`, row by row. It calls `interrupted` from time to time.
pub(crate) fn write(path: &Path, rows: usize, values: &[f32], interrupted: &dyn Fn() -> bool) -> Result<(), Error> {
    let destination = Destination::create(path)?;
    let error = |source| Error::Write { file: path.display().to_string(), source };
    let mut out = BufWriter::new(&destination.file);
    out.write_all(&header(rows, values.len() / rows.max(1))).map_err(error)?;
    for chunk in values.chunks(CHUNK) {
        if interrupted() {
            return Err(Error::Interrupted);
        }
        chunk.iter().try_for_each(|v| out.write_all(&v.to_le_bytes())).map_err(error)?;
    }
    out.flush().map_err(error)?;
    drop(out);
    destination.keep().map_err(error)
}

/// Magic, version, length, and a Python dictionary, padded with spaces so that the data begin at a multiple of 64.
fn header(rows: usize, cols: usize) -> Vec<u8> {
    const BEFORE: usize = 10;
    let mut dictionary = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {cols}), }}");
    let padded = (BEFORE + dictionary.len() + 1).next_multiple_of(64) - BEFORE;
    dictionary.push_str(&" ".repeat(padded - 1 - dictionary.len()));
    dictionary.push('\n');
    let mut header = b"\x93NUMPY\x01\x00".to_vec();
    // Two numbers of 20 digits and the words around them: far below the limit of 16 bits.
    header.extend_from_slice(&(padded as u16).to_le_bytes());
    header.extend_from_slice(dictionary.as_bytes());
    header
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn a_file_has_numpys_header_and_the_values() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.npy");
        write(&path, 2, &[1.0, -2.0, 0.5, f32::NAN, 4.0, 5.0], &|| false).unwrap();
        let bytes = fs::read(&path).unwrap();
        assert_eq!(&bytes[..8], b"\x93NUMPY\x01\x00");
        let end = 10 + u16::from_le_bytes([bytes[8], bytes[9]]) as usize;
        assert_eq!(end % 64, 0);
        let dictionary = std::str::from_utf8(&bytes[10..end]).unwrap();
        assert_eq!(dictionary.trim_end(), "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }");
        assert!(dictionary.ends_with('\n'));
        assert_eq!(bytes[end..].len(), 24);
        assert_eq!(bytes[end + 4..end + 8], (-2.0f32).to_le_bytes());
        assert_eq!(names(folder.path()), ["x.npy"]);
    }

    #[test]
    fn e07_an_interrupted_file_leaves_nothing_and_the_old_one_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.npy");
        fs::write(&path, "old").unwrap();
        assert!(matches!(write(&path, 1, &[1.0], &|| true), Err(Error::Interrupted)));
        assert_eq!(names(folder.path()), ["x.npy"]);
        assert_eq!(fs::read(&path).unwrap(), b"old");
    }

    #[test]
    fn a_link_stays_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("x.npy"), folder.path().join("link.npy"));
        fs::write(&path, "old").unwrap();
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(&path, &link).unwrap();
            write(&link, 1, &[1.0], &|| false).unwrap();
            assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
            assert_ne!(fs::read(&path).unwrap(), b"old");
        }
    }
}
