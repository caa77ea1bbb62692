//! Elementwise expressions, a vector of elements at a time. Every term rounds to f32.

use super::on;
use crate::isa::math::exp;
use crate::isa::{Floats, LANES};
use crate::tile::Tile;
use inkstone_tensor::Op;
use inkstone_tensor::ops::{Expr, Term};
use inkstone_tensor::step::StepError;
use smallvec::SmallVec;

/// sqrt(2 / pi)
const SLOPE: f32 = 0.797_884_6;
/// Of GELU's tanh form (Hendrycks and Gimpel 2016, arXiv 1606.08415).
const CUBE: f32 = 0.044_715;

pub(super) fn map<I: Floats>(tile: &mut Tile) -> Result<(), StepError> {
    on!(I, body, tile)
}

#[inline(always)]
fn body<I: Floats>(isa: I, tile: &mut Tile) -> Result<(), StepError> {
    let Op::Map(op) = tile.op else { unreachable!("the kernel of map") };
    for r in tile.outs[0].rows.clone() {
        let ins: SmallVec<[&[f32]; 8]> = tile.ins.iter().map(|x| x.row(r)).collect();
        row(isa, &op.0, &ins, tile.outs[0].row(r));
    }
    Ok(())
}

/// An expression of the elements of rows that are as long as `out`.
#[inline(always)]
pub(crate) fn row<I: Floats>(isa: I, expr: &Expr, ins: &[&[f32]], out: &mut [f32]) {
    for i in 0..out.len().div_ceil(LANES) {
        let mut stack = [isa.splat_float(0.0); Expr::DEPTH];
        let mut n = 0;
        for term in &expr.0 {
            match *term {
                Term::In(operand) => {
                    stack[n] = isa.take(ins[usize::from(operand)], i, 0.0);
                    n += 1;
                }
                Term::Add => {
                    n -= 1;
                    stack[n - 1] = isa.sum(stack[n - 1], stack[n]);
                }
                Term::Mul => {
                    n -= 1;
                    stack[n - 1] = isa.product(stack[n - 1], stack[n]);
                }
                Term::Silu => stack[n - 1] = logistic(isa, stack[n - 1], stack[n - 1]),
                Term::Gelu => stack[n - 1] = gelu(isa, stack[n - 1]),
            }
        }
        isa.put(out, i, stack[0]);
    }
}

/// a (1 + tanh u) / 2 with u = sqrt(2 / pi) (a + 0.044715 a^3), where (1 + tanh u) / 2 is 1 / (1 + exp(-2u)).
#[inline(always)]
fn gelu<I: Floats>(isa: I, a: I::F) -> I::F {
    let square = isa.product(isa.product(isa.splat_float(CUBE), a), a);
    let u = isa.product(isa.splat_float(SLOPE), isa.sum(a, isa.product(square, a)));
    logistic(isa, a, isa.product(isa.splat_float(2.0), u))
}

/// a / (1 + exp(-x))
#[inline(always)]
fn logistic<I: Floats>(isa: I, a: I::F, x: I::F) -> I::F {
    let power = exp(isa, isa.difference(isa.splat_float(0.0), x));
    isa.quotient(a, isa.sum(isa.splat_float(1.0), power))
}
