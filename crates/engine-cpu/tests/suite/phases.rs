//! Kernels from outside with scratch and a first phase.

use crate::rig::{BYTES, Rig, input, output, own, plan, step};
use inkstone_compute::{EngineOptions, Grid, Kernel, Pattern, Plan, Shape, Step};
use inkstone_engine_cpu::{FirstTile, Phased, Section, Sections, Tile};
use inkstone_tensor::step::StepError;
use inkstone_tensor::{Dim, Op};
use std::sync::Arc;

/// Columns of the second section, in blocks of two.
const WORDS: usize = 5;

/// For each row the sum, and the sum five times in three blocks.
fn sections(_: &Shape) -> Sections {
    [Section::of(1), Section { words: WORDS, block: 2 }].into_iter().collect()
}

fn first(tile: &mut FirstTile) -> Result<(), StepError> {
    let sums = tile.rows.clone().map(|row| tile.ins.iter().map(|view| view.row::<f32>(row)[0]).sum::<f32>().to_bits());
    let width = tile.parts[1].len() / tile.rows.len();
    assert_eq!(width, [2, 2, 1][tile.block]);
    for (i, sum) in sums.enumerate() {
        // Of the first block only: a section of one block.
        if let Some(word) = tile.parts[0].get_mut(i) {
            *word = sum;
        }
        tile.parts[1][i * width..][..width].fill(sum);
    }
    Ok(())
}

fn then(tile: &mut Tile) -> Result<(), StepError> {
    let [sums, blocks] = tile.shared else { panic!("{} sections", tile.shared.len()) };
    let count = tile.sizes.rows;
    assert_eq!((sums.len(), blocks.len()), (count, WORDS * count));
    for row in tile.rows.clone() {
        let copies = [(0, 2), (2, 2), (4, 1)].map(|(start, width)| &blocks[count * start + row * width..][..width]);
        assert!(copies.iter().copied().flatten().all(|word| *word == sums[row]), "row {row}: {copies:?}");
        tile.outs[0].row::<f32>(row)[0] = f32::from_bits(sums[row]);
    }
    Ok(())
}

const PHASED: Phased = Phased { sections, first, then };

fn kernel(name: &'static str, phased: Phased) -> Kernel {
    Kernel::by_definition(name, Pattern::Named("map"), Arc::new(phased))
}

/// A step with a first phase, whose scratch has the place of value `scratch`.
fn phased(block: usize, args: &[inkstone_compute::Arg], scratch: u64) -> Step {
    let grid = Grid { rows: Dim::Rows, row_block: block, col_block: usize::MAX, col_blocks: 3 };
    Step { scratch: scratch * BYTES..(scratch + 1) * BYTES, first: Some(grid), ..step("phased", 1, args) }
}

/// Two branches that meet, with scratch in turns.
fn branches() -> Plan {
    plan(vec![
        phased(1, &[input(), own(1, true)], 6),
        phased(2, &[input(), own(1, false), own(2, true)], 7),
        phased(3, &[input(), own(3, true)], 6),
        phased(8, &[own(2, false), own(3, false), own(4, true)], 1),
        phased(1, &[own(4, false), input(), output(5)], 7),
    ])
}

#[test]
fn first_phases_leave_their_results_for_the_tiles_of_the_step() {
    for threads in [1, 2, 3, 5] {
        let options = EngineOptions::default().threads(threads).with_kernel(kernel("phased", PHASED));
        let mut rig = Rig::new(&options, branches()).unwrap();
        for i in 0..200 {
            let rows: Vec<f32> = (0..1 + i % 8).map(|row| (i + row) as f32).collect();
            let wanted: Vec<f32> = rows.iter().map(|x| 4.0 * x).collect();
            assert_eq!(rig.run(&rows).unwrap(), wanted, "{threads} threads");
        }
    }
}

