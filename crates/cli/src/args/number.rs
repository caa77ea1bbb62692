//! Numbers, parsed strictly: only digits where a count is meant, nothing around them, no wrap, no NaN.

/// Parses a whole number of a range.
pub(super) fn whole<T: TryFrom<u64>>(least: u64, most: u64) -> impl Fn(&str) -> Result<T, String> + Clone {
    move |text| {
        digits(text)
            .filter(|n| (least..=most).contains(n))
            .and_then(|n| T::try_from(n).ok())
            .ok_or_else(|| format!("allowed: a whole number from {least} to {most}"))
    }
}

/// A number of tokens; -1: no limit.
pub(super) fn limit(text: &str) -> Result<inkstone::Limit, String> {
    if text == "-1" {
        return Ok(inkstone::Limit::None);
    }
    whole(1, 0x7FFF_FFFF)(text).map(inkstone::Limit::Tokens).map_err(|e| format!("{e}, or -1 for no limit"))
}

/// Parses a finite number for which `holds`; `allowed` says so in words.
pub(super) fn real(holds: fn(f64) -> bool, allowed: &'static str) -> impl Fn(&str) -> Result<f64, String> + Clone {
    move |text| {
        // Rust reads "+1", "inf" and "nan" too.
        let plain = text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'.' | b'-' | b'e' | b'E'));
        let value: Option<f64> = plain.then(|| text.parse().ok()).flatten();
        value.filter(|&v| v.is_finite() && holds(v)).ok_or_else(|| format!("allowed: {allowed}"))
    }
}

/// A list of token ids.
#[derive(Clone, Debug)]
pub(crate) struct Ids(pub(crate) Vec<u32>);

/// Ids with commas, as `tokenize --ids` prints them or without the brackets and spaces.
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
