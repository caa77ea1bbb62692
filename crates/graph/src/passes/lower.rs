//! Kernels, grids and cuts: a graph with places becomes a plan.

use super::Context;
use super::memory::Placement;
use crate::graph::Graph;
use crate::{Error, Result};
use inkstone_compute::{Arg, Grid, Kernel, Plan, Step, Tiling};
use inkstone_tensor::body::{Node, ValueId};
use inkstone_tensor::{Op, Type};

/// See the [module](self).
///
/// # Errors
/// [`Error::Compute`] for a node without a kernel, [`Error::Tiling`] for a kernel that cuts into nothing.
pub fn lower(g: &Graph, placement: &Placement, cx: &Context) -> Result<Plan> {
    let sources = g.sources();
    let mut steps = Vec::with_capacity(g.body.nodes.len());
    for node in &g.body.nodes {
        let choice = cx.kernel(g, &sources, node)?;
        let (ins, outs) = (g.body.types_of(&node.ins), g.body.types_of(&node.outs));
        let grid = Grid::new(tiling(choice.kernel, &node.op, &outs)?, &ins, &outs);
        let args = args(g, node, placement, &grid).collect();
        steps.push(Step {
            op: node.op.clone(),
            kernel: choice.kernel.name.to_owned(),
            args,
            grid,
            refused: choice.refused,
        });
    }
    Ok(Plan {
        name: g.name.clone(),
        bucket: cx.bucket,
        steps,
        arena_bytes: placement.arena_bytes,
        interface: cx.selection.interface().clone(),
    })
}

fn tiling(kernel: &Kernel, op: &Op, outs: &[Type]) -> Result<Tiling> {
    let t @ Tiling { row_block: rows, col_block: cols } = (kernel.tiling)(op, outs);
    if rows == 0 || cols == 0 {
        return Err(Error::Tiling { kernel: kernel.name, op: op.name().to_owned(), rows, cols });
    }
    Ok(t)
}

/// Operands, then results.
fn args<'g>(g: &'g Graph, node: &'g Node, placement: &'g Placement, grid: &'g Grid) -> impl Iterator<Item = Arg> {
    let arg = move |v: ValueId, write: bool| {
        let ty = g.body.ty(v);
        let (region, offset) = placement.places[v.at()].expect("every value that a node names was placed");
        Arg { region, offset, ty, value: v.0, write, cut: grid.cut(&ty, write) }
    };
    let (ins, outs) = (node.ins.iter(), node.outs.iter());
    ins.map(move |v| arg(*v, false)).chain(outs.map(move |v| arg(*v, true)))
}
