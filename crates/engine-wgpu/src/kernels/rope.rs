//! Rotations by position, from tables of cosines and sines.

use super::{blocks, groups, one, other};
use crate::call::{Call, Dispatch, Source, word};
use crate::shader::Shader;
use inkstone_tensor::ops::{Pairs, Rope};
use inkstone_tensor::{Op, math};
use std::sync::Arc;

/// Parts of a position: how far each is shifted, and how many values it has.
const PARTS: [(u32, u32); 3] = [(0, 2048), (11, 2048), (22, 1024)];

pub(super) fn rope(call: &Call) -> Result<Vec<Dispatch>, String> {
    let Op::Rope(op) = call.op else { return Err(other(call)) };
    let [x, rows, out] = [&call.ins[0], &call.ins[1], &call.outs[0]];
    let (cols, dim, pairs) = (x.ty.cols, op.head_dim, op.frequencies.len());
    let [pairs_word, stride, apart] = turns(op)?;
    let words = [x.at()?, out.at()?, rows.at()?, word(cols)?, word(dim)?, pairs_word, stride, apart];
    let threads = cols / dim.max(1) * (dim - pairs);
    let grid = [blocks(threads, 64)?, groups(call.rows() as usize)?, 1];
    let shader = Shader::named("rope").file("turn", "shared/turn");
    one(Dispatch::new(shader, call.parameters(&words), grid).reading(angles(op)))
}

/// The pairs of a head that turn, how far they are from pair to pair, and how far the values of a pair.
pub(super) fn turns(op: &Rope) -> Result<[u32; 3], String> {
    let pairs = word(op.frequencies.len())?;
    Ok(match op.pairs {
        Pairs::Neighbours => [pairs, 2, 1],
        Pairs::Halves => [pairs, 1, pairs],
    })
}

/// The table of cosines and sines.
pub(super) fn angles(op: &Rope) -> Source {
    let copy = op.clone();
    Source::table(op_key(op), move || table(&copy))
}

/// Differs where tables differ.
fn op_key(op: &Rope) -> String {
    let bits: Vec<String> = op.frequencies.iter().map(|f| format!("{:x}", f.to_bits())).collect();
    format!("rope {:x} {}", op.magnitude.to_bits(), bits.join(" "))
}

/// Cosine and sine of each value of each part of a position, times each frequency. The first part also has the magnitude.
fn table(op: &Rope) -> Arc<[u32]> {
    let parts =
        PARTS.into_iter().flat_map(|(shift, count)| (0..count).map(move |i| f64::from(i) * f64::from(1 << shift)));
    let magnitude = |i: usize| if i < PARTS[0].1 as usize { op.magnitude } else { 1.0 };
    parts
        .enumerate()
        .flat_map(|(i, position)| {
            op.frequencies.iter().flat_map(move |frequency| {
                let angle = position * frequency;
                [math::cos(angle), math::sin(angle)].map(|value| ((value * magnitude(i)) as f32).to_bits())
            })
        })
        .collect()
}
