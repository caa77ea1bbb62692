//! The table of ops that a model can trace: one line each.

use super::{Operand, State, Tracer, Value};
use crate::Result;
use inkstone_tensor::ops::*;
use inkstone_tensor::{CustomOp, DType, Op};
use smallvec::SmallVec;
use std::sync::Arc;

/// Operands (values, or states that are read), then attributes; the result is a value.
macro_rules! values {
    ($($(#[$doc:meta])* $name:ident($($x:ident: $kind:ty),+ $(; $attr:ident: $ty:ty)?) = $op:expr;)+) => {
        /// Ops that make a value. All of them fail with [`Error::Operand`](crate::Error::Operand) if an operand does
        /// not fit.
        #[allow(clippy::missing_errors_doc)]
        impl Tracer<'_> {$(
            $(#[$doc])*
            #[track_caller]
            pub fn $name(&self, $($x: $kind,)+ $($attr: $ty)?) -> Result<Value> {
                self.value($op.into(), &[$($x.operand()),+])
            }
        )+}
    };
}

/// The same for ops that consume a state, their first operand, and make its next version.
macro_rules! states {
    ($($(#[$doc:meta])* $name:ident($($x:ident: $kind:ty),* $(; $attr:ident: $ty:ty)?) = $op:expr;)+) => {
        /// Ops that make the next version of a state. They fail as those that make a value.
        #[allow(clippy::missing_errors_doc)]
        impl Tracer<'_> {$(
            $(#[$doc])*
            #[track_caller]
            pub fn $name(&self, state: State, $($x: $kind,)* $($attr: $ty)?) -> Result<State> {
                let (id, ty) = self.single($op.into(), &[state.operand(), $($x.operand()),*])?;
                Ok(State { id, ty, name: state.name })
            }
        )+}
    };
}

values! {
    /// Token, position and sequence of every row; see [`BeginStep`].
    begin_step(carry: &State) = BeginStep;
    /// The table's row of each token; see [`Embed`].
    embed(rows: Value, table: Value) = Embed { by: By::Token };
    /// The table's row of each position; see [`Embed`].
    embed_position(rows: Value, table: Value) = Embed { by: By::Position };
    /// Some of the columns; see [`Columns`].
    columns(x: Value; columns: Columns) = columns;
    /// See [`LayerNorm`].
    layer_norm(x: Value, w: Value, bias: Value; eps: f32) = LayerNorm { eps };
    /// See [`RmsNorm`]; `w` may be as long as a head, which makes it a norm of each.
    rms_norm(x: Value, w: Value; eps: f32) = RmsNorm { eps };
    /// Turns pairs by position; see [`Rope`].
    rope(x: Value, rows: Value; rope: &Rope) = rope.clone();
    /// Causal attention over the caches that `kv_write` gave back; see [`Attend`].
    attend(q: Value, k: &State, v: &State, rows: Value; attend: Attend) = attend;
    /// a + b
    add(a: Value, b: Value) = Map(Expr::new(&[Term::In(0), Term::In(1), Term::Add]));
    /// a * b
    mul(a: Value, b: Value) = Map(Expr::new(&[Term::In(0), Term::In(1), Term::Mul]));
    /// x / (1 + exp(-x))
    silu(x: Value) = Map(Expr::new(&[Term::In(0), Term::Silu]));
    /// x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2
    gelu(x: Value) = Map(Expr::new(&[Term::In(0), Term::Gelu]));
    /// In another dtype, as kernels would read it; see [`Quantize`].
    quantize(x: Value; to: DType) = Quantize { to };
    /// The rows whose logits are wanted; see [`GatherRows`].
    gather_rows(x: Value) = GatherRows;
    /// A token or a status a logit row; see [`Sample`].
    sample(logits: Value, rows: Value, history: &State) = Sample;
    /// Log-probabilities; see [`Score`].
    score(logits: Value, records: Value) = Score;
}

states! {
    /// Each row of `x` at the place of its position; see [`KvWrite`].
    kv_write(x: Value, rows: Value) = KvWrite;
    /// The pages that the step copies; see [`KvCopy`].
    kv_copy() = KvCopy;
    /// The token of each row at the place of its position; see [`HistoryWrite`].
    history_write(rows: Value) = HistoryWrite;
    /// Takes what each sequence drew; see [`Accept`].
    accept(records: Value) = Accept;
    /// Lengths grow by the rows of the step; see [`Advance`].
    advance(rows: Value) = Advance;
}

/// Ops with any number of operands. They fail as the others.
#[allow(clippy::missing_errors_doc)]
impl Tracer<'_> {
    /// x w^T, plus `bias` where there is one; see [`Linear`].
    #[track_caller]
    pub fn linear(&self, x: Value, w: Value, bias: impl Into<Option<Value>>) -> Result<Value> {
        let operands: SmallVec<[_; 3]> = [x, w].iter().chain(bias.into().iter()).map(Value::operand).collect();
        self.value(Linear.into(), &operands)
    }

    /// An expression of the elements at the same place; see [`Map`].
    #[track_caller]
    pub fn map(&self, expr: Expr, operands: &[Value]) -> Result<Value> {
        self.value(Map(expr).into(), &operands.iter().map(Value::operand).collect::<SmallVec<[_; 4]>>())
    }

    /// A custom op.
    #[track_caller]
    pub fn custom(&self, op: Arc<dyn CustomOp>, operands: &[Value]) -> Result<Value> {
        self.value(Op::Custom(op), &operands.iter().map(Value::operand).collect::<SmallVec<[_; 4]>>())
    }

    /// Records any op, for ops without a method of their own; all its results, in order. Operands and results are
    /// values: an op that reads or updates states can't be recorded so.
    #[track_caller]
    pub fn op(&self, op: impl Into<Op>, operands: &[Value]) -> Result<SmallVec<[Value; 2]>> {
        let operands: SmallVec<[_; 4]> = operands.iter().map(Value::operand).collect();
        Ok(self.node(op.into(), &operands)?.into_iter().map(|(id, ty)| Value { id, ty }).collect())
    }

    #[track_caller]
    fn value(&self, op: Op, operands: &[Operand]) -> Result<Value> {
        self.single(op, operands).map(|(id, ty)| Value { id, ty })
    }
}
