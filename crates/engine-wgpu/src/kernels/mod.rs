//! The kernels: a function for each op, from a step to dispatches, and the table of them.

mod attend;
mod caches;
mod copies;
mod embed;
mod formats;
mod linear;
mod map;
mod norms;
mod regions;
mod rope;
mod rope_attend;
pub(crate) mod sample;
mod state;
#[cfg(test)]
mod tests;

use crate::call::{Call, Dispatch, Entry, PLANES32};
use inkstone_compute::{Kernel, Layout, Numerics, Pattern, Shape, Work};
use inkstone_tensor::DType;
use std::sync::Arc;

/// Sums in f32, in 8 segments or by 256 threads.
pub const F32: Numerics = Numerics("f32/s8");
/// Weights of few bits times activations of 8 bits with a scale per 32; integer sums of blocks, in 8 segments.
pub const Q8: Numerics = Numerics("q8/32.s8");

/// The work of a kernel in a step.
type Works = fn(&Shape) -> Work;

/// A row of the table: its name, its op, its entry, its arithmetic, its work.
type Row = (&'static str, &'static str, Entry, Numerics, Works);

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
    ("rms_norm", "rms_norm", norms::norm, F32, whole),
    ("layer_norm", "layer_norm", norms::norm, F32, whole),
    ("rope", "rope", rope::rope, F32, whole),
    ("map", "map", map::map, F32, whole),
];

/// Products: their entry, their arithmetic and their most rows. A weight of one row has no dtype to choose by; the first of
/// these read all of them.
const PRODUCTS: &[(&str, Entry, Numerics, usize)] = &[
    ("linear.few.f32", linear::linear_few, F32, linear::FEW),
    ("linear.tiled.f32", linear::linear_tiled, F32, usize::MAX),
    ("linear.few.q8", linear::linear_few, Q8, linear::FEW),
    ("linear.tiled.q8", linear::linear_tiled, Q8, usize::MAX),
];

/// Regions around products.
const REGIONS: &[(&str, &str, Numerics)] = &[
    ("norm_glu.f32", "norm_glu", F32),
    ("norm_glu.q8", "norm_glu", Q8),
    ("glu.f32", "glu", F32),
    ("glu.q8", "glu", Q8),
    ("norm_linear_map.f32", "norm_linear_map", F32),
    ("norm_linear_map.q8", "norm_linear_map", Q8),
    ("linear_map.few.f32", "linear_map", F32),
    ("linear_map.few.q8", "linear_map", Q8),
    ("norm_linear.f32", "norm_linear", F32),
    ("norm_linear.q8", "norm_linear", Q8),
];

/// Regions around attention: their entry, their work and their most rows.
const ATTENDS: &[(&str, &str, Entry, Works, usize)] = &[
    ("rope_attend.split", "rope_attend", rope_attend::split, rope_attend::split_work, attend::FEW),
    ("rope_attend", "rope_attend", rope_attend::whole, rope_attend::work, usize::MAX),
    ("norm_rope_attend.split", "norm_rope_attend", rope_attend::split, rope_attend::split_work, attend::FEW),
    ("norm_rope_attend", "norm_rope_attend", rope_attend::whole, rope_attend::work, usize::MAX),
];

/// Kernels of regions that use the text of another kernel: that kernel and theirs.
const SHARED: &[(&str, &[&str])] = &[
    ("linear.tiled.f32", &["linear_map.tiled.f32"]),
    ("linear.tiled.q8", &["linear_map.tiled.q8"]),
    ("attend.split", &["rope_attend.split", "norm_rope_attend.split"]),
];

/// The members of regions around products.
const fn members(linear: Numerics) -> [(&'static str, Numerics); 5] {
    [("rms_norm", F32), ("layer_norm", F32), ("linear", linear), ("map", F32), ("quantize", EXACT)]
}
const MEMBERS_Q8: &[(&str, Numerics)] = &members(Q8);
const MEMBERS_F32: &[(&str, Numerics)] = members(F32).split_at(4).0;
const MEMBERS_ENCODING: &[(&str, Numerics)] = &[("rms_norm", F32), ("layer_norm", F32), ("quantize", EXACT)];
const MEMBERS_ATTEND: &[(&str, Numerics)] = &[("rms_norm", F32), ("rope", F32), ("kv_write", EXACT), ("attend", F32)];

/// A kernel of products with this arithmetic.
fn of_weights(numerics: Numerics, kernel: Kernel) -> Kernel {
    let kernel = Kernel { layouts: &[PLANES32], ..kernel };
    match numerics {
        Q8 => Kernel { weights: formats::BLOCKS, activations: Some(DType::Q8_A), ..kernel },
        _ => Kernel { weights: formats::FLOATS, ..kernel },
    }
}

/// The kernels of regions.
fn regions() -> impl Iterator<Item = Kernel> {
    let around = |name, region, numerics, entry: Entry| {
        let members = if numerics == Q8 { MEMBERS_Q8 } else { MEMBERS_F32 };
        of_weights(numerics, Kernel { members, ..kernel(name, region, entry, numerics, regions::work) })
    };
    let few = REGIONS.iter().map(move |(name, region, numerics)| Kernel {
        rows: linear::FEW,
        refuses: regions::refuses,
        ..around(name, region, *numerics, regions::products_few)
    });
    let many = [("linear_map.tiled.f32", F32), ("linear_map.tiled.q8", Q8)];
    let many = many.map(|(name, numerics)| Kernel {
        refuses: regions::refuses_many,
        ..around(name, "linear_map", numerics, regions::products_tiled)
    });
    let norm = kernel("norm_quantize", "norm_quantize", regions::norm_quantize, F32, regions::work);
    let norm = Kernel { members: MEMBERS_ENCODING, activations: Some(DType::Q8_A), refuses: regions::refuses, ..norm };
    let attends = ATTENDS.iter().map(|(name, region, entry, work, rows)| Kernel {
        members: MEMBERS_ATTEND,
        rows: *rows,
        refuses: rope_attend::refuses,
        ..kernel(name, region, *entry, F32, *work)
    });
    few.chain(many).chain([norm]).chain(attends)
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
        refuses: if *numerics == Q8 { linear::refuses } else { |_, _| None },
        ..of_weights(*numerics, kernel(name, "linear", *entry, *numerics, whole))
    });
    products.chain(regions()).chain(plain).chain(attends).chain([embed, quantize, sample]).collect()
}

fn kernel(name: &'static str, op: &'static str, entry: Entry, numerics: Numerics, work: Works) -> Kernel {
    let any = Kernel::by_definition(name, Pattern::Named(op), Arc::new(entry));
    Kernel { numerics, work, layouts: &[PLANES32, Layout::FILE], ..any }
}

/// Kernels that are left out, and the kernels of regions that share their texts.
pub(crate) fn with_regions(left_out: &[&'static str]) -> Vec<&'static str> {
    let regions = SHARED.iter().filter(|(kernel, _)| left_out.contains(kernel)).flat_map(|(_, regions)| *regions);
    left_out.iter().chain(regions).copied().collect()
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
