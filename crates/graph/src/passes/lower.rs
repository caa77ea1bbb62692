//! Grids and cuts: a graph with kernels and places becomes a plan.

use super::Context;
use super::choose::Chosen;
use super::memory::Placement;
use crate::graph::Graph;
use inkstone_compute::{Arg, Grid, Plan, Step};
use inkstone_tensor::body::{Node, ValueId};

/// See the [module](self).
pub fn lower(g: &Graph, chosen: Vec<Chosen>, placement: &Placement, cx: &Context) -> Plan {
    let mut steps = Vec::with_capacity(g.body.nodes.len());
    for ((node, Chosen { choice, work }), scratch) in g.body.nodes.iter().zip(chosen).zip(&placement.scratch) {
        let (ins, outs) = (g.body.types_of(&node.ins), g.body.types_of(&node.outs));
        let grid = Grid::new(work.tiling, &ins, &outs);
        let args = args(g, node, placement, &grid).collect();
        steps.push(Step {
            op: node.op.clone(),
            kernel: choice.kernel.name.to_owned(),
            args,
            grid,
            scratch: scratch.clone(),
            first: work.first,
            refused: choice.refused,
        });
    }
    Plan {
        name: g.name.clone(),
        bucket: cx.bucket,
        steps,
        arena_bytes: placement.arena_bytes,
        interface: cx.selection.interface().clone(),
    }
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
