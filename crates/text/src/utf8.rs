//! Conversion of untrusted bytes to text.

use crate::Error;

/// Checks that bytes are UTF-8. The error contains the offset of the first invalid byte.
///
/// ```
/// assert_eq!(inkstone_text::check_utf8(b"ab\xFFc").unwrap_err().to_string(), "not UTF-8 at byte 2");
/// ```
pub fn check_utf8(bytes: &[u8]) -> Result<&str, Error> {
    std::str::from_utf8(bytes).map_err(|e| Error::NotUtf8 { at: e.valid_up_to() })
}
