//! The checks of this engine in addition to [`Plan::check`]: its tiles may run concurrently on shared memory, and each
//! step names a kernel that supports its operands. Views rely on these checks (see `memory`).

use crate::memory::own;
use inkstone_compute::{
    Arg, Bindings, Budget, Caps, Error, Kernel, Layout, MAX_TILES, Plan, Region, Registry, Result, Step, TileProgram,
};
use inkstone_tensor::body::Node;
use inkstone_tensor::{DType, Dim, Op, Sizes};
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
        let fault = kernel(plan, step, registry, caps).and_then(|()| tiles(plan, step));
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
fn kernel(plan: &Plan, step: &Step, registry: &Registry, caps: &Caps) -> Result<(), String> {
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
    let products = products(step);
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
    }
    for x in products.iter().map(|p| p.x) {
        match kernel.activations {
            Some(wanted) if x != wanted => return Err(format!("kernel {name} takes activations in {wanted}, not {x}")),
            None if x.block() > 1 => return Err(format!("kernel {name} takes no activations in {x}")),
            _ => {}
        }
    }
    Ok(())
}

/// A `linear` of a step.
pub(crate) struct Product {
    /// The dtype of its activations.
    pub(crate) x: DType,
    /// Which operand of the step its weight is.
    pub(crate) weight: Option<usize>,
}

/// The products of a step: itself, or members of its region.
pub(crate) fn products(step: &Step) -> Vec<Product> {
    match &step.op {
        Op::Linear(_) => step.ins().take(1).map(|x| Product { x: x.ty.dtype, weight: Some(1) }).collect(),
        Op::Region(region) => {
            let body = &region.body;
            let products = body.nodes.iter().filter(|n| matches!(n.op, Op::Linear(_)));
            let product = |n: &Node| {
                let weight = body.inputs.iter().position(|v| n.ins.get(1) == Some(v));
                n.ins.first().map(|x| Product { x: body.ty(*x).dtype, weight })
            };
            products.filter_map(product).collect()
        }
        _ => Vec::new(),
    }
}

/// Checks that concurrent tiles write disjoint parts, which no other tile reads meanwhile.
fn tiles(plan: &Plan, step: &Step) -> Result<(), String> {
    let tiles = step.grid.tiles(&plan.bucket);
    if tiles > MAX_TILES {
        return Err(format!("{tiles} tiles, allowed: {MAX_TILES}"));
    }
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
