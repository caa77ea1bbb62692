//! Threads that follow the counters of a plan: a memory that knows who is in it finds each two that should have waited.

use super::{Counters, Turn};
use inkstone_compute::{Arg, Cut, Grid, Interface, Plan, Region, Step, TileProgram};
use inkstone_tensor::ops::{Expr, Map, Term};
use inkstone_tensor::{Dim, Sizes, Slots, Type};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

const BUCKET: Sizes = Sizes { rows: 8, logit_rows: 0, slots: Slots::one_group(0) };
/// All rows, some, and none.
const SIZES: [Sizes; 3] = [BUCKET, Sizes { rows: 5, ..BUCKET }, Sizes { rows: 0, ..BUCKET }];
const TYPE: Type = Type::f32(Dim::Rows, 16);
/// Places of the arena, and the bytes of each: a value.
const PLACES: usize = 6;
const BYTES: u64 = 8 * 16 * 4;

/// Numbers below a bound, the same for each seed.
fn numbers(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut state = seed.wrapping_mul(31) | 1;
    move |below| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    }
}

/// Steps that read one or two of the values that are there and write another place. Some have a first phase, whose
/// scratch takes a place as well.
fn plan(seed: u64) -> Plan {
    let mut number = numbers(seed);
    let mut steps: Vec<Step> = Vec::new();
    // The value in each place.
    let mut held: [Option<u32>; PLACES] = [None; PLACES];
    for i in 0..24 {
        let place = |at: usize| at as u64 * BYTES;
        let arg = |at: usize, value, write| Arg {
            region: Region::Arena,
            offset: place(at),
            ty: TYPE,
            value,
            write,
            cut: Cut { rows: true, cols: false },
        };
        let mut used = Vec::new();
        let mut args: Vec<Arg> = Vec::new();
        for _ in 0..1 + number(2) {
            let full: Vec<(usize, u32)> = held.iter().enumerate().filter_map(|(at, v)| Some((at, (*v)?))).collect();
            if let Some((at, value)) = full.get(number(6) as usize) {
                args.push(arg(*at, *value, false));
                used.push(*at);
            }
        }
        let mut free = || loop {
            let at = number(PLACES as u64) as usize;
            if !used.contains(&at) {
                used.push(at);
                return at;
            }
        };
        let (to, own) = (free(), free());
        args.push(arg(to, i, true));
        held[to] = Some(i);
        let grid = Grid { rows: Dim::Rows, row_block: 2, col_block: usize::MAX, col_blocks: 1 };
        let phased = i % 2 == 0;
        if phased {
            held[own] = None;
        }
        steps.push(Step {
            op: Map(Expr::new(&[Term::In(0)])).into(),
            kernel: "map".to_owned(),
            args: args.into_iter().collect(),
            grid,
            scratch: if phased { place(own)..place(own + 1) } else { 0..0 },
            first: phased.then_some(Grid { col_blocks: 3, ..grid }),
            refused: Vec::new(),
        });
    }
    let (arena_bytes, interface) = (PLACES as u64 * BYTES, Arc::new(Interface::default()));
    Plan { name: "random".to_owned(), bucket: BUCKET, steps, arena_bytes, interface }
}

/// A line of 64 bytes: the version (the last phase that wrote it), and how many are in.
#[derive(Default)]
struct Line {
    version: AtomicU32,
    /// Readers, or writers as negative numbers.
    inside: AtomicI64,
}

/// Lines that a phase touches, whether it writes them, and for those that it reads their version when phases run one
/// after the other.
type Touched = Vec<(u64, bool, u32)>;

