//! The kernels, one file each, and the table of them.

mod attend;
mod cached;
mod copies;
mod decoded;
mod dots;
mod formats;
mod fused;
mod layer_norm;
mod linear_bf16;
mod linear_f32;
mod linear_q8;
mod map;
mod product;
mod quantize;
mod rms_norm;
mod rope;
mod rope_attend;
mod state;

#[cfg(target_arch = "x86_64")]
use crate::isa::{Avx2, Avx512, BF16_PAIRS};
use crate::isa::{LANES, Portable, Set};
use crate::lines::LINES4;
use crate::panel::PANEL16;
use crate::tile::Entry;
use inkstone_compute::{Kernel, Layout, Numerics, Pattern, Shape, Tiling, Work};
use inkstone_tensor::DType;
use std::any::Any;
use std::sync::Arc;

pub(crate) use product::{products, reserve};

/// Sums in f32 over 16 lanes, one chain of fused multiply-adds a lane.
pub const F32: Numerics = Numerics("f32/l16");
/// Weights of few bits times activations of 8 bits with a scale per 32; integer sums, one chain of floats a result.
pub const Q8: Numerics = Numerics("q8/32.i32");

/// The same with one scale of activations per 256 values, the size of a block of weights: integer sums of whole blocks.
pub const Q8_WHOLE: Numerics = Numerics("q8/256.i32");

/// Weights and activations in BF16, pairs at a time, sums in f32.
pub const BF16: Numerics = Numerics("bf16/l16");

/// The layouts of float weights.
const FLOATS: &[Layout] = &[LINES4, Layout::FILE];

/// See [`Kernel::work`].
type Works = fn(&Shape) -> Work;

/// The kernels without vector instructions: copies, bookkeeping, and ops that are computed with their definitions.
const EXACT: &[(&str, Entry, Works)] = &[
    ("begin_step", state::begin_step, whole),
    ("columns", copies::columns, by_rows),
    ("gather_rows", copies::gather_rows, whole),
    ("kv_write", copies::kv_write, whole),
    ("kv_copy", copies::kv_copy, whole),
    ("history_write", copies::history_write, whole),
    ("sample", state::sample, one_row),
    ("score", state::score, one_row),
    ("accept", state::accept, whole),
    ("advance", state::advance, whole),
];

/// The members of the regions around attention, which begin with rotations and writes. One tile computes all rows, so
/// only few rows are supported.
const ATTEND: &[(&str, Numerics)] =
    &[("rms_norm", F32), ("rope", F32), ("kv_write", Numerics::DEFINITION), ("attend", F32)];
/// Most rows of a region that one tile does, or that begins with a norm or an encoding: each worker does it for all
/// rows.
pub(crate) const FEW: usize = 8;

/// Calls the macro with the type of a set and the name that it has as a feature.
macro_rules! with_set {
    ($set:expr, $call:ident) => {
        match $set {
            #[cfg(target_arch = "x86_64")]
            Set::Avx512 => $call!(Avx512, "avx512"),
            #[cfg(target_arch = "x86_64")]
            Set::Avx2 => $call!(Avx2, "avx2"),
            _ => $call!(Portable, "portable"),
        }
    };
}

/// The rows of a kernel that is compiled for each set: its op, what its name is made of, and the function, generic over
/// the set.
macro_rules! vectored {
    ($sets:expr, $op:literal, $($name:literal)+, $module:ident :: $entry:ident, $rest:expr) => {
        $sets.iter().map(|set| {
            macro_rules! of {
                ($isa:ident, $feature:literal) => {{
                    let entry: Entry = $module::$entry::<$isa>;
                    let name = concat!($($name, ".",)+ $feature);
                    Kernel { requires: &[$feature], ..kernel(name, $op, entry, $rest) }
                }};
            }
            with_set!(set, of)
        })
    };
}

/// The same for products of encoded activations.
macro_rules! phased {
    ($sets:expr, $op:literal, $($name:literal)+, $module:ident :: $entry:ident, $rest:expr) => {
        $sets.iter().map(|set| {
            macro_rules! of {
                ($isa:ident, $feature:literal) => {{
                    let entry = product::phased::<$isa>($module::$entry::<$isa>);
                    let name = concat!($($name, ".",)+ $feature);
                    let work: Works = product::work::<$isa>;
                    Kernel { requires: &[$feature], work, ..kernel(name, $op, entry, $rest) }
                }};
            }
            with_set!(set, of)
        })
    };
}

fn kernel(name: &'static str, op: &'static str, entry: impl Any + Send + Sync, rest: Kernel) -> Kernel {
    Kernel { name, implements: Pattern::Named(op), entry: Arc::new(entry), ..rest }
}

/// The shared fields of the rows of the table; [`kernel`] sets the entry.
fn common(numerics: Numerics, work: Works) -> Kernel {
    let any = Kernel::by_definition("", Pattern::Named(""), Arc::new(()));
    Kernel { numerics, work, layouts: &[Layout::FILE], ..any }
}

