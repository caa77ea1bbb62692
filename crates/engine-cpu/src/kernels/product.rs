//! Products of activations with columns of a weight of any format: the shared code of the kernels of `linear` and of
//! regions.

use super::dots::Turned;
use super::linear_q8::{ENCODED, Forms, OwnSide, SharedSide, Sides, Work, is_for};
use super::{FEW, columns_of, linear_bf16, linear_f32, linear_q8};
use crate::isa::Words;
use crate::memory::{View, ViewMut};
use crate::phase::{FirstTile, Phased, Section, Sections};
use crate::scratch::{Need, Scratch, room};
use crate::tile::{Entry, Tile};
use inkstone_compute::{Grid, Shape};
use inkstone_tensor::body::Node;
use inkstone_tensor::step::StepError;
use inkstone_tensor::{DType, Dim, NoMemory, Op, Type};
use smallvec::SmallVec;
use std::iter::once;
use std::ops::Range;

/// Activations of some rows of a step, one after the other: floats, or encoded.
#[derive(Clone, Copy)]
pub(super) struct Activations<'a> {
    dtype: DType,
    bytes: &'a [u8],
    row: usize,
}

impl<'a> Activations<'a> {
    /// Some rows of a view.
    pub(super) fn of(view: &View<'a>, rows: Range<usize>) -> Activations<'a> {
        let row = view.stride();
        Activations { dtype: view.ty.dtype, bytes: view.rows_from(rows.start, rows.len()), row }
    }

    /// Contiguous rows of a type.
    pub(super) fn new(ty: Type, bytes: &'a [u8]) -> Activations<'a> {
        Activations { dtype: ty.dtype, bytes, row: ty.row_bytes() as usize }
    }

    pub(super) fn dtype(self) -> DType {
        self.dtype
    }

    pub(super) fn count(self) -> usize {
        self.bytes.len() / self.row.max(1)
    }

    pub(super) fn row_bytes(self) -> usize {
        self.row
    }

    /// Rows from `i` on, to the last one.
    pub(super) fn rows_from(self, i: usize) -> &'a [u8] {
        &self.bytes[i * self.row..]
    }

    pub(super) fn row(self, i: usize) -> &'a [u8] {
        &self.bytes[i * self.row..][..self.row]
    }
}

/// Memory that products work in; kept between tiles.
#[derive(Default)]
pub(super) struct Buffers {
    /// Of one product.
    pub(super) work: Work,
    /// Results of a tile.
    pub(super) results: Vec<f32>,
    /// The results of a prologue for all tiles of a step: the normalised rows, and the encoded ones.
    pub(super) normed: Vec<f32>,
    pub(super) encoded: Vec<u8>,
    pub(super) prepared: Prepared,
}

impl Buffers {
    /// Room for products of rows of no more than `floats` values together.
    fn reserve(&mut self, floats: usize) -> Result<(), NoMemory> {
        [&mut self.results, &mut self.normed].into_iter().try_for_each(|values| room(values, floats))?;
        self.work.reserve(floats)?;
        self.prepared.encoded.reserve(floats)?;
        room(&mut self.encoded, floats.saturating_mul(2))
    }
}

/// Reserves the memory that a plan needs.
pub(crate) fn reserve(scratch: &mut Scratch, need: &Need) -> Result<(), NoMemory> {
    scratch.reserve(need)?;
    scratch.get::<Buffers>().reserve(need.floats())
}

/// Activations of a step as products take them: side by side.
#[derive(Default)]
pub(super) struct Prepared {
    encoded: OwnSide,
    floats: Turned,
}

/// The first `n` of a buffer, which grows if it has fewer.
pub(super) fn first<T: Copy + Default>(buffer: &mut Vec<T>, n: usize) -> &mut [T] {
    if buffer.len() < n {
        buffer.resize(n, T::default());
    }
    &mut buffer[..n]
}

/// Weight and bias of a product.
#[derive(Clone, Copy)]
pub(super) struct Weight<'a> {
    pub(super) w: View<'a>,
    pub(super) bias: Option<View<'a>>,
}

/// Prepares the shared inputs of the products of a step, with weights of these types, once per worker, unless all
/// workers have prepared them together.
pub(super) fn prepare<I: Words>(
    x: Activations,
    shared: Option<&SharedSide>,
    weights: impl Iterator<Item = DType>,
    prepared: &mut Prepared,
) {
    match x.dtype {
        dtype if ENCODED.contains(&dtype) && shared.is_none() => prepared.encoded.pack::<I>(x, weights),
        DType::F32 => prepared.floats.pack::<I>(x),
        _ => {}
    }
}

