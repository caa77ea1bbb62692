//! Shows the origin of the bytes of a prompt, on a terminal or as JSON.

use crate::terminal;
use inkstone::text::{Origin, Rendered};
use serde_json::{Value, json};
use std::io::{self, Write};

/// Writes the prompt for a terminal. Text written by the template is dim.
pub(super) fn coloured(out: &mut impl Write, rendered: &Rendered) -> io::Result<()> {
    for (run, origin) in rendered.runs() {
        let text = terminal::printable(&rendered.text()[run.clone()]);
        let shown = if *origin == Origin::Template { terminal::dim(&text) } else { text };
        write!(out, "{shown}")?;
    }
    if rendered.text().ends_with('\n') { Ok(()) } else { writeln!(out) }
}

/// The parts of the prompt, each with one origin, and either inside or outside of a `generation` block.
pub(super) fn runs(rendered: &Rendered) -> Value {
    let borders = rendered.generated().iter().flat_map(|range| [range.start, range.end]);
    let mut borders: Vec<usize> = borders.collect();
    borders.sort_unstable();
    let mut parts = Vec::new();
    for (run, origin) in rendered.runs() {
        let origin = if *origin == Origin::Template { "template" } else { "input" };
        let inner = borders.iter().copied().filter(|border| run.contains(border));
        let mut start = run.start;
        for end in inner.chain([run.end]).filter(|end| *end > run.start) {
            if start < end {
                let generated = rendered.generated().iter().any(|range| range.contains(&start));
                parts.push(json!({"start": start, "end": end, "origin": origin, "generated": generated}));
            }
            start = end;
        }
    }
    Value::Array(parts)
}
