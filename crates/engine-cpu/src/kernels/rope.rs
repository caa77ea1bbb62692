//! Rotation by position. Sines and cosines are computed once a row, for all heads: angles in f64, so that accuracy does not
//! fall with the position, then f32.

use super::on;
use crate::isa::math::sin_cos;
use crate::isa::{Floats, LANES};
use crate::tile::{Tile, step_rows};
use inkstone_tensor::Op;
use inkstone_tensor::ops::{Pairs, Rope};
use inkstone_tensor::step::StepError;

pub(super) fn rope<I: Floats>(tile: &mut Tile) -> Result<(), StepError> {
    on!(I, body, tile)
}

#[inline(always)]
fn body<I: Floats>(isa: I, tile: &mut Tile) -> Result<(), StepError> {
    let Op::Rope(op) = tile.op else { unreachable!("the kernel of rope") };
    let x = tile.ins[0];
    let first = tile.ins[1].first;
    let out = &mut tile.outs[0];
    let table = tile.scratch.floats(2 * op.frequencies.len());
    for (i, row) in step_rows(&tile.ins[1]).enumerate() {
        let r = first + i;
        if out.rows.contains(&r) {
            angles(isa, op, row.position, table);
            rotate(isa, op, table, x.row(r), out.row(r));
        }
    }
    Ok(())
}

/// Sines, then cosines, of all pairs at a position, times the magnitude.
#[inline(always)]
pub(super) fn angles<I: Floats>(isa: I, op: &Rope, position: u32, table: &mut [f32]) {
    let (sins, cosines) = table.split_at_mut(op.frequencies.len());
    let (position, magnitude) = (f64::from(position), isa.splat_float(op.magnitude as f32));
    for (i, frequencies) in op.frequencies.chunks(LANES).enumerate() {
        let mut angles = [0.0; LANES];
        for (angle, frequency) in angles.iter_mut().zip(frequencies) {
            *angle = position * frequency;
        }
        let [sin, cos] = sin_cos(isa, &angles);
        isa.put(sins, i, isa.product(sin, magnitude));
        isa.put(cosines, i, isa.product(cos, magnitude));
    }
}

/// A row of heads, turned by the angles of its position: (a cos - b sin, b cos + a sin) of each pair (a, b).
#[inline(always)]
pub(super) fn rotate<I: Floats>(isa: I, op: &Rope, table: &[f32], x: &[f32], out: &mut [f32]) {
    let half = op.frequencies.len();
    let (sins, cosines) = table.split_at(half);
    for (out, x) in out.chunks_exact_mut(op.head_dim).zip(x.chunks_exact(op.head_dim)) {
        match op.pairs {
            Pairs::Halves => {
                let (first, second) = x[..2 * half].split_at(half);
                let (to_first, to_second) = out[..2 * half].split_at_mut(half);
                for i in 0..half.div_ceil(LANES) {
                    let (a, b) = (isa.take(first, i, 0.0), isa.take(second, i, 0.0));
                    let (sin, cos) = (isa.take(sins, i, 0.0), isa.take(cosines, i, 0.0));
                    isa.put(to_first, i, isa.fma(a, cos, isa.difference(isa.splat_float(0.0), isa.product(b, sin))));
                    isa.put(to_second, i, isa.fma(b, cos, isa.product(a, sin)));
                }
            }
            Pairs::Neighbours => {
                let (pairs, turned) = (x[..2 * half].as_chunks::<2>().0, out[..2 * half].as_chunks_mut::<2>().0);
                for (((turned, [a, b]), sin), cos) in turned.iter_mut().zip(pairs).zip(sins).zip(cosines) {
                    *turned = [a.mul_add(*cos, 0.0 - b * sin), b.mul_add(*cos, a * sin)];
                }
            }
        }
        out[2 * half..].copy_from_slice(&x[2 * half..]);
    }
}
