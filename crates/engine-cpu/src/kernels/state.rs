//! Bookkeeping and sampling: the functions that define them, shared with every engine.

use crate::tile::{Places, Tile, below, step_rows};
use inkstone_tensor::Op;
use inkstone_tensor::ops::{HISTORY, Score};
use inkstone_tensor::step::{ROWS, StepError, carry};

pub(super) fn begin_step(tile: &mut Tile) -> Result<(), StepError> {
    let carried = tile.ins[0].all::<u32>();
    lengths(tile, carried)?;
    let rows = tile.outs[0].all::<u32>();
    carry::begin(tile.step, carried, |r, row| {
        rows[r * ROWS.cols..][..ROWS.cols].copy_from_slice(bytemuck::cast_slice(&[row]));
    });
    Ok(())
}

pub(super) fn advance(tile: &mut Tile) -> Result<(), StepError> {
    let step = tile.step;
    let carried: &[u32] = tile.outs[0].all::<u32>();
    lengths_of(step, carried)?;
    carry::advance(step, tile.outs[0].all());
    Ok(())
}

pub(super) fn accept(tile: &mut Tile) -> Result<(), StepError> {
    let records = tile.ins[1].all();
    carry::accept(tile.step, records, tile.outs[0].all());
    Ok(())
}

pub(super) fn sample(tile: &mut Tile) -> Result<(), StepError> {
    let Op::Sample(op) = tile.op else { unreachable!("the kernel of sample") };
    let [logits, rows, history] = [tile.ins[0], tile.ins[1], tile.ins[2]];
    for r in tile.outs[0].rows.clone() {
        let row = step_rows(&rows).nth(tile.step.logits[r].row as usize);
        let Some(row) = row else { return Err(missing(tile, r)) };
        let places = Places::of(tile.step, row.seq, &HISTORY, &tile.sizes)?;
        let record = match op.sampler(tile.step, row) {
            Ok(sampler) => {
                places.check(sampler.reads(row.position as usize))?;
                let (workspace, ids) = (&mut tile.scratch.sampling, &mut tile.scratch.ids);
                op.draw(workspace, ids, tile.step, logits.row(r), row, &sampler, history.all())
            }
            Err(record) => record,
        };
        tile.outs[0].row::<u32>(r)[0] = record.encode();
    }
    Ok(())
}

pub(super) fn score(tile: &mut Tile) -> Result<(), StepError> {
    let [logits, records] = [tile.ins[0], tile.ins[1]];
    for r in tile.outs[0].rows.clone() {
        let words = Score::row(&mut tile.scratch.sampling, logits.row(r), records.row::<u32>(r)[0]);
        tile.outs[0].row::<u32>(r).copy_from_slice(&words);
    }
    Ok(())
}

fn missing(tile: &Tile, r: usize) -> StepError {
    let value = tile.step.logits[r].row as usize;
    StepError { what: "row of logits", value, allowed: tile.sizes.rows.checked_sub(1) }
}

fn lengths(tile: &Tile, carried: &[u32]) -> Result<(), StepError> {
    lengths_of(tile.step, carried)
}

/// Lengths can grow by the rows of this step.
fn lengths_of(step: &inkstone_tensor::step::StepView, carried: &[u32]) -> Result<(), StepError> {
    step.seqs.iter().try_for_each(|s| {
        let length = carried[carry::word(carry::LENGTH, s.slot as usize)];
        below("length of a sequence", length as usize + s.rows as usize, u32::MAX as usize)
    })
}
