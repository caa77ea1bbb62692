use super::one;
use crate::array::zeros;
use crate::op::{Arrays, Cost, Mismatch, OpDef, Operands, Types};
use crate::step::StepView;
use crate::{Array, Dim, Sizes, Type};

/// `(x, w, bias) -> (x - mean(x)) / sqrt(var(x) + eps) * w + bias`, each row on its own (Ba et al. 2016, arXiv
/// 1607.06450). The variance is the mean of the squared differences to the mean, which is found before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LayerNorm {
    /// Added to the variance.
    pub eps: f32,
}

impl OpDef for LayerNorm {
    fn name(&self) -> &'static str {
        "layer_norm"
    }

    fn attributes(&self) -> String {
        format!("eps {:e}", self.eps)
    }

    fn infer(&self, ins: &Operands) -> Result<Types, Mismatch> {
        ins.count(3, 3)?;
        let x = ins.f32(0)?;
        for i in [1, 2] {
            ins.some(i, &format!("a vector [1, {}]", x.cols), |w| (w.rows, w.cols) == (Dim::N(1), x.cols))?;
            ins.decodable(i)?;
        }
        Ok(Types::from_slice(&[x]))
    }

    fn eval(&self, _step: &StepView, ins: Arrays) -> Arrays {
        let x = &ins[0];
        let [w, bias] = [1, 2].map(|i| {
            let mut vector = zeros::<f32>(x.cols());
            ins[i].decode_row(0, &mut vector);
            vector
        });
        one(Array::from_rows(x.rows(), x.cols(), |r, out| {
            let (x, n) = (x.row(r), x.cols() as f64);
            let mean = x.iter().fold(0.0, |sum, x| sum + f64::from(*x)) / n;
            let variance = x.iter().fold(0.0, |sum, x| sum + (f64::from(*x) - mean) * (f64::from(*x) - mean)) / n;
            let scale = 1.0 / (variance + f64::from(self.eps)).sqrt();
            for (((o, &x), &w), &bias) in out.iter_mut().zip(x).zip(&w).zip(&bias) {
                *o = ((f64::from(x) - mean) * scale * f64::from(w) + f64::from(bias)) as f32;
            }
        }))
    }

    fn cost(&self, ins: &[Type], outs: &[Type], sizes: &Sizes) -> Cost {
        Cost { bytes: Cost::moved(ins, outs, sizes), flops: ins[0].elements(sizes).saturating_mul(8) }
    }
}
