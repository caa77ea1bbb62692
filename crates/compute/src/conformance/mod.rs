//! Whether an engine does what the definitions say: every kernel of its registry, on tables of shapes and dtypes, in
//! every layout that it reads, and sequences of steps that read the results of earlier steps. Kernels with the same
//! numerics must compute equal bits, and kernels of regions the bits of the kernels of their members. Before each run the
//! arena and the results hold NaN, so that a kernel that reads what no step wrote is found. Plans that are wrong must be
//! refused. An engine runs this with one line:
//!
//! ```
//! # use inkstone_compute::{EngineOptions, Reference, conformance};
//! # let engine = Reference::new(&EngineOptions::default().budget(1 << 28))?;
//! let report = conformance::run(&engine);
//! assert!(report.passed(), "{report}");
//! # Ok::<(), inkstone_compute::Error>(())
//! ```

mod bad_plans;
mod cases;
mod chosen;
mod copies;
mod delayed;
mod forks;
mod histories;
mod host;
pub mod large;
pub(crate) mod plan;
mod queue;
mod regions;
mod rig;
mod scenes;
mod single;
pub mod speed;
mod stepwise;
mod unseen;
mod values;
mod windows;

pub use chosen::{chosen, equal_bits};
pub use delayed::{Call, Counts, Delayed, Fault};
pub use queue::queue;
pub use stepwise::Stepwise;

use crate::engine::Engine;
use crate::kernel::{Kernel, Layout, Numerics, Query, Registry};
use inkstone_tensor::{DType, Dim, Op, Type};
use std::fmt;

/// The relative L2 distance from the definition that a numerics may have, by the beginning of its name; where it
/// encodes activations, from the definition on these. Integers are always compared bit for bit.
pub const TOLERANCES: &[(&str, f64)] =
    &[(Numerics::DEFINITION.0, 0.0), ("f32", 1e-5), ("f16", 1e-2), ("bf16", 1e-5), ("q8", 1e-5)];

/// The tolerance of a numerics that [`TOLERANCES`] does not list.
pub const OTHERWISE: f64 = 1e-3;

/// How a case ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// As the definition says.
    Passed,
    /// The difference, or the error.
    Failed(String),
    /// Why no kernel was asked.
    Skipped(String),
}

/// A case on a kernel.
#[derive(Clone, Debug)]
pub struct CaseResult {
    /// The op with its operands.
    pub case: String,
    /// By which kernels; empty if it was skipped.
    pub kernels: String,
    /// The seed of its values.
    pub seed: u64,
    /// Draws that the kernels left to the host. They count as passed.
    pub host: usize,
    /// How it ended.
    pub outcome: Outcome,
}

/// What [`run`] found.
#[derive(Clone, Debug)]
#[must_use]
pub struct Report {
    /// Name of the engine.
    pub engine: String,
    /// Every case, in a fixed order.
    pub results: Vec<CaseResult>,
}

/// Runs all cases on an engine.
pub fn run(engine: &dyn Engine) -> Report {
    run_some(engine, |_| true)
}

/// Checks the queues, runs the scenes, and the cases of these ops.
fn run_some(engine: &dyn Engine, op: impl Fn(&Op) -> bool) -> Report {
    let cases = cases::all().into_iter().chain(regions::all()).filter(|case| op(&case.op));
    let mut results: Vec<CaseResult> = cases.flat_map(|case| single::run(engine, &case)).collect();
    results.extend(queue::results(engine));
    results.push(bad_plans::run(engine));
    results.extend(unseen::run(engine));
    let windows = windows::all().enumerate().filter(|(_, window)| op(&windows::op(Some(*window))));
    results.extend(windows.map(|window| windows::run(engine, window)));
    results.push(histories::run(engine));
    results.extend(scenes::SCENES.iter().map(|scene| scenes::run(engine, scene)));
    results.push(copies::run(engine));
    results.extend(forks::SCENES.iter().map(|scene| forks::run(engine, scene)));
    Report { engine: engine.caps().name.clone(), results }
}

impl Report {
    /// Whether some cases ran, and none failed.
    pub fn passed(&self) -> bool {
        self.failed().next().is_none() && self.results.iter().any(|r| r.outcome == Outcome::Passed)
    }

    /// Cases that failed.
    pub fn failed(&self) -> impl Iterator<Item = &CaseResult> {
        self.results.iter().filter(|r| matches!(r.outcome, Outcome::Failed(_)))
    }

    /// Draws that the kernels left to the host.
    pub fn host(&self) -> usize {
        self.results.iter().map(|r| r.host).sum()
    }

