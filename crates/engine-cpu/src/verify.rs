//! The checks of this engine in addition to [`Plan::check`]: its tiles may run concurrently on shared memory, and each
//! step names a kernel that supports its operands. Views rely on these checks (see `memory`).

use crate::counters::MAX_TILES;
use crate::kernels::products;
use crate::memory::own;
use crate::phase::{Code, Section, sections};
use inkstone_compute::{
    Arg, Bindings, Budget, Caps, Error, Kernel, Layout, Plan, Query, Region, Registry, Result, Step, TileProgram,
};
use inkstone_tensor::{Dim, Op, Sizes, Type};
use std::sync::Arc;

/// Checks all steps; the tile program comes back.
pub(crate) fn plan(
    plan: &Plan,
    bind: &Bindings,
    registry: &Registry,
    caps: &Caps,
    budget: &Arc<Budget>,
) -> Result<TileProgram> {
    plan.check()?;
    bind.check(plan)?;
    buffers(bind, budget)?;
    for (index, step) in plan.steps.iter().enumerate() {
        let fault = kernel(plan, step, registry, caps)
            .and_then(|kernel| phase(plan, step, kernel, caps))
            .and_then(|()| tiles(plan, step));
        fault.map_err(|fault| Error::BadPlan {
            plan: plan.name.clone(),
            step: index,
            op: step.op.name().to_owned(),
            fault,
        })?;
    }
    let program = TileProgram::new(plan);
    let all = plan.bucket;
    for sizes in [all, Sizes { logit_rows: 0, ..all }, Sizes { rows: 0, logit_rows: 0, ..all }] {
        program.check(plan, &sizes)?;
    }
    Ok(program)
}

/// All buffers are of this engine.
fn buffers(bind: &Bindings, budget: &Arc<Budget>) -> Result<()> {
    let ports = bind.ports.iter().map(|(_, b)| b);
    let mut all = bind.states.iter().chain(ports).chain([&bind.arena, &bind.step]);
    all.try_for_each(|buffer| own(buffer, budget).map(drop))
}

/// The kernel is there, does this op, and takes these operands.
fn kernel<'r>(plan: &Plan, step: &Step, registry: &'r Registry, caps: &Caps) -> Result<&'r Kernel, String> {
    let Some(kernel) = registry.get(&step.kernel) else {
        let known: Vec<&str> =
            registry.kernels.iter().filter(|k| k.implements.covers(&step.op)).map(|k| k.name).collect();
        return Err(format!("no kernel {}; for this op there are: {}", step.kernel, known.join(", ")));
    };
    let Kernel { name, .. } = kernel;
    if !kernel.implements.covers(&step.op) {
        return Err(format!("kernel {name} does not do {}", step.op.name()));
    }
    if let Some(missing) = kernel.requires.iter().find(|f| !caps.features.contains(f)) {
        return Err(format!("kernel {name} needs {missing}"));
    }
    if let Op::Region(region) = &step.op
        && let Some(other) = region.body.nodes.iter().find(|n| kernel.member(n.op.name()).is_none())
    {
        return Err(format!("kernel {name} does not do {} in {}", other.op.name(), step.op.name()));
    }
    let [ins, outs] = types(step);
    let (products, mut matrices) = (products(&step.op, &ins), Vec::new());
    for (i, a) in step.ins().enumerate() {
        let Region::Weight(id) = a.region else { continue };
        let layout = plan.interface.weights.get(id as usize).map_or(Layout::FILE, |w| w.layout);
        // Vectors, and weights of one row, are read in any dtype; but not by a kernel that wants its activations
        // encoded.
        let of_product = products.iter().any(|p| p.weight == Some(i));
        if a.ty.rows == Dim::N(1) && (kernel.activations.is_none() || !of_product) {
            continue;
        }
        if !kernel.weights.is_empty() && !kernel.weights.contains(&a.ty.dtype) {
            return Err(format!("kernel {name} takes no {} weights", a.ty.dtype));
        }
        if !kernel.layouts.contains(&layout) {
            return Err(format!("kernel {name} takes no layout {layout}"));
        }
        matrices.push((a.ty.dtype, layout));
    }
    for x in products.iter().map(|p| p.x) {
        match kernel.activations {
            Some(wanted) if x != wanted => return Err(format!("kernel {name} takes activations in {wanted}, not {x}")),
            None if x.block() > 1 => return Err(format!("kernel {name} takes no activations in {x}")),
            _ => {}
        }
    }
    let rows = step.grid.rows.at(&plan.bucket);
    let (op, weights, members) = (&step.op, &matrices[..], &[][..]);
    let query = Query { op, weights, numerics: None, members, rows, ins: &ins, outs: &outs };
    (kernel.refuses)(&query, caps).map_or(Ok(kernel), |reason| Err(format!("kernel {name} refuses it: {reason}")))
}

