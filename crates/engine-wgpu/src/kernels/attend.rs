//! Attention: for few rows split over the context and joined by a second dispatch, for many rows by one.

use super::caches::{group, lies, reader};
use super::{groups, one, other};
use crate::call::{Call, Dispatch, Operand, word};
use crate::shader::Shader;
use inkstone_compute::{Caps, Query, Shape, Work};
use inkstone_tensor::cache::Cache;
use inkstone_tensor::ops::{Attend, Window};
use inkstone_tensor::{Dim, Op, Type};

/// Most rows whose context is split.
pub(super) const FEW: usize = 8;
/// Segments of a context.
const SEGMENTS: usize = 32;
/// Most values of a key and a value: they are in the memory of a workgroup, with the values of a block.
const VALUES: usize = 1024;

/// The words of a split: of each segment of each head of each row, sums of values and two numbers.
pub(super) fn parts(op: &Attend, rows: usize, out: &Type) -> u64 {
    let values = (out.cols / op.heads.max(1) + 2) as u64;
    [rows as u64, op.heads as u64, SEGMENTS as u64, values].into_iter().fold(1u64, u64::saturating_mul)
}

/// The scratch of a split.
pub(super) fn work(shape: &Shape) -> Work {
    let (Op::Attend(op), Some(out)) = (shape.op, shape.outs.first()) else { return Work::WHOLE };
    Work { scratch: parts(op, Dim::Rows.at(&shape.bucket), out).saturating_mul(4), ..Work::WHOLE }
}

/// The size of heads.
pub(super) fn refuses(query: &Query, _caps: &Caps) -> Option<String> {
    let (Op::Attend(op), [q, k, v, ..], [out, ..]) = (query.op, query.ins, query.outs) else { return None };
    unfit(op, q, [k, v], out)
}

/// Why heads are not computed.
pub(super) fn unfit(op: &Attend, q: &Type, caches: [&Type; 2], out: &Type) -> Option<String> {
    let [key, value] = [q, out].map(|ty| ty.cols / op.heads.max(1));
    let caches = caches.iter().find_map(|cache| reader(cache.dtype).err());
    caches
        .or_else(|| (key.max(value) > VALUES).then(|| format!("heads of {key} and {value} values, allowed: {VALUES}")))
}

/// The operands of attention: q, the caches and the rows, its result, and the first word of the parts of a split.
pub(super) struct Operands<'c> {
    /// The first word of q.
    pub(super) q: u32,
    /// Values of a head of q.
    pub(super) dim: usize,
    pub(super) caches: [&'c Operand; 2],
    pub(super) rows: &'c Operand,
    pub(super) out: &'c Operand,
    pub(super) parts: u32,
}

/// The operands of the op for itself.
fn single<'c>(call: &'c Call) -> Result<(&'c Attend, Operands<'c>), String> {
    let Op::Attend(op) = call.op else { return Err(other(call)) };
    let [q, k, v, rows, out] = [&call.ins[0], &call.ins[1], &call.ins[2], &call.ins[3], &call.outs[0]];
    let dim = q.ty.cols / op.heads.max(1);
    Ok((op, Operands { q: q.at()?, dim, caches: [k, v], rows, out, parts: call.scratch }))
}

pub(super) fn split(call: &Call) -> Result<Vec<Dispatch>, String> {
    let (op, operands) = single(call)?;
    split_of(call, op, &operands)
}

pub(super) fn whole(call: &Call) -> Result<Vec<Dispatch>, String> {
    let (op, operands) = single(call)?;
    one(attend(call, op, &operands, false)?)
}

/// The size of the window, which no position exceeds if there is none, and the positions at the beginning that all rows see.
fn window(op: &Attend) -> [u32; 2] {
    let Some(Window { size, first }) = op.window else { return [u32::MAX, 0] };
    [size, first].map(|count| u32::try_from(count).unwrap_or(u32::MAX))
}

/// Two dispatches, for few rows.
pub(super) fn split_of(call: &Call, op: &Attend, operands: &Operands) -> Result<Vec<Dispatch>, String> {
    let segments = attend(call, op, operands, true)?;
    let Operands { rows, out, parts, .. } = *operands;
    let dim = out.ty.cols / op.heads.max(1);
    let [size, first] = window(op);
    let words = [rows.at()?, out.at()?, parts, word(op.heads)?, word(dim)?, size, first];
    let grid = [groups(op.heads)?, groups(call.rows() as usize)?, 1];
    let shader = Shader::named("attend_merge").file("math", "shared/math").file("window", "shared/window");
    let merge = Dispatch::new(shader, call.parameters(&words), grid);
    Ok(vec![segments, merge])
}

/// One dispatch, of segments or of all.
pub(super) fn attend(call: &Call, op: &Attend, operands: &Operands, split: bool) -> Result<Dispatch, String> {
    let Operands { q, dim: k_dim, caches: [k, v], rows, out, parts } = *operands;
    let heads = op.heads.max(1);
    let v_dim = out.ty.cols / heads;
    let [Cache { heads: k_heads, slots }, Cache { heads: v_heads, .. }] = [k, v].map(|c| lies(&c.ty, &call.bucket));
    let words = [heads, heads / op.kv_heads.max(1), k_dim, k_heads, k.ty.cols, v_heads, v.ty.cols, slots];
    let mut parameters = call.parameters(&[q, rows.at()?, out.at()?, parts]);
    for value in words {
        parameters.push(word(value)?);
    }
    let [size, first] = window(op);
    parameters.extend([group(k), (op.scale as f32).to_bits(), size, first]);
    let values = reader(v.ty.dtype)?.replace("k_at", "v_at").replace("k_cols", "v_cols").replace("k[", "v[");
    let shader = Shader::named("attend")
        .file("places", "shared/places")
        .file("math", "shared/math")
        .file("window", "shared/window")
        .file("largest", "shared/largest")
        .slot("keys", reader(k.ty.dtype)?)
        .slot("values", values)
        .constant("SPLIT", f64::from(u8::from(split)))
        .constant("K_DIM", word(k_dim)?)
        .constant("V_DIM", word(v_dim)?);
    let grid = [if split { SEGMENTS as u32 } else { 1 }, groups(heads)?, groups(call.rows() as usize)?];
    Ok(Dispatch::new(shader, parameters, grid).states(Some(k.state()?), Some(v.state()?)))
}
