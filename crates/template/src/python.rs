//! What Python says of characters.

/// `str.isspace`: what Unicode calls white space, and the four separators of ASCII.
pub(crate) fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\x1c'..='\x1f').contains(&c)
}

pub(crate) fn trim_start(text: &str) -> &str {
    text.trim_start_matches(is_space)
}

pub(crate) fn trim_end(text: &str) -> &str {
    text.trim_end_matches(is_space)
}

/// What ends a line for `str.splitlines`, beside CR LF.
pub(crate) fn is_line_end(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\x0b' | '\x0c' | '\x1c'..='\x1e' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// The lines of a text with the length of each one's end.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = (&str, usize)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = rest.find(is_line_end).unwrap_or(rest.len());
        let behind = &rest[end..];
        let len = if behind.starts_with("\r\n") { 2 } else { behind.chars().next().map_or(0, char::len_utf8) };
        let line = (&rest[..end], len);
        rest = &behind[len..];
        Some(line)
    })
}

/// Whether `repr` shows a character as it is.
pub(crate) fn is_printable(c: char) -> bool {
    if c.is_ascii() {
        return matches!(c, ' '..='~');
    }
    if c.is_alphanumeric() {
        return true;
    }
    // The standard library's own table, which it shows in this way only. A character that extends the one before it is
    // escaped at the start of a text, so one comes before it here.
    let mut text = [0; 5];
    text[0] = b'a';
    let len = 1 + c.encode_utf8(&mut text[1..]).len();
    let text = std::str::from_utf8(&text[..len]).unwrap_or_default();
    !text.escape_debug().nth(1).is_some_and(|first| first == '\\')
}

/// `str.isdecimal`, by the digits of the scripts in use.
pub(crate) fn decimal_digit(c: char) -> Option<u32> {
    /// The zeros of blocks of ten digits.
    const ZEROS: [u32; 37] = [
        0x30, 0x660, 0x6F0, 0x7C0, 0x966, 0x9E6, 0xA66, 0xAE6, 0xB66, 0xBE6, 0xC66, 0xCE6, 0xD66, 0xDE6, 0xE50, 0xED0,
        0xF20, 0x1040, 0x1090, 0x17E0, 0x1810, 0x1946, 0x19D0, 0x1A80, 0x1A90, 0x1B50, 0x1BB0, 0x1C40, 0x1C50, 0xA620,
        0xA8D0, 0xA900, 0xA9D0, 0xA9F0, 0xAA50, 0xABF0, 0xFF10,
    ];
    let code = c as u32;
    if let Some(digit) = c.to_digit(10) {
        return Some(digit);
    }
    if (0x1D7CE..=0x1D7FF).contains(&code) {
        return Some((code - 0x1D7CE) % 10);
    }
    let zero = ZEROS[..ZEROS.partition_point(|zero| *zero <= code)].last()?;
    (code - zero < 10).then(|| code - zero)
}

/// `str.isdigit`: decimals, and digits in circles or raised.
pub(crate) fn is_digit(c: char) -> bool {
    decimal_digit(c).is_some()
        || matches!(c as u32, 0xB2 | 0xB3 | 0xB9 | 0x2070 | 0x2074..=0x2079 | 0x2080..=0x2089 | 0x2460..=0x2468
            | 0x2474..=0x247C | 0x2488..=0x2490 | 0x24EA | 0x24F5..=0x24FD | 0x24FF | 0x2776..=0x277E
            | 0x2780..=0x2788 | 0x278A..=0x2792)
}

/// The title case of a character: that of the first, where its upper case is several.
pub(crate) fn title(c: char, mut put: impl FnMut(char)) {
    match c {
        // Letters that are two in one have a form of their own.
        '\u{1C4}'..='\u{1C6}' => put('\u{1C5}'),
        '\u{1C7}'..='\u{1C9}' => put('\u{1C8}'),
        '\u{1CA}'..='\u{1CC}' => put('\u{1CB}'),
        '\u{1F1}'..='\u{1F3}' => put('\u{1F2}'),
        // Georgian has no title case.
        '\u{10D0}'..='\u{10FF}' => put(c),
        _ => {
            for (i, upper) in c.to_uppercase().enumerate() {
                if i == 0 { put(upper) } else { upper.to_lowercase().for_each(&mut put) }
            }
        }
    }
}
