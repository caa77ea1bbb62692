//! Programs that load the library may have changed the floating-point mode of their threads: results have the same bits,
//! on the thread that helps and on the workers, which inherit it.
#![cfg(target_arch = "x86_64")]
#![allow(unsafe_code)]

use crate::rig::{Rig, input, kernel, output, own, plan, step};
use inkstone_compute::EngineOptions;
use inkstone_engine_cpu::Tile;
use inkstone_tensor::step::StepError;
use std::hint::black_box;

/// Rounding up, subnormal operands and results as zero.
const CHANGED: u32 = 0x1f80 | 0x4000 | 0x8000 | 0x0040;

fn mode() -> u32 {
    let mut mode = 0u32;
    // SAFETY: stores the control register in `mode`.
    unsafe { std::arch::asm!("stmxcsr [{}]", in(reg) &mut mode, options(nostack, preserves_flags)) };
    mode & !0x3f
}

fn set(mode: u32) {
    // SAFETY: a mode without traps.
    unsafe { std::arch::asm!("ldmxcsr [{}]", in(reg) &mode, options(nostack, preserves_flags, readonly)) };
}

/// Rounds, and passes through a subnormal number; adds a mark of the thread's mode.
fn delicate(tile: &mut Tile) -> Result<(), StepError> {
    assert_eq!(mode(), 0x1f80, "the mode in which results are defined");
    for row in tile.rows.clone() {
        let x = tile.ins[0].row::<f32>(row)[0];
        let third = black_box(x) / black_box(3.0);
        let small = black_box(third) * black_box(1e-38 / 16.0);
        tile.outs[0].row::<f32>(row)[0] = black_box(small) * black_box(1.6e38) + third;
    }
    Ok(())
}

fn results(threads: usize) -> Vec<u32> {
    let options = EngineOptions::default().threads(threads).with_kernel(kernel("delicate", delicate));
    let steps = (0..20).map(|i| {
        let from = if i == 0 { input() } else { own(i, false) };
        let to = if i == 19 { output(20) } else { own(i + 1, true) };
        step("delicate", 1, &[from, to])
    });
    let mut rig = Rig::new(&options, plan(steps.collect())).unwrap();
    let mut bits = Vec::new();
    for i in 0..50 {
        // Whole numbers, which are the same in every mode.
        let rows: Vec<f32> = (0..8).map(|r| (8 * i + r) as f32).collect();
        bits.extend(rig.run(&rows).unwrap().into_iter().map(f32::to_bits));
    }
    bits
}

#[test]
fn h6_a_changed_mode_of_the_caller_changes_no_bit_and_is_left_as_it_was() {
    let (before, wanted) = (mode(), results(1));
    set(CHANGED);
    let small = black_box(1e-30f32) * black_box(1e-10f32);
    let (found, helped, after) = (results(1), results(3), mode());
    set(before);
    assert_eq!((small, after), (0.0, CHANGED), "the mode is one that matters, and still the caller's");
    assert!(found == wanted && helped == wanted);
}
