//! The kernel of each node and its work, which determine the placement and the plan.

use super::Context;
use crate::graph::Graph;
use crate::{Error, Result};
use inkstone_compute::{Choice, Shape, Tiling, Work};

/// The choice for a node.
#[derive(Clone, Debug)]
pub struct Chosen<'a> {
    /// Its kernel, and why others were refused.
    pub choice: Choice<'a>,
    /// The work of the kernel.
    pub work: Work,
}

/// See the [module](self): by node.
///
/// # Errors
/// [`Error::Compute`] for a node without a kernel, [`Error::Tiling`] for a kernel that cuts into nothing.
pub fn choose<'a>(g: &Graph, cx: &Context<'a>) -> Result<Vec<Chosen<'a>>> {
    let sources = g.sources();
    let chosen = g.body.nodes.iter().map(|node| {
        let choice = cx.kernel(g, &sources, node)?;
        let (ins, outs) = (g.body.types_of(&node.ins), g.body.types_of(&node.outs));
        let shape = Shape::new(&node.op, &ins, &outs, &cx.bucket, cx.caps);
        let work = (choice.kernel.work)(&shape);
        let Tiling { row_block: rows, col_block: cols } = work.tiling;
        if rows == 0 || cols == 0 {
            return Err(Error::Tiling { kernel: choice.kernel.name, op: node.op.name().to_owned(), rows, cols });
        }
        Ok(Chosen { choice, work })
    });
    chosen.collect()
}
