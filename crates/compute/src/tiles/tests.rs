use super::*;
use crate::conformance::plan::{How, Place, PlanBuilder};
use crate::kernel::{Layout, Numerics, Tiling, Work};
use crate::plan::{Port, Region, Step};
use crate::{Cut, Error};
use inkstone_tensor::body::{Body, Node, Region as Fused};
use inkstone_tensor::ops::{Accept, Advance, Attend, BeginStep, By, Embed, Expr, GatherRows, KvWrite, Map, Term};
use inkstone_tensor::step::{RECORDS, carry};
use inkstone_tensor::{DType, Op, Slots, Type};
use smallvec::smallvec;
use std::collections::BTreeMap;
use std::sync::Arc;

const BUCKET: Sizes = Sizes { rows: 8, logit_rows: 4, slots: Slots::one_group(32) };
/// The sizes of steps: empty, only rows, both; also smaller than the bucket.
const SIZES: [Sizes; 4] = [
    Sizes { rows: 0, logit_rows: 0, ..BUCKET },
    Sizes { logit_rows: 0, ..BUCKET },
    BUCKET,
    Sizes { rows: 5, logit_rows: 3, ..BUCKET },
];

fn map(inputs: usize) -> Op {
    let mut terms = vec![Term::In(0)];
    (1..inputs).for_each(|i| terms.extend([Term::In(i as u8), Term::Add]));
    Map(Expr::new(&terms)).into()
}

/// Two layers and a head. The arena is reused as by a compiler: dead values are overwritten.
fn plan() -> Plan {
    let cut = How { kernel: "tiled", work: Work::of(Tiling { row_block: 2, col_block: 8 }) };
    let rows_only = How { kernel: "rows", work: Work::of(Tiling { row_block: 3, ..Tiling::WHOLE }) };
    let mut b = PlanBuilder::new("body+head", BUCKET);
    let carry = b.state("carry", carry::CARRY);
    let cache = Type::new(DType::F32, Dim::Slots { group: 0, heads: 1 }, 16).state();
    let caches = [0, 1].map(|layer| [b.state(&format!("k{layer}"), cache), b.state(&format!("v{layer}"), cache)]);
    let table = b.weight("table", Type::f32(Dim::N(9), 16), Layout::FILE, Numerics::DEFINITION);
    let hidden = b.port(Port::HIDDEN, Type::f32(Dim::Rows, 16));
    let logits = b.port(Port::LOGITS, Type::f32(Dim::LogitRows, 16));
    let records = b.port(Port::RECORDS, RECORDS);
    let rows = b.step(How::EVAL, BeginStep.into(), &[carry], &[]).unwrap()[0];
    let mut x = b.step(rows_only, Embed { by: By::Token }.into(), &[rows, table], &[]).unwrap()[0];
    for [k, v] in caches {
        let one = |b: &mut PlanBuilder, ins: &[Place]| b.step(cut, map(ins.len()), ins, &[]).unwrap()[0];
        let (q, key, value) = (one(&mut b, &[x]), one(&mut b, &[x]), one(&mut b, &[x]));
        b.step(rows_only, KvWrite.into(), &[k, key, rows], &[]).unwrap();
        b.step(rows_only, KvWrite.into(), &[v, value, rows], &[]).unwrap();
        let attend = Attend { heads: 2, kv_heads: 2, scale: 1.0, window: None };
        let a = b.step(rows_only, attend.into(), &[q, k, v, rows], &[]).unwrap()[0];
        x = one(&mut b, &[a, x, q]);
    }
    b.step(cut, map(1), &[x], &[hidden]).unwrap();
    b.step(How::EVAL, Advance.into(), &[carry, rows], &[]).unwrap();
    let chosen = b.step(rows_only, GatherRows.into(), &[hidden], &[]).unwrap()[0];
    b.step(cut, map(2), &[chosen, chosen], &[logits]).unwrap();
    b.step(How::EVAL, Accept.into(), &[carry, records], &[]).unwrap();
    b.step(How::EVAL, BeginStep.into(), &[carry], &[]).unwrap();
    let mut plan = b.finish();
    reuse(&mut plan);
    plan
}

/// Folds the arena: values of the second layer replace dead values of the first layer.
fn reuse(plan: &mut Plan) {
    let mut places: Vec<(u64, u64, u32)> = Vec::new();
    let steps = plan.steps.clone();
    let last = |value: u32| steps.iter().rposition(|s| s.args.iter().any(|a| a.value == value)).unwrap_or(0);
    let mut at: BTreeMap<u32, u64> = BTreeMap::new();
    for (i, step) in steps.iter().enumerate() {
        for a in step.outs().filter(|a| a.region == Region::Arena) {
            let bytes = a.ty.bytes(&plan.bucket).next_multiple_of(64);
            let free = |start: u64| places.iter().all(|(s, e, v)| last(*v) < i || *e <= start || start + bytes <= *s);
            let start = (0..).map(|n| n * 64).find(|start| free(*start)).unwrap();
            places.push((start, start + bytes, a.value));
            at.insert(a.value, start);
        }
    }
    for a in plan.steps.iter_mut().flat_map(|s| &mut s.args).filter(|a| a.region == Region::Arena) {
        a.offset = at[&a.value];
    }
    plan.arena_bytes = places.iter().map(|(_, end, _)| *end).max().unwrap_or(0);
}

