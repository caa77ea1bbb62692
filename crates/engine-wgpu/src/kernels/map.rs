//! Expressions of values at the same place: each becomes a function in the text of a shader.

use super::{blocks, groups, one, other};
use crate::call::{Call, Dispatch, word};
use crate::shader::Shader;
use inkstone_tensor::Op;
use inkstone_tensor::ops::{Expr, Term};

/// The most operands.
const INPUTS: usize = 16;

pub(super) fn map(call: &Call) -> Result<Vec<Dispatch>, String> {
    let Op::Map(op) = call.op else { return Err(other(call)) };
    if call.ins.len() > INPUTS {
        return Err(format!("{} operands, allowed: {INPUTS}", call.ins.len()));
    }
    let (out, cols) = (&call.outs[0], call.outs[0].ty.cols);
    let mut words = vec![out.at()?, word(cols)?];
    for x in &call.ins {
        words.push(x.at()?);
    }
    words.resize(2 + INPUTS, 0);
    let shader = Shader::named("map").file("rows", "shared/rows").file("math", "shared/math");
    let shader = shader.slot("expression", text(&op.0));
    one(Dispatch::new(shader, call.parameters(&words), [blocks(cols, 256)?, groups(call.rows() as usize)?, 1]))
}

/// The function of an expression. Each term has a name of its own, so that every one rounds.
fn text(expr: &Expr) -> String {
    let (mut body, mut stack) = (String::new(), Vec::new());
    for (i, term) in expr.0.iter().enumerate() {
        let mut pop = || stack.pop().unwrap_or_else(|| "0.0".to_owned());
        let value = match term {
            Term::In(n) => {
                format!("bitcast<f32>(act[p.inputs[{}].{} + at])", n / 4, ["x", "y", "z", "w"][usize::from(n % 4)])
            }
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
    format!("fn value(at: u32) -> f32 {{\n{body}  return {};\n}}\n", stack.pop().unwrap_or_else(|| "0.0".to_owned()))
}
