//! `explain --json`: one object, whose fields `docs/explain.md` lists.

use inkstone::tensor::Group;
use inkstone::tensor::ops::Window;
use inkstone::{ExplainedStep, ExplainedWeight, Explanation};
use serde::Serialize;
use std::io::{self, Write};

/// The layer groups with windows.
fn windows(e: &Explanation) -> impl Iterator<Item = OfWindow> {
    e.groups.iter().enumerate().filter_map(|(i, group)| match group {
        Group::Full => None,
        Group::Window(Window { size, first }) => {
            Some(OfWindow { size: *size, first: *first, cache_tokens: e.largest.slots.of(i) })
        }
    })
}

pub(super) fn write(out: &mut impl Write, e: &Explanation) -> io::Result<()> {
    let object = Object {
        engine: Engine {
            name: &e.engine.name,
            isa: &e.engine.features,
            threads: e.engine.threads,
            memory_bytes: e.engine.memory,
            huge_page_bytes: e.huge_pages,
        },
        memory: Memory {
            weight_bytes: e.memory.weights,
            copied_bytes: e.memory.copied,
            state_bytes: e.memory.states,
            value_bytes: e.memory.values,
        },
        decision: Decision {
            weight_bytes: e.needs.weights,
            value_bytes: e.needs.values,
            step_bytes: e.needs.step,
            result_bytes: e.needs.back,
            carry_bytes: e.needs.carry,
            free_bytes: e.needs.free(),
            page_bytes: e.needs.page,
            cache_tokens: e.largest.slots.of(0),
            windows: windows(e).collect(),
            rows: e.largest.rows,
            logit_rows: e.largest.logit_rows,
        },
        plan: Plan {
            name: &e.plan.name,
            key: format!("{:016x}", e.plan.key()),
            rows: e.sizes.rows,
            logit_rows: e.sizes.logit_rows,
            cached_tokens: e.sizes.slots.of(0),
            arena_bytes: e.plan.arena_bytes,
        },
        steps: e.steps.iter().map(Step::from).collect(),
        report: e
            .whole_report
            .notes
            .iter()
            .map(|n| Note { pass: n.pass, subject: &n.subject, text: &n.text })
            .collect(),
    };
    serde_json::to_writer(&mut *out, &object)?;
    out.write_all(b"\n")
}

#[derive(Serialize)]
struct Object<'a> {
    engine: Engine<'a>,
    memory: Memory,
    decision: Decision,
    plan: Plan<'a>,
    steps: Vec<Step<'a>>,
    report: Vec<Note<'a>>,
}

#[derive(Serialize)]
struct Engine<'a> {
    name: &'a str,
    isa: &'a [&'static str],
    threads: usize,
    memory_bytes: u64,
    huge_page_bytes: Option<u64>,
}

#[derive(Serialize)]
struct Memory {
    weight_bytes: u64,
    copied_bytes: u64,
    state_bytes: u64,
    value_bytes: u64,
}

#[derive(Serialize)]
struct OfWindow {
    size: usize,
    first: usize,
    cache_tokens: usize,
}

#[derive(Serialize)]
struct Decision {
    weight_bytes: u64,
    value_bytes: u64,
    step_bytes: u64,
    result_bytes: u64,
    carry_bytes: u64,
    free_bytes: u64,
    page_bytes: u64,
    cache_tokens: usize,
    windows: Vec<OfWindow>,
    rows: usize,
    logit_rows: usize,
}

#[derive(Serialize)]
struct Plan<'a> {
    name: &'a str,
    key: String,
    rows: usize,
    logit_rows: usize,
    cached_tokens: usize,
    arena_bytes: u64,
}

#[derive(Serialize)]
struct Step<'a> {
    op: &'a str,
    layer: Option<usize>,
    kernel: &'a str,
    isa: Option<&'static str>,
    scalar: bool,
    numerics: &'a [&'static str],
    weights: Vec<Weight<'a>>,
    bytes: u64,
    flops: u64,
    tiles: usize,
    first_tiles: usize,
    scratch_bytes: u64,
    refused: &'a [String],
}

impl<'a> From<&'a ExplainedStep> for Step<'a> {
    fn from(s: &'a ExplainedStep) -> Step<'a> {
        Step {
            op: &s.op,
            layer: s.layer,
            kernel: &s.kernel,
            isa: s.isa,
            scalar: s.scalar,
            numerics: &s.numerics,
            weights: s.weights.iter().map(Weight::from).collect(),
            bytes: s.bytes,
            flops: s.flops,
            tiles: s.tiles,
            first_tiles: s.first_tiles,
            scratch_bytes: s.scratch,
            refused: &s.refused,
        }
    }
}

#[derive(Serialize)]
struct Weight<'a> {
    name: &'a str,
    #[serde(rename = "type")]
    dtype: &'static str,
    layout: &'static str,
}

impl<'a> From<&'a ExplainedWeight> for Weight<'a> {
    fn from(w: &'a ExplainedWeight) -> Weight<'a> {
        Weight { name: &w.name, dtype: w.dtype.name(), layout: w.layout.0 }
    }
}

#[derive(Serialize)]
struct Note<'a> {
    pass: &'static str,
    subject: &'a str,
    text: &'a str,
}
