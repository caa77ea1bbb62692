use super::*;
use crate::Numerics;
use crate::conformance::plan::{How, PlanBuilder};
use crate::plan::{Port, Region};
use inkstone_tensor::body::{Body, Node, Region as Fused};
use inkstone_tensor::ops::{Advance, BeginStep, By, Embed, Expr, KvWrite, Map, Term};
use inkstone_tensor::step::{LAST, LogitWish, ROWS, SeqStep, StepBuffer, carry};
use inkstone_tensor::{DType, Dim, NoProgress, SharedBytes, Sizes, Slots, SourceError, Type, WeightBytes, WeightInfo};
use smallvec::smallvec;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

const COLS: usize = 4;
const PAGE: usize = 4;
const ROWS_AT_ONCE: usize = 4;

/// Counts up, one table of f32 [vocabulary, COLS], at an offset of the shared bytes.
struct Table {
    data: SharedBytes,
    offset: usize,
    dims: Vec<u64>,
}

const VOCABULARY: usize = 6;

impl Table {
    fn new(offset: usize) -> Table {
        let values = (0..VOCABULARY * COLS).map(|i| i as f32);
        let bytes: Vec<u8> = vec![0; offset].into_iter().chain(values.flat_map(f32::to_le_bytes)).collect();
        Table { data: Arc::new(bytes), offset, dims: vec![COLS as u64, VOCABULARY as u64] }
    }
}

impl WeightSource for Table {
    fn info(&self, name: &str) -> Option<WeightInfo> {
        (name == "table").then(|| WeightInfo { dtype: DType::F32, dims: self.dims.clone() })
    }
    fn bytes(&self, _: &str) -> Result<WeightBytes, SourceError> {
        Ok(WeightBytes { data: self.data.clone(), offset: self.offset, len: 4 * VOCABULARY * COLS })
    }
}

/// carry -> rows -> embedded -> hidden; into the cache; advance. `op` stands where the embedded rows are doubled.
fn plan(slots: usize, op: Op) -> Plan {
    plan_by(By::Token, slots, op)
}

fn plan_by(by: By, slots: usize, op: Op) -> Plan {
    let mut b = PlanBuilder::new("p", Sizes { rows: ROWS_AT_ONCE, logit_rows: 1, slots: Slots::one_group(slots) });
    let carry = b.state("carry", carry::CARRY);
    let cache = b.state("k", Type::f32(Dim::Slots { group: 0, heads: 1 }, COLS).state());
    let table = b.weight("table", Type::f32(Dim::N(VOCABULARY), COLS), Layout::FILE, Numerics::DEFINITION);
    let hidden = b.port(Port::HIDDEN, Type::f32(Dim::Rows, COLS));
    let rows = b.step(How::EVAL, BeginStep.into(), &[carry], &[]).unwrap()[0];
    let x = b.step(How::EVAL, Embed { by }.into(), &[rows, table], &[]).unwrap()[0];
    let outside = How { kernel: "outside", ..How::EVAL };
    b.step(outside, op, &[x, x], &[hidden]).unwrap();
    b.step(outside, KvWrite.into(), &[cache, x, rows], &[]).unwrap();
    b.step(How::EVAL, Advance.into(), &[carry, rows], &[]).unwrap();
    b.finish()
}

fn add() -> Op {
    Map(Expr::new(&[Term::In(0), Term::In(1), Term::Add])).into()
}

struct Rig {
    queue: Box<dyn Queue>,
    bind: Bindings,
    executable: Arc<dyn Executable>,
}

fn rig(engine: &Reference, plan: Plan) -> Rig {
    let bind = bindings(engine, &plan);
    let executable = engine.prepare(Arc::new(plan), bind.clone(), Exec::Steps).unwrap();
    Rig { queue: engine.queue().unwrap(), bind, executable }
}

fn bindings(engine: &Reference, plan: &Plan) -> Bindings {
    let alloc = |ty: Type, usage| engine.alloc(ty.bytes(&plan.bucket), usage).unwrap();
    let interface = &plan.interface;
    Bindings {
        weights: engine.load(&Table::new(0), &interface.weights, &NoProgress).unwrap(),
        states: interface.states.iter().map(|s| alloc(s.ty, Usage::State)).collect(),
        ports: interface.ports.iter().map(|(p, ty)| (*p, alloc(*ty, Usage::Port))).collect(),
        arena: engine.alloc(plan.arena_bytes, Usage::Arena).unwrap(),
        step: engine.alloc(1 << 12, Usage::Step).unwrap(),
    }
}

