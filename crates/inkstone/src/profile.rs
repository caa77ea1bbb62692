//! The profile of a model: the time of each kernel, and the bytes that it moved.

use crate::Model;
use inkstone_compute::Step;
use inkstone_generate::{PlanTimes, Runs};
use inkstone_tensor::{Sizes, Slots, Type};
use std::time::Duration;

/// The profile of a plan over all its runs.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PlanProfile {
    /// Its parts: body, head, select.
    pub plan: String,
    /// The number of its runs, with their sizes.
    pub runs: Runs,
    /// The profile of each kernel, the longest time first.
    pub kernels: Vec<KernelProfile>,
}

/// The profile of a kernel over all its steps.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct KernelProfile {
    /// Its name.
    pub kernel: String,
    /// The number of its steps in one run.
    pub steps: usize,
    /// The time from the start of the first tile of a step to the end of its last tile, summed over steps and runs.
    /// Overlapping steps count twice.
    pub time: Duration,
    /// Bytes read and written at least once, summed in the same way.
    pub bytes: u64,
}

impl Model {
    /// The profile of each plan since the model was opened with [`ModelOptions::profile`](crate::ModelOptions), ordered
    /// by the number of rows. `None` without this option, or if the engine does not record times.
    pub fn profile(&self) -> Option<Vec<PlanProfile>> {
        let ran = self.generator().profile()?.into_iter().filter(|p| p.runs.count > 0);
        Some(ran.map(|p| PlanProfile { plan: p.plan.name.clone(), runs: p.runs, kernels: kernels(&p) }).collect())
    }
}

fn kernels(plan: &PlanTimes) -> Vec<KernelProfile> {
    let mut kernels: Vec<KernelProfile> = Vec::new();
    for (step, &time) in plan.plan.steps.iter().zip(&plan.steps) {
        let bytes = bytes(step, &plan.runs);
        match kernels.iter_mut().find(|k| k.kernel == step.kernel) {
            Some(k) => (k.steps, k.time, k.bytes) = (k.steps + 1, k.time + time, k.bytes.saturating_add(bytes)),
            None => kernels.push(KernelProfile { kernel: step.kernel.clone(), steps: 1, time, bytes }),
        }
    }
    kernels.sort_by_key(|k| std::cmp::Reverse(k.time));
    kernels
}

/// The bytes of a step over all runs. They are a linear function of the sizes, so the sums of the sizes are sufficient:
/// evaluating the function on them includes the constant once, and each further run adds it again. The bytes that attention
/// with a window reads have a limit, so they are an upper bound.
fn bytes(step: &Step, runs: &Runs) -> u64 {
    let types = |write| step.args.iter().filter(move |a| a.write == write).map(|a| a.ty);
    let (ins, outs): (Vec<Type>, Vec<Type>) = (types(false).collect(), types(true).collect());
    let of = |sizes: &Sizes| step.op.cost(&ins, &outs, sizes).bytes;
    let [rows, logit_rows, cached] = [runs.rows, runs.logit_rows, runs.cached].map(|n| n as usize);
    let constant = of(&Sizes::default());
    of(&Sizes { rows, logit_rows, slots: Slots::every_group(cached) })
        .saturating_add(constant.saturating_mul(runs.count.saturating_sub(1)))
}
