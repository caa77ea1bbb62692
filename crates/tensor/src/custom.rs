//! Custom ops.

use crate::op::{Arrays, Cost, Mismatch, OpDef, Operands, Types};
use crate::step::StepView;
use crate::{Array, Sizes, Type};
use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// An op that a user of the library adds. It works row by row and has no state: the order of states and steps is the
/// graph's to keep.
pub trait CustomOp: fmt::Debug + Send + Sync {
    /// Its name, as kernels spell it.
    fn name(&self) -> &str;

    /// Name, version and attributes, which are printed, hashed and compared.
    fn key(&self) -> String;

    /// The type of the result.
    ///
    /// # Errors
    /// The operand that does not fit.
    fn infer(&self, ins: &Operands) -> Result<Type, Mismatch>;

    /// The definition.
    fn eval(&self, ins: &[Array]) -> Array;

    /// Bytes and flops for operands and a result of these types.
    fn cost(&self, ins: &[Type], out: &Type, sizes: &Sizes) -> Cost;

    /// The arithmetic of the definition, as kernels name theirs.
    fn numerics(&self) -> &str {
        "f64"
    }

    /// For its kernels, to get at the attributes.
    fn as_any(&self) -> &dyn Any;
}

impl OpDef for Arc<dyn CustomOp> {
    fn name(&self) -> &'static str {
        "custom"
    }
    fn attributes(&self) -> String {
        self.key()
    }
    fn infer(&self, ins: &Operands) -> Result<Types, Mismatch> {
        Ok(Types::from_slice(&[self.as_ref().infer(ins)?]))
    }
    fn eval(&self, _step: &StepView, ins: Arrays) -> Arrays {
        Arrays::from_iter([self.as_ref().eval(&ins)])
    }
    fn cost(&self, ins: &[Type], outs: &[Type], sizes: &Sizes) -> Cost {
        outs.first().map_or_else(Cost::default, |out| self.as_ref().cost(ins, out, sizes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Dim, Op};

    #[derive(Debug)]
    struct Double;

    impl CustomOp for Double {
        fn name(&self) -> &str {
            "double"
        }
        fn key(&self) -> String {
            "double 1".to_owned()
        }
        fn infer(&self, ins: &Operands) -> Result<Type, Mismatch> {
            ins.f32(0)
        }
        fn eval(&self, ins: &[Array]) -> Array {
            Array::from_f32(ins[0].cols(), ins[0].all::<f32>().iter().map(|x| 2.0 * x).collect())
        }
        fn cost(&self, _ins: &[Type], out: &Type, sizes: &Sizes) -> Cost {
            Cost { bytes: 0, flops: out.elements(sizes) }
        }
        fn as_any(&self) -> &dyn Any {
            self
        }
    }

    #[test]
    fn an_op_from_outside_keeps_its_name() {
        let op = Op::Custom(Arc::new(Double));
        assert_eq!((op.name(), op.to_string()), ("double", "double(double 1)".to_owned()));
        let ty = Type::f32(Dim::N(1), 2);
        assert_eq!(op.infer(&[ty]).unwrap()[0], ty);
        assert_eq!(op.cost(&[ty], &[ty], &Sizes::default()).flops, 2);
    }
}