impl Rig {
    fn step(&mut self, tokens: &[u32], table: &[u32]) -> Result<Ticket> {
        let mut b = StepBuffer::with_capacity(PAGE, 8, 8, 0);
        b.push(&SeqStep { slot: 3, tokens, tables: &[table], logits: LogitWish::None, sampler: None });
        let step = self.bind.step.clone();
        self.queue.write(&step, 0, bytemuck::cast_slice(b.encode(0, 0)))?;
        self.queue.submit(&self.executable, &[])
    }

    fn read(&mut self, region: Region, from: usize, count: usize) -> Vec<f32> {
        let mut values = vec![0f32; count];
        let buffer = self.bind.buffer(region).unwrap().clone();
        self.queue.read(&buffer, 4 * from as u64, bytemuck::cast_slice_mut(&mut values)).unwrap();
        values
    }

    fn length(&mut self) -> u32 {
        self.read(Region::State(0), carry::word(carry::LENGTH, 3), 1)[0].to_bits()
    }

    fn address(&self, state: usize) -> *const u32 {
        self.bind.states[state].get::<Memory>("reference").unwrap().words().as_ptr()
    }
}

fn engine() -> Reference {
    Reference::new(&EngineOptions::default().budget(1 << 31)).unwrap()
}

#[test]
fn steps_compute_what_their_ops_mean() {
    let mut r = rig(&engine(), plan(16, add()));
    let ticket = r.step(&[2, 5], &[3, 1]).unwrap();
    r.queue.wait(ticket).unwrap();
    assert_eq!(r.read(Region::Port(Port::HIDDEN), 0, 8), [16.0, 18.0, 20.0, 22.0, 40.0, 42.0, 44.0, 46.0]);
    r.step(&[1, 1, 1], &[3, 1]).unwrap();
    assert_eq!(r.length(), 5);
    assert_eq!(r.read(Region::State(1), 12 * COLS, 4), [8.0, 9.0, 10.0, 11.0], "position 0 is in page 3");
    assert_eq!(r.read(Region::State(1), 4 * COLS, 5), [4.0, 5.0, 6.0, 7.0, 0.0], "position 4 is in page 1");
}

#[test]
fn a_step_that_writes_a_page_of_another_sequence_is_refused() {
    let mut r = rig(&engine(), plan(16, add()));
    let mut step = |tables: [&[u32]; 2]| {
        let mut b = StepBuffer::with_capacity(PAGE, 8, 8, 0);
        for (slot, table) in tables.iter().enumerate() {
            b.push(&SeqStep { slot, tokens: &[2], tables: &[table], logits: LogitWish::None, sampler: None });
        }
        r.queue.write(&r.bind.step, 0, bytemuck::cast_slice(b.encode(0, 0)))?;
        r.queue.submit(&r.executable, &[])
    };
    step([&[3, 1], &[2, 1]]).unwrap();
    let error = step([&[3, 1], &[2, 3]]).unwrap_err().to_string();
    assert_eq!(error, "step buffer: page that one sequence writes and another one has is 3, allowed: none");
}

#[test]
fn regions_run_by_their_bodies() {
    let x = Type::f32(Dim::Rows, COLS);
    let mut body = Body { types: vec![x; 4], ..Body::default() };
    let [a, b, sum, out] = [0, 1, 2, 3].map(inkstone_tensor::body::ValueId);
    body.nodes = vec![
        Node { op: add(), ins: smallvec![a, b], outs: smallvec![sum] },
        Node { op: add(), ins: smallvec![sum, a], outs: smallvec![out] },
    ];
    (body.inputs, body.outputs) = (vec![a, b], vec![out]);
    let mut r = rig(&engine(), plan(16, Op::Region(Arc::new(Fused { name: "triple".into(), body }))));
    r.step(&[1], &[0]).unwrap();
    assert_eq!(r.read(Region::Port(Port::HIDDEN), 0, 4), [12.0, 15.0, 18.0, 21.0]);
}

#[test]
fn steps_without_tiles_are_not_run() {
    let mut r = rig(&engine(), plan(16, add()));
    r.step(&[], &[0]).unwrap();
    assert_eq!((r.length(), r.read(Region::Port(Port::HIDDEN), 0, 1)[0]), (0, 0.0));
}

