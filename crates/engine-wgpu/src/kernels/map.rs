//! Expressions of values at the same place: each becomes a function in the text of a shader.

use super::{blocks, groups, one, other};
use crate::call::{Call, Dispatch, word};
use crate::shader::Shader;
use inkstone_tensor::Op;
use inkstone_tensor::ops::{Expr, Term};

/// The most operands.
pub(super) const INPUTS: usize = 16;

/// The first words of the operands that are among the activations.
pub(super) type Inputs = [u32; INPUTS];

/// An operand of an expression.
#[derive(Clone, Copy)]
pub(super) enum Input {
    /// Among the activations, from this word on.
    At(u32),
    /// The result of a product of the same dispatch, by its number.
    Product(usize),
}

pub(super) fn map(call: &Call) -> Result<Vec<Dispatch>, String> {
    let Op::Map(op) = call.op else { return Err(other(call)) };
    let (out, cols) = (&call.outs[0], call.outs[0].ty.cols);
    let inputs = call.ins.iter().map(|x| Ok(Input::At(x.at()?))).collect::<Result<Vec<_>, String>>()?;
    let (shader, inputs) = ending(Shader::named("map").file("rows", "shared/rows"), Some(&result(&op.0, &inputs)?));
    let mut words = vec![out.at()?, word(cols)?];
    words.extend(inputs);
    one(Dispatch::new(shader, call.parameters(&words), [blocks(cols, 256)?, groups(call.rows() as usize)?, 1]))
}

/// A shader with the texts of an expression, if there is one, and the operands of this.
pub(super) fn ending(shader: Shader, map: Option<&(String, Inputs)>) -> (Shader, Inputs) {
    match map {
        Some((text, inputs)) => (shader.file("math", "shared/math").slot("result", text.clone()), *inputs),
        None => (shader, [0; INPUTS]),
    }
}

/// The function of an expression, and its operands. Each term has a name of its own, so that every one rounds.
pub(super) fn result(expr: &Expr, from: &[Input]) -> Result<(String, Inputs), String> {
    let mut inputs = [0; INPUTS];
    if from.len() > INPUTS {
        return Err(format!("{} operands, allowed: {INPUTS}", from.len()));
    }
    for (place, input) in inputs.iter_mut().zip(from) {
        if let Input::At(word) = input {
            *place = *word;
        }
    }
    let of = |axis: usize| ["x", "y", "z", "w"][axis % 4];
    let (mut body, mut stack) = (String::new(), Vec::new());
    for (i, term) in expr.0.iter().enumerate() {
        let mut pop = || stack.pop().unwrap_or_else(|| "0.0".to_owned());
        let value = match term {
            Term::In(n) => match from.get(usize::from(*n)) {
                Some(Input::Product(product)) => format!("y.{}", of(*product)),
                _ => format!("bitcast<f32>(act[p.inputs[{}].{} + at])", n / 4, of(usize::from(*n))),
            },
            Term::Constant(value) if value.is_finite() => format!("{value:?}f"),
            Term::Constant(value) => return Err(format!("a constant is {value}, allowed: finite numbers")),
            Term::Add => {
                let (b, a) = (pop(), pop());
                format!("{a} + {b}")
            }
            Term::Mul => {
                let (b, a) = (pop(), pop());
                format!("{a} * {b}")
            }
            Term::Silu => format!("silu({})", pop()),
            Term::Gelu => format!("gelu({})", pop()),
        };
        body += &format!("  let t{i} = {value};\n");
        stack.push(format!("t{i}"));
    }
    let last = stack.pop().unwrap_or_else(|| "0.0".to_owned());
    Ok((format!("fn result(y: vec2<f32>, at: u32) -> f32 {{\n{body}  return {last};\n}}\n"), inputs))
}
