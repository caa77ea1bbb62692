//! Norms of rows, as an op and as what other kernels do before they read values; and the encoding of their results.

use super::{groups, one, other};
use crate::call::{Call, Dispatch, NONE, Operand, word};
use crate::shader::Shader;
use inkstone_shaders::wgsl::text;
use inkstone_tensor::Op;

/// A norm of values.
#[derive(Clone)]
pub(super) struct Norm<'c> {
    /// The file by which kernels read normalised values.
    file: &'static str,
    weights: &'c Operand,
    bias: Option<&'c Operand>,
    eps: f32,
}

impl<'c> Norm<'c> {
    /// From its op and the operands behind the values.
    pub(super) fn of(op: &Op, weights: &[&'c Operand]) -> Option<Norm<'c>> {
        let (file, eps) = match op {
            Op::RmsNorm(op) => ("values/rms_norm", op.eps),
            Op::LayerNorm(op) => ("values/layer_norm", op.eps),
            _ => return None,
        };
        let (first, rest) = weights.split_first()?;
        Some(Norm { file, weights: first, bias: rest.first().copied(), eps })
    }

    /// Its weights and its bias among the vectors, and epsilon.
    pub(super) fn words(&self) -> Result<[u32; 3], String> {
        Ok([self.weights.vector()?, self.bias.map_or(Ok(NONE), Operand::vector)?, self.eps.to_bits()])
    }

    /// The texts by which kernels read values that were normalised, or that were not.
    pub(super) fn texts(norm: Option<&Norm>) -> impl Iterator<Item = &'static str> {
        let total = norm.and_then(|_| text("shared/total"));
        [text(norm.map_or("values/given", |norm| norm.file)), total].into_iter().flatten()
    }
}

pub(super) fn norm(call: &Call) -> Result<Vec<Dispatch>, String> {
    let weights: Vec<&Operand> = call.ins.iter().skip(1).collect();
    let norm = Norm::of(call.op, &weights).ok_or_else(|| other(call))?;
    let (x, out) = (&call.ins[0], &call.outs[0]);
    one(apply(call, x.at()?, x.ty.cols, &norm, out.at()?)?)
}

/// A norm of rows of so many values, from word `out` on.
pub(super) fn apply(call: &Call, x: u32, cols: usize, norm: &Norm, out: u32) -> Result<Dispatch, String> {
    let dim = norm.weights.ty.cols;
    let heads = cols / dim.max(1);
    let [w, bias, eps] = norm.words()?;
    let parameters = call.parameters(&[x, out, w, bias, word(heads)?, word(dim)?, eps]);
    let texts: String = Norm::texts(Some(norm)).collect();
    let shader = Shader::named("norm").file("rows", "shared/rows").slot("normed", texts);
    Ok(Dispatch::new(shader, parameters, [groups(heads)?, groups(call.rows() as usize)?, 1]))
}

/// Rows of `k` values in Q8_A, from word `out` on, perhaps after a norm.
pub(super) fn encode(call: &Call, x: u32, k: usize, norm: Option<&Norm>, out: u32) -> Result<Dispatch, String> {
    let [w, bias, eps] = norm.map_or(Ok([0; 3]), Norm::words)?;
    let texts: String = Norm::texts(norm).collect();
    let shader = Shader::named("norm_quantize")
        .file("rows", "shared/rows")
        .file("encode", "shared/encode")
        .file("encoded", "shared/encoded")
        .slot("normed", texts);
    let parameters = call.parameters(&[x, out, w, bias, word(k)?, eps]);
    Ok(Dispatch::new(shader, parameters, [1, groups(call.rows() as usize)?, 1]))
}
