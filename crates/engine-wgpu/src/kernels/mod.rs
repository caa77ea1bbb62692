//! The kernels: a function for each op, from a step to dispatches, and the table of them.

mod attend;
mod caches;
mod copies;
mod embed;
mod formats;
mod linear;
mod map;
mod norms;
mod rope;
pub(crate) mod sample;
mod state;

use crate::call::{Call, Dispatch, Entry, PLANES32};
use inkstone_compute::{Kernel, Layout, Numerics, Pattern, Shape, Work};
use inkstone_tensor::DType;
use std::sync::Arc;

/// Sums in f32, in 8 segments or by 256 threads.
pub const F32: Numerics = Numerics("f32/s8");
/// Weights of few bits times activations of 8 bits with a scale per 32; integer sums of blocks, in 8 segments.
pub const Q8: Numerics = Numerics("q8/32.s8");

/// A row of the table: its name, its op, its entry, its arithmetic, its work.
type Row = (&'static str, &'static str, Entry, Numerics, fn(&Shape) -> Work);

const EXACT: Numerics = Numerics::DEFINITION;

/// The kernels that read no matrices.
const PLAIN: &[Row] = &[
    ("begin_step", "begin_step", state::begin_step, EXACT, whole),
    ("advance", "advance", state::advance, EXACT, whole),
    ("accept", "accept", state::accept, EXACT, whole),
    ("history_write", "history_write", caches::history_write, EXACT, whole),
    ("kv_write", "kv_write", caches::kv_write, EXACT, whole),
    ("kv_copy", "kv_copy", caches::kv_copy, EXACT, whole),
    ("columns", "columns", copies::columns, EXACT, whole),
    ("gather_rows", "gather_rows", copies::gather_rows, EXACT, whole),
    ("rms_norm", "rms_norm", norms::rms_norm, F32, whole),
    ("layer_norm", "layer_norm", norms::layer_norm, F32, whole),
    ("rope", "rope", rope::rope, F32, whole),
    ("map", "map", map::map, F32, whole),
];

/// Products: their entry, their arithmetic and their most rows. A weight of one row has no dtype to choose by; the first of
/// these read all of them.
const PRODUCTS: &[(&str, Entry, Numerics, usize)] = &[
    ("linear.few.f32", linear::few_floats, F32, linear::FEW),
    ("linear.tiled.f32", linear::tiled_floats, F32, usize::MAX),
    ("linear.few.q8", linear::few_blocks, Q8, linear::FEW),
    ("linear.tiled.q8", linear::tiled_blocks, Q8, usize::MAX),
];

/// A kernel of products with this arithmetic.
fn of_weights(numerics: Numerics, kernel: Kernel) -> Kernel {
    match numerics {
        Q8 => Kernel { weights: formats::BLOCKS, activations: Some(DType::Q8_A), refuses: linear::refuses, ..kernel },
        _ => Kernel { weights: formats::FLOATS, ..kernel },
    }
}

fn whole(_: &Shape) -> Work {
    Work::WHOLE
}

/// The table, best first.
pub(crate) fn table() -> Vec<Kernel> {
    let plain = PLAIN.iter().map(|(name, op, entry, numerics, work)| kernel(name, op, *entry, *numerics, *work));
    let few = Kernel { rows: attend::FEW, ..kernel("attend.split", "attend", attend::split, F32, attend::work) };
    let attends = [few, kernel("attend", "attend", attend::whole, F32, whole)];
    let attends = attends.map(|kernel| Kernel { refuses: attend::refuses, ..kernel });
    let embed = Kernel { layouts: &[PLANES32], ..kernel("embed", "embed", embed::embed, F32, whole) };
    let quantize =
        Kernel { refuses: embed::refuses_quantize, ..kernel("quantize", "quantize", embed::quantize, EXACT, whole) };
    let sample = Kernel { refuses: sample::refuses, ..kernel("sample", "sample", sample::sample, EXACT, sample::work) };
    let products = PRODUCTS.iter().map(|(name, entry, numerics, rows)| Kernel {
        rows: *rows,
        layouts: &[PLANES32],
        ..of_weights(*numerics, kernel(name, "linear", *entry, *numerics, whole))
    });
    products.chain(plain).chain(attends).chain([embed, quantize, sample]).collect()
}

fn kernel(name: &'static str, op: &'static str, entry: Entry, numerics: Numerics, work: fn(&Shape) -> Work) -> Kernel {
    let any = Kernel::by_definition(name, Pattern::Named(op), Arc::new(entry));
    Kernel { numerics, work, layouts: &[PLANES32, Layout::FILE], ..any }
}

/// Lets the kernels for few rows serve all rows where those for many are left out.
pub(crate) fn serve_all_rows(kernels: &mut [Kernel], left_out: &[&str]) {
    for kernel in kernels {
        let many = kernel.name.replace(".few.", ".tiled.");
        if many != kernel.name && left_out.contains(&many.as_str()) {
            kernel.rows = usize::MAX;
        }
    }
}

/// Blocks of so many columns.
fn blocks(columns: usize, of: usize) -> Result<u32, String> {
    groups(columns.div_ceil(of))
}

/// A number of workgroups in a dimension.
fn groups(count: usize) -> Result<u32, String> {
    match u32::try_from(count) {
        Ok(count) if count <= 65_535 => Ok(count),
        _ => Err(format!("{count} workgroups, allowed: 65535")),
    }
}

/// One dispatch.
fn one(dispatch: Dispatch) -> Result<Vec<Dispatch>, String> {
    Ok(vec![dispatch])
}

/// The error of an op that is not the one of the kernel.
fn other(call: &Call) -> String {
    format!("the kernel does not do {}", call.op.name())
}
