use super::*;
use crate::{EngineOptions, Pattern, Reference, ReferenceKernel};
use inkstone_tensor::Array;
use inkstone_tensor::op::Arrays;
use inkstone_tensor::ops::{By, Columns, Embed, RmsNorm};
use inkstone_tensor::step::StepView;
use std::sync::Arc;

fn report(kernels: &[(Pattern, ReferenceKernel)]) -> Report {
    let mut options = EngineOptions::default().budget(1 << 28);
    for (implements, entry) in kernels {
        options = options.with_kernel(Kernel::by_definition("outside", *implements, Arc::new(*entry)));
    }
    run(&Reference::new(&options).unwrap())
}

#[test]
fn the_reference_engine_conforms() {
    let report = report(&[]);
    assert!(report.passed() && report.skipped().next().is_none(), "{report}");
    let names: std::collections::BTreeSet<&str> = report.results.iter().map(|r| r.case.as_str()).collect();
    assert_eq!(names.len(), report.results.len(), "names are seeds, so they are unique");
}

/// What a kernel from outside does wrong, and how much of it the suite sees.
fn wrong(name: &'static str, entry: ReferenceKernel) -> Report {
    let report = report(&[(Pattern::Named(name), entry)]);
    assert!(!report.passed(), "{name}: {report}");
    assert!(report.failed().all(|r| r.kernels.contains("outside")), "only the wrong kernel is blamed: {report}");
    report
}

fn eval(op: &Op, step: &StepView, ins: Arrays) -> Arrays {
    op.eval(step, ins)
}

#[test]
fn a_right_kernel_from_outside_conforms() {
    let report = report(&[(Pattern::AnyOp, eval)]);
    assert!(report.passed() && report.results.iter().any(|r| r.kernels.contains("outside")), "{report}");
}

#[test]
fn a_last_bit_is_found() {
    let report = wrong("linear", |op, step, ins| {
        let mut outs = op.eval(step, ins);
        let last = outs[0].all_mut::<u32>().last_mut();
        last.into_iter().for_each(|w| *w ^= 1);
        outs
    });
    let text = report.to_string();
    assert!(text.contains("failed: linear on f32[Rows, 5] f32[3, 5] f32[1, 3], 1 rows by outside (seed 0x"), "{text}");
}

#[test]
fn norms_over_all_heads_at_once_are_found() {
    let report = wrong("rms_norm", |op, step, mut ins| {
        let (w, heads) = (ins[1].clone(), ins[0].cols() / ins[1].cols());
        let mut row = vec![0.0; w.cols()];
        w.decode_row(0, &mut row);
        ins[1] = Array::from_f32(heads * row.len(), row.repeat(heads));
        op.eval(step, ins)
    });
    assert!(report.failed().all(|r| r.case.contains("f32[Rows, ")), "{report}");
}

#[test]
fn tokens_in_place_of_positions_are_found() {
    let report = wrong("embed", |_, step, ins| Op::from(Embed { by: By::Token }).eval(step, ins));
    assert!(report.failed().all(|r| r.case.contains("by position")), "{report}");
}

#[test]
fn columns_of_another_part_are_found() {
    let report = wrong("columns", |_, step, ins| Op::from(Columns { first: 0, count: 32 }).eval(step, ins));
    assert!(report.failed().all(|r| !r.case.contains("columns(32 from 0)")), "{report}");
}

#[test]
fn a_variance_that_forgets_the_mean_is_found() {
    let _ = wrong("layer_norm", |op, step, mut ins| {
        let Op::LayerNorm(norm) = op else { panic!("{op}") };
        ins.truncate(2);
        Op::from(RmsNorm { eps: norm.eps }).eval(step, ins)
    });
}

#[test]
fn a_cache_row_that_is_not_written_is_found() {
    let _ = wrong("kv_write", |_, _, mut ins| Arrays::from_iter([ins.remove(0)]));
}

#[test]
fn a_swapped_cache_is_found() {
    let report = wrong("attend", |op, step, mut ins| {
        ins.swap(1, 2);
        if ins[1].cols() == ins[2].cols() { op.eval(step, ins) } else { panic!("of other widths") }
    });
    assert_eq!(report.failed().count(), scenes::SCENES.len());
}

#[test]
fn lengths_that_do_not_grow_are_found() {
    let _ = wrong("advance", |_, _, mut ins| Arrays::from_iter([ins.remove(0)]));
}

#[test]
fn records_that_are_not_taken_are_found() {
    let _ = wrong("accept", |_, _, mut ins| Arrays::from_iter([ins.remove(0)]));
}

#[test]
fn a_history_without_tokens_is_found() {
    let _ = wrong("history_write", |_, _, mut ins| Arrays::from_iter([ins.remove(0)]));
}

#[test]
fn what_has_no_kernel_is_skipped_with_the_reason() {
    let options = EngineOptions::default().budget(1 << 28).without_kernel("eval");
    let report = run(&Reference::new(&options).unwrap());
    assert!(!report.passed() && report.failed().next().is_none());
    let text = report.to_string();
    assert!(text.contains("skipped: steps, one head: reference has no kernel for embed"), "{text}");
}

#[test]
fn tolerances_go_by_the_name_of_the_numerics() {
    assert_eq!(tolerance(Numerics::DEFINITION), 0.0);
    assert_eq!(tolerance(Numerics("q8/32.i32")), 1e-5);
    assert_eq!(tolerance(Numerics("unheard")), OTHERWISE);
}
