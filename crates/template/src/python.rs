//! The character classes of Python.

/// `str.isspace`: the white space of Unicode, and the four separators of ASCII.
pub(crate) fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\x1c'..='\x1f').contains(&c)
}

pub(crate) fn trim_start(text: &str) -> &str {
    text.trim_start_matches(is_space)
}

pub(crate) fn trim_end(text: &str) -> &str {
    text.trim_end_matches(is_space)
}

/// The characters that end a line for `str.splitlines`, in addition to CR LF.
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
    text.escape_debug().nth(1).is_none_or(|first| first != '\\')
}

/// Ranges without letters in which the standard library has some: marks that take room, numbers and letters in circles.
const NO_LETTERS: &[(u32, u32)] = &[
    (0x903, 0x903),
    (0x93B, 0x93B),
    (0x93E, 0x94F),
    (0x982, 0x983),
    (0x9BF, 0x9CC),
    (0xA03, 0xA03),
    (0xA3E, 0xA40),
    (0xA83, 0xA83),
    (0xABE, 0xACC),
    (0xB02, 0xB03),
    (0xB40, 0xB4C),
    (0xBBF, 0xBCC),
    (0xC01, 0xC03),
    (0xC41, 0xC44),
    (0xC82, 0xC83),
    (0xCBE, 0xCC4),
    (0xD02, 0xD03),
    (0xD3F, 0xD4C),
    (0xD82, 0xD83),
    (0xDD0, 0xDF3),
    (0xF7F, 0xF7F),
    (0x102B, 0x103C),
    (0x1056, 0x1057),
    (0x1062, 0x1064),
    (0x1067, 0x106D),
    (0x1083, 0x108C),
    (0x108F, 0x109C),
    (0x16EE, 0x16F0),
    (0x17B6, 0x17C8),
    (0x1923, 0x1938),
    (0x1A19, 0x1A1A),
    (0x1A55, 0x1A72),
    (0x1B04, 0x1B04),
    (0x1B3E, 0x1B41),
    (0x1B82, 0x1B82),
    (0x1BA1, 0x1BA7),
    (0x1BE7, 0x1BEE),
    (0x1C24, 0x1C35),
    (0x2160, 0x2182),
    (0x2185, 0x24E9),
    (0x3007, 0x3029),
    (0x3038, 0x303A),
    (0xA6E6, 0xA6EF),
    (0xA823, 0xA827),
    (0xA880, 0xA881),
    (0xA8B4, 0xA8C3),
    (0xA952, 0xA952),
    (0xA983, 0xA983),
    (0xA9B4, 0xA9BF),
    (0xAA2F, 0xAA34),
    (0xAA4D, 0xAA4D),
    (0xAA7B, 0xAA7D),
    (0xAAEB, 0xAAEF),
    (0xAAF5, 0xAAF5),
    (0xABE3, 0xABEA),
];

/// Whether a character changes the one before it.
fn is_mark(c: char) -> bool {
    // The standard library escapes these only where they come first.
    !c.is_ascii() && c.escape_debug().nth(1).is_some() && is_printable(c)
}

/// `str.isalpha`
pub(crate) fn is_alpha(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_alphabetic();
    }
    let code = c as u32;
    let at = NO_LETTERS.partition_point(|(_, end)| *end < code);
    // The voiced marks of narrow kana are letters.
    c.is_alphabetic()
        && NO_LETTERS.get(at).is_none_or(|(start, _)| code < *start)
        && (matches!(code, 0xFF9E | 0xFF9F) || !is_mark(c))
}

/// `str.isalnum`, and the word characters of regular expressions in Python, except `_`.
pub(crate) fn is_alnum(c: char) -> bool {
    is_alpha(c) || c.is_numeric()
}

