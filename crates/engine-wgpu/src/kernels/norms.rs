//! Norms of rows.

use super::{groups, one, other};
use crate::call::{Call, Dispatch, word};
use crate::shader::Shader;
use inkstone_tensor::Op;

pub(super) fn rms_norm(call: &Call) -> Result<Vec<Dispatch>, String> {
    let Op::RmsNorm(op) = call.op else { return Err(other(call)) };
    let [x, w, out] = [&call.ins[0], &call.ins[1], &call.outs[0]];
    let (cols, dim) = (x.ty.cols, w.ty.cols);
    let parameters = call.parameters(&[x.at()?, out.at()?, w.vector()?, word(cols)?, word(dim)?, op.eps.to_bits()]);
    let shader = Shader::named("rms_norm").file("rows", "shared/rows");
    one(Dispatch::new(shader, parameters, [groups(cols / dim.max(1))?, groups(call.rows() as usize)?, 1]))
}

pub(super) fn layer_norm(call: &Call) -> Result<Vec<Dispatch>, String> {
    let Op::LayerNorm(op) = call.op else { return Err(other(call)) };
    let [x, w, bias, out] = [&call.ins[0], &call.ins[1], &call.ins[2], &call.outs[0]];
    let words = [x.at()?, out.at()?, w.vector()?, bias.vector()?, word(x.ty.cols)?, op.eps.to_bits()];
    let shader = Shader::named("layer_norm").file("rows", "shared/rows");
    one(Dispatch::new(shader, call.parameters(&words), [1, groups(call.rows() as usize)?, 1]))
}