#[test]
fn a_kernel_may_be_used_without_its_first_phase() {
    fn alone(tile: &mut Tile) -> Result<(), StepError> {
        assert!(tile.shared.is_empty());
        crate::rig::sum_rows(tile)
    }
    let options = EngineOptions::default().threads(2).with_kernel(kernel("alone", Phased { then: alone, ..PHASED }));
    let mut rig = Rig::new(&options, plan(vec![step("alone", 1, &[input(), output(1)])])).unwrap();
    assert_eq!(rig.run(&[1.0, 2.0]).unwrap(), [1.0, 2.0]);
}

#[test]
fn a_first_phase_that_panics_is_an_error() {
    fn panics(_: &mut FirstTile) -> Result<(), StepError> {
        panic!("nothing to arrange")
    }
    let options = EngineOptions::default().threads(1).with_kernel(kernel("phased", Phased { first: panics, ..PHASED }));
    let mut rig = Rig::new(&options, plan(vec![phased(1, &[input(), output(1)], 1)])).unwrap();
    let error = rig.run(&[1.0]).unwrap_err().to_string();
    assert_eq!(error, "plan sums, step 0 (map) panicked: nothing to arrange");
}

/// What is said of a plan of one step that was changed.
#[track_caller]
fn refusal(change: impl FnOnce(&mut Step)) -> String {
    let options = EngineOptions::default().threads(1).with_kernel(kernel("phased", PHASED));
    let options = options.with_kernel(crate::rig::kernel("sum", crate::rig::sum_rows));
    let mut step = phased(1, &[input(), output(1)], 1);
    change(&mut step);
    let text = Rig::new(&options, plan(vec![step])).err().expect("a refusal").to_string();
    text.strip_prefix("plan sums, step 0 (map): ").unwrap_or_else(|| panic!("{text}")).to_owned()
}

#[test]
fn steps_whose_first_phase_is_not_the_kernels_are_refused() {
    assert_eq!(refusal(|s| s.kernel = "sum".to_owned()), "kernel sum has no first phase");
    let blocks = refusal(|s| s.first.as_mut().unwrap().col_blocks = 2);
    assert_eq!(blocks, "a first phase of 2 blocks of columns, kernel phased fills 3");
    let small = refusal(|s| s.scratch.end = s.scratch.start + 64);
    assert_eq!(small, "64 bytes of scratch, kernel phased needs 256");
    assert_eq!(refusal(|s| s.scratch = 0..0), "a first phase without scratch");
    let many = refusal(|s| s.first.as_mut().unwrap().col_blocks = 1 << 20);
    assert_eq!(many, format!("a first phase of {} blocks of columns, kernel phased fills 3", 1 << 20));
}

#[test]
fn a_kernel_refuses_a_step_for_its_own_reason() {
    let picky = Kernel {
        refuses: |query, caps| {
            let cols = query.ins.first()?.cols;
            (cols > 64).then(|| format!("{cols} columns > 64 on {}", caps.name))
        },
        ..crate::rig::kernel("picky", crate::rig::sum_rows)
    };
    let options = EngineOptions::default().threads(1).with_kernel(picky);
    let plan = plan(vec![step("picky", 1, &[input(), output(1)])]);
    let error = Rig::new(&options, plan).err().unwrap().to_string();
    assert_eq!(error, "plan sums, step 0 (map): kernel picky refuses it: 16384 columns > 64 on cpu");
}

#[test]
fn operands_are_whole_in_a_first_phase() {
    fn whole(tile: &mut FirstTile) -> Result<(), StepError> {
        assert_eq!(tile.ins[0].rows(), tile.sizes.rows);
        assert!(matches!(tile.op, Op::Map(_)) && tile.rows.len() == 1);
        first(tile)
    }
    let options = EngineOptions::default().threads(2).with_kernel(kernel("phased", Phased { first: whole, ..PHASED }));
    let mut rig = Rig::new(&options, plan(vec![phased(1, &[input(), output(1)], 1)])).unwrap();
    assert_eq!(rig.run(&[1.0, 2.0, 3.0]).unwrap(), [1.0, 2.0, 3.0]);
}
