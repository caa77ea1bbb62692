//! The calls to the operating system: opening a file without waiting, reading at an offset, mapping.
//!
//! Two implementations of the same three functions: `unix`, and `portable` with the standard library only, which tests
//! compile and run on every system.

#[cfg(any(test, not(unix), inkstone_portable))]
mod portable;
#[cfg(all(unix, not(inkstone_portable)))]
mod unix;

#[cfg(any(not(unix), inkstone_portable))]
pub(crate) use portable::{map, open, read_exact_at, special_kind};
#[cfg(all(unix, not(inkstone_portable)))]
pub(crate) use unix::{map, open, read_exact_at, special_kind};

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn three_bytes() -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(b"abc").unwrap();
        file
    }

    #[test]
    fn both_implementations_read_the_same() {
        let temp = three_bytes();
        let (file, fallback) = (open(temp.path()).unwrap(), portable::open(temp.path()).unwrap());
        for (offset, len) in [(0, 3), (1, 2), (2, 1), (3, 0), (2, 2), (9, 1)] {
            let (mut a, mut b) = (vec![0; len], vec![0; len]);
            let (ra, rb) = (read_exact_at(&file, &mut a, offset), portable::read_exact_at(&fallback, &mut b, offset));
            assert_eq!(ra.is_ok(), rb.is_ok(), "{len} bytes at {offset}");
            assert_eq!(ra.is_ok(), offset as usize + len <= 3, "{len} bytes at {offset}");
            assert!(ra.is_err() || a == b, "{len} bytes at {offset}");
        }
    }

    #[test]
    fn both_implementations_know_a_directory() {
        let folder = tempfile::tempdir().unwrap();
        let kind = std::fs::metadata(folder.path()).unwrap().file_type();
        assert_eq!(special_kind(kind), Some("a directory"));
        assert_eq!(portable::special_kind(kind), Some("a directory"));
        let kind = std::fs::metadata(three_bytes().path()).unwrap().file_type();
        assert_eq!((special_kind(kind), portable::special_kind(kind)), (None, None));
    }

    #[test]
    fn the_fall_back_never_maps() {
        let temp = three_bytes();
        assert!(portable::map(&portable::open(temp.path()).unwrap()).unwrap().is_none());
        if cfg!(unix) {
            let map = map(&open(temp.path()).unwrap()).unwrap().unwrap();
            assert_eq!((*map).as_ref(), b"abc");
        }
    }
}
