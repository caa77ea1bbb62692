use super::*;
use crate::{Bindings, EngineOptions, Exec, Executable, Pattern, Plan, Reference, ReferenceKernel, Result};
use inkstone_tensor::Array;
use inkstone_tensor::op::Arrays;
use inkstone_tensor::ops::{Attend, By, Columns, Embed, RmsNorm, Window};
use inkstone_tensor::sampling::{Chain, ChainRef, Stage, StageRef};
use inkstone_tensor::step::record::Record;
use inkstone_tensor::step::{NONE, PageCopy, StepView};
use std::sync::Arc;

fn engine(kernels: &[Kernel]) -> Reference {
    let options = EngineOptions::default().budget(1 << 28);
    Reference::new(&kernels.iter().fold(options, |options, kernel| options.with_kernel(kernel.clone()))).unwrap()
}

fn outside(implements: Pattern, entry: ReferenceKernel) -> Kernel {
    Kernel::by_definition("outside", implements, Arc::new(entry))
}

#[test]
fn the_reference_engine_conforms() {
    let report = run(&engine(&[]));
    assert!(report.passed() && report.skipped().next().is_none(), "{report}");
    let names: std::collections::BTreeSet<&str> = report.results.iter().map(|r| r.case.as_str()).collect();
    assert_eq!(names.len(), report.results.len(), "names are seeds, so they are unique");
}

/// The report of the suite about a faulty custom kernel.
fn wrong(name: &'static str, entry: ReferenceKernel) -> Report {
    let report = run_some(&engine(&[outside(Pattern::Named(name), entry)]), |op| op.name() == name);
    assert!(!report.passed(), "{name}: {report}");
    assert!(report.failed().all(|r| r.kernels.contains("outside")), "only the wrong kernel is blamed: {report}");
    report
}

fn eval(op: &Op, step: &StepView, ins: Arrays) -> Arrays {
    op.eval(step, ins)
}

#[test]
fn a_right_kernel_from_outside_conforms() {
    let report = run(&engine(&[outside(Pattern::AnyOp, eval)]));
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
    assert!(
        text.contains("failed: linear on f32[Rows, 5] f32[3, 5] f32[1, 3], 1 rows by outside in file (seed 0x"),
        "{text}"
    );
}

#[test]
fn other_bits_of_one_numerics_are_found() {
    let last_bit: ReferenceKernel = |op, step, ins| {
        let mut outs = op.eval(step, ins);
        outs[0].all_mut::<u32>().iter_mut().for_each(|w| *w ^= 1);
        outs
    };
    let kernel = |name, numerics, entry: ReferenceKernel| Kernel {
        numerics,
        ..Kernel::by_definition(name, Pattern::Named("rms_norm"), Arc::new(entry))
    };
    let f32 = Numerics("f32/any");
    let other = [kernel("one", f32, eval), kernel("other", Numerics("f32/other"), last_bit)];
    let norms = |op: &Op| op.name() == "rms_norm";
    assert!(run_some(&engine(&other), norms).passed(), "a last bit is within the tolerance");
    let report = run_some(&engine(&[kernel("one", f32, eval), kernel("other", f32, last_bit)]), norms);
    let blamed: Vec<&str> = report.failed().map(|r| r.kernels.as_str()).collect();
    // The last custom kernel is the first choice.
    assert!(!blamed.is_empty() && blamed.iter().all(|k| *k == blamed[0]), "{report}");
    assert!(report.to_string().contains("of one numerics: row 0, block 0 is "), "{report}");
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
    let attends = cases::all().into_iter().filter(|c| c.op.name() == "attend").count();
    assert_eq!(report.failed().count(), scenes::SCENES.len() + forks::SCENES.len() + attends + windows::all().count());
}

#[test]
fn keys_and_values_through_the_table_of_another_group_are_found() {
    let report = wrong("attend", |op, step, mut ins| {
        for cache in &mut ins[1..3] {
            // A copy that says that it is of group 0.
            *cache = Array::from_bytes(cache.dtype(), cache.cols(), cache.bytes()).expect("whole rows");
        }
        op.eval(step, ins)
    });
    let two_groups = |case: &str| case.contains("Slots(1)") || case.contains("two layer groups");
    assert!(report.failed().all(|r| two_groups(&r.case)), "{report}");
    assert!(report.failed().any(|r| r.case.contains("two layer groups")), "{report}");
}

/// The op on a step whose copies are others.
fn with_copies(op: &Op, step: &StepView, ins: Arrays, copies: &[PageCopy]) -> Arrays {
    op.eval(&StepView { copies, ..*step }, ins)
}

/// All cases with copies fail, and nothing else.
fn assert_forks_fail(report: &Report) {
    let failed: Vec<&str> = report.failed().map(|r| r.case.as_str()).collect();
    let forks: Vec<&str> = [copies::NAME].into_iter().chain(forks::SCENES.iter().map(|scene| scene.name)).collect();
    assert_eq!(failed, forks, "{report}");
}

