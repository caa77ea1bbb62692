//! The cache of Hugging Face's libraries: `models--ORG--NAME/snapshots/REVISION/FILE.gguf`, links to blobs.

use super::walk::{Walk, small_file};
use std::collections::HashSet;
use std::fs::DirEntry;
use std::path::{Path, PathBuf};

/// A file in `refs` is a hash in hexadecimal digits.
const MAX_REF: u64 = 256;

/// The GGUF files of all models. If a file has several revisions, the revision of the branch `main` counts, else the first.
pub(super) fn files(hub: &Path, walk: &mut Walk) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let repositories = walk.entries(hub);
    for repository in repositories.iter().filter(|e| e.file_name().as_encoded_bytes().starts_with(b"models--")) {
        let repository = repository.path();
        let main = small_file(&repository.join("refs/main"), MAX_REF).unwrap_or_default();
        let mut snapshots: Vec<PathBuf> =
            walk.entries(&repository.join("snapshots")).iter().map(DirEntry::path).collect();
        snapshots.sort_by_key(|s| s.file_name().is_none_or(|name| name.as_encoded_bytes() != main.trim_ascii()));
        let mut names = HashSet::new();
        for snapshot in snapshots {
            let of_snapshot = walk.gguf_files(&snapshot);
            files.extend(
                of_snapshot
                    .into_iter()
                    .filter(|file| names.insert(file.strip_prefix(&snapshot).unwrap_or(file).to_path_buf())),
            );
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_revisions_that_of_main_counts() {
        let hub = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = hub.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("models--org--one/snapshots/1111/a.gguf", "old");
        write("models--org--one/snapshots/1111/only-old.gguf", "old");
        write("models--org--one/snapshots/2222/a.gguf", "new");
        write("models--org--one/snapshots/2222/sub/a.gguf", "new");
        write("models--org--one/refs/main", "2222\n");
        write("models--org--two/snapshots/3333/b.gguf", "");
        write("models--org--two/snapshots/4444/b.gguf", "");
        write("datasets--org--three/snapshots/5555/c.gguf", "");
        let files = files(hub.path(), &mut Walk::new(&mut HashSet::new()));
        let files: Vec<_> = files.iter().map(|f| f.strip_prefix(hub.path()).unwrap().to_str().unwrap()).collect();
        assert_eq!(
            files,
            [
                "models--org--one/snapshots/2222/a.gguf",
                "models--org--one/snapshots/2222/sub/a.gguf",
                "models--org--one/snapshots/1111/only-old.gguf",
                "models--org--two/snapshots/3333/b.gguf",
            ]
        );
    }
}
