use super::one;
use crate::math;
use crate::op::{Arrays, Cost, Mismatch, OpDef, Operands, Types};
use crate::step::StepView;
use crate::{Array, Sizes, Type};
use smallvec::SmallVec;

/// A term of an elementwise expression in postfix form.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Term {
    /// The i-th operand.
    In(u8),
    /// A number.
    Constant(f32),
    /// a + b
    Add,
    /// a * b
    Mul,
    /// a / (1 + exp(-a)) (Elfwing et al. 2017)
    Silu,
    /// a (1 + tanh(sqrt(2 / pi) (a + 0.044715 a^3))) / 2: the tanh form (Hendrycks and Gimpel 2016, arXiv 1606.08415)
    Gelu,
}

/// An elementwise expression. Postfix, so that fusing two of them is substitution; every term rounds to f32, so that
/// fusing changes no bit.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr(pub SmallVec<[Term; 8]>);

impl Expr {
    /// Values that the stack of [`Expr::apply`] holds at most.
    pub const DEPTH: usize = 8;

    /// From its terms.
    pub fn new(terms: &[Term]) -> Expr {
        Expr(SmallVec::from_slice(terms))
    }

    /// The value of the expression for the given operands.
    ///
    /// # Panics
    /// If the expression is not well-formed ([`Expr::is_well_formed`]).
    pub fn apply(&self, input: impl Fn(usize) -> f32) -> f32 {
        let (mut stack, mut n) = ([0f32; Self::DEPTH], 0);
        for term in &self.0 {
            match *term {
                Term::In(i) => {
                    stack[n] = input(usize::from(i));
                    n += 1;
                }
                Term::Constant(value) => {
                    stack[n] = value;
                    n += 1;
                }
                Term::Add => {
                    n -= 1;
                    stack[n - 1] += stack[n];
                }
                Term::Mul => {
                    n -= 1;
                    stack[n - 1] *= stack[n];
                }
                Term::Silu => {
                    let x = f64::from(stack[n - 1]);
                    stack[n - 1] = (x / (1.0 + math::exp(-x))) as f32;
                }
                Term::Gelu => {
                    /// sqrt(2 / pi)
                    const SLOPE: f64 = 0.797_884_560_802_865_4;
                    let x = f64::from(stack[n - 1]);
                    stack[n - 1] = (0.5 * x * (1.0 + math::tanh(SLOPE * (x + 0.044_715 * x * x * x)))) as f32;
                }
            }
        }
        stack[0]
    }

    /// How many operands it has.
    pub fn inputs(&self) -> usize {
        self.0.iter().map(|t| if let Term::In(i) = t { usize::from(*i) + 1 } else { 0 }).max().unwrap_or(0)
    }

    /// Whether it leaves one value and its stack neither runs dry nor over.
    pub fn is_well_formed(&self) -> bool {
        let depth = self.0.iter().try_fold(0usize, |n, term| match term {
            Term::In(_) | Term::Constant(_) => (n < Self::DEPTH).then_some(n + 1),
            Term::Add | Term::Mul => (n >= 2).then(|| n - 1),
            Term::Silu | Term::Gelu => (n >= 1).then_some(n),
        });
        depth == Some(1)
    }
}

/// `(x, ...) -> x`: an expression of the elements at the same place.
#[derive(Clone, Debug, PartialEq)]
pub struct Map(pub Expr);

impl OpDef for Map {
    fn name(&self) -> &'static str {
        "map"
    }

    fn attributes(&self) -> String {
        let term = |t: &Term| match t {
            Term::In(i) => format!("${i}"),
            Term::Constant(value) => format!("{value:?}"),
            other => format!("{other:?}").to_lowercase(),
        };
        self.0.0.iter().map(term).collect::<Vec<_>>().join(" ")
    }

    fn infer(&self, ins: &Operands) -> Result<Types, Mismatch> {
        let n = self.0.inputs();
        ins.count(n, n)?;
        let x = ins.f32(0)?;
        if !self.0.is_well_formed() {
            return Err(ins.mismatch(0, format!("an expression that leaves one value, not {}", self.attributes())));
        }
        (1..n).try_for_each(|i| ins.is(i, x).map(drop))?;
        Ok(Types::from_slice(&[x]))
    }

    fn eval(&self, _step: &StepView, ins: Arrays) -> Arrays {
        one(Array::from_rows(ins[0].rows(), ins[0].cols(), |r, out| {
            let rows: SmallVec<[&[f32]; 4]> = ins.iter().map(|x| x.row(r)).collect();
            out.iter_mut().enumerate().for_each(|(c, o)| *o = self.0.apply(|i| rows[i][c]));
        }))
    }

    fn cost(&self, ins: &[Type], outs: &[Type], sizes: &Sizes) -> Cost {
        let computing = self.0.0.iter().filter(|t| !matches!(t, Term::In(_) | Term::Constant(_))).count() as u64;
        Cost { bytes: Cost::moved(ins, outs, sizes), flops: outs[0].elements(sizes).saturating_mul(computing) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Dim;

    #[test]
    fn expressions_are_checked_before_they_are_applied() {
        use Term::*;
        assert!(Expr::new(&[In(0), Silu, In(1), Mul]).is_well_formed());
        for bad in [&[][..], &[Add], &[In(0), In(1)], &[In(0), Mul], &[In(0); 9]] {
            assert!(!Expr::new(bad).is_well_formed(), "{bad:?}");
        }
        let gate = Expr::new(&[In(0), Silu, In(1), Mul]);
        assert_eq!(gate.apply(|i| [0.0, 7.0][i]), 0.0);
        assert_eq!(gate.apply(|i| [1.0, 2.0][i]), 2.0 * 0.731_058_6);
        let scaled = Expr::new(&[In(0), Constant(0.1), Mul]);
        assert!(scaled.is_well_formed() && !Expr::new(&[Constant(1.0); 9]).is_well_formed());
        assert_eq!((scaled.apply(|_| 3.0), Map(scaled).attributes()), (3.0 * 0.1, "$0 0.1 mul".to_owned()));
    }

    /// The erf form gives 0.841345 and -0.158655.
    #[test]
    fn gelu_is_the_tanh_form() {
        let gelu = |x: f32| Expr::new(&[Term::In(0), Term::Gelu]).apply(|_| x);
        assert_eq!([0.0, 1e30, -1e30].map(gelu), [0.0, 1e30, 0.0]);
        for (x, y) in [(1.0, 0.841_192), (-1.0, -0.158_808_01), (3.0, 2.996_362_6)] {
            assert!((gelu(x) - y).abs() < 1e-7 * x.abs(), "{x}: {}", gelu(x));
        }
    }

    #[test]
    fn terms_that_only_read_cost_nothing() {
        use Term::*;
        let x = Type::f32(Dim::N(1), 10);
        for (terms, flops) in [
            (&[In(0), In(0), Mul][..], 10),
            (&[In(2)], 0),
            (&[In(0), Silu, In(1), Mul], 20),
            (&[In(0), Constant(2.0), Mul], 10),
        ] {
            let map = Map(Expr::new(terms));
            let ins = vec![x; map.0.inputs()];
            assert_eq!(map.cost(&ins, &[x], &Sizes::default()).flops, flops, "{terms:?}");
        }
    }
}