#[test]
fn pages_that_are_not_copied_are_found() {
    assert_forks_fail(&wrong("kv_copy", |_, _, mut ins| Arrays::from_iter([ins.remove(0)])));
}

#[test]
fn copies_that_end_a_place_early_or_late_are_found() {
    assert_forks_fail(&wrong("kv_copy", |op, step, ins| {
        let fewer = |copy: &PageCopy| PageCopy { places: copy.places.saturating_sub(1), ..*copy };
        with_copies(op, step, ins, &step.copies.iter().map(fewer).collect::<Vec<_>>())
    }));
    assert_forks_fail(&wrong("kv_copy", |op, step, ins| {
        let more = |copy: &PageCopy| PageCopy { places: step.header.page.min(copy.places + 1), ..*copy };
        with_copies(op, step, ins, &step.copies.iter().map(more).collect::<Vec<_>>())
    }));
}

#[test]
fn copies_in_all_groups_are_found() {
    assert_forks_fail(&wrong("kv_copy", |op, step, ins| {
        let (group, pages) = (ins[0].group() as u32, ins[0].cache().slots / step.header.page as usize);
        let all = step.copies.iter().map(|copy| PageCopy { group, ..*copy });
        with_copies(op, step, ins, &all.filter(|copy| copy.pages(pages).is_ok()).collect::<Vec<_>>())
    }));
}

