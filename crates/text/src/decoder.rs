//! A streaming decoder from the bytes of tokens to whole characters.

/// Decodes the pieces of tokens to text. Incomplete characters are kept until their last byte arrives.
///
/// Invalid sequences become U+FFFD, one per sequence. The text does not depend on how the bytes were divided into
/// pieces and equals [`String::from_utf8_lossy`] of all bytes.
///
/// ```
/// let mut decoder = inkstone_text::Decoder::new();
/// assert_eq!(decoder.push(b"caf\xC3"), "caf");
/// assert_eq!(decoder.push(b"\xA9\xF0\x9F"), "é");
/// assert_eq!(decoder.finish(), "\u{FFFD}");
/// ```
#[derive(Clone, Debug)]
pub struct Decoder {
    /// The first bytes of an incomplete character: at most 3.
    pending: Vec<u8>,
    /// The result of the last call, kept to reuse its memory.
    text: String,
}

/// Pieces of up to this many bytes are decoded without an allocation.
const ROOM: usize = 512;

impl Default for Decoder {
    fn default() -> Decoder {
        Decoder::new()
    }
}

impl Decoder {
    /// A decoder at the start of a text.
    pub fn new() -> Decoder {
        Decoder { pending: Vec::with_capacity(ROOM), text: String::with_capacity(ROOM) }
    }

    /// Adds bytes and returns the characters that are complete.
    pub fn push(&mut self, bytes: &[u8]) -> &str {
        self.text.clear();
        if self.pending.is_empty() {
            let rest = append_whole(&mut self.text, bytes);
            self.pending.extend_from_slice(rest);
        } else {
            let mut joined = std::mem::take(&mut self.pending);
            joined.extend_from_slice(bytes);
            let kept = append_whole(&mut self.text, &joined).len();
            joined.drain(..joined.len() - kept);
            self.pending = joined;
        }
        &self.text
    }

    /// Ends the text and returns the rest: an incomplete character becomes U+FFFD. The decoder is then at the start of
    /// a new text.
    pub fn finish(&mut self) -> &str {
        self.text.clear();
        if !self.pending.is_empty() {
            self.text.push(char::REPLACEMENT_CHARACTER);
            self.pending.clear();
        }
        &self.text
    }

    /// The bytes of an incomplete character: at most 3.
    pub fn pending(&self) -> &[u8] {
        &self.pending
    }
}

/// Appends the complete characters and a U+FFFD per invalid sequence. Returns the bytes of an incomplete last
/// character.
fn append_whole<'b>(text: &mut String, mut bytes: &'b [u8]) -> &'b [u8] {
    loop {
        let error = match std::str::from_utf8(bytes) {
            Ok(valid) => {
                text.push_str(valid);
                return &[];
            }
            Err(error) => error,
        };
        let (valid, rest) = bytes.split_at(error.valid_up_to());
        text.push_str(std::str::from_utf8(valid).unwrap_or_default());
        let Some(wrong) = error.error_len() else { return rest };
        text.push(char::REPLACEMENT_CHARACTER);
        bytes = rest.get(wrong..).unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_chunks(bytes: &[u8], sizes: &[usize]) -> String {
        let mut decoder = Decoder::new();
        let mut text = String::new();
        let mut rest = bytes;
        for size in sizes.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (chunk, tail) = rest.split_at((*size).min(rest.len()));
            text.push_str(decoder.push(chunk));
            assert!(decoder.pending().len() < 4);
            rest = tail;
        }
        text.push_str(decoder.finish());
        text
    }

    #[test]
    fn how_bytes_are_cut_does_not_matter() {
        let mut bytes = "aé日👍\u{301}z".as_bytes().to_vec();
        bytes.extend_from_slice(b"\xFF\xC3\xC3\xA9\xED\xA0\x80\xF0\x9F\x91a\xF4\x90\x80\x80\xE2\x82");
        let whole = String::from_utf8_lossy(&bytes).into_owned();
        for sizes in [&[1][..], &[2], &[3], &[1, 2, 5], &[64], &[7, 1]] {
            assert_eq!(in_chunks(&bytes, sizes), whole, "{sizes:?}");
        }
    }

    #[test]
    fn c06_nul_and_lone_surrogates_are_text_or_replaced() {
        assert_eq!(in_chunks(b"a\0b", &[1]), "a\0b");
        assert_eq!(in_chunks(b"\xED\xA0\x80", &[1]), "\u{FFFD}\u{FFFD}\u{FFFD}");
        assert!(matches!(crate::check_utf8(b"ab\xED\xA0\x80").unwrap_err(), crate::Error::NotUtf8 { at: 2 }));
    }

    #[test]
    fn a_finished_decoder_begins_again() {
        let mut decoder = Decoder::new();
        assert_eq!(decoder.push(b"\xE2\x82"), "");
        assert_eq!(decoder.finish(), "\u{FFFD}");
        assert_eq!(decoder.finish(), "");
        assert_eq!(decoder.push(b"ok"), "ok");
    }
}
