//! Values that are copied.

use super::{blocks, groups, one, other};
use crate::call::{Call, Dispatch, word};
use crate::shader::Shader;
use inkstone_tensor::Op;

pub(super) fn columns(call: &Call) -> Result<Vec<Dispatch>, String> {
    let Op::Columns(op) = call.op else { return Err(other(call)) };
    let [x, out] = [&call.ins[0], &call.outs[0]];
    let parameters = call.parameters(&[x.at()?, out.at()?, word(x.ty.cols)?, word(op.first)?, word(op.count)?]);
    let shader = Shader::named("columns").file("rows", "shared/rows");
    one(Dispatch::new(shader, parameters, [blocks(op.count, 256)?, groups(call.rows() as usize)?, 1]))
}

pub(super) fn gather_rows(call: &Call) -> Result<Vec<Dispatch>, String> {
    let [x, out] = [&call.ins[0], &call.outs[0]];
    let parameters = call.parameters(&[x.at()?, out.at()?, word(x.ty.cols)?, word(call.bucket.rows)?]);
    let grid = [blocks(x.ty.cols, 256)?, groups(call.rows() as usize)?, 1];
    one(Dispatch::new(Shader::named("gather_rows"), parameters, grid))
}
