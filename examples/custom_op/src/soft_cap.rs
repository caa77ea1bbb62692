//! The op: its name, its operands, its meaning.

use inkstone::tensor::op::{Cost, Mismatch, Operands};
use inkstone::tensor::{Array, CustomOp, Sizes, Type, math};
use std::any::Any;

/// `cap * tanh(x / cap)`, element by element: no result is beyond `cap`, and their order stays (Gemma Team 2024, arXiv
/// 2408.00118, section 2).
#[derive(Clone, Copy, Debug)]
pub struct SoftCap {
    /// The bound, above 0.
    pub cap: f32,
}

impl SoftCap {
    /// The formula, rounded once.
    pub fn of(self, x: f32) -> f32 {
        let cap = f64::from(self.cap);
        (cap * math::tanh(f64::from(x) / cap)) as f32
    }
}

impl CustomOp for SoftCap {
    fn name(&self) -> &str {
        "soft_cap"
    }

    /// Everything that makes a difference: two ops of one key are the same op.
    fn key(&self) -> String {
        format!("soft_cap 1, cap {:?}", self.cap)
    }

    fn infer(&self, ins: &Operands) -> Result<Type, Mismatch> {
        ins.count(1, 1)?;
        ins.f32(0)
    }

    fn eval(&self, ins: &[Array]) -> Array {
        let x = &ins[0];
        Array::from_f32(x.cols(), x.all::<f32>().iter().map(|x| self.of(*x)).collect())
    }

    fn cost(&self, ins: &[Type], out: &Type, sizes: &Sizes) -> Cost {
        let bytes = ins.iter().chain([out]).map(|t| t.bytes(sizes)).fold(0, u64::saturating_add);
        Cost { bytes, flops: out.elements(sizes) }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
