//! `explain` for people: a table.

use super::layers::{Block, Shown, short, shown};
use crate::terminal::one_line;
use inkstone::{ExplainedStep, Explanation};
use std::io::{self, Write};

/// The columns; those behind the text ones are numbers.
const HEAD: [&str; 9] = ["step", "kernel", "isa", "numerics", "weights", "bytes", "flops", "tiles", "refused"];
const TEXTS: usize = 5;

type Row = [String; HEAD.len()];

pub(super) fn write(out: &mut impl Write, e: &Explanation, all: bool) -> io::Result<()> {
    head(out, e)?;
    let notes = refusals(e);
    let rows: Vec<Row> = e.steps.iter().map(|s| row(s, &notes)).collect();
    let width = |i: usize| rows.iter().map(|r| r[i].chars().count()).chain([HEAD[i].len()]).max().unwrap_or(0);
    let widths: [usize; HEAD.len()] = std::array::from_fn(width);
    writeln!(out)?;
    line(out, &HEAD.map(str::to_owned), &widths)?;
    let mut in_layers = false;
    for shown in shown(&e.steps, !all) {
        match shown {
            Shown::Alike(first, last, of) if first == last => writeln!(out, "layer {first} as layer {of}")?,
            Shown::Alike(first, last, of) => writeln!(out, "layers {first}-{last} as layer {of}")?,
            Shown::Steps(Block { layer, steps }) => {
                match layer {
                    Some(layer) => writeln!(out, "layer {layer}")?,
                    None if in_layers => writeln!(out, "after the layers")?,
                    None => {}
                }
                steps.iter().try_for_each(|s| line(out, &row(s, &notes), &widths))?;
            }
        }
        in_layers = true;
    }
    if !notes.is_empty() {
        writeln!(out, "\nrefused")?;
    }
    for (i, kernels) in notes.iter().enumerate() {
        writeln!(out, "[{}] {}", i + 1, one_line(&kernels.join("; ")))?;
    }
    report(out, e)?;
    scalar(out, e)
}

/// What was refused, each list once: steps name them by number.
fn refusals(e: &Explanation) -> Vec<&[String]> {
    let mut notes: Vec<&[String]> = Vec::new();
    for refused in e.steps.iter().map(|s| s.refused.as_slice()).filter(|r| !r.is_empty()) {
        if !notes.contains(&refused) {
            notes.push(refused);
        }
    }
    notes
}

fn head(out: &mut impl Write, e: &Explanation) -> io::Result<()> {
    let caps = &e.engine;
    let isa = if caps.features.is_empty() { "no instruction sets".to_owned() } else { caps.features.join(", ") };
    let huge = e.huge_pages.map_or(String::new(), |bytes| format!(", {} in huge pages", figure(bytes, "B")));
    let threads = counted(caps.threads, "thread");
    writeln!(out, "engine  {}: {isa}; {threads}; {} of memory{huge}", caps.name, figure(caps.memory, "B"))?;
    let [weights, copied, states, values] =
        [e.memory.weights, e.memory.copied, e.memory.states, e.memory.values].map(|bytes| figure(bytes, "B"));
    writeln!(out, "memory  weights {weights} ({copied} copied), caches {states}, values between steps {values}")?;
    let sum = |of: fn(&ExplainedStep) -> u64| e.steps.iter().map(of).fold(0, u64::saturating_add);
    let (bytes, flops) = (figure(sum(|s| s.bytes), "B"), figure(sum(|s| s.flops), ""));
    let (rows, steps) = (counted(e.sizes.rows, "row"), counted(e.steps.len(), "step"));
    writeln!(out, "plan    {}: {rows}, {steps}; {bytes}, {flops} flops", e.plan.name)?;
    writeln!(out, "        bytes and flops with {} in the cache", counted(e.sizes.slots, "token"))
}

