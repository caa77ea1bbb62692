//! Unix: `open` without waiting, `pread`, `mmap`.
#![allow(unsafe_code)]

use inkstone_tensor::Resident;
use std::fs::{File, FileType, OpenOptions};
use std::io;
use std::ops::Range;
use std::os::unix::fs::{FileExt, FileTypeExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;

/// Opens a file to read. `open` waits on a FIFO until it has a writer; with `O_NONBLOCK` it returns at once, and the
/// caller can look at the kind of the file. The flag does not affect regular files.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)
}

/// The kind of a path that is not a regular file.
pub(crate) fn special_kind(kind: FileType) -> Option<&'static str> {
    match () {
        () if kind.is_file() => None,
        () if kind.is_dir() => Some("a directory"),
        () if kind.is_fifo() => Some("a FIFO"),
        () if kind.is_socket() => Some("a socket"),
        () if kind.is_char_device() => Some("a character device"),
        () if kind.is_block_device() => Some("a block device"),
        () => Some("a special file"),
    }
}

/// Fills `bytes` with the bytes of the file from `offset` on.
pub(crate) fn read_exact_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<()> {
    file.read_exact_at(bytes, offset)
}

/// Maps a file to read.
pub(crate) fn map(file: &File) -> io::Result<Option<Arc<Map>>> {
    // SAFETY: the map is private and read-only, and lives as long as the `Arc`. Its bytes must not change while Rust
    // borrows them: no code here writes to the file, and the documentation of the option `mmap` requires that no other
    // program does. Only tensor data, for which every byte is a valid value, are read through the map. A file that
    // shrinks ends the program with a signal, which is not undefined behaviour.
    let map = unsafe { memmap2::Mmap::map(file)? };
    Ok(Some(Arc::new(Map(map))))
}

/// A mapped file.
pub(crate) struct Map(memmap2::Mmap);

impl AsRef<[u8]> for Map {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Resident for Map {
    /// With this advice Linux reads 2 MB at a time (since 5.18), independent of the read-ahead of the device, and into
    /// large pages if the file system supports them (ext4 since 6.16). Mapping and unmapping small pages costs more
    /// time than reading from a fast disk.
    fn stream(&self) {
        #[cfg(target_os = "linux")]
        // If the system refuses the advice, it reads ahead as for any other map.
        let _refused = self.0.advise(memmap2::Advice::HugePage);
    }

    fn lock(&self, bytes: Range<usize>) -> bool {
        let Some(bytes) = self.0.get(bytes) else { return false };
        // SAFETY: the range is part of the map. Locking changes no byte, and the lock ends with the map.
        unsafe { libc::mlock(bytes.as_ptr().cast(), bytes.len()) == 0 }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    /// The flags that the system reports for the region of a map, if it reports any.
    fn flags(map: &Map) -> Option<String> {
        let regions = std::fs::read_to_string("/proc/self/smaps").ok()?;
        let begin = format!("{:08x}-", map.0.as_ptr().addr());
        let mut lines = regions.lines().skip_while(|line| !line.starts_with(&begin));
        Some(lines.find_map(|line| line.strip_prefix("VmFlags:"))?.to_owned())
    }

    #[test]
    fn a_map_that_streams_is_read_in_large_pages() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(5 << 20).unwrap();
        let map = map(&file).unwrap().unwrap();
        let large = |flags: &str| flags.split(' ').any(|flag| flag == "hg");
        let Some(before) = flags(&map).filter(|_| Path::new("/sys/kernel/mm/transparent_hugepage").exists()) else {
            eprintln!("not run: large pages: this system does not have them, or does not tell");
            return;
        };
        assert!(!large(&before), "{before}");
        map.stream();
        let after = flags(&map).unwrap();
        assert!(large(&after), "{after}");
    }
}
