//! Strict parsers of numbers: counts have only digits, without surrounding characters; no overflow, no NaN.

use inkstone::tensor::ops::Window;

/// Parses a whole number of a range.
pub(super) fn whole<T: TryFrom<u64>>(least: u64, most: u64) -> impl Fn(&str) -> Result<T, String> + Clone {
    move |text| {
        digits(text)
            .filter(|n| (least..=most).contains(n))
            .and_then(|n| T::try_from(n).ok())
            .ok_or_else(|| format!("allowed: a whole number from {least} to {most}"))
    }
}

/// Parses a whole number of a range, or one of some words, such as -1, that stand for a value. `meaning` describes the
/// words.
pub(super) fn whole_or<T: TryFrom<u64> + Copy>(
    least: u64,
    most: u64,
    words: &'static [(&'static str, T)],
    meaning: &'static str,
) -> impl Fn(&str) -> Result<T, String> + Clone {
    move |text| match words.iter().find(|(word, _)| *word == text) {
        Some((_, value)) => Ok(*value),
        None => whole(least, most)(text).map_err(|e| format!("{e}, or {meaning}")),
    }
}

/// A number of threads; 0: one per core.
pub(super) fn threads() -> impl Fn(&str) -> Result<usize, String> + Clone {
    whole_or(1, 1024, &[("0", 0), ("-1", 0)], "0 or -1 for one per core")
}

/// A number of tokens; -1 stands for no limit, as does -2 in other programs.
pub(super) fn limit(text: &str) -> Result<inkstone::Limit, String> {
    match text {
        "-1" | "-2" => Ok(inkstone::Limit::None),
        _ => {
            let tokens = whole(0, 0x7FFF_FFFF)(text).map(inkstone::Limit::Tokens);
            tokens.map_err(|e| format!("{e}, or -1 for no limit"))
        }
    }
}

/// A number of bytes, also in units of 1024.
pub(super) fn bytes(text: &str) -> Result<u64, String> {
    let shift = match text.bytes().last() {
        Some(b'k' | b'K') => 10,
        Some(b'm' | b'M') => 20,
        Some(b'g' | b'G') => 30,
        _ => 0,
    };
    let number = if shift > 0 { &text[..text.len() - 1] } else { text };
    digits(number)
        .and_then(|n| n.checked_mul(1 << shift))
        .ok_or_else(|| format!("allowed: a whole number from 0 to {}, also with K, M or G, such as 1500M", u64::MAX))
}

/// A window: its size, and perhaps its first tokens, fewer than its size.
pub(super) fn window(text: &str) -> Result<Window, String> {
    const MOST: u64 = 1 << 30;
    let (size, first) = text.split_once(':').map_or((text, None), |(size, first)| (size, Some(first)));
    let size: Option<usize> = whole(1, MOST)(size).ok();
    let first: Option<usize> = first.map_or(Some(0), |first| whole(0, MOST)(first).ok());
    let window = size.zip(first).map(|(size, first)| Window { size, first });
    window.filter(|window| window.first < window.size).ok_or_else(|| {
        format!("allowed: a whole number from 1 to {MOST}, or two, such as 512:4, the second below the first")
    })
}

/// The size of a page in tokens.
pub(super) fn page(text: &str) -> Result<usize, String> {
    let size = whole(16, 1024)(text).ok().filter(|tokens: &usize| tokens.is_power_of_two());
    size.ok_or_else(|| "allowed: a power of two from 16 to 1024".to_string())
}

/// The value of a switch in an environment variable or after an equals sign.
pub(super) fn switch(text: &str) -> Result<bool, String> {
    match text.to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" | "on" => Ok(true),
        "0" | "false" | "no" | "off" => Ok(false),
        _ => Err("allowed: 1, true, yes, on; 0, false, no, off".to_string()),
    }
}

/// A token with a bias for its logit: 15043=-1.5, or with only a sign in the middle, such as 15043+1.
pub(super) fn bias(text: &str) -> Result<(u32, f32), String> {
    let at = text.bytes().position(|b| matches!(b, b'=' | b'+' | b'-'));
    let (id, bias) = text.split_at(at.unwrap_or(text.len()));
    let id = digits(id).and_then(|n| u32::try_from(n).ok());
    // "=-1.5" and "-1.5" and "+1.5"
    let (sign, size) = match bias.strip_prefix('=').unwrap_or(bias) {
        signed if signed.starts_with('-') => (-1.0, &signed[1..]),
        signed => (1.0, signed.strip_prefix('+').unwrap_or(signed)),
    };
    let size = match size {
        "inf" => Some(f32::INFINITY),
        _ if size.starts_with(|c: char| c.is_ascii_digit() || c == '.') => {
            size.parse().ok().filter(|b: &f32| b.is_finite())
        }
        _ => None,
    };
    id.zip(size).map(|(id, size)| (id, sign * size)).ok_or_else(|| {
        "allowed: the id of a token with a number or inf, such as 15043=-1.5, 15043+1, 15043-inf".to_string()
    })
}

/// Parses a finite number for which `holds` returns true; `allowed` describes these numbers.
pub(super) fn real(holds: fn(f64) -> bool, allowed: &'static str) -> impl Fn(&str) -> Result<f64, String> + Clone {
    move |text| {
        // Rust also parses "+1", "inf" and "nan".
        let plain = text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'.' | b'-' | b'e' | b'E'));
        let value: Option<f64> = plain.then(|| text.parse().ok()).flatten();
        value.filter(|&v| v.is_finite() && holds(v)).ok_or_else(|| format!("allowed: {allowed}"))
    }
}

/// A list of token ids.
#[derive(Clone, Debug)]
pub(crate) struct Ids(pub(crate) Vec<u32>);

/// Ids separated by commas, as printed by `tokenize --ids`, or without the brackets and spaces.
pub(super) fn ids(text: &str) -> Result<Ids, String> {
    let inner = text.strip_prefix('[').map_or(Some(text), |t| t.strip_suffix(']'));
    let ids = inner.and_then(|list| {
        let id = |item: &str| digits(item.strip_prefix(' ').unwrap_or(item)).and_then(|n| u32::try_from(n).ok());
        list.split(',').map(id).collect::<Option<Vec<u32>>>()
    });
    ids.map(Ids).ok_or_else(|| "allowed: one or more whole numbers from 0 to 4294967295 with commas".to_string())
}

fn digits(text: &str) -> Option<u64> {
    text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}
