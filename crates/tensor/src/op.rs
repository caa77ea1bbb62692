//! The operations of models. Each operation has its own file in `ops/` with its attributes, its types (`infer`), its
//! meaning (`eval`) and its cost. Every kernel of every engine is compared with `eval`, and none calls it.

use crate::body::Region;
use crate::custom::CustomOp;
use crate::ops::*;
use crate::step::StepView;
use crate::{Array, Sizes, Type};
use smallvec::SmallVec;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Types of operands or results.
pub type Types = SmallVec<[Type; 2]>;
/// Values of operands or results.
pub type Arrays = SmallVec<[Array; 8]>;
/// Indices of operands that are consumed.
pub type Consumed = SmallVec<[usize; 2]>;

/// An operand that does not fit, and what would.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("operand {operand} is {found}, expected {expected}")]
pub struct Mismatch {
    /// Index of the operand.
    pub operand: usize,
    /// Its type, or "missing".
    pub found: String,
    /// The operand that the op expects.
    pub expected: String,
}

/// The bytes and flops of an op, for rooflines and for the choice of kernels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Bytes read and written at least once.
    pub bytes: u64,
    /// Additions and multiplications.
    pub flops: u64,
}

impl Cost {
    /// Bytes of operands and results, except for states; saturating.
    pub(crate) fn moved(ins: &[Type], outs: &[Type], sizes: &Sizes) -> u64 {
        let values = ins.iter().chain(outs).filter(|t| !t.state);
        values.fold(0, |n, t| n.saturating_add(t.bytes(sizes)))
    }
}

/// The trait that each file in `ops/` implements.
pub trait OpDef {
    /// Its name, as plans and kernels spell it.
    fn name(&self) -> &'static str;

    /// Attributes as they are printed; empty if there are none.
    fn attributes(&self) -> String {
        String::new()
    }

    /// The operands that are consumed: states, whose memory becomes the last results, in the same order.
    fn consumes(&self) -> Consumed {
        Consumed::new()
    }

    /// The types of the results.
    ///
    /// # Errors
    /// The operand that does not fit.
    fn infer(&self, ins: &Operands) -> Result<Types, Mismatch>;

    /// The definition: results from operands, in plain loops with sums in f64. The operands that are consumed are
    /// moved in and come back as the last results.
    ///
    /// # Panics
    /// If the operands are not of types that `infer` accepts, or the step names rows, pages or tokens that are not
    /// there.
    fn eval(&self, step: &StepView, ins: Arrays) -> Arrays;

    /// Bytes and flops for operands and results of these types.
    fn cost(&self, ins: &[Type], outs: &[Type], sizes: &Sizes) -> Cost {
        let flops = outs.iter().filter(|t| !t.state).fold(0u64, |n, t| n.saturating_add(t.elements(sizes)));
        Cost { bytes: Cost::moved(ins, outs, sizes), flops }
    }
}

/// The types of an op's operands, with the checks that ops share.
#[derive(Clone, Copy, Debug)]
pub struct Operands<'a>(pub &'a [Type]);

impl Operands<'_> {
    /// The error that operand `i` should be `expected`.
    pub fn mismatch(&self, i: usize, expected: impl Into<String>) -> Mismatch {
        let found = self.0.get(i).map_or_else(|| "missing".to_owned(), Type::to_string);
        Mismatch { operand: i, found, expected: expected.into() }
    }

    /// Between `least` and `most` operands.
    pub fn count(&self, least: usize, most: usize) -> Result<(), Mismatch> {
        match self.0.len() {
            n if n < least => Err(self.mismatch(n, format!("one of {least} operands"))),
            n if n > most => Err(self.mismatch(most, format!("nothing: it takes {most} operands"))),
            _ => Ok(()),
        }
    }

    /// Operand `i` is exactly `want`.
    pub fn is(&self, i: usize, want: Type) -> Result<Type, Mismatch> {
        if self.0.get(i) == Some(&want) { Ok(want) } else { Err(self.mismatch(i, want.to_string())) }
    }

    /// Operand `i` is a matrix of f32, not a state.
    pub fn f32(&self, i: usize) -> Result<Type, Mismatch> {
        self.some(i, "a matrix of f32", |t| t.dtype == crate::DType::F32 && !t.state)
    }

    /// Operand `i` is a matrix, not a state, of any dtype that can be decoded.
    pub fn decodable(&self, i: usize) -> Result<Type, Mismatch> {
        self.some(i, "a matrix that can be decoded", |t| t.dtype.info().decode.is_some() && !t.state)
    }

    /// Operand `i`, if `ok` holds for it.
    pub fn some(&self, i: usize, expected: &str, ok: impl Fn(&Type) -> bool) -> Result<Type, Mismatch> {
        self.0.get(i).copied().filter(ok).ok_or_else(|| self.mismatch(i, expected))
    }
}

