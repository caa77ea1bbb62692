//! The kernels. The engine computes ops without a kernel of its own by their definition; its own kernels precede the
//! definitions in the table.

use inkstone::compute::{Kernel, Numerics, Pattern};
use inkstone::tensor::op::Arrays;
use inkstone::tensor::step::StepView;
use inkstone::tensor::{Array, DType, Op};
use std::sync::Arc;

/// What [`Kernel::entry`] holds for this engine: results from operands.
pub type Entry = fn(&Op, &StepView, Arrays) -> Arrays;

/// The arithmetic of [`linear`]: sums in f32, in the order of the columns.
const SUMS: Numerics = Numerics("f32/serial");

/// Best first.
pub fn table() -> Vec<Kernel> {
    let by_definition = |name, implements, entry: Entry| Kernel::by_definition(name, implements, Arc::new(entry));
    vec![
        Kernel { numerics: SUMS, ..by_definition("linear.serial", Pattern::Named("linear"), linear) },
        by_definition("definition", Pattern::AnyOp, |op, step, ins| op.eval(step, ins)),
    ]
}

/// `x w^T + bias`; each row of the weight is decoded once for all rows of `x`.
fn linear(_: &Op, _: &StepView, ins: Arrays) -> Arrays {
    let (x, w) = (decoded(&ins[0]), &ins[1]);
    let bias = ins.get(2).map(decoded);
    let mut out = vec![0f32; x.rows() * w.rows()];
    let mut row = vec![0f32; w.cols()];
    for n in 0..w.rows() {
        w.decode_row(n, &mut row);
        for m in 0..x.rows() {
            let sum = x.row(m).iter().zip(&row).fold(0f32, |sum, (x, w)| x.mul_add(*w, sum));
            out[m * w.rows() + n] = sum + bias.as_ref().map_or(0.0, |b| b.row(0)[n]);
        }
    }
    Arrays::from_iter([Array::from_f32(w.rows(), out)])
}

fn decoded(x: &Array) -> Array {
    match x.dtype() {
        DType::F32 => x.clone(),
        _ => Array::from_rows(x.rows(), x.cols(), |r, out| x.decode_row(r, out)),
    }
}
