//! A program that has changed the floating-point mode of its thread gets the same bits, from opening a model on.
#![cfg(target_arch = "x86_64")]
#![allow(unsafe_code)]

use inkstone::{Model, ModelOptions};

fn set(mode: u32) {
    // SAFETY: a mode without traps.
    unsafe { std::arch::asm!("ldmxcsr [{}]", in(reg) &mode, options(nostack, preserves_flags, readonly)) };
}

/// The text of the graph, which tells tables of angles apart by their last bits, and logits.
fn opened() -> (String, Vec<u32>) {
    let model = Model::embedded(&ModelOptions::default().engine("cpu")).unwrap();
    let ids: Vec<u32> = (0..100).map(|i| 5 + i * 37 % 900).collect();
    let logits = model.logits(&ids, None).unwrap();
    (
        model.graph().graph(inkstone::graph::Kind::BODY).unwrap().to_string(),
        logits.into_iter().map(f32::to_bits).collect(),
    )
}

#[test]
fn h6_a_model_opened_in_a_changed_mode_gives_the_same_bits() {
    let wanted = opened();
    // Rounding up, subnormal operands and results as zero.
    set(0x1f80 | 0x4000 | 0x8000 | 0x0040);
    let found = opened();
    set(0x1f80);
    assert!(found.0 == wanted.0, "the graph");
    assert!(found.1 == wanted.1, "logits");
}