#[test]
fn states_stay_where_they_are_and_large_ones_cost_nothing() {
    // 1 GiB, of which a few pages are touched; a copy a step would take a minute.
    let slots = (1 << 30) / (4 * COLS);
    let mut r = rig(&engine(), plan(slots, add()));
    let at = [r.address(0), r.address(1)];
    let start = Instant::now();
    let table: Vec<u32> = vec![(slots / PAGE) as u32 - 1, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21];
    for _ in 0..60 {
        r.step(&[4], &table).unwrap();
    }
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    assert_eq!([r.address(0), r.address(1)], at);
    assert_eq!(r.read(Region::State(1), (slots - PAGE) * COLS, 2), [16.0, 17.0]);
}

#[test]
fn weights_are_read_where_they_are() {
    let engine = engine();
    let plan = plan(16, add());
    let source = Table::new(0);
    let weights = engine.load(&source, &plan.interface.weights, &NoProgress).unwrap();
    let loaded: &Loaded = weights.get("reference").unwrap();
    assert_eq!((loaded.arrays[0].bytes().as_ptr(), weights.bytes), ((*source.data).as_ref().as_ptr(), 0));
    // Definitions read f32 in place, so what is not aligned is copied, once, and counted.
    let weights = engine.load(&Table::new(1), &plan.interface.weights, &NoProgress).unwrap();
    let loaded: &Loaded = weights.get("reference").unwrap();
    assert_eq!((loaded.arrays[0].row(1), weights.bytes), (&[4.0, 5.0, 6.0, 7.0][..], 96));
}

#[test]
fn weights_of_another_type_or_shape_are_refused() {
    let engine = engine();
    let slots = &plan(16, add()).interface.weights;
    let load = |source: &Table, slots: &[WeightSlot]| {
        engine.load(source, slots, &NoProgress).map(drop).unwrap_err().to_string()
    };
    let with = |dims: &[u64]| Table { dims: dims.to_vec(), ..Table::new(0) };
    assert_eq!(load(&with(&[4, 7]), slots), "tensor table is f32[7, 4], expected f32[6, 4]");
    assert_eq!(load(&with(&[]), slots), "tensor table is f32[], expected f32[6, 4]");
    assert_eq!(
        load(&with(&[4, u64::MAX, 3]), slots),
        format!("tensor table is f32[3, {}, 4], expected f32[6, 4]", u64::MAX)
    );
    let cut = Table { offset: 4, ..Table::new(0) };
    assert_eq!(load(&cut, slots), "tensor table: 96 bytes at 4 of 96, expected 96");
    engine.load(&with(&[4, 2, 3]), slots, &NoProgress).unwrap();
    let mut other = slots.clone();
    other[0].ty.dtype = DType::F16;
    assert_eq!(load(&Table::new(0), &other), "tensor table is f32[6, 4], expected f16[6, 4]");
    other[0].name = "other".into();
    assert_eq!(load(&Table::new(0), &other), "tensor other: not in the source");
}

#[test]
fn loading_tells_its_progress_and_can_be_cancelled() {
    #[derive(Default)]
    struct Watch(AtomicU64, AtomicBool);
    impl Progress for Watch {
        fn update(&self, done: u64, total: u64) {
            self.0.store(1000 * done + total, Ordering::Relaxed);
        }
        fn cancelled(&self) -> bool {
            self.1.load(Ordering::Relaxed)
        }
    }
    let (engine, watch) = (engine(), Watch::default());
    let slots = &plan(16, add()).interface.weights;
    engine.load(&Table::new(0), slots, &watch).unwrap();
    assert_eq!(watch.0.load(Ordering::Relaxed), 96_096);
    watch.1.store(true, Ordering::Relaxed);
    assert!(matches!(engine.load(&Table::new(0), slots, &watch), Err(Error::Cancelled)));
}

#[test]
fn the_budget_is_kept_and_given_back() {
    let engine = Reference::new(&EngineOptions::default().budget(1000)).unwrap();
    assert_eq!(engine.caps().memory, 1000);
    let first = engine.alloc(600, Usage::Arena).unwrap();
    let text = engine.alloc(500, Usage::State).unwrap_err().to_string();
    assert_eq!(text, "a state: 500 bytes are needed, and 400 of 1000 are free on reference");
    drop(first);
    engine.alloc(1000, Usage::State).unwrap();
    assert!(matches!(engine.alloc(u64::MAX, Usage::State), Err(Error::Budget { .. })));
    let small = Reference::new(&EngineOptions::default().budget(95)).unwrap();
    let slots = &plan(16, add()).interface.weights;
    assert!(matches!(small.load(&Table::new(1), slots, &NoProgress), Err(Error::Budget { bytes: 96, .. })));
}