#[test]
fn programs_print() {
    let program = TileProgram::new(&plan());
    let expected = "   0 begin_step        1 tile
   1 embed             3 tiles after 0
   2 map               8 tiles after 1
   3 map               8 tiles after 1
   4 map               8 tiles after 1
   5 kv_write          3 tiles after 3
   6 kv_write          3 tiles after 4
   7 attend            3 tiles after 2 5 6
   8 map               8 tiles after 7
   9 map               8 tiles after 8
  10 map               8 tiles after 8
  11 map               8 tiles after 8
  12 kv_write          3 tiles after 10
  13 kv_write          3 tiles after 11
  14 attend            3 tiles after 9 12 13
  15 map               8 tiles after 14
  16 map               8 tiles after 15
  17 advance           1 tile  after 0
  18 gather_rows       2 tiles after 16 17
  19 map               4 tiles after 18
  20 accept            1 tile  after 17
  21 begin_step        1 tile  after 14 17 19 20
";
    assert_eq!(program.to_string(), expected);
}

/// The steps of [`phased`] that have first phases.
const PHASED: [usize; 4] = [2, 3, 4, 16];
/// Bytes of their scratch.
const SCRATCH: u64 = 256;

/// The plan with first phases before four of its steps, whose scratch is in two places in turns.
fn phased() -> Plan {
    let mut plan = plan();
    let arena = plan.arena_bytes;
    for (i, step) in PHASED.into_iter().enumerate() {
        let at = arena + SCRATCH * (i as u64 % 2);
        plan.steps[step].scratch = at..at + SCRATCH;
        plan.steps[step].first = Some(Grid { rows: Dim::Rows, row_block: 4, col_block: usize::MAX, col_blocks: 3 });
    }
    plan.arena_bytes += 2 * SCRATCH;
    plan.check().unwrap();
    plan
}

#[test]
fn a_first_phase_waits_for_its_operands_and_for_the_step_that_had_its_scratch() {
    let program = TileProgram::new(&phased());
    let expected = "   0 begin_step        1 tile
   1 embed             3 tiles after 0
   2 first map         6 tiles after 1
   3 map               8 tiles after 2
   4 first map         6 tiles after 1
   5 map               8 tiles after 4
   6 first map         6 tiles after 3
   7 map               8 tiles after 6
   8 kv_write          3 tiles after 5
   9 kv_write          3 tiles after 7
  10 attend            3 tiles after 8 9
  11 map               8 tiles after 10
  12 map               8 tiles after 11
  13 map               8 tiles after 11
  14 map               8 tiles after 11
  15 kv_write          3 tiles after 13
  16 kv_write          3 tiles after 14
  17 attend            3 tiles after 12 15 16
  18 map               8 tiles after 17
  19 first map         6 tiles after 18
  20 map               8 tiles after 19
  21 advance           1 tile  after 0
  22 gather_rows       2 tiles after 20 21
  23 map               4 tiles after 22
  24 accept            1 tile  after 21
  25 begin_step        1 tile  after 17 21 23 24
";
    assert_eq!(program.to_string(), expected);
}

/// The fault of the phased plan when a step was changed after its tile program was derived.
fn hazard(change: impl FnOnce(&mut Plan)) -> String {
    let mut changed = phased();
    let program = TileProgram::new(&changed);
    change(&mut changed);
    SIZES
        .iter()
        .find_map(|sizes| program.check(&changed, sizes).err())
        .map_or_else(|| "none".to_owned(), |e| e.to_string())
}

#[test]
fn scratch_of_neighbouring_steps_in_one_place_without_a_wait_is_a_hazard() {
    let at = phased().steps[2].scratch.start;
    let text = hazard(|plan| plan.steps[3].scratch = plan.steps[2].scratch.clone());
    assert_eq!(
        text,
        format!("tiles of step 3 may run while tiles of step 2 do, and both touch the scratch at arena+{at}")
    );
    // Derived from this plan, there is a wait.
    let mut plan = phased();
    plan.steps[3].scratch = plan.steps[2].scratch.clone();
    let program = TileProgram::new(&plan);
    program.check(&plan, &BUCKET).unwrap();
    assert!(program.phases[4].first && program.phases[4].waits.contains(&3), "{program}");
}

