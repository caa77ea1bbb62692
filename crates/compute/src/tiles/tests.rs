use super::*;
use crate::conformance::plan::{How, Place, PlanBuilder};
use crate::kernel::{Layout, Numerics, Tiling};
use crate::plan::{Port, Region};
use crate::{Cut, Error};
use inkstone_tensor::body::{Body, Node, Region as Fused};
use inkstone_tensor::ops::{Accept, Advance, Attend, BeginStep, By, Embed, Expr, GatherRows, KvWrite, Map, Term};
use inkstone_tensor::step::{RECORDS, carry};
use inkstone_tensor::{DType, Op, Slots, Type};
use smallvec::smallvec;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

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
    let cut = How { kernel: "tiled", tiling: Tiling { row_block: 2, col_block: 8 } };
    let rows_only = How { kernel: "rows", tiling: Tiling { row_block: 3, ..Tiling::WHOLE } };
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
        let attend = Attend { heads: 2, kv_heads: 2, scale: 1.0 };
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

/// Before four of the steps, in two places that take turns.
#[test]
fn work_before_steps_waits_for_what_they_wait_for_and_for_those_that_read_its_place() {
    let grid = Grid { rows: Dim::Rows, row_block: 4, col_block: usize::MAX, col_blocks: 3 };
    let program = TileProgram::new(&plan()).before(2, |step| [2, 3, 8, 16].contains(&step).then_some(grid));
    let expected = "   0 begin_step        1 tile
   1 embed             3 tiles after 0
   2 before map        6 tiles after 1
   3 map               8 tiles after 2
   4 before map        6 tiles after 1
   5 map               8 tiles after 4
   6 map               8 tiles after 1
   7 kv_write          3 tiles after 5
   8 kv_write          3 tiles after 6
   9 attend            3 tiles after 3 7 8
  10 before map        6 tiles after 3 9
  11 map               8 tiles after 10
  12 map               8 tiles after 11
  13 map               8 tiles after 11
  14 map               8 tiles after 11
  15 kv_write          3 tiles after 13
  16 kv_write          3 tiles after 14
  17 attend            3 tiles after 12 15 16
  18 map               8 tiles after 17
  19 before map        6 tiles after 5 18
  20 map               8 tiles after 19
  21 advance           1 tile  after 0
  22 gather_rows       2 tiles after 20 21
  23 map               4 tiles after 22
  24 accept            1 tile  after 21
  25 begin_step        1 tile  after 17 21 23 24
";
    assert_eq!(program.to_string(), expected);
    let steps = program.work().iter().filter(|work| !work.before).map(|work| work.step);
    assert!(steps.eq(0..22));
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
    let plan = plan();
    let program = TileProgram::new(&plan);
    SIZES.iter().for_each(|sizes| program.check(&plan, sizes).unwrap());
}

#[test]
fn every_wait_that_is_taken_out_is_missed() {
    let plan = plan();
    let full = TileProgram::new(&plan);
    let mut count = 0;
    for step in 0..full.work.len() {
        for wait in full.work[step].waits.clone() {
            let mut program = full.clone();
            program.work[step].waits.retain(|w| *w != wait);
            let found = SIZES.iter().find_map(|sizes| program.check(&plan, sizes).err());
            assert!(matches!(found, Some(Error::Hazard { .. })), "step {step} without its wait for {wait}\n{full}");
            count += 1;
        }
    }
    assert!(count > plan.steps.len(), "{count} waits");
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
    assert_eq!(TileProgram::new(&plan).work[2].waits[..], [1, 0]);
    plan.steps[1].grid.rows = Dim::N(1);
    assert_eq!(TileProgram::new(&plan).work[2].waits[..], [1]);
    // Between two steps that have logit rows, one that has rows is never empty.
    plan.steps.iter_mut().zip([Dim::LogitRows, Dim::Rows, Dim::LogitRows]).for_each(|(s, d)| s.grid.rows = d);
    assert_eq!(TileProgram::new(&plan).work[2].waits[..], [1]);
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
    let how = How { kernel: "two", tiling: Tiling { col_block: 8, ..Tiling::WHOLE } };
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
        program.work[step].waits.push(wait);
        let error = program.check(&plan, &BUCKET).unwrap_err().to_string();
        let op = &program.work[step].op;
        let wanted = format!("plan body+head, step {step} ({op}): it waits for step {wait}, allowed: earlier ones");
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
        let waits = |w: &Work| w.waits.iter().map(|w| (n + 2) * count - w).collect();
        program.work[n * count..][..count].iter().map(waits).collect()
    };
    assert_eq!(of(1), of(100));
    assert_eq!(of(1), of(199));
}

/// Memory that knows who is in it: for each 64-byte line the version (the last step that wrote it), and how many are
/// in.
#[derive(Default)]
struct Line {
    version: AtomicU32,
    /// Readers, or writers as negative numbers.
    inside: AtomicI64,
}

