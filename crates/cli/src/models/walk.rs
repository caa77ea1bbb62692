//! Reading folders, within bounds.

use super::canonical;
use std::collections::HashSet;
use std::fs::{self, DirEntry};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Entries that a walk reads in one place: many times the entries of a large cache.
pub(super) const MAX_ENTRIES: usize = 50_000;
/// Depth of nested folders.
const MAX_DEPTH: usize = 8;

/// A walk through one place.
pub(super) struct Walk<'s> {
    entries: usize,
    exhausted: bool,
    /// Folders that were read, as paths without links: links may form a circle.
    seen: &'s mut HashSet<PathBuf>,
}

impl Walk<'_> {
    pub(super) fn new(seen: &mut HashSet<PathBuf>) -> Walk<'_> {
        Walk { entries: MAX_ENTRIES, exhausted: false, seen }
    }

    /// Whether there are more entries than a walk reads.
    pub(super) fn is_exhausted(&self) -> bool {
        self.exhausted
    }

    /// The entries of a folder by name; none if it can't be read.
    pub(super) fn entries(&mut self, folder: &Path) -> Vec<DirEntry> {
        let Ok(mut all) = fs::read_dir(folder) else { return Vec::new() };
        let mut entries: Vec<DirEntry> = all.by_ref().take(self.entries).filter_map(Result::ok).collect();
        self.entries -= entries.len();
        self.exhausted |= self.entries == 0 && all.next().is_some();
        entries.sort_by_key(DirEntry::file_name);
        entries
    }

    /// The GGUF files in a folder and the folders in it.
    pub(super) fn gguf_files(&mut self, folder: &Path) -> Vec<PathBuf> {
        let mut files = Vec::new();
        self.gguf_files_below(folder, MAX_DEPTH, &mut files);
        files
    }

    fn gguf_files_below(&mut self, folder: &Path, depth: usize, files: &mut Vec<PathBuf>) {
        if depth == 0 || !self.seen.insert(canonical(folder)) {
            return;
        }
        for entry in self.entries(folder) {
            let path = entry.path();
            let Ok(mut kind) = entry.file_type() else { continue };
            if kind.is_symlink() {
                let Ok(target) = fs::metadata(&path) else { continue };
                kind = target.file_type();
            }
            if kind.is_dir() {
                self.gguf_files_below(&path, depth - 1, files);
            } else if kind.is_file() && path.extension().is_some_and(|e| e.eq_ignore_ascii_case("gguf")) {
                files.push(path);
            }
        }
    }
}

/// A small regular file; none if it is larger, is something else, or can't be read.
pub(super) fn small_file(path: &Path, limit: u64) -> Option<Vec<u8>> {
    // Opening a FIFO would block.
    if !fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    fs::File::open(path).ok()?.take(limit + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= limit).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walk(folder: &Path, entries: usize) -> (Vec<String>, bool) {
        let mut seen = HashSet::new();
        let mut walk = Walk { entries, ..Walk::new(&mut seen) };
        let files = walk.gguf_files(folder);
        let names = files.iter().map(|f| f.strip_prefix(folder).unwrap().to_str().unwrap().to_string()).collect();
        (names, walk.is_exhausted())
    }

    #[test]
    fn gguf_files_are_found_in_order_and_at_any_depth() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        for file in ["b/z/x.gguf", "a.GGUF", "b/y.gguf", "b/readme.md", "c.gguf.part", "gguf"] {
            let path = folder.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        fs::create_dir(folder.join("folder.gguf")).unwrap();
        assert_eq!(walk(folder, MAX_ENTRIES).0, ["a.GGUF", "b/y.gguf", "b/z/x.gguf"]);
        assert_eq!(walk(&folder.join("nothing"), MAX_ENTRIES).0, Vec::<String>::new());
    }

    #[test]
    fn depth_and_number_of_entries_are_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let mut deep = folder.path().to_path_buf();
        for _ in 0..MAX_DEPTH - 1 {
            deep.push("d");
        }
        fs::create_dir_all(deep.join("d")).unwrap();
        fs::write(deep.join("in.gguf"), "").unwrap();
        fs::write(deep.join("d/out.gguf"), "").unwrap();
        let (files, exhausted) = walk(folder.path(), MAX_ENTRIES);
        assert_eq!((files.len(), exhausted), (1, false), "{files:?}");

        let folder = tempfile::tempdir().unwrap();
        for i in 0..5 {
            fs::write(folder.path().join(format!("{i}.gguf")), "").unwrap();
        }
        let (files, exhausted) = walk(folder.path(), 5);
        assert_eq!((files.len(), exhausted), (5, false));
        let (files, exhausted) = walk(folder.path(), 4);
        assert_eq!((files.len(), exhausted), (4, true));
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_but_not_in_circles() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        let folder = folder.path();
        fs::create_dir(folder.join("a")).unwrap();
        fs::write(folder.join("a/x.gguf"), "").unwrap();
        fs::write(outside.path().join("y.gguf"), "").unwrap();
        symlink(folder, folder.join("a/circle")).unwrap();
        symlink("loop", folder.join("loop")).unwrap();
        symlink("missing.gguf", folder.join("broken.gguf")).unwrap();
        symlink(outside.path(), folder.join("linked")).unwrap();
        assert_eq!(walk(folder, MAX_ENTRIES).0, ["a/x.gguf", "linked/y.gguf"]);
    }

    #[test]
    fn a_small_file_is_read_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("f");
        fs::write(&file, "12345").unwrap();
        assert_eq!(small_file(&file, 5).as_deref(), Some(b"12345".as_slice()));
        assert_eq!(small_file(&file, 4), None);
        assert_eq!(small_file(folder.path(), 5), None);
    }
}
