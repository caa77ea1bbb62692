//! Arrays of f32 in NumPy's format.

use std::path::Path;

/// The values of a `.npy` file (version 1, little-endian f32, C order).
///
/// # Panics
/// If it is not such a file.
pub fn read_npy(path: &Path) -> Vec<f32> {
    let bytes = std::fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    assert_eq!(&bytes[..8], b"\x93NUMPY\x01\0", "{}", path.display());
    let header = usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    let text = String::from_utf8_lossy(&bytes[10..10 + header]).into_owned();
    assert!(text.contains("'<f4'") && text.contains("'fortran_order': False"), "{text}");
    bytes[10 + header..].as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect()
}