/// The columns `cols` of a product, row after row. `prepared` is what [`prepare`] has made of `x`.
pub(super) fn columns<I: Words>(
    x: Activations,
    shared: Option<&SharedSide>,
    prepared: &mut Prepared,
    weight: &Weight,
    cols: Range<usize>,
    work: &mut Work,
    out: &mut [f32],
) {
    match x.dtype {
        DType::F32 => linear_f32::columns::<I>(x, &prepared.floats, weight, cols, work, out),
        DType::BF16 => linear_bf16::columns(x, weight, cols, &mut work.floats, out),
        _ => {
            let x = shared.map_or(Sides::Own(&mut prepared.encoded), Sides::Shared);
            linear_q8::columns::<I>(x, weight, cols, work, out);
        }
    }
}

/// A `linear` of a step.
pub(crate) struct Product {
    /// The dtype of its activations.
    pub(crate) x: DType,
    /// Which operand of the step its activations are; `None` if the step makes them itself.
    at: Option<usize>,
    /// Which operand of the step its weight is.
    pub(crate) weight: Option<usize>,
}

/// The products of an op on these operands: itself, or members of its region.
pub(crate) fn products(op: &Op, ins: &[Type]) -> SmallVec<[Product; 4]> {
    match op {
        Op::Linear(_) => ins.iter().take(1).map(|x| Product { x: x.dtype, at: Some(0), weight: Some(1) }).collect(),
        Op::Region(region) => {
            let body = &region.body;
            let product = |n: &Node| {
                let operand = |i: usize| body.inputs.iter().position(|v| n.ins.get(i) == Some(v));
                n.ins.first().map(|x| Product { x: body.ty(*x).dtype, at: operand(0), weight: operand(1) })
            };
            body.nodes.iter().filter(|n| matches!(n.op, Op::Linear(_))).filter_map(product).collect()
        }
        _ => SmallVec::new(),
    }
}

/// The operand that all products of an op read, if it is one of encoded rows, and the forms that they need it in.
fn encoded<I: Words>(op: &Op, ins: &[Type]) -> Option<(usize, Forms)> {
    let products = products(op, ins);
    let at = products.first()?.at?;
    let x = ins.get(at).filter(|x| ENCODED.contains(&x.dtype) && x.rows == Dim::Rows)?;
    let weights = products.iter().filter_map(|product| ins.get(product.weight?)).map(|w| w.dtype);
    products.iter().all(|product| product.at == Some(at)).then(|| (at, Forms::of::<I>(*x, weights)))
}

/// The code of a kernel of encoded activations, which all workers arrange together if there are many rows.
pub(super) fn phased<I: Words>(then: Entry) -> Phased {
    Phased { sections: sections::<I>, first: arrange::<I>, then }
}

/// The work of such a kernel. All first phases have the rows of the step of the model.
pub(super) fn work<I: Words>(shape: &Shape) -> inkstone_compute::Work {
    let tiles = columns_of(shape);
    let rows = shape.bucket.rows;
    match encoded::<I>(shape.op, shape.ins) {
        Some((_, forms)) if rows > FEW && Grid::along(shape.ins, shape.outs) == Dim::Rows => {
            let (scratch, first) = (Section::bytes(&forms.sections(), rows), Some(forms.grid(Dim::Rows)));
            inkstone_compute::Work { scratch, first, ..tiles }
        }
        _ => tiles,
    }
}

fn sections<I: Words>(shape: &Shape) -> Sections {
    encoded::<I>(shape.op, shape.ins).map_or_else(Sections::new, |(_, forms)| forms.sections())
}

/// A tile of the first phase.
fn arrange<I: Words>(tile: &mut FirstTile) -> Result<(), StepError> {
    let ins: SmallVec<[Type; 8]> = tile.ins.iter().map(|view| view.ty).collect();
    if let Some((at, forms)) = encoded::<I>(tile.op, &ins)
        && is_for::<I>(tile.ins[at].rows())
    {
        let x = &tile.ins[at];
        forms.arrange::<I>(Activations::of(x, 0..x.rows()), tile);
    }
    Ok(())
}

/// The kernel of `linear`.
pub(super) fn linear<I: Words>(tile: &mut Tile) -> Result<(), StepError> {
    let weight = Weight { w: tile.ins[1], bias: tile.ins.get(2).copied() };
    let out = &mut tile.outs[0];
    let Buffers { work, results, prepared, .. } = tile.scratch.get();
    let results = first(results, out.rows.len() * out.cols.len());
    let x = Activations::of(&tile.ins[0], out.rows.clone());
    let forms = || Forms::of::<I>(tile.ins[0].ty, once(weight.w.ty.dtype));
    let shared = SharedSide::of::<I>(tile.shared, x.count(), forms);
    if tile.first {
        prepare::<I>(x, shared.as_ref(), once(weight.w.ty.dtype), prepared);
    }
    columns::<I>(x, shared.as_ref(), prepared, &weight, out.cols.clone(), work, results);
    put(out, results);
    Ok(())
}

/// Stores the results of a tile, row after row.
pub(super) fn put(out: &mut ViewMut, results: &[f32]) {
    let cols = out.cols.len();
    for (i, r) in out.rows.clone().enumerate() {
        out.row::<f32>(r).copy_from_slice(&results[i * cols..][..cols]);
    }
}
