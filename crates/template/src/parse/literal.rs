//! Numbers and texts as Python writes them.

use super::lexer::Tok;

/// A number at the start of a source, and its length. Behind a point there are no floats: `pairs.0.1`.
pub(super) fn number(source: &str, behind_point: bool) -> Result<(Tok<'static>, usize), String> {
    let bytes = source.as_bytes();
    if let Some(found) = float(bytes).filter(|_| !behind_point) {
        let digits = source[..found].replace('_', "");
        let value = digits.parse().map_err(|_| format!("not a number: {digits:?}"))?;
        return Ok((Tok::Float(value), found));
    }
    let based = |radix: u32, marks: [u8; 2]| {
        let marked = bytes.len() > 2 && bytes[0] == b'0' && marks.contains(&bytes[1]);
        let end = if marked { digits(bytes, 2, radix) } else { 2 };
        (end > 2).then_some((radix, 2, end))
    };
    let decimal = || {
        // After a zero come zeros only: 01 is two numbers.
        let radix = if bytes[0] == b'0' { 1 } else { 10 };
        (10, 0, digits(bytes, 0, radix))
    };
    let found = based(2, *b"bB").or_else(|| based(8, *b"oO")).or_else(|| based(16, *b"xX"));
    let (radix, start, end) = found.unwrap_or_else(decimal);
    let text = source[start..end].replace('_', "");
    match i128::from_str_radix(&text, radix) {
        Ok(value) => Ok((Tok::Int(value), end)),
        Err(_) => Err("an integer of more than 128 bits".to_string()),
    }
}

/// The end of digits, with `_` between them.
fn digits(bytes: &[u8], start: usize, radix: u32) -> usize {
    let is_digit =
        |at: usize| bytes.get(at).is_some_and(|&b| if radix == 1 { b == b'0' } else { (b as char).is_digit(radix) });
    let mut at = start;
    while is_digit(at) || at < bytes.len() && bytes[at] == b'_' && is_digit(at + 1) && (at > start || start > 0) {
        at += 1;
    }
    at
}

/// The end of a float, if there is one: it has a point or an exponent, with digits on both sides.
fn float(bytes: &[u8]) -> Option<usize> {
    let whole = digits(bytes, 0, 10);
    let fraction = if bytes.get(whole) == Some(&b'.') && bytes.get(whole + 1).is_some_and(u8::is_ascii_digit) {
        digits(bytes, whole + 1, 10)
    } else {
        whole
    };
    let mut exponent = fraction;
    if matches!(bytes.get(fraction), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(fraction + 1), Some(b'+' | b'-')));
        if bytes.get(fraction + 1 + sign).is_some_and(u8::is_ascii_digit) {
            exponent = digits(bytes, fraction + 1 + sign, 10);
        }
    }
    (whole > 0 && exponent > whole).then_some(exponent)
}

/// A text at the start of a source, and its length in the source.
pub(super) fn text(source: &str) -> Result<(Tok<'static>, usize), String> {
    let mut chars = source.char_indices();
    let quote = chars.next().map_or('"', |(_, c)| c);
    let mut out = String::new();
    while let Some((at, c)) = chars.next() {
        match c {
            c if c == quote => return Ok((Tok::Text(out), at + c.len_utf8())),
            '\\' => {
                let used = escape(&source[at + 1..], &mut out)?;
                // One character of the escape or more.
                let end = at + 1 + used;
                while chars.clone().next().is_some_and(|(next, _)| next < end) {
                    chars.next();
                }
            }
            c => out.push(c),
        }
    }
    Err(format!("missing end of this text: {quote}"))
}

/// Parses the escape after a backslash and returns its length.
fn escape(rest: &str, out: &mut String) -> Result<usize, String> {
    let Some(c) = rest.chars().next() else { return Err("missing end of this text".to_string()) };
    let code = |start: usize, len: usize| {
        let hex = rest.get(start..start + len).filter(|hex| hex.bytes().all(|b| b.is_ascii_hexdigit()));
        let code = hex.and_then(|hex| u32::from_str_radix(hex, 16).ok()).and_then(char::from_u32);
        code.map(|c| (c, start + len)).ok_or_else(|| format!("'\\{c}' needs {len} hexadecimal digits of a character"))
    };
    let (c, len) = match c {
        'n' => ('\n', 1),
        't' => ('\t', 1),
        'r' => ('\r', 1),
        'a' => ('\x07', 1),
        'b' => ('\x08', 1),
        'f' => ('\x0c', 1),
        'v' => ('\x0b', 1),
        '\\' | '\'' | '"' => (c, 1),
        '\n' => return Ok(1),
        'x' => code(1, 2)?,
        'u' => code(1, 4)?,
        'U' => code(1, 8)?,
        'N' => return Err("characters by name, as '\\N{..}', are not supported".to_string()),
        '0'..='7' => {
            let len = rest.bytes().take(3).take_while(|b| (b'0'..=b'7').contains(b)).count();
            let code = u32::from_str_radix(&rest[..len], 8).ok().and_then(char::from_u32);
            (code.unwrap_or('\0'), len)
        }
        c => {
            // Python leaves an escape that it doesn't know as it is, and Jinja writes what is not ASCII as an escape
            // before.
            out.push('\\');
            match c as u32 {
                0..=0x7F => {}
                code @ 0x80..=0xFF => *out += &format!("x{code:02x}"),
                code @ 0x100..=0xFFFF => *out += &format!("u{code:04x}"),
                code => *out += &format!("U{code:08x}"),
            }
            if !c.is_ascii() {
                return Ok(c.len_utf8());
            }
            (c, 1)
        }
    };
    out.push(c);
    Ok(len)
}
