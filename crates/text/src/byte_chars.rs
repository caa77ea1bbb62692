//! The characters that stand for bytes in byte-level BPE (GPT-2's `bytes_to_unicode`).
//!
//! A byte that is a visible character of Latin-1 stands for itself; the other 68 are U+0100, U+0101, ... in order.

/// The character for each byte.
pub(crate) static CHARS: [char; 256] = {
    let mut chars = ['\0'; 256];
    let mut next = 0x100;
    let mut byte = 0;
    while byte < 256 {
        chars[byte] = if is_visible(byte) {
            byte as u8 as char
        } else {
            next += 1;
            match char::from_u32(next - 1) {
                Some(c) => c,
                None => unreachable!(),
            }
        };
        byte += 1;
    }
    chars
};

/// The byte for each character up to U+0143, the last character of the table.
static BYTES: [Option<u8>; 0x144] = {
    let mut bytes = [None; 0x144];
    let mut byte = 0;
    while byte < 256 {
        bytes[CHARS[byte] as usize] = Some(byte as u8);
        byte += 1;
    }
    bytes
};

const fn is_visible(byte: usize) -> bool {
    matches!(byte, 0x21..=0x7E | 0xA1..=0xAC | 0xAE..=0xFF)
}

/// The byte that a character stands for.
pub(crate) fn byte(c: char) -> Option<u8> {
    BYTES.get(c as usize).copied().flatten()
}

/// Appends the characters of the bytes.
pub(crate) fn encode(bytes: &[u8], text: &mut String) {
    text.extend(bytes.iter().map(|&b| CHARS[usize::from(b)]));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_byte_has_its_own_character() {
        for b in 0..=255u8 {
            assert_eq!(byte(CHARS[usize::from(b)]), Some(b));
        }
        assert_eq!(CHARS[0x20], 'Ġ');
        assert_eq!(CHARS[0x0A], 'Ċ');
        assert_eq!(CHARS[0xAD], '\u{143}');
        assert_eq!(byte(' '), None);
        assert_eq!(byte('\u{144}'), None);
    }
}