/// Lines that a step touches, and for those that it reads their version when steps run one after the other.
type Touched = Vec<(Region, u64, bool, u32)>;

/// The work of each step, by running the plan in order.
fn work(plan: &Plan, sizes: &Sizes) -> (Vec<Touched>, BTreeMap<(Region, u64), Line>) {
    let mut versions: BTreeMap<(Region, u64), u32> = BTreeMap::new();
    let mut all = Vec::new();
    for (i, step) in plan.steps.iter().enumerate() {
        let mut touched = Touched::new();
        if step.grid.tiles(sizes) > 0 {
            for write in [false, true] {
                for a in step.args.iter().filter(|a| a.write == write) {
                    for line in a.offset / 64..(a.offset + a.ty.bytes(sizes)).div_ceil(64) {
                        let version = versions.entry((a.region, line)).or_default();
                        touched.push((a.region, line, write, *version));
                    }
                }
            }
            touched
                .iter()
                .filter(|t| t.2)
                .map(|t| (t.0, t.1))
                .for_each(|line| *versions.entry(line).or_default() = i as u32 + 1);
        }
        all.push(touched);
    }
    (all, versions.into_keys().map(|key| (key, Line::default())).collect())
}

/// Runs the tiles on several threads that dawdle at random; returns the conflicts that were seen.
fn run(plan: &Plan, program: &TileProgram, sizes: &Sizes, seed: u64) -> Vec<String> {
    let (touched, lines) = work(plan, sizes);
    let faults = Mutex::new(Vec::new());
    let counters = Counters::new(program, 4, |step| 1 + step % 3);
    let (run, _) = counters.begin(program, sizes);
    let ran = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for worker in 0..4u64 {
            let (counters, lines, touched, faults, ran) = (&counters, &lines, &touched, &faults, &ran);
            scope.spawn(move || {
                let mut random = seed.wrapping_mul(31).wrapping_add(worker) | 1;
                let mut dawdle = || {
                    random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    (0..random >> 61).for_each(|_| std::thread::yield_now());
                };
                let mut turns = counters.worker(program, run, worker as usize);
                loop {
                    let (step, tiles) = match turns.next_turn() {
                        Turn::Run { step, tiles } => (step, tiles.len()),
                        Turn::Wait => {
                            std::thread::yield_now();
                            continue;
                        }
                        Turn::Over => break,
                    };
                    // A tile touches its step's lines; writers of one step may be in together, each in its part.
                    let reads: Vec<_> = touched[step].iter().filter(|t| !t.2).collect();
                    let own =
                        |t: &&&(Region, u64, bool, u32)| !touched[step].iter().any(|w| w.2 && (w.0, w.1) == (t.0, t.1));
                    for (region, line, _, version) in reads.iter().filter(own) {
                        let l = &lines[&(*region, *line)];
                        if l.inside.fetch_add(1, Ordering::SeqCst) < 0 || l.version.load(Ordering::SeqCst) != *version {
                            faults.lock().unwrap().push(format!("step {step} reads {region} line {line}"));
                        }
                    }
                    for (region, line, ..) in touched[step].iter().filter(|t| t.2) {
                        let l = &lines[&(*region, *line)];
                        if l.inside.fetch_sub(1, Ordering::SeqCst) > 0 {
                            faults.lock().unwrap().push(format!("step {step} writes {region} line {line}"));
                        }
                        l.version.store(step as u32 + 1, Ordering::SeqCst);
                    }
                    dawdle();
                    for (region, line, ..) in reads.iter().filter(own) {
                        lines[&(*region, *line)].inside.fetch_sub(1, Ordering::SeqCst);
                    }
                    for (region, line, ..) in touched[step].iter().filter(|t| t.2) {
                        lines[&(*region, *line)].inside.fetch_add(1, Ordering::SeqCst);
                    }
                    ran.fetch_add(tiles, Ordering::Relaxed);
                }
            });
        }
    });
    let tiles: usize = plan.steps.iter().map(|s| s.grid.tiles(sizes)).sum();
    assert!(counters.is_finished(run) && ran.into_inner() == tiles, "each tile runs once");
    faults.into_inner().unwrap()
}

#[test]
fn threads_that_follow_the_counters_meet_no_hazard() {
    let plan = plan();
    let program = TileProgram::new(&plan);
    for (seed, sizes) in (0..40).zip(SIZES.iter().cycle()) {
        let faults = run(&plan, &program, sizes, seed);
        assert!(faults.is_empty(), "seed {seed}, {sizes:?}: {faults:?}");
    }
}

#[test]
fn threads_that_wait_for_nothing_meet_hazards() {
    let plan = plan();
    let mut program = TileProgram::new(&plan);
    program.work.iter_mut().for_each(|w| w.waits.clear());
    assert!((0..40).any(|seed| !run(&plan, &program, &BUCKET, seed).is_empty()));
}
