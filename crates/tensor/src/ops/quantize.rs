use super::one;
use crate::op::{Arrays, Mismatch, OpDef, Operands, Types};
use crate::step::StepView;
use crate::{Array, DType, Type};

/// `(x) -> x` in another dtype, each row separately. A numerics encodes its activations with this op.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quantize {
    /// The dtype of the result.
    pub to: DType,
}

impl OpDef for Quantize {
    fn name(&self) -> &'static str {
        "quantize"
    }

    fn attributes(&self) -> String {
        self.to.name().to_owned()
    }

    fn infer(&self, ins: &Operands) -> Result<Types, Mismatch> {
        ins.count(1, 1)?;
        let x = ins.f32(0)?;
        if self.to.info().encode.is_none() || self.to.row_bytes(x.cols).is_none() {
            return Err(ins.mismatch(0, format!("rows of whole blocks of {}, which can be encoded", self.to)));
        }
        Ok(Types::from_slice(&[Type { dtype: self.to, ..x }]))
    }

    fn eval(&self, _step: &StepView, ins: Arrays) -> Arrays {
        let x = &ins[0];
        let mut out = Array::zeros(self.to, x.rows(), x.cols()).unwrap_or_else(|e| e.unwind());
        (0..x.rows()).for_each(|r| out.encode_row(r, x.row(r)));
        one(out)
    }
}
