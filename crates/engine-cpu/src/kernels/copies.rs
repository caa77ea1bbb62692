//! Kernels that move rows without computing.

use super::decoded::decode_row;
use crate::memory::ViewMut;
use crate::tile::{Places, Tile, below, step_rows};
use inkstone_tensor::Op;
use inkstone_tensor::cache::{Cache, RUN};
use inkstone_tensor::ops::HISTORY;
use inkstone_tensor::step::StepError;

pub(super) fn embed(tile: &mut Tile) -> Result<(), StepError> {
    let Op::Embed(op) = tile.op else { unreachable!("the kernel of embed") };
    let [rows, table] = [tile.ins[0], tile.ins[1]];
    for (i, row) in step_rows(&rows).enumerate() {
        let r = rows.first + i;
        if tile.outs[0].rows.contains(&r) {
            let index = op.index(&row);
            below("token or position", index, table.rows())?;
            decode_row(&table, index, 0, tile.outs[0].row(r));
        }
    }
    Ok(())
}

pub(super) fn columns(tile: &mut Tile) -> Result<(), StepError> {
    let Op::Columns(op) = tile.op else { unreachable!("the kernel of columns") };
    let x = tile.ins[0];
    for r in tile.outs[0].rows.clone() {
        tile.outs[0].row::<f32>(r).copy_from_slice(&x.row::<f32>(r)[op.first..][..op.count]);
    }
    Ok(())
}

pub(super) fn gather_rows(tile: &mut Tile) -> Result<(), StepError> {
    let x = tile.ins[0];
    for r in tile.outs[0].rows.clone() {
        // A view of the step has checked its rows.
        tile.outs[0].row_bytes(r).copy_from_slice(x.row_bytes(tile.step.logits[r].row as usize));
    }
    Ok(())
}

/// One tile writes all rows: which places they are only the step says, and nobody promises that they differ.
pub(super) fn kv_write(tile: &mut Tile) -> Result<(), StepError> {
    let [x, rows] = [tile.ins[1], tile.ins[2]];
    let cache = &mut tile.outs[0];
    for (r, row) in step_rows(&rows).enumerate() {
        let place = Places::of(tile.step, row.seq, &cache.ty, &tile.sizes)?.at(row.position as usize)?;
        write_heads(cache, place, x.row(r));
    }
    Ok(())
}

/// The heads of a position in the dtype of a cache: those that a tile has of it.
pub(super) fn write_heads(cache: &mut ViewMut, place: usize, x: &[f32]) {
    let encode = cache.ty.dtype.info().encode.expect("infer takes caches that can be encoded");
    for (head, x) in cache.heads.clone().zip(x.chunks_exact(cache.ty.cols)) {
        encode(x, cache.head_bytes(head, place));
    }
}

/// The places of a head are contiguous up to the end of a [`RUN`], so most pages of a head are copied at once.
pub(super) fn kv_copy(tile: &mut Tile) -> Result<(), StepError> {
    let cache = &mut tile.outs[0];
    let (ty, page) = (cache.ty, tile.step.header.page as usize);
    let (lie, row) = (Cache::of(&ty, cache.rows.len()), ty.row_bytes() as usize);
    let bytes = cache.all::<u8>();
    for copy in tile.step.copies_in(ty.rows.group()) {
        let first = copy.pages(lie.slots / page)?.map(|number| number * page);
        let places = copy.places as usize;
        for head in 0..lie.heads {
            let mut done = 0;
            while done < places {
                let [from, to] = first.map(|place| place + done);
                let count = (places - done).min(RUN - from % RUN).min(RUN - to % RUN);
                let [from, to] = [from, to].map(|place| lie.row(head, place) * row);
                bytes.copy_within(from..from + count * row, to);
                done += count;
            }
        }
    }
    Ok(())
}

pub(super) fn history_write(tile: &mut Tile) -> Result<(), StepError> {
    for row in step_rows(&tile.ins[1]) {
        let place = Places::of(tile.step, row.seq, &HISTORY, &tile.sizes)?.at(row.position as usize)?;
        tile.outs[0].row::<u32>(place)[0] = row.token;
    }
    Ok(())
}