macro_rules! ops {
    ($($(#[$doc:meta])* $variant:ident,)+) => {
        /// An operation with its attributes.
        #[derive(Clone, Debug)]
        #[non_exhaustive]
        pub enum Op {
            $($(#[$doc])* $variant($variant),)+
            /// A body that a kernel can do in one go; it means its body.
            Region(Arc<Region>),
            /// A custom op.
            Custom(Arc<dyn CustomOp>),
        }

        impl Op {
            fn def(&self) -> &dyn OpDef {
                match self {
                    $(Op::$variant(op) => op,)+
                    Op::Region(region) => region.as_ref(),
                    Op::Custom(op) => op,
                }
            }
        }

        impl PartialEq for Op {
            fn eq(&self, other: &Op) -> bool {
                match (self, other) {
                    $((Op::$variant(a), Op::$variant(b)) => a == b,)+
                    (Op::Region(a), Op::Region(b)) => a == b,
                    (Op::Custom(a), Op::Custom(b)) => a.key() == b.key(),
                    _ => false,
                }
            }
        }

        $(impl From<$variant> for Op {
            fn from(op: $variant) -> Op {
                Op::$variant(op)
            }
        })+
    };
}

ops! {
    /// (carry) -> rows
    BeginStep,
    /// (rows, table) -> x
    Embed,
    /// (x) -> some of its columns
    Columns,
    /// (x, w, bias?) -> x w^T + bias
    Linear,
    /// (x, w) -> x / rms(x) * w
    RmsNorm,
    /// (x, w, bias) -> (x - mean(x)) / deviation(x) * w + bias
    LayerNorm,
    /// (x, rows) -> x rotated by position
    Rope,
    /// (cache, x, rows) -> cache
    KvWrite,
    /// (cache) -> cache
    KvCopy,
    /// (q, k, v, rows) -> x
    Attend,
    /// (x, ...) -> x, element by element
    Map,
    /// (x) -> x in another dtype
    Quantize,
    /// (x) -> the rows whose logits are wanted
    GatherRows,
    /// (history, rows) -> history
    HistoryWrite,
    /// (logits, rows, history) -> records
    Sample,
    /// (logits, records) -> scores
    Score,
    /// (carry, records) -> carry
    Accept,
    /// (carry, rows) -> carry
    Advance,
}

impl Op {
    /// Its name, as plans and kernels spell it.
    pub fn name(&self) -> &str {
        match self {
            Op::Region(r) => &r.name,
            Op::Custom(c) => c.as_ref().name(),
            op => op.def().name(),
        }
    }

    /// See [`OpDef::attributes`].
    pub fn attributes(&self) -> String {
        self.def().attributes()
    }

    /// See [`OpDef::consumes`].
    pub fn consumes(&self) -> Consumed {
        self.def().consumes()
    }

    /// See [`OpDef::infer`].
    ///
    /// # Errors
    /// The operand that does not fit.
    pub fn infer(&self, ins: &[Type]) -> Result<Types, Mismatch> {
        self.def().infer(&Operands(ins))
    }

    /// See [`OpDef::eval`].
    ///
    /// # Panics
    /// After [`forbid_eval`].
    pub fn eval(&self, step: &StepView, ins: Arrays) -> Arrays {
        if FORBIDDEN.load(Ordering::Relaxed) {
            panic!("eval of {}", self.name());
        }
        self.def().eval(step, ins)
    }

    /// See [`OpDef::cost`].
    pub fn cost(&self, ins: &[Type], outs: &[Type], sizes: &Sizes) -> Cost {
        self.def().cost(ins, outs, sizes)
    }
}

static FORBIDDEN: AtomicBool = AtomicBool::new(false);

/// From now on [`Op::eval`] panics in this process: tests of an engine show so that it computes without the
/// definitions.
pub fn forbid_eval() {
    FORBIDDEN.store(true, Ordering::Relaxed);
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self.attributes() {
            none if none.is_empty() => f.write_str(self.name()),
            attributes => write!(f, "{}({attributes})", self.name()),
        }
    }
}
