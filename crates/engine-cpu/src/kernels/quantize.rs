//! Activations in the dtype that a product wants them in.

use crate::tile::Tile;
use inkstone_tensor::step::StepError;

pub(super) fn quantize(tile: &mut Tile) -> Result<(), StepError> {
    let x = tile.ins[0];
    let out = &mut tile.outs[0];
    let encode = out.ty.dtype.info().encode.expect("infer takes dtypes that can be encoded");
    for r in out.rows.clone() {
        encode(x.row(r), out.row_bytes(r));
    }
    Ok(())
}
