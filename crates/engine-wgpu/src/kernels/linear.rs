//! Products with matrices: for up to eight rows, or for many. A matrix of several pieces takes a dispatch for each.

use super::formats::{layout, unpack};
use super::{blocks, groups};
use crate::call::{Call, Dispatch, NONE, Operand, Place, Source, word};
use crate::planes::PANEL;
use crate::shader::Shader;
use inkstone_compute::{Caps, Query};
use inkstone_tensor::Dim;

/// Most rows of the kernels for few.
pub(super) const FEW: usize = 8;
/// Rows of a tile of the kernels for many.
const TILE: usize = 32;

/// A weight of one row is stored in f32, for the kernels of floats.
pub(super) fn refuses(query: &Query, _caps: &Caps) -> Option<String> {
    let one = query.ins.get(1).is_some_and(|w| w.rows == Dim::N(1));
    one.then(|| "a weight of one row".to_owned())
}

pub(super) fn few_blocks(call: &Call) -> Result<Vec<Dispatch>, String> {
    let shader = Shader::named("linear_few").constant("ROWS", call.rows().min(FEW as u32));
    of_blocks(call, shader.file("group", "shared/group"), groups((call.rows() as usize).div_ceil(FEW))?)
}

pub(super) fn tiled_blocks(call: &Call) -> Result<Vec<Dispatch>, String> {
    let rows = groups((call.rows() as usize).div_ceil(TILE))?;
    of_blocks(call, Shader::named("linear_tiled").file("group", "shared/group"), rows)
}

pub(super) fn few_floats(call: &Call) -> Result<Vec<Dispatch>, String> {
    let rows = groups((call.rows() as usize).div_ceil(FEW))?;
    of_floats(call, Shader::named("linear_few_f32").constant("ROWS", call.rows().min(FEW as u32)), rows)
}

pub(super) fn tiled_floats(call: &Call) -> Result<Vec<Dispatch>, String> {
    let rows = groups((call.rows() as usize).div_ceil(TILE))?;
    of_floats(call, Shader::named("linear_tiled_f32"), rows)
}

/// The first word of the bias, if there is one.
fn bias(call: &Call) -> Result<u32, String> {
    call.ins.get(2).map_or(Ok(NONE), Operand::vector)
}

fn of_blocks(call: &Call, shader: Shader, rows: u32) -> Result<Vec<Dispatch>, String> {
    let [x, w, out] = [&call.ins[0], &call.ins[1], &call.outs[0]];
    let matrix = w.matrix()?;
    let (planes, bias) = (layout(matrix)?, bias(call)?);
    let shader = shader.file("rows", "shared/rows").slot("block", unpack(matrix.dtype)?);
    let piece = |(i, piece): (usize, &crate::weights::Piece)| {
        let words = [out.ty.cols, piece.first, piece.rows, matrix.cols / 32, planes.panel_words, planes.second];
        let mut parameters = call.parameters(&[x.at()?, out.at()?]);
        for value in words {
            parameters.push(word(value)?);
        }
        parameters.push(bias);
        let grid = [blocks(piece.rows, PANEL)?, rows, 1];
        Ok(Dispatch::new(shader.clone(), parameters, grid).reading(Source::Piece(matrix.clone(), i)))
    };
    matrix.pieces.iter().enumerate().map(piece).collect()
}

fn of_floats(call: &Call, shader: Shader, rows: u32) -> Result<Vec<Dispatch>, String> {
    let [x, w, out] = [&call.ins[0], &call.ins[1], &call.outs[0]];
    let (shader, bias, k) = (shader.file("rows", "shared/rows"), bias(call)?, word(x.ty.cols)?);
    let parameters = |first: usize, n: usize, panel: usize, plane: usize, begin: u32| {
        let [cols, first, n, panel, plane] = [out.ty.cols, first, n, panel, plane].map(word);
        let words = [x.at()?, out.at()?, cols?, first?, n?, k, panel?, plane?, bias, begin];
        Ok::<_, String>(call.parameters(&words))
    };
    match &w.place {
        Place::Matrix(matrix) => {
            let (planes, shader) = (layout(matrix)?, shader.slot("floats", unpack(matrix.dtype)?));
            let piece = |(i, piece): (usize, &crate::weights::Piece)| {
                let parameters = parameters(piece.first, piece.rows, planes.panel_words, planes.second, 0)?;
                let grid = [blocks(piece.rows, PANEL)?, rows, 1];
                Ok(Dispatch::new(shader.clone(), parameters, grid).reading(Source::Piece(matrix.clone(), i)))
            };
            matrix.pieces.iter().enumerate().map(piece).collect()
        }
        _ => {
            let shader = shader.file("floats", "formats/f32").constant("STRIDE", 1.0);
            let parameters = parameters(0, 1, 0, 0, w.vector()?)?;
            Ok(vec![Dispatch::new(shader, parameters, [1, rows, 1]).reading(Source::Vectors)])
        }
    }
}
