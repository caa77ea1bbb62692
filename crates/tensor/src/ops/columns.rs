use super::one;
use crate::op::{Arrays, Cost, Mismatch, OpDef, Operands, Types};
use crate::step::StepView;
use crate::{Array, Sizes, Type};

/// `(x) -> x`: the columns `first` to `first + count - 1` of each row, where one matrix gave what belongs to several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Columns {
    /// The first of them.
    pub first: usize,
    /// How many.
    pub count: usize,
}

impl OpDef for Columns {
    fn name(&self) -> &'static str {
        "columns"
    }

    fn attributes(&self) -> String {
        format!("{} from {}", self.count, self.first)
    }

    fn infer(&self, ins: &Operands) -> Result<Types, Mismatch> {
        ins.count(1, 1)?;
        let Columns { first, count } = *self;
        let expected = format!("a matrix with columns {first} to {first} + {count} - 1, at least one");
        let inside = |cols: usize| count > 0 && first.checked_add(count).is_some_and(|end| end <= cols);
        let x = ins.some(0, &expected, |x| inside(x.cols))?;
        ins.f32(0)?;
        Ok(Types::from_slice(&[Type::f32(x.rows, count)]))
    }

    fn eval(&self, _step: &StepView, ins: Arrays) -> Arrays {
        let x = &ins[0];
        one(Array::from_rows(x.rows(), self.count, |r, out| {
            out.copy_from_slice(&x.row(r)[self.first..][..self.count]);
        }))
    }

    fn cost(&self, _ins: &[Type], outs: &[Type], sizes: &Sizes) -> Cost {
        Cost { bytes: outs[0].bytes(sizes).saturating_mul(2), flops: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Dim;

    #[test]
    fn columns_lie_inside() {
        let infer = |first, count| Columns { first, count }.infer(&Operands(&[Type::f32(Dim::Rows, 6)]));
        assert_eq!(infer(2, 4).unwrap()[..], [Type::f32(Dim::Rows, 4)]);
        for (first, count) in [(3, 4), (6, 1), (0, 0), (usize::MAX, 2)] {
            assert_eq!(infer(first, count).unwrap_err().operand, 0, "{count} from {first}");
        }
    }
}
