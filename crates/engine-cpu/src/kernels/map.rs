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
    let mut stack = stack(isa);
    for r in tile.outs[0].rows.clone() {
        let ins: SmallVec<[&[f32]; 8]> = tile.ins.iter().map(|x| x.row(r)).collect();
        row(isa, &op.0, &ins, tile.outs[0].row(r), &mut stack);
    }
    Ok(())
}

/// Vectors that go through an expression together: finding what a term is costs more than a vector of it, and the
/// results of one are long in coming.
const SIDE: usize = 4;

/// The stack of values of an expression, allocated once for many rows.
pub(crate) type Stack<I> = [[<I as Floats>::F; SIDE]; Expr::DEPTH];

/// Zeros.
#[inline(always)]
pub(crate) fn stack<I: Floats>(isa: I) -> Stack<I> {
    [[isa.splat_float(0.0); SIDE]; Expr::DEPTH]
}

/// An expression of the elements of rows that are as long as `out`.
#[inline(always)]
pub(crate) fn row<I: Floats>(isa: I, expr: &Expr, ins: &[&[f32]], out: &mut [f32], stack: &mut Stack<I>) {
    let count = out.len().div_ceil(LANES);
    let whole = count / SIDE * SIDE;
    for i in (0..whole).step_by(SIDE) {
        vectors::<I, SIDE>(isa, expr, ins, out, i, stack);
    }
    for i in whole..count {
        vectors::<I, 1>(isa, expr, ins, out, i, stack);
    }
}

/// Vectors `at .. at + N` of a row. Loops, not closures, which would not be compiled for the set.
#[inline(always)]
fn vectors<I: Floats, const N: usize>(
    isa: I,
    expr: &Expr,
    ins: &[&[f32]],
    out: &mut [f32],
    at: usize,
    stack: &mut Stack<I>,
) {
    let mut n = 0;
    for term in &expr.0 {
        match *term {
            Term::In(operand) => {
                for (j, to) in stack[n].iter_mut().take(N).enumerate() {
                    *to = isa.take(ins[usize::from(operand)], at + j, 0.0);
                }
                n += 1;
            }
            Term::Constant(value) => {
                stack[n] = [isa.splat_float(value); SIDE];
                n += 1;
            }
            Term::Add => {
                n -= 1;
                let top = stack[n];
                for (a, b) in stack[n - 1].iter_mut().zip(&top).take(N) {
                    *a = isa.sum(*a, *b);
                }
            }
            Term::Mul => {
                n -= 1;
                let top = stack[n];
                for (a, b) in stack[n - 1].iter_mut().zip(&top).take(N) {
                    *a = isa.product(*a, *b);
                }
            }
            Term::Silu => {
                for a in stack[n - 1].iter_mut().take(N) {
                    *a = logistic(isa, *a, *a);
                }
            }
            Term::Gelu => {
                for a in stack[n - 1].iter_mut().take(N) {
                    *a = gelu(isa, *a);
                }
            }
        }
    }
    for (j, a) in stack[0].iter().take(N).enumerate() {
        isa.put(out, at + j, *a);
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
