//! What kernels are told of their tiles.

use crate::rig::{COLS, Rig, input, kernel, output, own, plan, step, sum_rows};
use inkstone_compute::EngineOptions;
use inkstone_engine_cpu::Tile;
use inkstone_tensor::step::StepError;

/// 1 where a tile is its worker's first of the step.
fn mark(tile: &mut Tile) -> Result<(), StepError> {
    let first = if tile.first { 1.0 } else { 0.0 };
    for row in tile.rows.clone() {
        tile.outs[0].row::<f32>(row)[0] = first;
    }
    Ok(())
}

/// Adds the sum of the whole first operand, which is made once a worker.
fn add_total(tile: &mut Tile) -> Result<(), StepError> {
    let whole = tile.ins[0];
    let total = tile.scratch.floats(1);
    if tile.first {
        total[0] = (0..tile.sizes.rows).map(|row| whole.row::<f32>(row)[0]).sum();
    }
    for row in tile.rows.clone() {
        let from = tile.ins[1].row::<f32>(row)[0];
        tile.outs[0].row::<f32>(row)[0] = from + total[0];
    }
    Ok(())
}

#[test]
fn the_first_tile_of_a_step_is_told_so_once_a_run() {
    let options =
        EngineOptions::default().threads(1).with_kernel(kernel("mark", mark)).with_kernel(kernel("sum", sum_rows));
    let steps = vec![
        step("mark", 1, &[input(), own(1, true)]),
        step("mark", 2, &[input(), own(2, true)]),
        step("sum", 1, &[own(1, false), own(2, false), output(3)]),
    ];
    let mut rig = Rig::new(&options, plan(steps)).unwrap();
    for _ in 0..2 {
        assert_eq!(rig.run(&[0.0; 6]).unwrap(), [2.0, 1.0, 0.0, 0.0, 0.0, 0.0]);
    }
}

/// How many columns the tile has, in each.
fn width(tile: &mut Tile) -> Result<(), StepError> {
    for row in tile.rows.clone() {
        let part = tile.outs[0].row::<f32>(row);
        part.fill(part.len() as f32);
    }
    Ok(())
}

/// Only the engine's own kernels take tiles together that were claimed together.
#[test]
fn kernels_from_outside_get_tiles_as_they_cut_them() {
    const BLOCK: usize = 64;
    let options = EngineOptions::default().threads(1).with_kernel(kernel("width", width));
    let mut step = step("width", 1, &[input(), output(1)]);
    (step.grid.col_block, step.grid.col_blocks) = (BLOCK, COLS / BLOCK);
    step.args[1].cut.cols = true;
    let mut rig = Rig::new(&options, plan(vec![step])).unwrap();
    rig.feed(&[0.0]).unwrap();
    let ticket = rig.submit().unwrap();
    rig.queue.wait(ticket).unwrap();
    let mut found = vec![0f32; COLS];
    rig.queue.read(&rig.bind.ports[1].1, 0, bytemuck::cast_slice_mut(&mut found)).unwrap();
    assert!(found.iter().all(|width| *width == BLOCK as f32), "a tile of {} columns", found[0]);
}

#[test]
fn what_a_first_tile_keeps_is_there_for_all_tiles_of_its_worker_and_step() {
    for threads in [1, 2, 5] {
        let options = EngineOptions::default().threads(threads).with_kernel(kernel("add_total", add_total));
        let mut steps = Vec::new();
        for i in 0..20 {
            let mut whole = if i == 0 { input() } else { own(i, false) };
            whole.cut.rows = false;
            let own_rows = if i == 0 { input() } else { own(i, false) };
            let to = if i == 19 { output(20) } else { own(i + 1, true) };
            steps.push(step("add_total", 1, &[whole, own_rows, to]));
        }
        let mut rig = Rig::new(&options, plan(steps)).unwrap();
        let mut wanted = vec![1.0f32, -1.0, 0.5, 0.25, -0.625];
        let fed = wanted.clone();
        for _ in 0..20 {
            let total: f32 = wanted.iter().sum();
            wanted.iter_mut().for_each(|w| *w += total);
        }
        for _ in 0..50 {
            assert_eq!(rig.run(&fed).unwrap(), wanted, "{threads} threads");
        }
    }
}
