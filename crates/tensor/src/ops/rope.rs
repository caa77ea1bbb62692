use super::one;
use crate::math;
use crate::op::{Arrays, Cost, Mismatch, OpDef, Operands, Types};
use crate::step::{ROWS, StepView, rows};
use crate::{Array, Dim, Sizes, Type, fnv1a};
use std::sync::Arc;

/// Which elements of a head turn together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pairs {
    /// 2i and 2i + 1.
    Neighbours,
    /// i and i + n / 2, of the n dimensions that turn.
    Halves,
}

/// `(x, rows) -> x`: the i-th pair of each head turns by position times `frequencies[i]` radians (Su et al. 2021, arXiv
/// 2104.09864) and is scaled by `magnitude`; dimensions without a pair stay as they are. All kinds of scaling (linear,
/// YaRN, factors of a file) are ways to choose the frequencies, which is the model's part.
#[derive(Clone, Debug, PartialEq)]
pub struct Rope {
    /// Values in a head.
    pub head_dim: usize,
    /// Radians a position, one a pair.
    pub frequencies: Arc<[f64]>,
    /// The factor of the rotated values.
    pub magnitude: f64,
    /// Which elements make a pair.
    pub pairs: Pairs,
}

impl OpDef for Rope {
    fn name(&self) -> &'static str {
        "rope"
    }

    fn attributes(&self) -> String {
        // Tables of frequencies are too long to print, but must differ in print if they differ.
        let hash = fnv1a(self.frequencies.iter().flat_map(|f| f.to_bits().to_le_bytes()));
        let (n, last) = (self.frequencies.len(), self.frequencies.last().copied().unwrap_or(0.0));
        let Rope { head_dim, magnitude, pairs, .. } = self;
        format!("head_dim {head_dim}, {n} {pairs:?} to {last:.3e} #{:08x}, magnitude {magnitude}", hash >> 32)
    }

    fn infer(&self, ins: &Operands) -> Result<Types, Mismatch> {
        ins.count(2, 2)?;
        let (dim, turning) = (self.head_dim, 2 * self.frequencies.len());
        let expected = format!("f32[Rows, heads * {dim}] with at least {turning} dimensions a head");
        let x = ins.some(0, &expected, |x| x.rows == Dim::Rows && dim >= turning && dim > 0 && x.cols % dim == 0)?;
        ins.f32(0)?;
        ins.is(1, ROWS)?;
        Ok(Types::from_slice(&[x]))
    }

    fn eval(&self, _step: &StepView, ins: Arrays) -> Arrays {
        let positions: Vec<f64> = rows(ins[1].all()).map(|r| f64::from(r.position)).collect();
        let (x, half) = (&ins[0], self.frequencies.len());
        one(Array::from_rows(x.rows(), x.cols(), |r, out| {
            out.copy_from_slice(x.row(r));
            for (i, frequency) in self.frequencies.iter().enumerate() {
                let angle = positions[r] * frequency;
                let (sin, cos) = (math::sin(angle) * self.magnitude, math::cos(angle) * self.magnitude);
                let (first, second) = match self.pairs {
                    Pairs::Neighbours => (2 * i, 2 * i + 1),
                    Pairs::Halves => (i, i + half),
                };
                for head in out.chunks_exact_mut(self.head_dim) {
                    let (a, b) = (f64::from(head[first]), f64::from(head[second]));
                    head[first] = (a * cos - b * sin) as f32;
                    head[second] = (b * cos + a * sin) as f32;
                }
            }
        }))
    }

    fn cost(&self, ins: &[Type], _outs: &[Type], sizes: &Sizes) -> Cost {
        Cost { bytes: ins[0].bytes(sizes).saturating_mul(2), flops: ins[0].elements(sizes).saturating_mul(3) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step::{LogitWish, Row, SeqStep, StepBuffer};

    fn rotated(pairs: Pairs, position: u32) -> Vec<f32> {
        let mut step = StepBuffer::with_capacity(8, 1, 1, 0);
        step.push(&SeqStep { slot: 0, tokens: &[0], tables: &[&[0]], logits: LogitWish::None, sampler: None });
        let words = step.encode(0, 0).to_vec();
        let rope = Rope { head_dim: 5, frequencies: [1.0, 0.5].into(), magnitude: 2.0, pairs };
        let row = Row { token: 0, position, seq: 0 };
        let rows = Array::from_u32(ROWS.cols, bytemuck::cast_slice(&[row]).to_vec());
        let x = Array::from_f32(5, vec![1.0, 2.0, 3.0, 4.0, 5.0]);
        rope.eval(&StepView::new(&words).unwrap(), Arrays::from_iter([x, rows]))[0].row(0).to_vec()
    }

    #[test]
    fn pairs_turn_by_position_and_the_rest_of_a_head_stays() {
        // Pair i turns by 3 * frequency: (a cos - b sin, b cos + a sin), twice as long.
        let turn = |a: f64, b: f64, angle: f64| {
            let (sin, cos) = angle.sin_cos();
            [(2.0 * (a * cos - b * sin)) as f32, (2.0 * (b * cos + a * sin)) as f32]
        };
        let ([a, b], [c, d]) = (turn(1.0, 2.0, 3.0), turn(3.0, 4.0, 1.5));
        assert_eq!(rotated(Pairs::Neighbours, 3), [a, b, c, d, 5.0]);
        let ([a, c], [b, d]) = (turn(1.0, 3.0, 3.0), turn(2.0, 4.0, 1.5));
        assert_eq!(rotated(Pairs::Halves, 3), [a, b, c, d, 5.0]);
        assert_eq!(rotated(Pairs::Halves, 0), [2.0, 4.0, 6.0, 8.0, 5.0]);
    }
}
