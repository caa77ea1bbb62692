use super::{dot, one};
use crate::array::zeros;
use crate::op::{Arrays, Cost, Mismatch, OpDef, Operands, Types};
use crate::step::StepView;
use crate::{Array, Dim, Sizes, Type};

/// `(x, w) -> x / sqrt(mean(x^2) + eps) * w`, each row separately (Zhang and Sennrich 2019, arXiv 1910.07467). A row
/// whose length is a multiple of the length of `w` consists of adjacent heads: each head is normalised as a separate
/// row with the same `w`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RmsNorm {
    /// Added to the mean of squares.
    pub eps: f32,
}

impl OpDef for RmsNorm {
    fn name(&self) -> &'static str {
        "rms_norm"
    }

    fn attributes(&self) -> String {
        format!("eps {:e}", self.eps)
    }

    fn infer(&self, ins: &Operands) -> Result<Types, Mismatch> {
        ins.count(2, 2)?;
        let x = ins.f32(0)?;
        let expected = format!("a vector [1, {}], or of a divisor of it", x.cols);
        ins.some(1, &expected, |w| w.rows == Dim::N(1) && w.cols > 0 && x.cols.is_multiple_of(w.cols))?;
        ins.decodable(1)?;
        Ok(Types::from_slice(&[x]))
    }

    fn eval(&self, _step: &StepView, ins: Arrays) -> Arrays {
        let x = &ins[0];
        let mut w = zeros::<f32>(ins[1].cols());
        ins[1].decode_row(0, &mut w);
        one(Array::from_rows(x.rows(), x.cols(), |r, out| {
            for (out, x) in out.chunks_exact_mut(w.len()).zip(x.row(r).chunks_exact(w.len())) {
                let scale = 1.0 / (dot(x, x) / x.len() as f64 + f64::from(self.eps)).sqrt();
                for ((o, &x), &w) in out.iter_mut().zip(x).zip(&w) {
                    *o = (f64::from(x) * scale * f64::from(w)) as f32;
                }
            }
        }))
    }

    fn cost(&self, ins: &[Type], outs: &[Type], sizes: &Sizes) -> Cost {
        Cost { bytes: Cost::moved(ins, outs, sizes), flops: ins[0].elements(sizes).saturating_mul(4) }
    }
}