/// The lines of each phase, by running the plan in order.
fn work(plan: &Plan, program: &TileProgram, sizes: &Sizes) -> (Vec<Touched>, BTreeMap<u64, Line>) {
    let mut versions: BTreeMap<u64, u32> = BTreeMap::new();
    let mut all = Vec::new();
    for (i, phase) in program.phases().iter().enumerate() {
        let step = &plan.steps[phase.step];
        let mut touched = Touched::new();
        if phase.grid.tiles(sizes) > 0 {
            let bytes = |a: &Arg| a.offset..a.offset + a.ty.bytes(sizes);
            let reads = step.ins().map(|a| (bytes(a), false));
            let writes = step.outs().filter(|_| !phase.first).map(|a| (bytes(a), true));
            // The first phase writes scratch, which the step reads.
            let scratch = (step.scratch.clone(), phase.first);
            for (bytes, write) in reads.chain([scratch]).chain(writes).filter(|(bytes, _)| !bytes.is_empty()) {
                for line in bytes.start / 64..bytes.end.div_ceil(64) {
                    touched.push((line, write, *versions.entry(line).or_default()));
                }
            }
            for (line, ..) in touched.iter().filter(|t| t.1) {
                versions.insert(*line, i as u32 + 1);
            }
        }
        all.push(touched);
    }
    (all, versions.into_keys().map(|line| (line, Line::default())).collect())
}

/// Runs the tiles on several threads that dawdle at random; returns the conflicts that were seen.
fn run(plan: &Plan, program: &TileProgram, sizes: &Sizes, seed: u64) -> Vec<String> {
    let (touched, lines) = work(plan, program, sizes);
    let faults = Mutex::new(Vec::new());
    let counters = Counters::new(program, 4, |phase| 1 + phase % 3);
    let (run, _) = counters.begin(program, sizes);
    let ran = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for worker in 0..4u64 {
            let (counters, lines, touched, faults, ran) = (&counters, &lines, &touched, &faults, &ran);
            scope.spawn(move || {
                let mut number = numbers(seed * 4 + worker);
                let mut turns = counters.worker(program, run, worker as usize);
                loop {
                    let (phase, tiles) = match turns.next_turn() {
                        Turn::Run { phase, tiles } => (phase, tiles.len()),
                        Turn::Wait => {
                            std::thread::yield_now();
                            continue;
                        }
                        Turn::Over => break,
                    };
                    let fault = |text: &str, line: u64| {
                        faults.lock().unwrap().push(format!("phase {phase} {text} line {line}"));
                    };
                    for &(line, write, version) in &touched[phase] {
                        let (l, side) = (&lines[&line], if write { -1 } else { 1 });
                        // Writers of one phase may be in together, each in its part.
                        if l.inside.fetch_add(side, Ordering::SeqCst) * side < 0 {
                            fault("meets others in", line);
                        }
                        if write {
                            l.version.store(phase as u32 + 1, Ordering::SeqCst);
                        } else if l.version.load(Ordering::SeqCst) != version {
                            fault("reads what is not written in", line);
                        }
                    }
                    (0..number(8)).for_each(|_| std::thread::yield_now());
                    for &(line, write, _) in &touched[phase] {
                        lines[&line].inside.fetch_add(if write { 1 } else { -1 }, Ordering::SeqCst);
                    }
                    ran.fetch_add(tiles, Ordering::Relaxed);
                }
            });
        }
    });
    let tiles: usize = program.phases().iter().map(|phase| phase.grid.tiles(sizes)).sum();
    assert!(counters.is_finished(run) && ran.into_inner() == tiles, "each tile runs once");
    faults.into_inner().unwrap()
}

#[test]
fn threads_that_follow_the_counters_meet_no_hazard() {
    for (seed, sizes) in (0..40).zip(SIZES.iter().cycle()) {
        let plan = plan(seed);
        let program = TileProgram::new(&plan);
        program.check(&plan, sizes).unwrap();
        let faults = run(&plan, &program, sizes, seed);
        assert!(faults.is_empty(), "seed {seed}, {sizes:?}: {faults:?}\n{program}");
    }
}

/// The waits of a plan whose steps have memory of their own do not order the steps of one that reuses it.
#[test]
fn threads_that_wait_for_too_little_meet_hazards() {
    let found = (0..40).any(|seed| {
        let plan = plan(seed);
        let mut spread = plan.clone();
        for (i, step) in spread.steps.iter_mut().enumerate() {
            let at = (2 * i * PLACES) as u64 * BYTES;
            step.args.iter_mut().for_each(|a| a.offset += at);
            step.scratch = if step.scratch.is_empty() { 0..0 } else { step.scratch.start + at..step.scratch.end + at };
        }
        !run(&plan, &TileProgram::new(&spread), &BUCKET, seed).is_empty()
    });
    assert!(found);
}
