//! Elementwise expressions, a vector of elements at a time. Every term rounds to f32.

use super::on;
use crate::isa::{Isa, LANES, exp};
use crate::tile::Tile;
use inkstone_tensor::Op;
use inkstone_tensor::ops::{Expr, Term};
use inkstone_tensor::step::StepError;

pub(super) fn map<I: Isa>(tile: &mut Tile) -> Result<(), StepError> {
    on!(I, body, tile)
}

#[inline(always)]
fn body(tile: &mut Tile) -> Result<(), StepError> {
    let Op::Map(op) = tile.op else { unreachable!("the kernel of map") };
    let ins = tile.ins;
    for r in tile.outs[0].rows.clone() {
        for (i, out) in tile.outs[0].row::<f32>(r).chunks_mut(LANES).enumerate() {
            let mut stack = [[0f32; LANES]; Expr::DEPTH];
            let mut n = 0;
            for term in &op.0.0 {
                match *term {
                    Term::In(operand) => {
                        let x = &ins[usize::from(operand)].row::<f32>(r)[i * LANES..][..out.len()];
                        stack[n][..out.len()].copy_from_slice(x);
                        n += 1;
                    }
                    Term::Add | Term::Mul => {
                        n -= 1;
                        let b = stack[n];
                        for (a, b) in stack[n - 1].iter_mut().zip(b) {
                            *a = if let Term::Add = term { *a + b } else { *a * b };
                        }
                    }
                    Term::Silu => {
                        for a in &mut stack[n - 1] {
                            *a /= 1.0 + exp(-*a);
                        }
                    }
                }
            }
            out.copy_from_slice(&stack[0][..out.len()]);
        }
    }
    Ok(())
}
