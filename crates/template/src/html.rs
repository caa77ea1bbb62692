//! Escaping for HTML, as markupsafe does it.

use crate::env::Env;
use crate::error::Result;
use crate::text::{Builder, Origin, Text};
use std::borrow::Cow;

/// The text with `& < > ' "` escaped, marked as safe; one that is safe stays as it is.
pub(crate) fn escape(text: &Text, env: &Env) -> Result<Text> {
    if text.is_safe() {
        return Ok(text.clone());
    }
    escape_all(text, env)
}

/// The same, whether it is safe or not.
pub(crate) fn escape_all(text: &Text, env: &Env) -> Result<Text> {
    env.meter.scan(text.len())?;
    let whole = text.as_str();
    if !whole.contains(['&', '<', '>', '\'', '"']) {
        return Ok(text.clone().safe(true));
    }
    let mut out = Builder::with_capacity(&env.meter, text.len())?;
    for (run, origin) in text.runs() {
        for part in whole[run].split_inclusive(['&', '<', '>', '\'', '"']) {
            let escaped = match part.as_bytes().last() {
                Some(b'&') => "&amp;",
                Some(b'<') => "&lt;",
                Some(b'>') => "&gt;",
                Some(b'\'') => "&#39;",
                Some(b'"') => "&#34;",
                _ => "",
            };
            let plain = if escaped.is_empty() { part } else { &part[..part.len() - 1] };
            out.push(plain, origin)?;
            out.own(escaped)?;
        }
    }
    Ok(out.finish()?.safe(true))
}

/// Without tags, comments and references to characters, with single spaces between words.
pub(crate) fn stripped_of_tags(text: &Text, env: &Env) -> Result<Text> {
    env.meter.scan(text.len().saturating_mul(3))?;
    let whole = text.as_str();
    let mut out = Builder::with_capacity(&env.meter, text.len())?;
    let mut at = 0;
    while let Some(start) = whole[at..].find('<').map(|found| at + found) {
        let end = if whole[start..].starts_with("<!--") {
            whole[start + 4..].find("-->").map(|found| start + 4 + found + 3)
        } else {
            whole[start..].find('>').map(|found| start + found + 1)
        };
        // A tag that is not closed is text.
        let Some(end) = end else { break };
        out.text(&text.part(at..start))?;
        at = end;
    }
    out.text(&text.part(at..text.len()))?;
    let text = out.finish()?;
    let mut words = text.as_str().split(crate::python::is_space).filter(|word| !word.is_empty());
    let mut out = Builder::with_capacity(&env.meter, text.len())?;
    if let Some(word) = words.next() {
        out.text(&text.sub(word))?;
    }
    for word in words {
        out.own(" ")?;
        out.text(&text.sub(word))?;
    }
    unescape(&out.finish()?, env)
}

/// References to characters that are known by name.
const NAMED: &[(&str, &str)] = &[
    ("amp", "&"),
    ("AMP", "&"),
    ("lt", "<"),
    ("LT", "<"),
    ("gt", ">"),
    ("GT", ">"),
    ("quot", "\""),
    ("QUOT", "\""),
    ("apos", "'"),
    ("nbsp", "\u{A0}"),
    ("copy", "©"),
    ("reg", "®"),
    ("trade", "™"),
    ("hellip", "…"),
    ("mdash", "—"),
    ("ndash", "–"),
    ("lsquo", "‘"),
    ("rsquo", "’"),
    ("ldquo", "“"),
    ("rdquo", "”"),
    ("laquo", "«"),
    ("raquo", "»"),
    ("bull", "•"),
    ("middot", "·"),
    ("deg", "°"),
    ("euro", "€"),
    ("pound", "£"),
    ("sect", "§"),
    ("times", "×"),
];
/// Those that need no semicolon.
const BARE: &[&str] = &[
    "amp", "AMP", "lt", "LT", "gt", "GT", "quot", "QUOT", "nbsp", "copy", "reg", "laquo", "raquo", "middot", "deg",
    "pound", "sect", "times",
];

