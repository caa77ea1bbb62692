//! The repository as a clone would have it: files that git knows or would add, with their contents of now.

use std::fs;
use std::path::Path;

use crate::command::Program;
use crate::error::Error;

/// Names of the files of the tree at `root`, from there, with `/` between folders.
pub fn list(root: &Path) -> Result<Vec<String>, Error> {
    let listed = Program::new("git ls-files -z --cached --others --exclude-standard", root).stdout()?;
    let names = listed.split(|&byte| byte == 0).filter(|name| !name.is_empty());
    let names = names.map(|name| String::from_utf8_lossy(name).into_owned());
    // A file that was removed is listed until that is committed.
    Ok(names.filter(|name| root.join(name).symlink_metadata().is_ok()).collect())
}

/// Copies the tree at `root` into `into`, which is made anew.
pub fn copy(root: &Path, into: &Path) -> Result<(), Error> {
    let at = |path: &Path| {
        let path = path.to_owned();
        |source| Error::File { path, source }
    };
    if into.exists() {
        fs::remove_dir_all(into).map_err(at(into))?;
    }
    for name in list(root)? {
        let (from, to) = (root.join(&name), into.join(&name));
        if let Some(folder) = to.parent() {
            fs::create_dir_all(folder).map_err(at(folder))?;
        }
        copy_file(&from, &to).map_err(at(&from))?;
    }
    Ok(())
}

/// A link stays a link, so that what is made of the copy is what would be made of a clone.
#[cfg(unix)]
fn copy_file(from: &Path, to: &Path) -> std::io::Result<()> {
    if from.symlink_metadata()?.is_symlink() {
        return std::os::unix::fs::symlink(fs::read_link(from)?, to);
    }
    fs::copy(from, to).map(drop)
}

#[cfg(not(unix))]
fn copy_file(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::copy(from, to).map(drop)
}