/// The members of kernels for regions around products, with their arithmetic: first the ops that may precede products,
/// then the encoding, which may also follow a map.
const fn members(linear: Numerics) -> [(&'static str, Numerics); 5] {
    [("rms_norm", F32), ("layer_norm", F32), ("quantize", Numerics::DEFINITION), ("linear", linear), ("map", F32)]
}
const MEMBERS_Q8: &[(&str, Numerics)] = &members(Q8);
const MEMBERS_Q8_WHOLE: &[(&str, Numerics)] = &members(Q8_WHOLE);
#[cfg(target_arch = "x86_64")]
const MEMBERS_BF16: &[(&str, Numerics)] = &members(BF16);
const MEMBERS_NORM: &[(&str, Numerics)] = &[("rms_norm", F32), ("layer_norm", F32), ("map", F32)];
const MEMBERS_F32: &[(&str, Numerics)] = &[("rms_norm", F32), ("layer_norm", F32), ("linear", F32), ("map", F32)];

/// A kernel of regions that begin with something before the products.
fn first(members: &'static [(&'static str, Numerics)], of: Kernel) -> Kernel {
    Kernel { members, rows: FEW, ..of }
}

/// A kernel of regions that begin with the products.
fn then(members: &'static [(&'static str, Numerics)], of: Kernel) -> Kernel {
    Kernel { members: &members[members.len() - 2..], ..of }
}

/// The same, whose map may be encoded.
fn encoded(members: &'static [(&'static str, Numerics)], of: Kernel) -> Kernel {
    Kernel { members: &members[members.len() - 3..], ..of }
}

fn norm_map() -> Kernel {
    Kernel { members: MEMBERS_NORM, ..common(F32, by_rows) }
}

fn norm_quantize() -> Kernel {
    Kernel { members: &MEMBERS_Q8[..3], ..common(F32, by_rows) }
}

/// Products of weights in BF16, on instructions that no set has.
#[cfg(target_arch = "x86_64")]
fn bf16() -> Vec<Kernel> {
    let bf16 = || Kernel {
        weights: linear_bf16::WEIGHTS,
        layouts: FLOATS,
        activations: Some(DType::BF16),
        requires: &[BF16_PAIRS],
        fast: true,
        ..common(BF16, columns_of)
    };
    let products: Entry = fused::products::<Avx512>;
    vec![
        kernel("linear.bf16", "linear", product::linear::<Avx512> as Entry, bf16()),
        kernel("norm_glu.bf16", "norm_glu", products, first(MEMBERS_BF16, bf16())),
        kernel("glu.bf16", "glu", products, encoded(MEMBERS_BF16, bf16())),
        kernel("norm_linear_map.bf16", "norm_linear_map", products, first(MEMBERS_BF16, bf16())),
        kernel("quantize_linear_map.bf16", "linear_map", products, first(MEMBERS_BF16, bf16())),
        kernel("linear_map.bf16", "linear_map", products, then(MEMBERS_BF16, bf16())),
        kernel("norm_linear.bf16", "norm_linear", products, first(MEMBERS_BF16, bf16())),
        kernel("quantize_linear.bf16", "quantize_linear", products, first(MEMBERS_BF16, bf16())),
    ]
}

#[cfg(not(target_arch = "x86_64"))]
fn bf16() -> Vec<Kernel> {
    Vec::new()
}

/// Products of encoded activations, on their own and in regions.
macro_rules! encoded_products {
    ($sets:expr, $numerics:literal, $members:expr, $of:expr) => {
        phased!($sets, "linear", "linear" $numerics, product::linear, $of())
            .chain(phased!($sets, "norm_glu", "norm_glu" $numerics, fused::products, first($members, $of())))
            .chain(phased!($sets, "glu", "glu" $numerics, fused::products, encoded($members, $of())))
            .chain(phased!($sets, "norm_linear_map", "norm_linear_map" $numerics, fused::products, first($members, $of())))
            .chain(phased!($sets, "linear_map", "quantize_linear_map" $numerics, fused::products, first($members, $of())))
            .chain(phased!($sets, "linear_map", "linear_map" $numerics, fused::products, then($members, $of())))
            .chain(phased!($sets, "norm_linear", "norm_linear" $numerics, fused::products, first($members, $of())))
            .chain(phased!($sets, "quantize_linear", "quantize_linear" $numerics, fused::products, first($members, $of())))
    };
}

