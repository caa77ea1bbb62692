//! Bytes from outside, as text.

use crate::Error;

/// The bytes as text; the error has the offset of the first byte that is not UTF-8.
///
/// ```
/// assert_eq!(inkstone_text::check_utf8(b"ab\xFFc").unwrap_err().to_string(), "not UTF-8 at byte 2");
/// ```
pub fn check_utf8(bytes: &[u8]) -> Result<&str, Error> {
    std::str::from_utf8(bytes).map_err(|e| Error::NotUtf8 { at: e.valid_up_to() })
}
