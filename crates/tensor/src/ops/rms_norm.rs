use super::{dot, one};
use crate::array::zeros;
use crate::op::{Arrays, Cost, Mismatch, OpDef, Operands, Types};
use crate::step::StepView;
use crate::{Array, Dim, Sizes, Type};

/// `(x, w) -> x / sqrt(mean(x^2) + eps) * w`, each row on its own (Zhang and Sennrich 2019, arXiv 1910.07467).
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
        ins.some(1, &format!("a vector [1, {}]", x.cols), |w| (w.rows, w.cols) == (Dim::N(1), x.cols))?;
        ins.decodable(1)?;
        Ok(Types::from_slice(&[x]))
    }

    fn eval(&self, _step: &StepView, ins: Arrays) -> Arrays {
        let x = &ins[0];
        let mut w = zeros::<f32>(x.cols());
        ins[1].decode_row(0, &mut w);
        one(Array::from_rows(x.rows(), x.cols(), |r, out| {
            let x = x.row(r);
            let scale = 1.0 / (dot(x, x) / x.len() as f64 + f64::from(self.eps)).sqrt();
            for ((o, &x), &w) in out.iter_mut().zip(x).zip(&w) {
                *o = (f64::from(x) * scale * f64::from(w)) as f32;
            }
        }))
    }

    fn cost(&self, ins: &[Type], outs: &[Type], sizes: &Sizes) -> Cost {
        Cost { bytes: Cost::moved(ins, outs, sizes), flops: ins[0].elements(sizes).saturating_mul(4) }
    }
}
