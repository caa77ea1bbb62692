//! The text output of `show`.

use super::check::{Check, FaultKind};
use super::summary::Summary;
use crate::terminal::one_line;
use inkstone::gguf::{Array, Value};
use std::fmt::Display;
use std::io::{self, Write};

/// The number of characters of a text that are shown.
const SHOWN_CHARACTERS: usize = 60;
const SHOWN_ITEMS: usize = 4;
/// The width of the name column. A longer name moves the other columns of its line.
const NAME_COLUMN: usize = 44;

pub(super) fn write(out: &mut impl Write, summary: &Summary, check: Option<&Check>) -> io::Result<()> {
    let gguf = summary.gguf;
    let mut row = |name: &str, value: &dyn Display| writeln!(out, "{name:<13} {}", one_line(&value.to_string()));
    row("file", &gguf.name())?;
    row("format", &format!("GGUF version {}, {} bytes, alignment {}", gguf.version(), gguf.size(), gguf.alignment()))?;
    row("architecture", &summary.architecture.unwrap_or("none"))?;
    row("parameters", &format!("{} ({})", short(summary.parameters), summary.parameters))?;
    row("context", &summary.context.map_or("none".to_string(), |c| format!("{c} tokens")))?;
    let types = summary.types.iter().map(|(name, (tensors, bytes))| format!("{tensors} {name} ({bytes} bytes)"));
    row("tensors", &types.collect::<Vec<_>>().join(", "))?;
    if gguf.trailing_bytes() > 0 {
        row("trailing", &format!("{} bytes after the last tensor", gguf.trailing_bytes()))?;
    }
    row("runs", &summary.unused.as_ref().map_or_else(|reason| format!("no: {reason}"), |_| "yes".to_string()))?;
    metadata(out, summary)?;
    tensors(out, summary)?;
    if let Some(check) = check {
        checked(out, summary, check)?;
    }
    Ok(())
}

fn metadata(out: &mut impl Write, summary: &Summary) -> io::Result<()> {
    let metadata = summary.gguf.metadata();
    writeln!(out, "\nmetadata: {} keys", metadata.len())?;
    for (key, value) in metadata.iter() {
        writeln!(out, "  {:<NAME_COLUMN$} {:<6} {}", one_line(key), value.value_type(), described(value))?;
    }
    Ok(())
}

fn tensors(out: &mut impl Write, summary: &Summary) -> io::Result<()> {
    let all = summary.gguf.tensors();
    writeln!(out, "\ntensors: {}", all.len())?;
    for t in all {
        let bytes = t.bytes.map_or("unknown".to_string(), |b| b.to_string());
        writeln!(
            out,
            "  {:<NAME_COLUMN$} {:<8} {:<20} {bytes:>12} bytes",
            one_line(&t.name),
            t.dtype,
            format!("{:?}", t.dims)
        )?;
    }
    if !summary.unusable.is_empty() {
        writeln!(out, "\ntensors that can't be used: {}", summary.unusable.len())?;
        for (name, reason) in &summary.unusable {
            writeln!(out, "  {:<NAME_COLUMN$} {}", one_line(name), one_line(reason))?;
        }
    }
    let unused = summary.unused.as_deref().unwrap_or_default();
    if !unused.is_empty() {
        writeln!(out, "\ntensors that the model does not use: {}", unused.len())?;
        unused.iter().try_for_each(|name| writeln!(out, "  {}", one_line(name)))?;
    }
    Ok(())
}

fn checked(out: &mut impl Write, summary: &Summary, check: &Check) -> io::Result<()> {
    let all = summary.gguf.tensors().len();
    let (faults, unchecked) = (check.faults.len(), check.unchecked.len());
    writeln!(out, "\ncheck: {all} tensors, {faults} at fault, {unchecked} that can't be decoded")?;
    for fault in &check.faults {
        let what = match &fault.kind {
            FaultKind::Values { nan, infinite, first } => {
                format!("{nan} NaN, {infinite} infinite, the first at value {first}")
            }
            FaultKind::Unreadable(e) => one_line(&e.to_string()),
        };
        writeln!(out, "  {:<NAME_COLUMN$} {what}", one_line(fault.tensor))?;
    }
    for name in &check.unchecked {
        writeln!(out, "  {:<NAME_COLUMN$} not decoded", one_line(name))?;
    }
    Ok(())
}