/// The types of its operands, and of its results.
fn types(step: &Step) -> [Vec<Type>; 2] {
    [step.ins().map(|a| a.ty).collect(), step.outs().map(|a| a.ty).collect()]
}

/// The kernel has code for a first phase, whose tiles are as many as it fills, and its sections fit in the scratch.
fn phase(plan: &Plan, step: &Step, kernel: &Kernel, caps: &Caps) -> Result<(), String> {
    let Some(first) = step.first else { return Ok(()) };
    let name = kernel.name;
    let phased = Code::of(kernel).map_err(|error| error.to_string())?.phased;
    let Some(phased) = phased else { return Err(format!("kernel {name} has no first phase")) };
    let sections = sections(&phased, step, &plan.bucket, caps);
    let blocks = sections.iter().map(|section| section.blocks()).max().unwrap_or(0);
    if blocks != first.col_blocks {
        return Err(format!("a first phase of {} blocks of columns, kernel {name} fills {blocks}", first.col_blocks));
    }
    let (bytes, scratch) = (Section::bytes(&sections, first.rows.at(&plan.bucket)), &step.scratch);
    if bytes > scratch.end - scratch.start {
        return Err(format!("{} bytes of scratch, kernel {name} needs {bytes}", scratch.end - scratch.start));
    }
    Ok(())
}

/// Checks that concurrent tiles write disjoint parts, which no other tile reads meanwhile.
fn tiles(plan: &Plan, step: &Step) -> Result<(), String> {
    for grid in step.first.iter().chain([&step.grid]) {
        let tiles = grid.tiles(&plan.bucket);
        if tiles > MAX_TILES {
            return Err(format!("{tiles} tiles, allowed: {MAX_TILES}"));
        }
    }
    let tiles = step.grid.tiles(&plan.bucket);
    let end = |a: &Arg| a.offset.saturating_add(a.ty.bytes(&plan.bucket));
    for out in step.outs() {
        // Which places the rows of a step write is only in the step, so one tile has all rows of its columns.
        let own = out.cut.cols && step.grid.row_blocks(&plan.bucket) <= 1;
        if out.ty.state && tiles > 1 && !own {
            return Err(format!("{out} is a state that {tiles} tiles write, allowed: 1, or one a part of its columns"));
        }
        let read = |a: &&Arg| a.region == out.region && a.offset < end(out) && out.offset < end(a);
        if let Some(a) = step.ins().filter(|_| !out.ty.state).find(read) {
            return Err(format!("result {out} overlaps operand {a}"));
        }
    }
    for a in &step.args {
        if a.cut.rows && a.ty.rows != step.grid.rows {
            return Err(format!("{a} {} is cut by rows, but the grid by {}", a.ty, step.grid.rows));
        }
        if a.cut.cols
            && !a.ty.state
            && step.grid.col_blocks > 1
            && !step.grid.col_block.is_multiple_of(a.ty.dtype.block())
        {
            return Err(format!("{a} {} is cut into {} columns, no whole blocks", a.ty, step.grid.col_block));
        }
    }
    Ok(())
}