/// What the passes did, each line once, with the number of times.
fn report(out: &mut impl Write, e: &Explanation) -> io::Result<()> {
    let mut lines: Vec<(String, usize)> = Vec::new();
    for note in &e.report.notes {
        let text = format!("{:9} {:12} {}", note.pass, note.subject, note.text);
        match lines.iter_mut().find(|(line, _)| *line == text) {
            Some((_, count)) => *count += 1,
            None => lines.push((text, 1)),
        }
    }
    writeln!(out, "\npasses of the compiler, all plans")?;
    lines.iter().try_for_each(|(line, count)| {
        let times = if *count > 1 { format!(" ({count} times)") } else { String::new() };
        writeln!(out, "{}{times}", one_line(line))
    })
}

/// Kernels that should have vector instructions and have none.
fn scalar(out: &mut impl Write, e: &Explanation) -> io::Result<()> {
    let mut kernels: Vec<&str> = e.steps.iter().filter(|s| s.scalar).map(|s| s.kernel.as_str()).collect();
    kernels.sort_unstable();
    kernels.dedup();
    if kernels.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nscalar: kernels that compute without the engine's instruction sets: {}", kernels.join(", "))
}

fn row(s: &ExplainedStep, notes: &[&[String]]) -> Row {
    let names = s.weights.iter().map(|w| one_line(short(&w.name))).collect::<Vec<_>>().join(", ");
    let mut weights: Vec<String> = Vec::new();
    for w in s.weights.iter().filter(|w| w.matrix) {
        let weight = format!("{} {}", w.dtype, w.layout);
        if !weights.contains(&weight) {
            weights.push(weight);
        }
    }
    let or_dash = |text: String| if text.is_empty() { "-".to_owned() } else { text };
    [
        if names.is_empty() { s.op.clone() } else { format!("{} {names}", s.op) },
        s.kernel.clone(),
        if s.scalar { "scalar".to_owned() } else { or_dash(s.isa.unwrap_or_default().to_owned()) },
        or_dash(s.numerics.join(", ")),
        or_dash(weights.join(", ")),
        figure(s.bytes, "B"),
        figure(s.flops, ""),
        s.tiles.to_string(),
        notes.iter().position(|n| *n == s.refused).map_or(String::new(), |i| format!("[{}]", i + 1)),
    ]
}

fn line(out: &mut impl Write, row: &Row, widths: &[usize; HEAD.len()]) -> io::Result<()> {
    let mut text = String::new();
    for (i, (cell, &width)) in row.iter().zip(widths).enumerate() {
        text += &if i < TEXTS { format!("{cell:<width$}  ") } else { format!("{cell:>width$}  ") };
    }
    writeln!(out, "{}", text.trim_end())
}

fn counted(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// Three digits and a unit: `1.23 MB`.
fn figure(n: u64, unit: &str) -> String {
    const PREFIXES: [&str; 7] = ["", "k", "M", "G", "T", "P", "E"];
    let mut value = n as f64;
    let mut prefix = 0;
    while value >= 999.5 {
        value /= 1000.0;
        prefix += 1;
    }
    let digits = if prefix == 0 || value >= 99.95 {
        0
    } else if value >= 9.995 {
        1
    } else {
        2
    };
    format!("{value:.digits$} {}{unit}", PREFIXES[prefix]).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_three_digits_and_a_unit() {
        for (n, wanted) in [
            (0, "0 B"),
            (999, "999 B"),
            (1000, "1.00 kB"),
            (9_994, "9.99 kB"),
            (9_996, "10.0 kB"),
            (99_960, "100 kB"),
            (999_600, "1.00 MB"),
            (5_912_345, "5.91 MB"),
            (u64::MAX, "18.4 EB"),
        ] {
            assert_eq!(figure(n, "B"), wanted);
        }
        assert_eq!((figure(12, ""), figure(12_345, "")), ("12".to_owned(), "12.3 k".to_owned()));
    }
}