#[test]
fn copies_of_the_first_head_are_found() {
    let report = wrong("kv_copy", |_, step, mut ins| {
        let (lie, group, page) = (ins[0].cache(), ins[0].group(), step.header.page as usize);
        for copy in step.copies_in(group) {
            for place in 0..copy.places as usize {
                let [from, to] = [copy.from, copy.to].map(|number| lie.row(0, number as usize * page + place));
                let bytes = ins[0].row_bytes_of(from).to_vec();
                ins[0].bytes_mut()[to * bytes.len()..][..bytes.len()].copy_from_slice(&bytes);
            }
        }
        ins
    });
    // Where all heads share a row, the first head is all of them.
    let cases = 1 + forks::SCENES.len();
    assert_eq!(report.failed().count(), cases - 1, "{report}");
    assert!(report.failed().all(|r| !r.case.contains("heads that share rows")), "{report}");
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

/// A kernel of attention with the window that `other` makes of the right one.
fn attends_with(op: &Op, step: &StepView, ins: Arrays, other: fn(&Attend, Window) -> Option<Window>) -> Arrays {
    let Op::Attend(attend) = op else { panic!("{op}") };
    let window = attend.window.and_then(|window| other(attend, window));
    Op::from(Attend { window, ..*attend }).eval(step, ins)
}

/// The windows of the cases that failed. All other cases that did have a window.
fn failed_windows(report: &Report) -> Vec<String> {
    let window =
        |r: &CaseResult| r.case.strip_prefix("a window of ")?.split_once(',').map(|(window, _)| window.to_owned());
    let found: Vec<String> = report.failed().filter_map(window).collect();
    assert!(report.failed().all(|r| r.case.contains("window")), "{report}");
    found
}

#[test]
fn windows_of_another_size_are_found() {
    let wider =
        wrong("attend", |op, step, ins| attends_with(op, step, ins, |_, w| Some(Window { size: w.size + 1, ..w })));
    let narrower = wrong("attend", |op, step, ins| {
        attends_with(op, step, ins, |_, w| Some(Window { size: (w.size - 1).max(1), ..w }))
    });
    let none = wrong("attend", |op, step, ins| attends_with(op, step, ins, |_, _| None));
    for (report, others) in [(wider, &["1"][..]), (narrower, &[]), (none, &["1"])] {
        let failed = failed_windows(&report);
        for size in ["2", "63", "64", "65", "66", "2047", "2048"].iter().chain(others) {
            assert!(failed.contains(&format!("{size} and the first 0")), "{size}: {report}");
        }
        assert!(!failed.iter().any(|window| window.starts_with("9000")), "{report}");
    }
}

#[test]
fn a_window_without_the_first_tokens_is_found() {
    let report = wrong("attend", |op, step, ins| attends_with(op, step, ins, |_, w| Some(Window { first: 0, ..w })));
    let failed = failed_windows(&report);
    assert!(failed.contains(&"63 and the first 1".to_owned()), "{report}");
    assert!(!failed.iter().any(|window| window.ends_with("the first 0")), "{report}");
}

#[test]
fn hidden_rows_that_are_multiplied_are_found() {
    let report = wrong("attend", |op, step, ins| {
        let (mut hidden, cols) = (0.0, ins[2].cols());
        let mut row = vec![0.0; cols];
        for r in 0..ins[2].rows() {
            ins[2].decode_row(r, &mut row);
            hidden += row[0];
        }
        let mut outs = op.eval(step, ins);
        if matches!(op, Op::Attend(attend) if attend.window.is_some()) {
            outs[0].all_mut::<f32>().iter_mut().for_each(|y| *y += 0.0 * hidden);
        }
        outs
    });
    assert!(failed_windows(&report).len() > 20, "{report}");
}

#[test]
fn attention_that_reads_behind_a_row_is_found() {
    let report = wrong("attend", |op, step, ins| {
        let mut behind = vec![0.0; ins[2].cols()];
        ins[2].decode_row(ins[2].rows() - 1, &mut behind);
        let mut outs = op.eval(step, ins);
        outs[0].all_mut::<f32>().iter_mut().for_each(|y| *y += 0.0 * behind[0]);
        outs
    });
    let failed = |start: &str| report.failed().filter(|r| r.case.starts_with(start)).count();
    let behind = failed("positions behind a row, caches of ");
    assert_eq!((behind, behind + failed("a window of ")), (4, report.failed().count()), "{report}");
}

/// An engine that takes every plan.
struct Careless(Reference);

struct Taken(Arc<Plan>);

impl Executable for Taken {
    fn plan(&self) -> &Plan {
        &self.0
    }
}

impl Engine for Careless {
    crate::pass_on! { 0: caps registry alloc alloc_all weight_bytes warm load queue draws gauge }

    fn prepare(&self, plan: Arc<Plan>, bind: Bindings, exec: Exec) -> Result<Arc<dyn Executable>> {
        Ok(self.0.prepare(plan.clone(), bind, exec).unwrap_or_else(|_| Arc::new(Taken(plan))))
    }
}

#[test]
fn plans_that_are_not_checked_are_found() {
    let result = bad_plans::run(&Careless(engine(&[])));
    let Outcome::Failed(fault) = &result.outcome else { panic!("{result}") };
    for what in ["a result behind the arena", "results of another dtype", "one buffer for a port and the step"] {
        assert!(fault.contains(what), "{fault}");
    }
    assert_eq!(bad_plans::run(&engine(&[])).outcome, Outcome::Passed);
}

#[test]
fn draws_that_are_left_to_the_host_pass_and_are_counted() {
    let kernel = outside(Pattern::Named("sample"), |op, step, ins| {
        let mut outs = op.eval(step, ins);
        let drawn = outs[0].all_mut::<u32>().iter_mut().filter(|record| **record != NONE);
        drawn.step_by(2).for_each(|record| *record = Record::Host.encode());
        outs
    });
    let report = run_some(&engine(&[kernel]), |op| op.name() == "sample");
    assert!(report.passed(), "{report}");
    let by = |r: &&CaseResult| r.kernels.contains("outside") && r.host > 0;
    for case in ["sample", "draws by histories", "forks"] {
        assert!(report.results.iter().filter(by).any(|r| r.case.starts_with(case)), "{case}: {report}");
    }
    let host = report.host();
    assert!(report.to_string().contains(&format!("skipped, {host} draws left to the host")), "{report}");
}

#[test]
fn a_draw_left_to_the_host_where_there_is_none_is_found() {
    // Every case of sampling has draws, and only the rows of a step without a chain have none.
    let expected = Array::from_u32(1, vec![NONE, 3, Record::NanLogits.encode(), 5]);
    let mut found = Array::from_u32(1, vec![Record::Host.encode(); 4]);
    assert_eq!(host::settle_records(&expected, &mut found), 3);
    let left = Record::Host.encode();
    assert_eq!(found.all::<u32>(), [left, 3, Record::NanLogits.encode(), 5], "the first row draws nothing");
}

/// An engine that draws by no chain with a top-k.
struct Refusing(Reference);

impl Engine for Refusing {
    crate::pass_on! { 0: caps registry alloc alloc_all weight_bytes warm load prepare queue gauge }

    fn draws(&self, chain: ChainRef) -> bool {
        !chain.into_iter().any(|stage| matches!(stage, StageRef::TopK(_)))
    }
}

#[test]
fn engines_around_another_one_draw_by_its_chains() {
    let refusing: Arc<dyn Engine> = Arc::new(Refusing(engine(&[])));
    let stepwise: Arc<dyn Engine> = Arc::new(Stepwise::new(refusing.clone()).unwrap());
    let delayed = Arc::new(Delayed::new(refusing.clone(), 2, 1));
    for engine in [refusing, stepwise, delayed] {
        let draws = |stage| {
            let mut words = Vec::new();
            Chain(vec![stage]).encode(&mut words);
            engine.draws(ChainRef::decode(&words).unwrap())
        };
        assert!(draws(Stage::TopP(0.5)) && !draws(Stage::TopK(3)));
    }
}