fn unescape(text: &Text, env: &Env) -> Result<Text> {
    let whole = text.as_str();
    if !whole.contains('&') {
        return Ok(text.clone().safe(false));
    }
    let mut out = Builder::with_capacity(&env.meter, text.len())?;
    let mut done = 0;
    for (at, _) in whole.match_indices('&') {
        if at < done {
            continue;
        }
        if let Some((character, len)) = reference(&whole[at + 1..]) {
            out.text(&text.part(done..at))?;
            // The character has the origin of the reference.
            out.push(&character, text.origin(at))?;
            done = at + 1 + len;
        }
    }
    out.text(&text.part(done..text.len()))?;
    out.finish()
}

/// The Windows characters from 0x80 on, in place of the control characters of Unicode. A control character in the list
/// stands for itself.
const WINDOWS: &str = "€\u{81}‚ƒ„…†‡ˆ‰Š‹Œ\u{8D}Ž\u{8F}\u{90}‘’“”•–—˜™š›œ\u{9D}žŸ";

/// The character of a number, as browsers read it.
fn character(code: u32) -> Cow<'static, str> {
    match code {
        0x80..=0x9F => WINDOWS.chars().nth(code as usize - 0x80).map_or("".into(), |c| c.to_string().into()),
        1..=8 | 0xB | 0xE..=0x1F | 0x7F | 0xFDD0..=0xFDEF => "".into(),
        // The last two of each plane.
        _ if code & 0xFFFE == 0xFFFE && code <= 0x10FFFF => "".into(),
        _ => char::from_u32(code).filter(|c| *c != '\0').unwrap_or('\u{FFFD}').to_string().into(),
    }
}

/// The text of a reference, and the length of the reference without the `&`.
fn reference(rest: &str) -> Option<(Cow<'static, str>, usize)> {
    if let Some(number) = rest.strip_prefix('#') {
        let hex = number.starts_with(['x', 'X']);
        let digits = &number[usize::from(hex)..];
        let end = digits.find(|c: char| !c.is_digit(if hex { 16 } else { 10 })).unwrap_or(digits.len());
        if end == 0 {
            return None;
        }
        let code = u32::from_str_radix(&digits[..end], if hex { 16 } else { 10 }).ok();
        let semicolon = usize::from(digits[end..].starts_with(';'));
        let c = code.map_or("\u{FFFD}".into(), character);
        return Some((c, 1 + usize::from(hex) + end + semicolon));
    }
    let end = rest.bytes().take(32).take_while(u8::is_ascii_alphanumeric).count();
    let name = &rest[..end];
    let known = |name: &str| NAMED.iter().find(|(known, _)| *known == name).map(|(_, c)| Cow::Borrowed(*c));
    if rest[end..].starts_with(';')
        && let Some(c) = known(name)
    {
        return Some((c, end + 1));
    }
    let bare = BARE.iter().filter(|bare| name.starts_with(**bare)).max_by_key(|bare| bare.len())?;
    Some((known(bare)?, bare.len()))
}

/// For URLs: all but letters, digits and `_.-~`, and `/` if it is kept, as `%XX`.
pub(crate) fn quoted_for_url(text: &Text, query: bool, out: &mut Builder, env: &Env) -> Result<()> {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    env.meter.scan(text.len())?;
    for (c, origin) in text.chars_with_origin() {
        match c {
            c if c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-' | '~') || (c == '/' && !query) => {
                out.char(c, origin)?;
            }
            ' ' if query => out.char('+', Origin::Template)?,
            c => {
                for byte in c.encode_utf8(&mut [0; 4]).bytes() {
                    out.own("%")?;
                    out.char(HEX[usize::from(byte >> 4)].into(), Origin::Template)?;
                    out.char(HEX[usize::from(byte & 15)].into(), Origin::Template)?;
                }
            }
        }
    }
    Ok(())
}
