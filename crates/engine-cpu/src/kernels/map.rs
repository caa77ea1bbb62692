//! Elementwise expressions, a vector of elements at a time. Every term rounds to f32.

use super::on;
use crate::isa::{Isa, LANES, exp};
use crate::tile::Tile;
use inkstone_tensor::Op;
use inkstone_tensor::ops::{Expr, Term};
use inkstone_tensor::step::StepError;

/// sqrt(2 / pi)
const SLOPE: f32 = 0.797_884_6;
/// Of GELU's tanh form (Hendrycks and Gimpel 2016, arXiv 1606.08415).
const CUBE: f32 = 0.044_715;

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
                    // (1 + tanh u) / 2 is 1 / (1 + exp(-2u)).
                    Term::Gelu => {
                        for a in &mut stack[n - 1] {
                            let u = SLOPE * (*a + CUBE * *a * *a * *a);
                            *a /= 1.0 + exp(-2.0 * u);
                        }
                    }
                }
            }
            out.copy_from_slice(&stack[0][..out.len()]);
        }
    }
    Ok(())
}
