//! The errors of engines and plans.

use crate::plan::Region;
use inkstone_tensor::{ErrorKind, NoMemory, SourceError, step::StepError};
use std::sync::Arc;

/// Result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Errors of engines, registries and plans.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The registry has nothing for an op.
    #[error("engine {engine} has no kernel for {op} on {operands}; {reasons}")]
    NoKernel {
        /// Name of the engine.
        engine: String,
        /// Name of the op.
        op: String,
        /// Types and layouts of the operands.
        operands: String,
        /// Why each candidate was refused, or which ops there are.
        reasons: String,
    },
    /// No engine of that name.
    #[error("no engine {name}; there are: {known}")]
    NoEngine {
        /// The requested name.
        name: String,
        /// The known names.
        known: String,
    },
    /// An instruction set that is unknown, or that the machine lacks.
    #[error("engine {engine} has no instruction set {isa} here; there are: {known}")]
    NoIsa {
        /// Name of the engine.
        engine: String,
        /// The requested name.
        isa: String,
        /// The known names.
        known: String,
    },
    /// An engine whose device is absent, or can't be used.
    #[error("engine {engine} has no device: {reason}")]
    NoDevice {
        /// Name of the engine.
        engine: String,
        /// Where the device was looked for, or why it can't be used.
        reason: String,
    },
    /// The device failed or went away. Its buffers are lost.
    #[error("the device of engine {engine} failed: {reason}")]
    DeviceLost {
        /// Name of the engine.
        engine: String,
        /// The message of the driver.
        reason: String,
    },
    /// A buffer would exceed the memory budget.
    #[error("{what}: {bytes} bytes are needed, and {free} of {budget} are free on {engine}")]
    Budget {
        /// The purpose of the memory.
        what: &'static str,
        /// The bytes that it needs.
        bytes: u64,
        /// The bytes that are free.
        free: u64,
        /// The bytes of the whole budget.
        budget: u64,
        /// Name of the engine.
        engine: String,
    },
    /// Memory could not be had.
    #[error("{what}: {source}")]
    NoMemory {
        /// The purpose of the memory.
        what: &'static str,
        /// How much.
        source: NoMemory,
    },
    /// A weight could not be read.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// A weight has not the type that the plans expect.
    #[error("tensor {tensor} is {found}, expected {expected}")]
    WeightType {
        /// Its name.
        tensor: String,
        /// The tensor in the source.
        found: String,
        /// The tensor that was traced.
        expected: String,
    },
    /// Loading was cancelled.
    #[error("loading was cancelled")]
    Cancelled,
    /// A plan that does not hold what plans promise.
    #[error("plan {plan}, step {step} ({op}): {fault}")]
    BadPlan {
        /// Name of the plan.
        plan: String,
        /// Index of the step.
        step: usize,
        /// Name of its op.
        op: String,
        /// The fault.
        fault: String,
    },
    /// A buffer that a plan needs is missing or too small.
    #[error("plan {plan}: {region} needs {bytes} bytes, bound are {bound}")]
    Unbound {
        /// Name of the plan.
        plan: String,
        /// Which memory.
        region: Region,
        /// The bytes that the plan uses.
        bytes: u64,
        /// The bytes that are bound.
        bound: u64,
    },
    /// One buffer for two memories of a plan.
    #[error("plan {plan}: {first} and {second} are bound to one buffer")]
    SharedBuffer {
        /// Name of the plan.
        plan: String,
        /// Which memory.
        first: String,
        /// And which other.
        second: String,
    },
    /// A read or write past the end of a buffer.
    #[error("bytes {offset}..{end} of a buffer of {bytes}")]
    OutOfBuffer {
        /// First byte.
        offset: u64,
        /// End.
        end: u64,
        /// Size of the buffer.
        bytes: u64,
    },
    /// A handle of another engine.
    #[error("the {what} belongs to another engine than {engine}")]
    Foreign {
        /// Buffer, weights or executable.
        what: &'static str,
        /// Name of the engine.
        engine: String,
    },
    /// A range that a submit brings back can't be fetched.
    #[error("range {range} of submit {ticket} can't be fetched: {reason}")]
    NotBack {
        /// The ticket of the submit.
        ticket: u64,
        /// The index of the range.
        range: usize,
        /// The reason.
        reason: String,
    },
    /// A fault that a test injected ([`conformance::Delayed`](crate::conformance::Delayed)).
    #[error("an injected fault of {call:?}")]
    Injected {
        /// The call that fails.
        call: crate::conformance::Call,
    },
    /// The error of earlier work, which is reported to each caller that waits for it.
    #[error("{0}")]
    Earlier(Arc<Error>),
    /// The step buffer is none.
    #[error(transparent)]
    Step(#[from] StepError),
    /// More in a step than the plan has room for.
    #[error("{what} of the step: {value}, plan {plan} has room for {limit}")]
    TooLarge {
        /// Rows or logit rows.
        what: &'static str,
        /// How many there are.
        value: usize,
        /// How many fit.
        limit: usize,
        /// Name of the plan.
        plan: String,
    },
    /// The executor is not one of this engine's.
    #[error("engine {engine} has no executor {exec}; it has: {known}")]
    NoExecutor {
        /// Name of the engine.
        engine: String,
        /// The requested name.
        exec: String,
        /// The known names.
        known: String,
    },
    /// Two steps may touch the same bytes at the same time.
    #[error("tiles of step {second} may run while tiles of step {first} do, and both touch {bytes}")]
    Hazard {
        /// The earlier step.
        first: usize,
        /// The later one.
        second: usize,
        /// The argument.
        bytes: String,
    },
    /// The entry of a custom kernel does not have the type that this engine calls.
    #[error("the entry of kernel {kernel} is none that engine {engine} can call; it takes {expected}")]
    KernelEntry {
        /// Name of the kernel.
        kernel: String,
        /// Name of the engine.
        engine: String,
        /// The type of its entries.
        expected: &'static str,
    },
    /// A kernel gave other results than its op has.
    #[error("plan {plan}, step {step} ({op}): result {found}, expected {expected}")]
    KernelResult {
        /// Name of the plan.
        plan: String,
        /// Index of the step.
        step: usize,
        /// Name of its op.
        op: String,
        /// The type that was found.
        found: String,
        /// The type that the op infers.
        expected: String,
    },
    /// A step whose result is farther from its definition's than its kernel may go.
    #[error("plan {plan}, step {step} ({op}) by kernel {kernel}: result {fault}")]
    Differs {
        /// Name of the plan.
        plan: String,
        /// Index of the step.
        step: usize,
        /// Name of its op.
        op: String,
        /// Name of the kernel.
        kernel: String,
        /// Which result, how far, and where most.
        fault: String,
    },
    /// A kernel or a definition panicked. States that it had consumed are zero.
    #[error("plan {plan}, step {step} ({op}) panicked: {message}")]
    Panicked {
        /// Name of the plan.
        plan: String,
        /// Index of the step.
        step: usize,
        /// Name of its op.
        op: String,
        /// The message of the panic.
        message: String,
    },
}

impl Error {
    /// The kind of the error: how a program reacts to it.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::NoEngine { .. } | Error::NoIsa { .. } => ErrorKind::InvalidRequest,
            Error::NoKernel { .. } | Error::NoDevice { .. } | Error::WeightType { .. } => ErrorKind::Unsupported,
            Error::Budget { .. } | Error::NoMemory { .. } => ErrorKind::OutOfMemory,
            Error::Cancelled => ErrorKind::Cancelled,
            Error::Earlier(error) => error.kind(),
            Error::Source(_)
            | Error::BadPlan { .. }
            | Error::Unbound { .. }
            | Error::SharedBuffer { .. }
            | Error::OutOfBuffer { .. }
            | Error::Foreign { .. }
            | Error::NotBack { .. }
            | Error::Injected { .. }
            | Error::Step(_)
            | Error::TooLarge { .. }
            | Error::NoExecutor { .. }
            | Error::DeviceLost { .. }
            | Error::Hazard { .. }
            | Error::KernelEntry { .. }
            | Error::KernelResult { .. }
            | Error::Differs { .. }
            | Error::Panicked { .. } => ErrorKind::Engine,
        }
    }
}
