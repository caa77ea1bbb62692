//! The errors of tracing and compiling.

use crate::verify::Fault;
use inkstone_tensor::op::Mismatch;
use inkstone_tensor::{DType, ErrorKind};
use std::panic::Location;

/// Result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Errors of tracing and compiling. `at` is the line of the model file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An operand does not fit its op.
    #[error("{at}: {op}: {mismatch}")]
    Operand {
        /// Where the op was traced.
        at: &'static Location<'static>,
        /// Name of the op.
        op: String,
        /// Which operand, and what would fit.
        mismatch: Mismatch,
    },
    /// A handle of another tracer.
    #[error("{at}: {op}: operand {operand} belongs to another graph")]
    ForeignValue {
        /// Where the op was traced.
        at: &'static Location<'static>,
        /// Name of the op.
        op: String,
        /// Index of the operand.
        operand: usize,
    },
    /// A tensor that the model needs is not there, or can't be read.
    #[error("tensor {tensor}, expected {expected}: {reason}")]
    MissingWeight {
        /// Its name.
        tensor: String,
        /// The dimensions that it should have, in the order of the file.
        expected: String,
        /// The reason given by its source.
        reason: String,
    },
    /// A tensor has another shape than the configuration says.
    #[error("tensor {tensor} is {found}, expected {expected}")]
    WeightShape {
        /// Its name.
        tensor: String,
        /// Its dimensions, in the order of the file.
        found: String,
        /// Those that it should have.
        expected: String,
    },
    /// A tensor has a type without a decoder.
    #[error("tensor {tensor} is {dtype}, which can't be computed with; these can: {allowed}")]
    WeightType {
        /// Its name.
        tensor: String,
        /// Its type.
        dtype: DType,
        /// Types with a decoder.
        allowed: String,
    },
    /// The rows of a tensor are not a whole number of blocks.
    #[error("tensor {tensor} is {dtype} with rows of {cols} values, allowed: multiples of {block}")]
    WeightBlocks {
        /// Its name.
        tensor: String,
        /// Its type.
        dtype: DType,
        /// Values in a row.
        cols: usize,
        /// Values in a block.
        block: usize,
    },
    /// A cache in a layer group that has no places.
    #[error("state {state} is in layer group {group}, which has no places")]
    NoPlaces {
        /// The name of the state.
        state: String,
        /// The group.
        group: usize,
    },
    /// A graph breaks rules of graphs.
    #[error("graph {graph}: {}", one_line(faults))]
    Invalid {
        /// Its name.
        graph: String,
        /// All that is wrong with it.
        faults: Vec<Fault>,
    },
    /// An input of another type than the graph's.
    #[error("{source_name} is {found}, expected {expected}")]
    Input {
        /// The source.
        source_name: String,
        /// The value that it returned.
        found: String,
        /// The value that was traced.
        expected: String,
    },
    /// Two graphs of a model disagree about something that they share.
    #[error("{what} is {second} in graph {graph}, but {first} before")]
    Disagree {
        /// The weight, state or port.
        what: String,
        /// Its type in the graphs before.
        first: String,
        /// The graph that differs.
        graph: String,
        /// Its type there.
        second: String,
    },
    /// An engine has kernels for some uses of a weight or an op, but no choice that serves all of them.
    #[error("{what}: no layout and numerics of engine {engine} serve all uses in all buckets: {reasons}")]
    Unserved {
        /// Tensors with their types, or the op.
        what: String,
        /// Name of the engine.
        engine: &'static str,
        /// For each choice the use that has no kernel.
        reasons: String,
    },
    /// A kernel wants its activations in a dtype that its op, or quantize, does not take.
    #[error("kernel {kernel} wants activations in {dtype}: {op}: {mismatch}")]
    Activations {
        /// Its name.
        kernel: &'static str,
        /// The dtype.
        dtype: DType,
        /// The op that refuses.
        op: String,
        /// Why.
        mismatch: Mismatch,
    },
    /// A kernel cuts its work into blocks of nothing.
    #[error("kernel {kernel} cuts {op} into blocks of {rows} rows and {cols} columns; none may be 0")]
    Tiling {
        /// Its name.
        kernel: &'static str,
        /// The op that it was asked for.
        op: String,
        /// Rows per tile.
        rows: usize,
        /// Columns per tile.
        cols: usize,
    },
    /// The values of a plan need more bytes than can be counted.
    #[error(
        "graph {graph}: the values between its steps need more than 2^64 bytes at {rows} rows, {logit_rows} logit rows"
    )]
    ArenaSize {
        /// Name of the graph.
        graph: String,
        /// Rows of the bucket.
        rows: usize,
        /// Logit rows of the bucket.
        logit_rows: usize,
    },
    /// A step of a plan would find another value than the one that it names.
    #[error("plan {plan}, step {step} ({op}): {fault}")]
    Memory {
        /// Name of the plan.
        plan: String,
        /// Index of the step.
        step: usize,
        /// Name of its op.
        op: String,
        /// The fault.
        fault: String,
    },
    /// A step that no bucket has room for.
    #[error("{what} of a step: {value}, the largest plan has room for {largest}")]
    NoBucket {
        /// Rows or logit rows.
        what: &'static str,
        /// How many there are.
        value: usize,
        /// How many fit.
        largest: usize,
    },
    /// A kind of plan that was not compiled, or was given twice.
    #[error("{count} graphs of kind {kind} were compiled, expected 1")]
    Kind {
        /// The kind.
        kind: crate::Kind,
        /// How many there are.
        count: usize,
    },
    /// A step made of no plans.
    #[error("a step needs at least one kind of plan")]
    EmptyStep,
    /// An engine without sizes to compile for.
    #[error("engine {engine} names no buckets of {what}")]
    NoBuckets {
        /// Name of the engine.
        engine: String,
        /// Rows or logit rows.
        what: &'static str,
    },
    /// A fusion that is to be switched off, but is not there.
    #[error("no fusion is called {name}; there are: {known}")]
    UnknownFusion {
        /// The name.
        name: String,
        /// The names that there are.
        known: String,
    },
    /// A registry has no kernel.
    #[error("graph {graph}: {source}")]
    Compute {
        /// Name of the graph.
        graph: String,
        /// Which kernel, and what there is.
        source: inkstone_compute::Error,
    },
}

fn one_line(faults: &[Fault]) -> String {
    faults.iter().map(Fault::to_string).collect::<Vec<_>>().join("; ")
}

impl Error {
    /// The kind of the error: how a program reacts to it.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::UnknownFusion { .. } => ErrorKind::InvalidRequest,
            Error::Operand { .. }
            | Error::MissingWeight { .. }
            | Error::WeightShape { .. }
            | Error::WeightType { .. }
            | Error::WeightBlocks { .. }
            | Error::Unserved { .. } => ErrorKind::Unsupported,
            Error::ArenaSize { .. } => ErrorKind::OutOfMemory,
            Error::Compute { source, .. } => source.kind(),
            Error::ForeignValue { .. }
            | Error::Invalid { .. }
            | Error::Input { .. }
            | Error::Disagree { .. }
            | Error::NoPlaces { .. }
            | Error::Activations { .. }
            | Error::Tiling { .. }
            | Error::Memory { .. }
            | Error::NoBucket { .. }
            | Error::Kind { .. }
            | Error::EmptyStep
            | Error::NoBuckets { .. } => ErrorKind::Engine,
        }
    }
}
