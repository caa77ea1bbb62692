//! The kernels that plans use, each on a small case: for an engine that wants to know whether its device computes what the
//! definitions say before it runs a model.

use super::cases::{self, Case, Operand};
use super::single::{self, Asked};
use super::values::{Random, difference};
use super::{Report, candidates, regions};
use crate::engine::Engine;
use crate::plan::Step;
use inkstone_tensor::{DType, Dim, Op, Sizes, Type};
use std::collections::BTreeSet;

/// Runs the kernels of these steps, each on the smallest case that it takes: one for each dtype of its matrices. Kernels that
/// no case fits, such as kernels of custom ops, are left out.
///
/// ```
/// # use inkstone_compute::{EngineOptions, Reference, conformance};
/// # let engine = Reference::new(&EngineOptions::default().budget(1 << 28))?;
/// assert!(conformance::chosen(&engine, &[]).results.is_empty());
/// # Ok::<(), inkstone_compute::Error>(())
/// ```
pub fn chosen(engine: &dyn Engine, steps: &[&Step]) -> Report {
    let used: BTreeSet<(&str, Vec<DType>)> =
        steps.iter().map(|step| (step.kernel.as_str(), step.matrices().collect())).collect();
    let mut all: Vec<Case> = cases::all().into_iter().chain(regions::all()).collect();
    all.sort_by_key(size);
    let results = used.iter().filter_map(|(kernel, matrices)| run(engine, &all, kernel, matrices));
    Report { engine: engine.caps().name.clone(), results: results.collect() }
}

/// The elements of the operands of a case. The places of caches are as many in all.
fn size(case: &Case) -> u64 {
    let sizes = Sizes { rows: case.rows, logit_rows: case.rows, ..Sizes::default() };
    case.operands.iter().map(|operand| operand.ty().elements(&sizes)).fold(0, u64::saturating_add)
}

/// The dtypes of the matrices of a case.
fn matrices_of(case: &Case) -> impl Iterator<Item = DType> {
    case.operands.iter().filter_map(|operand| match operand {
        Operand::Weight(ty) if ty.rows != Dim::N(1) => Some(ty.dtype),
        _ => None,
    })
}

/// The first case that a kernel takes with matrices of these dtypes. Regions have one dtype.
fn run(engine: &dyn Engine, cases: &[Case], kernel: &str, matrices: &[DType]) -> Option<super::CaseResult> {
    let kernel = engine.registry().get(kernel)?;
    let fits = |case: &&Case| kernel.implements.covers(&case.op) && matrices_of(case).eq(matrices.iter().copied());
    cases.iter().filter(fits).find_map(|case| Some(asked(engine, case, kernel.name)?.result()))
}

/// A case on the kernel with this name, if the kernel takes it.
fn asked<'a>(engine: &'a dyn Engine, case: &'a Case, kernel: &str) -> Option<Asked<'a>> {
    let bucket = single::sizes(engine, case.rows)?;
    let ins: Vec<Type> = case.operands.iter().map(Operand::ty).collect();
    let weights: Vec<Type> =
        case.operands.iter().filter(|o| matches!(o, Operand::Weight(_))).map(Operand::ty).collect();
    let (found, _) = candidates(engine, &case.op, &ins, &weights, bucket.rows);
    let (kernel, layout) = found.into_iter().find(|(found, _)| found.name == kernel)?;
    if let Op::Region(region) = &case.op
        && !regions::fits(kernel, &region.body)
    {
        return None;
    }
    Some(Asked { engine, case, kernel, layout, bucket, seed: Random::seed(&case.name()) })
}

/// Whether two kernels of one op and one numerics compute the same bits, on the largest case of up to eight rows that both
/// take with matrices of this dtype. `None` if there is no such case.
///
/// # Errors
/// A kernel that fails, or goes too far from its definition.
pub fn equal_bits(engine: &dyn Engine, kernels: [&str; 2], matrix: Option<DType>) -> Result<Option<bool>, String> {
    let mut all: Vec<Case> = cases::all().into_iter().filter(|case| case.rows <= 8).collect();
    all.sort_by_key(|case| std::cmp::Reverse(size(case)));
    for case in &all {
        if !matrices_of(case).eq(matrix) {
            continue;
        }
        let asked = kernels.map(|kernel| asked(engine, case, kernel));
        let [Some(first), Some(second)] = asked else { continue };
        let mut host = 0;
        let fault = |kernel: &str, stop: super::Stop| format!("{} by {kernel}: {:?}", case.name(), stop.outcome());
        let wanted = first.results(&mut host).map_err(|stop| fault(kernels[0], stop))?;
        let found = second.results(&mut host).map_err(|stop| fault(kernels[1], stop))?;
        return Ok(Some(wanted.iter().zip(&found).all(|(a, b)| difference(a, b, 0.0).is_none())));
    }
    Ok(None)
}
