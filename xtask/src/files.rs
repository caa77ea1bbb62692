//! Files of a folder.

use std::path::{Path, PathBuf};

use crate::error::Error;

/// All files below a folder; an empty list if there is no such folder.
pub fn files_below(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop().filter(|f| f.is_dir()) {
        let at = |source| Error::File { path: folder.clone(), source };
        for entry in std::fs::read_dir(&folder).map_err(at)? {
            let path = entry.map_err(at)?.path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    Ok(files)
}
