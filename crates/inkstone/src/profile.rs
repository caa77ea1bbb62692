//! Where the time of steps goes: what each kernel took, and how much memory it moved meanwhile.

use crate::Model;
use inkstone_compute::Step;
use inkstone_generate::{PlanTimes, Runs};
use inkstone_tensor::{Sizes, Type};
use std::time::Duration;

/// What a plan took, over all of its runs.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PlanProfile {
    /// Its parts: body, head, select.
    pub plan: String,
    /// How often it ran, and on what.
    pub runs: Runs,
    /// What each kernel took, the longest first.
    pub kernels: Vec<KernelProfile>,
}

/// What a kernel took in all steps that it did.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct KernelProfile {
    /// Its name.
    pub kernel: String,
    /// Steps of one run that it does.
    pub steps: usize,
    /// From the start of a step's first tile to the end of its last one, summed over steps and runs. Steps that overlap
    /// count twice.
    pub time: Duration,
    /// Bytes read and written at least once, summed alike.
    pub bytes: u64,
}

impl Model {
    /// What the steps of each plan took since the model was opened with [`ModelOptions::profile`](crate::ModelOptions);
    /// those of the fewest rows first. `None` without that option, and from an engine that does not record times.
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

/// Bytes of a step over all runs. They are a constant and shares of the sizes, so that the sums of the sizes do: the
/// constant comes with them once, and again for each further run.
fn bytes(step: &Step, runs: &Runs) -> u64 {
    let types = |write| step.args.iter().filter(move |a| a.write == write).map(|a| a.ty);
    let (ins, outs): (Vec<Type>, Vec<Type>) = (types(false).collect(), types(true).collect());
    let of = |sizes: &Sizes| step.op.cost(&ins, &outs, sizes).bytes;
    let [rows, logit_rows, slots] = [runs.rows, runs.logit_rows, runs.cached].map(|n| n as usize);
    let constant = of(&Sizes::default());
    of(&Sizes { rows, logit_rows, slots }).saturating_add(constant.saturating_mul(runs.count.saturating_sub(1)))
}
