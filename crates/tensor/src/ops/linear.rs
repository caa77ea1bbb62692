use super::{dot, dot4, one};
use crate::array::{collect, zeros};
use crate::op::{Arrays, Cost, Mismatch, OpDef, Operands, Types};
use crate::step::StepView;
use crate::{Array, Dim, Sizes, Type};

/// `(x[m, k], w[n, k], bias[1, n]?) -> x w^T + bias`, m x n. Each row of the weight, of any dtype, is decoded. A
/// product is a sum in f64 in the order of k, and the bias is added before the sum is rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Linear;

/// Rows of the weight that are decoded at once.
const BLOCK: usize = 4;

impl OpDef for Linear {
    fn name(&self) -> &'static str {
        "linear"
    }

    fn infer(&self, ins: &Operands) -> Result<Types, Mismatch> {
        ins.count(2, 3)?;
        let (x, w) = (ins.decodable(0)?, ins.decodable(1)?);
        let Dim::N(n) = w.rows else { return Err(ins.mismatch(1, "a matrix with a fixed number of rows")) };
        if w.cols != x.cols {
            return Err(ins.mismatch(1, format!("a matrix [{n}, {}]", x.cols)));
        }
        if ins.0.len() == 3 {
            ins.some(2, &format!("a vector [1, {n}]"), |b| (b.rows, b.cols) == (Dim::N(1), n))?;
            ins.decodable(2)?;
        }
        Ok(Types::from_slice(&[Type::f32(x.rows, n)]))
    }

    fn eval(&self, _step: &StepView, ins: Arrays) -> Arrays {
        let (x, w) = (decoded(&ins[0]), &ins[1]);
        let (m, n, k) = (x.rows(), w.rows(), w.cols());
        let bias = ins.get(2).map_or_else(|| zeros(n), |b| collect(n, decoded(b).row(0).iter().copied()));
        let mut out = zeros::<f32>(m.saturating_mul(n));
        let mut block = zeros::<f32>(BLOCK.saturating_mul(k));
        for first in (0..n).step_by(BLOCK) {
            let count = BLOCK.min(n - first);
            block.chunks_exact_mut(k).take(count).enumerate().for_each(|(i, row)| w.decode_row(first + i, row));
            let row = |i: usize| &block[i * k..][..k];
            for r in 0..m {
                let x = x.row(r);
                let sums = match count {
                    BLOCK => dot4(x, [row(0), row(1), row(2), row(3)]),
                    _ => std::array::from_fn(|i| if i < count { dot(x, row(i)) } else { 0.0 }),
                };
                for (i, sum) in sums.iter().enumerate().take(count) {
                    out[r * n + first + i] = (sum + f64::from(bias[first + i])) as f32;
                }
            }
        }
        one(Array::from_f32(n, out))
    }

    fn cost(&self, ins: &[Type], outs: &[Type], sizes: &Sizes) -> Cost {
        let macs = ins[1].elements(sizes).saturating_mul(ins[0].rows.at(sizes) as u64);
        Cost { bytes: Cost::moved(ins, outs, sizes), flops: macs.saturating_mul(2) }
    }
}

/// The matrix as f32.
fn decoded(x: &Array) -> Array {
    if x.dtype() == crate::DType::F32 && bytemuck::try_cast_slice::<u8, f32>(x.bytes()).is_ok() {
        return x.clone();
    }
    Array::from_rows(x.rows(), x.cols(), |r, out| x.decode_row(r, out))
}