fn described(value: &Value) -> String {
    match value {
        Value::U8(v) => v.to_string(),
        Value::I8(v) => v.to_string(),
        Value::U16(v) => v.to_string(),
        Value::I16(v) => v.to_string(),
        Value::U32(v) => v.to_string(),
        Value::I32(v) => v.to_string(),
        Value::U64(v) => v.to_string(),
        Value::I64(v) => v.to_string(),
        Value::F32(v) => v.to_string(),
        Value::F64(v) => v.to_string(),
        Value::Bool(v) => v.to_string(),
        Value::String(bytes) => quoted(bytes),
        Value::Array(array) => {
            let more = if array.len() > SHOWN_ITEMS { ", .." } else { "" };
            format!("{} {}: [{}{more}]", array.len(), array.item_type(), items(array).join(", "))
        }
    }
}

/// The first items of an array.
fn items(array: &Array) -> Vec<String> {
    fn shown<T: Display>(values: &[T]) -> Vec<String> {
        values.iter().take(SHOWN_ITEMS).map(ToString::to_string).collect()
    }
    match array {
        Array::U8(v) => shown(v),
        Array::I8(v) => shown(v),
        Array::U16(v) => shown(v),
        Array::I16(v) => shown(v),
        Array::U32(v) => shown(v),
        Array::I32(v) => shown(v),
        Array::U64(v) => shown(v),
        Array::I64(v) => shown(v),
        Array::F32(v) => shown(v),
        Array::F64(v) => shown(v),
        Array::Bool(v) => shown(v),
        Array::Strings(v) => v.iter().take(SHOWN_ITEMS).map(quoted).collect(),
        Array::Arrays(v) => v.iter().take(SHOWN_ITEMS).map(|a| format!("{} {}", a.len(), a.item_type())).collect(),
    }
}

/// The beginning of a text in quotes, on one line.
fn quoted(bytes: &[u8]) -> String {
    // A character has at most four bytes.
    let start = String::from_utf8_lossy(&bytes[..bytes.len().min(SHOWN_CHARACTERS * 4)]);
    let shown: String = start.chars().take(SHOWN_CHARACTERS).collect();
    let more = if shown.len() < bytes.len() { format!(".. ({} bytes)", bytes.len()) } else { String::new() };
    format!("{}{more}", one_line(&format!("{shown:?}")))
}

/// A count with a common unit.
fn short(count: u128) -> String {
    let units = [(1_000_000_000_000, "T"), (1_000_000_000, "B"), (1_000_000, "M"), (1_000, "K")];
    match units.iter().find(|(size, _)| count >= *size) {
        Some((size, unit)) => format!("{:.2} {unit}", count as f64 / *size as f64),
        None => count.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_any_kind_are_short_and_on_one_line() {
        let long = vec![b'x'; 1000];
        assert_eq!(quoted(&long), format!("\"{}\".. (1000 bytes)", "x".repeat(60)));
        assert_eq!(quoted(b"a\n\x1b\xFF"), "\"a\\n\\u{1b}\u{FFFD}\"");
        assert_eq!(described(&Value::from(vec![1u32, 2, 3, 4, 5])), "5 u32: [1, 2, 3, 4, ..]");
        assert_eq!(described(&Value::from(vec!["a", ""])), "2 string: [\"a\", \"\"]");
        let nested = Value::Array(Array::Arrays(vec![Array::U8(vec![1, 2])]));
        assert_eq!(described(&nested), "1 array: [2 u8]");
    }

    #[test]
    fn counts_are_short() {
        assert_eq!(short(5_540_000), "5.54 M");
        assert_eq!(short(999), "999");
        assert_eq!(short(8_030_261_248), "8.03 B");
    }
}