#[test]
fn a_step_that_does_not_wait_for_its_first_phase_is_a_hazard() {
    let plan = phased();
    let mut program = TileProgram::new(&plan);
    let own = program.phases.iter().position(|p| p.step == 3 && !p.first).unwrap();
    program.phases[own].waits.retain(|wait| *wait != own - 1);
    let error = program.check(&plan, &BUCKET).unwrap_err().to_string();
    assert!(
        error.starts_with("tiles of step 3 may run while tiles of step 3 do, and both touch the scratch"),
        "{error}"
    );
}

#[test]
fn the_next_owner_of_scratch_that_does_not_wait_for_the_step_is_a_hazard() {
    let plan = phased();
    let full = TileProgram::new(&plan);
    let next = full.phases.iter().position(|p| p.step == 4 && p.first).unwrap();
    let mut program = full.clone();
    program.phases[next].waits.retain(|wait| full.phases[*wait].step != 2);
    let error = program.check(&plan, &BUCKET).unwrap_err().to_string();
    assert!(
        error.starts_with("tiles of step 4 may run while tiles of step 2 do, and both touch the scratch"),
        "{error}"
    );
    // A value in the place of scratch.
    let text = hazard(|plan| {
        let at = plan.steps[3].scratch.start;
        let value = plan.steps[4].args[1].value;
        let args = plan.steps.iter_mut().flat_map(|s| &mut s.args);
        args.filter(|a| a.region == Region::Arena && a.value == value).for_each(|a| a.offset = at);
    });
    assert!(text.starts_with("tiles of step 4 may run while tiles of step 3 do, and both touch arena+"), "{text}");
}

#[test]
fn scratch_on_an_argument_of_its_step_is_a_hazard() {
    for arg in [0, 1] {
        let mut plan = phased();
        let at = plan.steps[2].args[arg].offset;
        plan.steps[2].scratch = at..at + SCRATCH;
        let error = TileProgram::new(&plan).check(&plan, &BUCKET).unwrap_err().to_string();
        let wanted =
            format!("tiles of step 2 may run while tiles of step 2 do, and both touch the scratch at arena+{at}");
        assert_eq!(error, wanted);
    }
}

#[test]
fn the_plan_of_these_tests_is_one_that_engines_take() {
    let plan = plan();
    plan.check().unwrap();
    let values: u64 = plan.steps.iter().flat_map(Step::outs).map(|a| a.ty.bytes(&BUCKET)).sum();
    assert!(plan.arena_bytes < values / 2, "memory is reused, so there are hazards of all kinds");
}

#[test]
fn derived_waits_pass_the_check_at_all_sizes() {
    for plan in [plan(), phased()] {
        let program = TileProgram::new(&plan);
        SIZES.iter().for_each(|sizes| program.check(&plan, sizes).unwrap());
    }
}

#[test]
fn every_wait_that_is_taken_out_is_missed() {
    for plan in [plan(), phased()] {
        let full = TileProgram::new(&plan);
        let mut count = 0;
        for phase in 0..full.phases.len() {
            for wait in full.phases[phase].waits.clone() {
                let mut program = full.clone();
                program.phases[phase].waits.retain(|w| *w != wait);
                let found = SIZES.iter().find_map(|sizes| program.check(&plan, sizes).err());
                assert!(
                    matches!(found, Some(Error::Hazard { .. })),
                    "phase {phase} without its wait for {wait}\n{full}"
                );
                count += 1;
            }
        }
        assert!(count > plan.steps.len(), "{count} waits");
    }
}

#[test]
fn a_step_without_tiles_passes_no_order_on() {
    // a (always) -> b (logit rows) -> c (always), where c also overwrites what a wrote.
    let mut b = PlanBuilder::new("p", BUCKET);
    let records = b.port(Port::RECORDS, RECORDS);
    let carry = b.state("carry", carry::CARRY);
    b.step(How::EVAL, Accept.into(), &[carry, records], &[]).unwrap();
    b.step(How::EVAL, Accept.into(), &[carry, records], &[]).unwrap();
    b.step(How::EVAL, Accept.into(), &[carry, records], &[]).unwrap();
    let mut plan = b.finish();
    plan.steps[0].grid.rows = Dim::N(1);
    plan.steps[2].grid.rows = Dim::N(1);
    assert_eq!(TileProgram::new(&plan).phases[2].waits[..], [1, 0]);
    plan.steps[1].grid.rows = Dim::N(1);
    assert_eq!(TileProgram::new(&plan).phases[2].waits[..], [1]);
    // Between two steps that have logit rows, one that has rows is never empty.
    plan.steps.iter_mut().zip([Dim::LogitRows, Dim::Rows, Dim::LogitRows]).for_each(|(s, d)| s.grid.rows = d);
    assert_eq!(TileProgram::new(&plan).phases[2].waits[..], [1]);
}