/// The table for these instruction sets, best first; with pairs of BF16, if the machine has them and they are wanted.
pub(crate) fn table(sets: &[Set], pairs: bool) -> Vec<Kernel> {
    let encoded = || Kernel { layouts: &[PANEL16, Layout::FILE], ..common(Q8, columns_of) };
    let q8 = || Kernel { weights: formats::ALL, activations: Some(DType::Q8_A), ..encoded() };
    let whole = || Kernel {
        weights: formats::WHOLE,
        activations: Some(DType::Q8_B),
        numerics: Q8_WHOLE,
        fast: true,
        ..encoded()
    };
    // Not by the second best set where the best has none.
    let block_sums = if sets.iter().all(|set| set.has_block_sums()) { sets } else { &[] };
    // The dtypes that pairs support are left to pairs.
    let floats = if pairs { linear_f32::OTHERS } else { linear_f32::WEIGHTS };
    let f32 = || Kernel { weights: floats, layouts: FLOATS, ..common(F32, columns_of) };
    let embed = |name, weights, layouts| {
        let rest = Kernel { weights, layouts, ..common(Numerics::DEFINITION, by_rows) };
        kernel(name, "embed", copies::embed as Entry, rest)
    };
    let attend = || Kernel { rows: FEW, members: ATTEND, ..common(F32, rope_attend::work) };
    let exact = EXACT.iter().map(|(op, entry, work)| kernel(op, op, *entry, common(Numerics::DEFINITION, *work)));
    // A weight of one row has no layout or dtype to choose by; the first of these reads all of them.
    vectored!(sets, "linear", "linear.f32", product::linear, f32())
        .chain(if pairs { bf16() } else { Vec::new() })
        .chain(encoded_products!(block_sums, "q8_256", MEMBERS_Q8_WHOLE, whole))
        .chain(encoded_products!(sets, "q8", MEMBERS_Q8, q8))
        .chain(vectored!(sets, "norm_glu", "norm_glu.f32", fused::products, first(MEMBERS_F32, f32())))
        .chain(vectored!(sets, "glu", "glu.f32", fused::products, then(MEMBERS_F32, f32())))
        .chain(vectored!(sets, "norm_linear_map", "norm_linear_map.f32", fused::products, first(MEMBERS_F32, f32())))
        .chain(vectored!(sets, "linear_map", "linear_map.f32", fused::products, then(MEMBERS_F32, f32())))
        .chain(vectored!(sets, "norm_linear", "norm_linear.f32", fused::products, first(MEMBERS_F32, f32())))
        .chain(vectored!(sets, "norm_map", "norm_map", fused::norm_map, norm_map()))
        .chain(vectored!(sets, "norm_quantize", "norm_quantize", fused::norm_quantize, norm_quantize()))
        .chain(vectored!(sets, "quantize", "quantize", quantize::quantize, common(Numerics::DEFINITION, by_rows)))
        .chain(vectored!(sets, "rms_norm", "rms_norm", rms_norm::rms_norm, common(F32, by_rows)))
        .chain(vectored!(sets, "layer_norm", "layer_norm", layer_norm::layer_norm, common(F32, by_rows)))
        .chain(vectored!(sets, "rope", "rope", rope::rope, common(F32, by_rows)))
        .chain(vectored!(sets, "rope_attend", "rope_attend", rope_attend::rope_attend, attend()))
        .chain(vectored!(sets, "norm_rope_attend", "norm_rope_attend", rope_attend::rope_attend, attend()))
        .chain(vectored!(sets, "attend", "attend", attend::attend, common(F32, attend::work)))
        .chain(vectored!(sets, "map", "map", map::map, common(F32, by_rows)))
        .chain([
            embed("embed.panel16", formats::ALL, &[PANEL16]),
            embed("embed.lines4", linear_f32::WEIGHTS, &[LINES4]),
            embed("embed", &[], &[Layout::FILE]),
        ])
        .chain(exact)
        .collect()
}

/// Runs `$body(isa, tile)` compiled for a set. Entries are handed out only where the set is here; should it be missing
/// all the same, plain Rust gives the same bits.
macro_rules! on {
    ($isa:ty, $body:ident, $tile:expr) => {{
        struct Call<'t, 'a, 'm, I>(I, &'t mut Tile<'a, 'm>);

        impl<I: crate::isa::Floats> crate::isa::Body for Call<'_, '_, '_, I> {
            type Output = Result<(), StepError>;

            #[inline(always)]
            fn call(self) -> Result<(), StepError> {
                $body(self.0, self.1)
            }
        }

        match <$isa>::detect() {
            Some(isa) => isa.run(Call(isa, $tile)),
            None => crate::isa::Isa::run(crate::isa::Portable, Call(crate::isa::Portable, $tile)),
        }
    }};
}
use on;

fn whole(_: &Shape) -> Work {
    Work::WHOLE
}

fn one_row(_: &Shape) -> Work {
    Work::of(Tiling { row_block: 1, ..Tiling::WHOLE })
}

fn by_rows(_: &Shape) -> Work {
    Work::of(Tiling { row_block: 16, ..Tiling::WHOLE })
}

/// Columns of a tile of a product: four panels of the weight, which go together through many rows of a step.
const COLUMNS: usize = linear_q8::PANELS * LANES;

/// The work of products: blocks of columns, larger ones if results are encoded in larger blocks.
fn columns_of(shape: &Shape) -> Work {
    let blocks = shape.outs.iter().map(|ty| ty.dtype.block());
    Work::of(Tiling { col_block: blocks.fold(COLUMNS, usize::max), ..Tiling::WHOLE })
}
