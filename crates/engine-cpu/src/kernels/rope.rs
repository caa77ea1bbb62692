//! Rotation by position, in f64 as in the definition: the angles are what costs, and they are the same for all heads.

use crate::tile::{Tile, step_rows};
use inkstone_tensor::Op;
use inkstone_tensor::math::sin_cos;
use inkstone_tensor::ops::Pairs;
use inkstone_tensor::step::StepError;

pub(super) fn rope(tile: &mut Tile) -> Result<(), StepError> {
    let Op::Rope(op) = tile.op else { unreachable!("the kernel of rope") };
    let x = tile.ins[0];
    let first = tile.ins[1].first;
    let out = &mut tile.outs[0];
    for (i, row) in step_rows(&tile.ins[1]).enumerate() {
        let r = first + i;
        if !out.rows.contains(&r) {
            continue;
        }
        let out = out.row::<f32>(r);
        out.copy_from_slice(x.row(r));
        let half = op.frequencies.len();
        for (i, frequency) in op.frequencies.iter().enumerate() {
            let (sin, cos) = sin_cos(f64::from(row.position) * frequency);
            let (sin, cos) = (sin * op.magnitude, cos * op.magnitude);
            let (first, second) = match op.pairs {
                Pairs::Neighbours => (2 * i, 2 * i + 1),
                Pairs::Halves => (i, i + half),
            };
            for head in out.chunks_exact_mut(op.head_dim) {
                let (a, b) = (f64::from(head[first]), f64::from(head[second]));
                head[first] = (a * cos - b * sin) as f32;
                head[second] = (b * cos + a * sin) as f32;
            }
        }
    }
    Ok(())
}