#[test]
fn memory_that_cannot_be_had_is_an_error() {
    let engine = Reference::new(&EngineOptions::default().budget(u64::MAX)).unwrap();
    assert!(matches!(engine.alloc(u64::MAX - 8, Usage::State), Err(Error::NoMemory { .. })));
    // Memory that could not be allocated is not charged.
    engine.alloc(64, Usage::State).unwrap();
    assert!(Reference::new(&EngineOptions::default()).unwrap().caps().memory > 1 << 20);
}

#[test]
fn positions_are_looked_up_and_end_where_the_table_does() {
    let mut r = rig(&engine(), plan_by(By::Position, 16, add()));
    // Tokens that are not in the table are none of its business.
    r.step(&[99, 99], &[3, 1]).unwrap();
    r.step(&[99, 99, 99, 99], &[3, 1]).unwrap();
    let before = (r.length(), r.read(Region::State(1), 0, 16 * COLS));
    assert_eq!(before.0, VOCABULARY as u32);
    let text = r.step(&[0], &[3, 1]).unwrap_err().to_string();
    assert_eq!(text, "step buffer: position is 6, allowed: 5");
    assert_eq!((r.length(), r.read(Region::State(1), 0, 16 * COLS)), before);
}

#[test]
fn steps_that_do_not_fit_are_errors_and_change_nothing() {
    let mut r = rig(&engine(), plan(16, add()));
    r.step(&[2, 5], &[3, 1]).unwrap();
    let before = (r.length(), r.read(Region::State(1), 0, 16 * COLS));
    let cases: [(&[u32], &[u32], &str); 5] = [
        (&[1; 5], &[3, 1], "rows of the step: 5, plan p has room for 4"),
        (&[6], &[3, 1], "step buffer: token is 6, allowed: 5"),
        (&[1, 1, 1], &[3], "step buffer: pages up to a position is 2, allowed: 1"),
        (&[1], &[4], "step buffer: page is 4, allowed: 3"),
        (&[1], &[u32::MAX], "step buffer: page that was given back is 4294967295, allowed: 3"),
    ];
    for (tokens, table, text) in cases {
        assert_eq!(r.step(tokens, table).unwrap_err().to_string(), text);
        assert_eq!((r.length(), r.read(Region::State(1), 0, 16 * COLS)), before, "{text}");
    }
    let step = r.bind.step.clone();
    r.queue.write(&step, 0, &[0xff; 64]).unwrap();
    assert!(matches!(r.queue.submit(&r.executable, &[]), Err(Error::Step(_))));
    // The token drawn last is the carry's, and may be anything.
    r.queue.write(&r.bind.states[0].clone(), 4 * carry::word(carry::TOKEN, 3) as u64, &[9, 0, 0, 0]).unwrap();
    assert_eq!(r.step(&[LAST], &[3, 1]).unwrap_err().to_string(), "step buffer: token is 9, allowed: 5");
    r.queue.write(&r.bind.states[0].clone(), 4 * carry::word(carry::LENGTH, 3) as u64, &[0xff; 4]).unwrap();
    let text = r.step(&[1], &[3, 1]).unwrap_err().to_string();
    assert_eq!(text, "step buffer: length of a sequence is 4294967296, allowed: 4294967294");
    assert_eq!(r.read(Region::State(1), 0, 16 * COLS), before.1);
}

fn outside(implements: Pattern, entry: ReferenceKernel) -> EngineOptions {
    let kernel = Kernel { name: "outside", implements, entry: Arc::new(entry), ..eval() };
    EngineOptions::default().budget(1 << 20).with_kernel(kernel)
}

#[test]
fn kernels_from_outside_run_where_a_plan_names_them() {
    fn seven(op: &Op, step: &StepView, ins: Arrays) -> Arrays {
        let mut outs = op.eval(step, ins);
        outs[0].all_mut::<f32>().fill(7.0);
        outs
    }
    let engine = Reference::new(&outside(Pattern::Named("map"), seven)).unwrap();
    assert_eq!(engine.registry().kernels.iter().map(|k| k.name).collect::<Vec<_>>(), ["outside", "eval"]);
    let mut plan = plan(16, add());
    plan.steps[3].kernel = "eval".to_owned();
    let mut r = rig(&engine, plan);
    r.step(&[1], &[0]).unwrap();
    assert_eq!(r.read(Region::Port(Port::HIDDEN), 0, 4), [7.0; 4]);
    assert_eq!(r.read(Region::State(1), 0, 4), [4.0, 5.0, 6.0, 7.0]);
}