    /// Cases that the engine has no kernel for.
    pub fn skipped(&self) -> impl Iterator<Item = &CaseResult> {
        self.results.iter().filter(|r| matches!(r.outcome, Outcome::Skipped(_)))
    }
}

impl fmt::Display for Report {
    /// Counts, then a line for each case that failed or was skipped.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let (failed, skipped) = (self.failed().count(), self.skipped().count());
        let passed = self.results.len() - failed - skipped;
        write!(f, "engine {}: {passed} passed, {failed} failed, {skipped} skipped", self.engine)?;
        match self.host() {
            0 => writeln!(f)?,
            host => writeln!(f, ", {host} draws left to the host")?,
        }
        self.failed().chain(self.skipped()).try_for_each(|r| writeln!(f, "  {r}"))
    }
}

impl fmt::Display for CaseResult {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let CaseResult { case, kernels, seed, outcome, .. } = self;
        match outcome {
            Outcome::Passed => write!(f, "passed: {case} by {kernels}"),
            Outcome::Failed(fault) => write!(f, "failed: {case} by {kernels} (seed {seed:#x}): {fault}"),
            Outcome::Skipped(reason) => write!(f, "skipped: {case}: {reason}"),
        }
    }
}

fn tolerance(numerics: Numerics) -> f64 {
    TOLERANCES.iter().find(|(name, _)| numerics.0.starts_with(name)).map_or(OTHERWISE, |(_, t)| *t)
}

/// How far an encoded result may go from the definition if what is encoded differs in its last bits, so that some
/// values are rounded to a neighbour.
fn rounding(dtype: DType) -> f64 {
    match dtype {
        DType::F32 | DType::U32 => 0.0,
        DType::F16 => 5e-4,
        DType::BF16 => 4e-3,
        _ => 8e-3,
    }
}

/// Why a case did not pass.
enum Stop {
    Skipped(String),
    Failed(String),
}

impl<E: std::error::Error> From<E> for Stop {
    fn from(error: E) -> Stop {
        Stop::Failed(error.to_string())
    }
}

impl Stop {
    fn outcome(self) -> Outcome {
        match self {
            Stop::Skipped(reason) => Outcome::Skipped(reason),
            Stop::Failed(fault) => Outcome::Failed(fault),
        }
    }
}

/// Every kernel that takes an op on these operands, among them these weights, once for each layout of matrices that it reads, and the refusals of
/// the others.
fn candidates<'a>(
    engine: &'a dyn Engine,
    op: &Op,
    ins: &[Type],
    weights: &[Type],
    rows: usize,
) -> (Vec<(&'a Kernel, Layout)>, String) {
    let registry = engine.registry();
    let outs = op.infer(ins).unwrap_or_default();
    let (mut found, mut refusals) = (Vec::new(), Vec::new());
    let covering: Vec<&Kernel> = registry.kernels.iter().filter(|k| k.implements.covers(op)).collect();
    for kernel in &covering {
        // With a registry of only this kernel, its own reason is returned.
        let alone = Registry { kernels: vec![(*kernel).clone()], ..registry.clone() };
        // Weights of one row are read in any dtype, but not by a kernel that wants its activations encoded.
        let encodes = kernel.activations.is_some() && matches!(op, Op::Linear(_));
        let asked = weights.iter().enumerate().filter(|(i, w)| w.rows != Dim::N(1) || encodes && *i == 0);
        let matrices: Vec<DType> = asked.map(|(_, w)| w.dtype).collect();
        // Where there is no matrix, all layouts are one.
        let layouts = &registry.layouts[..if matrices.is_empty() { 1 } else { registry.layouts.len() }];
        let (before, mut refusal) = (found.len(), None);
        for layout in layouts {
            let weights: Vec<(DType, Layout)> = matrices.iter().map(|d| (*d, *layout)).collect();
            let query = Query { op, weights: &weights, numerics: None, members: &[], rows, ins, outs: &outs };
            match alone.find(&query, engine.caps()) {
                Ok(_) => found.push((*kernel, *layout)),
                Err(error) => refusal = Some(error.to_string()),
            }
        }
        if found.len() == before {
            refusals.extend(refusal);
        }
    }
    if covering.is_empty() {
        refusals.push(format!("{} has no kernel for {}", registry.engine, op.name()));
    }
    (found, refusals.join("; "))
}

/// The smallest bucket that holds `rows`.
fn bucket(buckets: &[usize], rows: usize) -> Option<usize> {
    buckets.iter().copied().filter(|b| *b >= rows).min()
}

#[cfg(test)]
mod tests;
