//! The text output of `explain`: a table.

use super::layers::{Block, Shown, short, shown};
use crate::commands::table::{Line, counted, figure, lines};
use crate::terminal::one_line;
use inkstone::tensor::Group;
use inkstone::tensor::ops::Window;
use inkstone::{ExplainedStep, Explanation};
use std::io::{self, Write};

/// The columns: first texts, then numbers.
const HEAD: [&str; 9] = ["step", "kernel", "isa", "numerics", "weights", "bytes", "flops", "tiles", "refused"];
const TEXTS: usize = 5;

type Row = [String; HEAD.len()];

pub(super) fn write(out: &mut impl Write, e: &Explanation, all: bool) -> io::Result<()> {
    head(out, e)?;
    let notes = refusals(e);
    let mut rows = vec![Line::Cells(HEAD.map(str::to_owned))];
    let mut in_layers = false;
    for shown in shown(&e.steps, !all) {
        match shown {
            Shown::Alike(first, last, of) if first == last => {
                rows.push(Line::Alone(format!("layer {first} as layer {of}")));
            }
            Shown::Alike(first, last, of) => rows.push(Line::Alone(format!("layers {first}-{last} as layer {of}"))),
            Shown::Steps(Block { layer, steps }) => {
                match layer {
                    Some(layer) => rows.push(Line::Alone(format!("layer {layer}"))),
                    None if in_layers => rows.push(Line::Alone("after the layers".to_owned())),
                    None => {}
                }
                rows.extend(steps.iter().map(|s| Line::Cells(row(s, &notes))));
            }
        }
        in_layers = true;
    }
    writeln!(out)?;
    lines(&rows, TEXTS).iter().try_for_each(|line| writeln!(out, "{line}"))?;
    phases(out, e)?;
    if !notes.is_empty() {
        writeln!(out, "\nrefused")?;
    }
    for (i, kernels) in notes.iter().enumerate() {
        writeln!(out, "[{}] {}", i + 1, one_line(&kernels.join("; ")))?;
    }
    report(out, e)?;
    scalar(out, e)
}

/// The lists of rejected kernels, without duplicates. Steps refer to them by number.
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
    let huge = e.huge_pages.map_or(String::new(), |bytes| format!(", {} in huge pages", figure(bytes as f64, "B")));
    let threads = counted(caps.threads as u64, "thread");
    writeln!(out, "engine  {}: {isa}; {threads}; {} of memory{huge}", caps.name, figure(caps.memory as f64, "B"))?;
    let [weights, copied, states, values] =
        [e.memory.weights, e.memory.copied, e.memory.states, e.memory.values].map(|bytes| figure(bytes as f64, "B"));
    writeln!(out, "memory  weights {weights} ({copied} copied), caches {states}, values between steps {values}")?;
    let n = &e.needs;
    let values = n.values.saturating_add(n.step).saturating_add(n.back).saturating_add(n.carry);
    let [weights, values, free] = [n.weights, values, n.free()].map(|bytes| figure(bytes as f64, "B"));
    let (rows, logits) = (counted(e.largest.rows as u64, "row"), counted(e.largest.logit_rows as u64, "logit row"));
    writeln!(
        out,
        "        decided before loading: weights {weights}, steps of {rows} and {logits} {values}, {free} left;"
    )?;
    let (tokens, context) =
        (counted(e.largest.slots.of(0) as u64, "token"), counted(e.sizes.slots.of(0) as u64, "token"));
    writeln!(out, "        a cache of {tokens}, for contexts of {context}")?;
    for (i, group) in e.groups.iter().enumerate() {
        if let Group::Window(Window { size, first }) = group {
            let first = if *first > 0 { format!(" and the first {first}") } else { String::new() };
            let tokens = counted(e.largest.slots.of(i) as u64, "token");
            writeln!(out, "        layers that see the last {size} tokens{first}: a cache of {tokens}")?;
        }
    }
    let sum = |of: fn(&ExplainedStep) -> u64| e.steps.iter().map(of).fold(0, u64::saturating_add);
    let (bytes, flops) = (figure(sum(|s| s.bytes) as f64, "B"), figure(sum(|s| s.flops) as f64, ""));
    let (rows, steps) = (counted(e.sizes.rows as u64, "row"), counted(e.steps.len() as u64, "step"));
    writeln!(out, "plan    {}: {rows}, {steps}; {bytes}, {flops} flops", e.plan.name)?;
    writeln!(out, "        bytes and flops with {} in the cache", counted(e.sizes.slots.of(0) as u64, "token"))
}

/// Explains the tiles of first phases, if there are any.
fn phases(out: &mut impl Write, e: &Explanation) -> io::Result<()> {
    match e.steps.iter().filter(|s| s.first_tiles > 0).map(|s| s.scratch).max() {
        Some(scratch) => {
            let scratch = figure(scratch as f64, "B");
            writeln!(
                out,
                "\ntiles of a first phase + tiles; the results of first phases take up to {scratch} of scratch"
            )
        }
        None => Ok(()),
    }
}

/// Prints the report of the passes.
fn report(out: &mut impl Write, e: &Explanation) -> io::Result<()> {
    writeln!(out, "\npasses of the compiler")?;
    e.report
        .notes
        .iter()
        .try_for_each(|n| writeln!(out, "{:9} {:12} {}", n.pass, one_line(&n.subject), one_line(&n.text)))
}

/// Prints the kernels without vector instructions that should have some.
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
        figure(s.bytes as f64, "B"),
        figure(s.flops as f64, ""),
        if s.first_tiles > 0 { format!("{}+{}", s.first_tiles, s.tiles) } else { s.tiles.to_string() },
        notes.iter().position(|n| *n == s.refused).map_or(String::new(), |i| format!("[{}]", i + 1)),
    ]
}