#[test]
fn entries_of_other_engines_are_refused() {
    let kernel = Kernel { name: "gpu", entry: Arc::new("shader"), ..eval() };
    let error = Reference::new(&EngineOptions::default().with_kernel(kernel)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the entry of kernel gpu is none that engine reference can call; it takes a ReferenceKernel"
    );
}

#[test]
fn results_of_another_shape_are_errors_and_states_are_kept() {
    fn short(op: &Op, step: &StepView, ins: Arrays) -> Arrays {
        match op {
            Op::Map(_) => Arrays::from_iter([Array::from_f32(1, vec![1.0])]),
            op => op.eval(step, ins),
        }
    }
    let mut r = rig(&Reference::new(&outside(Pattern::AnyOp, short)).unwrap(), plan(16, add()));
    let text = r.step(&[1], &[0]).unwrap_err().to_string();
    assert_eq!(text, "plan p, step 2 (map): result F32[1, 1], expected f32[Rows, 4]");

    fn one_more(op: &Op, step: &StepView, ins: Arrays) -> Arrays {
        let mut outs = op.eval(step, ins);
        outs.extend(matches!(op, Op::KvWrite(_)).then(|| Array::from_f32(1, vec![1.0])));
        outs
    }
    let mut r = rig(&Reference::new(&outside(Pattern::AnyOp, one_more)).unwrap(), plan(16, add()));
    let at = r.address(1);
    let text = r.step(&[1], &[0]).unwrap_err().to_string();
    assert_eq!(text, "plan p, step 3 (kv_write): result count 2, expected 1");
    assert_eq!((r.length(), r.address(1)), (0, at));
    assert_eq!(r.read(Region::State(1), 0, 4), [4.0, 5.0, 6.0, 7.0], "its memory was not replaced");
}

#[test]
fn a_panic_is_an_error_and_the_engine_goes_on() {
    fn fails_once(op: &Op, step: &StepView, ins: Arrays) -> Arrays {
        match op {
            Op::KvWrite(_) if step.feed[0] == 0 => panic!("token {}", step.feed[0]),
            op => op.eval(step, ins),
        }
    }
    let mut r = rig(&Reference::new(&outside(Pattern::AnyOp, fails_once)).unwrap(), plan(16, add()));
    r.step(&[3], &[0]).unwrap();
    let text = r.step(&[0], &[0]).unwrap_err().to_string();
    assert_eq!(text, "plan p, step 3 (kv_write) panicked: token 0");
    // The cache that the kernel had consumed went with it; it is zero, as large as before, and in use again.
    assert_eq!((r.length(), r.read(Region::State(1), 0, 16 * COLS)), (1, vec![0.0; 16 * COLS]));
    r.step(&[1], &[0]).unwrap();
    assert_eq!((r.length(), r.read(Region::State(1), COLS, 4)), (2, vec![4.0, 5.0, 6.0, 7.0]));
}

#[test]
fn plans_and_buffers_are_checked_before_they_run() {
    let engine = engine();
    let good = plan(16, add());
    let prepare = |plan: &Plan, bind: &Bindings, exec| {
        engine.prepare(Arc::new(plan.clone()), bind.clone(), exec).map(drop).unwrap_err().to_string()
    };
    let bind = bindings(&engine, &good);
    assert_eq!(prepare(&good, &bind, Exec::Graph), "engine reference has no executor graph; it has: steps");
    let mut bad = good.clone();
    bad.steps[2].grid.row_block = 0;
    assert_eq!(prepare(&bad, &bind, Exec::Steps), "plan p, step 2 (map): a grid of 0 rows a tile");
    let short = Bindings { arena: engine.alloc(64, Usage::Arena).unwrap(), ..bind.clone() };
    assert_eq!(prepare(&good, &short, Exec::Steps), "plan p: arena needs 128 bytes, bound are 64");
    let foreign = Bindings { step: Buffer::new(Arc::new(0u8), 64), ..bind.clone() };
    assert_eq!(prepare(&good, &foreign, Exec::Steps), "the buffer belongs to another engine than reference");
    let foreign = Bindings { weights: Weights::new(Arc::new(0u8), 0), ..bind.clone() };
    assert_eq!(prepare(&good, &foreign, Exec::Steps), "the weights belongs to another engine than reference");
    let none = Bindings { weights: engine.load(&Table::new(0), &[], &NoProgress).unwrap(), ..bind };
    assert_eq!(prepare(&good, &none, Exec::Steps), "plan p: w0 needs 96 bytes, bound are 0");
}