#[test]
fn results_that_tiles_share_are_hazards() {
    let program = |change: fn(&mut Step)| {
        let mut plan = plan();
        change(&mut plan.steps[2]);
        TileProgram::new(&plan).check(&plan, &BUCKET)
    };
    let shared = |r: Result<(), Error>| matches!(r, Err(Error::Hazard { first: 2, second: 2, .. }));
    program(|_| ()).unwrap();
    assert!(shared(program(|s| s.args[1].cut = Cut { rows: true, cols: false })));
    assert!(shared(program(|s| s.args[1].cut = Cut { rows: false, cols: true })));
    // On the bytes of an operand, which other tiles read.
    assert!(shared(program(|s| s.args[1].offset = s.args[0].offset)));
}

/// A step with results of 20 and 8 columns, of which tiles of 8 columns are cut.
fn two_results(cut: [bool; 2]) -> Plan {
    let mut body = Body::default();
    let ins = [20, 8].map(|cols| body.value(Type::f32(Dim::Rows, cols)));
    let outs = [20, 8].map(|cols| body.value(Type::f32(Dim::Rows, cols)));
    let copy = |i: usize| Node { op: map(1), ins: smallvec![ins[i]], outs: smallvec![outs[i]] };
    (body.nodes, body.inputs, body.outputs) = (vec![copy(0), copy(1)], ins.into(), outs.into());
    let types = body.types.clone();
    let mut b = PlanBuilder::new("p", BUCKET);
    let [x, y] = [(Port::HIDDEN, 0), (Port::LOGITS, 1)].map(|(port, i)| b.port(port, types[i]));
    let how = How { kernel: "two", work: Work::of(Tiling { col_block: 8, ..Tiling::WHOLE }) };
    b.step(how, Op::Region(Arc::new(Fused { name: "two".into(), body })), &[x, y], &[]).unwrap();
    let mut plan = b.finish();
    plan.steps[0].args.iter_mut().filter(|a| a.write).zip(cut).for_each(|(a, cut)| a.cut.cols = cut);
    plan
}

#[test]
fn blocks_of_columns_go_through_the_results() {
    let plan = two_results([true, true]);
    plan.check().unwrap();
    TileProgram::new(&plan).check(&plan, &BUCKET).unwrap();
    let step = &plan.steps[0];
    assert_eq!((step.grid.col_blocks, step.first_blocks().collect::<Vec<_>>()), (4, vec![0, 3]));
    let columns =
        |block| step.first_blocks().zip([20, 8]).map(move |(first, cols)| step.grid.columns(block, first, cols));
    let all: Vec<Vec<_>> = (0..4).map(|block| columns(block).collect()).collect();
    assert_eq!(all, [[0..8, 8..8], [8..16, 8..8], [16..20, 8..8], [20..20, 0..8]]);
}

#[test]
fn a_result_that_is_not_cut_is_shared_by_the_tiles_of_the_other() {
    let plan = two_results([true, false]);
    let program = TileProgram::new(&plan);
    assert!(matches!(program.check(&plan, &BUCKET), Err(Error::Hazard { first: 0, second: 0, .. })));
    let fault = plan.check().unwrap_err().to_string();
    assert!(fault.ends_with("4 blocks of 8 columns, its results take 3"), "{fault}");
}

#[test]
fn the_program_of_another_plan_is_refused() {
    let mut plan = plan();
    let program = TileProgram::new(&plan);
    plan.steps.pop();
    assert!(matches!(program.check(&plan, &BUCKET), Err(Error::BadPlan { .. })));
}

/// Programs are derived, so that steps wait for earlier ones; were one made otherwise, it would be refused.
#[test]
fn cycles_of_waits_are_refused() {
    let plan = plan();
    for (step, wait) in [(3, 3), (3, 4), (0, 21)] {
        let mut program = TileProgram::new(&plan);
        program.phases[step].waits.push(wait);
        let error = program.check(&plan, &BUCKET).unwrap_err().to_string();
        let op = &program.phases[step].op;
        let fault = format!("its phase {step} waits for phase {wait}, allowed: earlier ones");
        let wanted = format!("plan body+head, step {step} ({op}): {fault}");
        assert_eq!(error, wanted);
    }
}

#[test]
fn long_plans_are_like_short_ones() {
    let short = plan();
    let long = Plan::link(&vec![&short; 200]).unwrap();
    let program = TileProgram::new(&long);
    program.check(&long, &BUCKET).unwrap();
    let count = short.steps.len();
    let of = |n: usize| -> Vec<Vec<usize>> {
        let waits = |p: &Phase| p.waits.iter().map(|w| (n + 2) * count - w).collect();
        program.phases[n * count..][..count].iter().map(waits).collect()
    };
    assert_eq!(of(1), of(100));
    assert_eq!(of(1), of(199));
}
