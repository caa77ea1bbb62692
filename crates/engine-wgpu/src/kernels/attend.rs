//! Attention: for few rows split over the context and joined by a second dispatch, for many rows by one.

use super::caches::{group, lies, reader};
use super::{groups, one, other};
use crate::call::{Call, Dispatch, word};
use crate::shader::Shader;
use inkstone_compute::{Caps, Query, Shape, Work};
use inkstone_tensor::cache::Cache;
use inkstone_tensor::{Dim, Op};

/// Most rows whose context is split.
pub(super) const FEW: usize = 8;
/// Segments of a context.
const SEGMENTS: usize = 32;
/// Most values of a key and a value: they are in the memory of a workgroup, with the values of a block.
const VALUES: usize = 1024;

/// The scratch of a split: of each segment of each head of each row, sums of values and two numbers.
pub(super) fn work(shape: &Shape) -> Work {
    let (Op::Attend(op), Some(out)) = (shape.op, shape.outs.first()) else { return Work::WHOLE };
    let rows = Dim::Rows.at(&shape.bucket) as u64;
    let values = (out.cols / op.heads.max(1) + 2) as u64;
    let words = [rows, op.heads as u64, SEGMENTS as u64, values].into_iter().fold(1u64, u64::saturating_mul);
    Work { scratch: words.saturating_mul(4), ..Work::WHOLE }
}

/// The size of heads.
pub(super) fn refuses(query: &Query, _caps: &Caps) -> Option<String> {
    let Op::Attend(op) = query.op else { return None };
    let values = [query.ins.first(), query.outs.first()].map(|t| t.map_or(0, |t| t.cols / op.heads.max(1)));
    let caches = query.ins.iter().skip(1).take(2).find_map(|cache| reader(cache.dtype).err());
    caches.or_else(|| {
        let [key, value] = values;
        (key.max(value) > VALUES).then(|| format!("heads of {key} and {value} values, allowed: {VALUES}"))
    })
}

pub(super) fn split(call: &Call) -> Result<Vec<Dispatch>, String> {
    let parts = attend(call, true)?;
    let Op::Attend(op) = call.op else { return Err(other(call)) };
    let (rows, out) = (&call.ins[3], &call.outs[0]);
    let dim = out.ty.cols / op.heads.max(1);
    let words = [rows.at()?, out.at()?, call.scratch, word(op.heads)?, word(dim)?];
    let grid = [groups(op.heads)?, groups(call.rows() as usize)?, 1];
    let merge = Dispatch::new(Shader::named("attend_merge").file("math", "shared/math"), call.parameters(&words), grid);
    Ok(vec![parts, merge])
}

pub(super) fn whole(call: &Call) -> Result<Vec<Dispatch>, String> {
    one(attend(call, false)?)
}

fn attend(call: &Call, split: bool) -> Result<Dispatch, String> {
    let Op::Attend(op) = call.op else { return Err(other(call)) };
    let [q, k, v, rows, out] = [&call.ins[0], &call.ins[1], &call.ins[2], &call.ins[3], &call.outs[0]];
    let heads = op.heads.max(1);
    let (k_dim, v_dim) = (q.ty.cols / heads, out.ty.cols / heads);
    let [Cache { heads: k_heads, slots }, Cache { heads: v_heads, .. }] = [k, v].map(|c| lies(&c.ty, &call.bucket));
    let words = [heads, heads / op.kv_heads.max(1), k_dim, k_heads, k.ty.cols, v_heads, v.ty.cols, slots];
    let mut parameters = call.parameters(&[q.at()?, rows.at()?, out.at()?, call.scratch]);
    for value in words {
        parameters.push(word(value)?);
    }
    parameters.extend([group(k), (op.scale as f32).to_bits()]);
    let values = reader(v.ty.dtype)?.replace("k_at", "v_at").replace("k_cols", "v_cols").replace("k[", "v[");
    let shader = Shader::named("attend")
        .file("places", "shared/places")
        .file("math", "shared/math")
        .slot("keys", reader(k.ty.dtype)?)
        .slot("values", values)
        .constant("SPLIT", f64::from(u8::from(split)))
        .constant("K_DIM", word(k_dim)?)
        .constant("V_DIM", word(v_dim)?);
    let grid = [if split { SEGMENTS as u32 } else { 1 }, groups(heads)?, groups(call.rows() as usize)?];
    Ok(Dispatch::new(shader, parameters, grid).states(Some(k.state()?), Some(v.state()?)))
}