/// `str.isnumeric`
pub(crate) fn is_numeric(c: char) -> bool {
    /// Letters that are numbers.
    const LETTERS: &str = "㐅㒃㠪㭍一七万三九二五亖亿什仟仨伍佰億兆兩八六十千卄卅卌叁参參叄四壱壹幺廾廿弌弍弎弐拾捌柒漆玖百肆萬貮貳贰阡陆陌陸零參拾兩零六陸什";
    c.is_numeric() || c >= '\u{3400}' && LETTERS.contains(c)
}

/// The first character of an identifier.
pub(crate) fn begins_identifier(c: char) -> bool {
    c == '_' || is_alpha(c) || c.is_alphabetic() && c.is_numeric()
}

/// The others.
pub(crate) fn continues_identifier(c: char) -> bool {
    begins_identifier(c)
        || decimal_digit(c).is_some()
        || is_mark(c)
        || c.is_alphabetic() && !matches!(c as u32, 0x24B6..=0x24E9)
        || matches!(c as u32, 0xB7 | 0x387 | 0x1369..=0x1371 | 0x19DA | 0x203F | 0x2040 | 0x2054 | 0xFE33 | 0xFE34 | 0xFE4D..=0xFE4F | 0xFF3F)
}

/// Whether a character is an upper and a lower case letter in one.
pub(crate) fn is_title(c: char) -> bool {
    matches!(c as u32, 0x1C5 | 0x1C8 | 0x1CB | 0x1F2 | 0x1F88..=0x1F8F | 0x1F98..=0x1F9F | 0x1FA8..=0x1FAF | 0x1FBC | 0x1FCC | 0x1FFC)
}

/// `str.casefold` of a character.
pub(crate) fn folded(c: char, mut put: impl FnMut(char)) {
    match c {
        // Without a dot, and Cherokee, which folds to upper case.
        'ı' => put(c),
        '\u{13A0}'..='\u{13F5}' => put(c),
        '\u{13F8}'..='\u{13FD}' | '\u{AB70}'..='\u{ABBF}' => c.to_uppercase().for_each(put),
        _ => c.to_lowercase().flat_map(char::to_uppercase).flat_map(char::to_lowercase).for_each(&mut put),
    }
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
        || matches!(c as u32, 0xB2 | 0xB3 | 0xB9 | 0x1369..=0x1371 | 0x19DA | 0x2070 | 0x2074..=0x2079 | 0x2080..=0x2089 | 0x2460..=0x2468
            | 0x2474..=0x247C | 0x2488..=0x2490 | 0x24EA | 0x24F5..=0x24FD | 0x24FF | 0x2776..=0x277E
            | 0x2780..=0x2788 | 0x278A..=0x2792)
}

/// The title case of a character. If its upper case is several characters, the others are in lower case.
pub(crate) fn title(c: char, mut put: impl FnMut(char)) {
    match c {
        // Letters that are two in one have a form of their own.
        '\u{1C4}'..='\u{1C6}' => put('\u{1C5}'),
        '\u{1C7}'..='\u{1C9}' => put('\u{1C8}'),
        '\u{1CA}'..='\u{1CC}' => put('\u{1CB}'),
        '\u{1F1}'..='\u{1F3}' => put('\u{1F2}'),
        'ŉ' => "ʼN".chars().for_each(put),
        '\u{1F80}'..='\u{1FAF}' => put(char::from_u32(c as u32 | 8).unwrap_or(c)),
        '\u{1FB3}' | '\u{1FC3}' | '\u{1FF3}' => put(char::from_u32(c as u32 + 9).unwrap_or(c)),
        '\u{1FBC}' | '\u{1FCC}' | '\u{1FFC}' => put(c),
        // Georgian has no title case.
        '\u{10D0}'..='\u{10FF}' => put(c),
        _ => {
            for (i, upper) in c.to_uppercase().enumerate() {
                match upper {
                    upper if i == 0 => put(upper),
                    // An iota subscript stays one.
                    'Ι' => put('\u{345}'),
                    upper => upper.to_lowercase().for_each(&mut put),
                }
            }
        }
    }
}