#[test]
fn one_buffer_for_two_states_is_an_error() {
    let engine = engine();
    let x = plan(16, add());
    let mut body = Body::default();
    let cache = Type::f32(Dim::Slots { group: 0, heads: 1 }, COLS).state();
    let [a, b] = [0, 1].map(|_| body.value(cache));
    let (v, rows) = (body.value(Type::f32(Dim::Rows, COLS)), body.value(ROWS));
    let [c, d] = [0, 1].map(|_| body.value(cache));
    let write = |from, to| Node { op: KvWrite.into(), ins: smallvec![from, v, rows], outs: smallvec![to] };
    body.nodes = vec![write(a, c), write(b, d)];
    (body.inputs, body.outputs) = (vec![a, b, v, rows], vec![c, d]);
    let mut builder = PlanBuilder::new("twice", x.bucket);
    let carry = builder.state("carry", carry::CARRY);
    let (k, w) = (builder.state("k", cache), builder.state("v", cache));
    let rows = builder.step(How::EVAL, BeginStep.into(), &[carry], &[]).unwrap()[0];
    let weight = builder.weight("table", Type::f32(Dim::N(VOCABULARY), COLS), Layout::FILE, Numerics::DEFINITION);
    let v = builder.step(How::EVAL, Embed { by: By::Token }.into(), &[rows, weight], &[]).unwrap()[0];
    builder.step(How::EVAL, Op::Region(Arc::new(Fused { name: "two".into(), body })), &[k, w, v, rows], &[]).unwrap();
    let mut plan = builder.finish();
    // The builder finds the first state of a type for both; the second result is the second one's.
    plan.steps[2].args[5].region = w.region;
    let mut both = rig(&engine, plan.clone());
    both.step(&[1], &[0]).unwrap();
    assert_eq!(both.read(Region::State(1), 0, 4), both.read(Region::State(2), 0, 4));
    assert_eq!(both.read(Region::State(2), 0, 4), [4.0, 5.0, 6.0, 7.0]);

    let mut bind = bindings(&engine, &plan);
    bind.states = [0, 1, 1].map(|i: usize| bind.states[i].clone()).into();
    let error = engine.prepare(Arc::new(plan), bind, Exec::Steps).err().unwrap().to_string();
    assert_eq!(error, "plan twice: state1 and state2 are bound to one buffer");
}

#[test]
fn queues_refuse_what_is_not_theirs() {
    struct Other(Plan);
    impl Executable for Other {
        fn plan(&self) -> &Plan {
            &self.0
        }
    }
    let engine = engine();
    let mut queue = engine.queue().unwrap();
    let other: Arc<dyn Executable> = Arc::new(Other(plan(16, add())));
    assert!(matches!(queue.submit(&other, &[]), Err(Error::Foreign { what: "executable", .. })));
    assert!(matches!(queue.wait(Ticket(1)), Err(Error::Foreign { what: "ticket", .. })));
    let buffer = engine.alloc(6, Usage::Port).unwrap();
    queue.write(&buffer, 3, &[1, 2, 3]).unwrap();
    let mut bytes = [0; 4];
    queue.read(&buffer, 2, &mut bytes).unwrap();
    assert_eq!(bytes, [0, 1, 2, 3]);
    assert_eq!(queue.write(&buffer, 4, &[1, 2, 3]).unwrap_err().to_string(), "bytes 4..7 of a buffer of 6");
    assert!(queue.read(&buffer, u64::MAX, &mut bytes).is_err());
    assert!(queue.read(&Buffer::new(Arc::new(()), 9), 0, &mut bytes).is_err());
}

#[test]
fn threads_with_queues_of_their_own_share_states() {
    let engine = engine();
    let mut first = rig(&engine, plan(1024, add()));
    first.step(&[1], &(0..256).collect::<Vec<u32>>()).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let (queue, bind) = (engine.queue().unwrap(), first.bind.clone());
            let mut r = Rig { queue, bind, executable: first.executable.clone() };
            scope.spawn(move || (0..50).for_each(|_| assert!(r.queue.submit(&r.executable, &[]).is_ok())));
        }
    });
    assert_eq!(first.length(), 201);
}
