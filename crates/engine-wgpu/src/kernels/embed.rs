//! The rows of tables of tokens or positions, and the encoding of activations.

use super::formats::{BLOCKS, layout, unpack};
use super::{blocks, groups, one, other};
use crate::call::{Call, Dispatch, Place, Source, word};
use crate::shader::Shader;
use inkstone_compute::{Caps, Query};
use inkstone_tensor::ops::By;
use inkstone_tensor::{DType, Op};

pub(super) fn embed(call: &Call) -> Result<Vec<Dispatch>, String> {
    let Op::Embed(op) = call.op else { return Err(other(call)) };
    let [rows, table, out] = [&call.ins[0], &call.ins[1], &call.outs[0]];
    let by = if op.by == By::Token { 0.0 } else { 1.0 };
    let grid = [blocks(out.ty.cols, 256)?, groups(call.rows() as usize)?, 1];
    if let Place::Vector(begin) = table.place {
        // A table of one row, in f32.
        let shader = Shader::named("embed_f32").file("floats", "formats/f32").file("rows", "shared/rows");
        let shader = shader.constant("BY", by).constant("STRIDE", 1.0);
        let parameters = call.parameters(&[rows.at()?, out.at()?, word(out.ty.cols)?, 0, 1, 1, 0, 0, begin]);
        return one(Dispatch::new(shader, parameters, grid).reading(Source::Vectors));
    }
    let matrix = table.matrix()?;
    let planes = layout(matrix)?;
    let shader = if BLOCKS.contains(&matrix.dtype) {
        Shader::named("embed").file("group", "shared/group").slot("block", unpack(matrix.dtype)?)
    } else {
        Shader::named("embed_f32").slot("floats", unpack(matrix.dtype)?)
    };
    let shader = shader.file("rows", "shared/rows").constant("BY", by);
    let piece = |(i, piece): (usize, &crate::weights::Piece)| {
        let mut parameters = call.parameters(&[rows.at()?, out.at()?]);
        for value in [matrix.cols, piece.first, piece.rows, matrix.rows, planes.panel_words, planes.second] {
            parameters.push(word(value)?);
        }
        parameters.push(0);
        Ok(Dispatch::new(shader.clone(), parameters, grid).reading(Source::Piece(matrix.clone(), i)))
    };
    matrix.pieces.iter().enumerate().map(piece).collect()
}

/// Activations are encoded for products only.
pub(super) fn refuses_quantize(query: &Query, _caps: &Caps) -> Option<String> {
    let Op::Quantize(op) = query.op else { return None };
    (op.to != DType::Q8_A).then(|| format!("no encoding in {}", op.to))
}

pub(super) fn quantize(call: &Call) -> Result<Vec<Dispatch>, String> {
    let [x, out] = [&call.ins[0], &call.outs[0]];
    let parameters = call.parameters(&[x.at()?, out.at()?, word(x.ty.cols / 32)?]);
    let shader = Shader::named("quantize").file("rows", "shared/rows").file("encode", "shared/encode");
    one(Dispatch::new(shader, parameters, [blocks(x.ty.cols, 256)?, groups(call.rows() as usize)?, 1]))
}
