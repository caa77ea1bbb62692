//! The kernel: how the CPU engine computes the op, a tile at a time.

use crate::soft_cap::SoftCap;
use inkstone::compute::{Kernel, Pattern, Tiling, Work};
use inkstone::tensor::Op;
use inkstone::tensor::step::StepError;
use inkstone_engine_cpu::{Entry, Tile};
use std::sync::Arc;

/// Columns of a tile: enough to make the time of a claim negligible.
const COLUMNS: usize = 1024;

/// The row of the registry. Its arithmetic and therefore its bits are the same as in the definition; a kernel that
/// rounds differently declares its own numerics.
pub fn kernel() -> Kernel {
    Kernel {
        work: |_| Work::of(Tiling { row_block: 1, col_block: COLUMNS }),
        ..Kernel::by_definition("soft_cap.tile", Pattern::Named("soft_cap"), Arc::new(soft_cap as Entry))
    }
}

/// One tile. Tiles of a step run on any thread in any order: each writes what its views of the results reach.
fn soft_cap(tile: &mut Tile) -> Result<(), StepError> {
    let Op::Custom(op) = tile.op else { unreachable!("the kernel of soft_cap") };
    let Some(op) = op.as_any().downcast_ref::<SoftCap>() else { unreachable!("the kernel of SoftCap") };
    let (x, out) = (&tile.ins[0], &mut tile.outs[0]);
    for r in out.rows.clone() {
        let x = &x.row::<f32>(r)[out.cols.clone()];
        for (y, x) in out.row::<f32>(r).iter_mut().zip(x) {
            *y = op.of(*x);
        }
    }
    Ok(())
}
