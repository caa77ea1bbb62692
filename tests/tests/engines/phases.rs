//! Kernels from outside with scratch and first phases on the CPU engine: random graphs give the bits of the reference
//! engine, with any number of threads, and the conformance suite runs such kernels like others.

use inkstone::compute::{
    Bindings, Engine, EngineOptions, Exec, Grid, Kernel, Pattern, Plan, Port, Reference, Shape, Tiling, Usage, Work,
    conformance,
};
use inkstone::graph::{Compiled, Graph, Kind, Tracer, Wants, compile};
use inkstone::tensor::step::{LogitWish, SeqStep, StepBuffer, StepError};
use inkstone::tensor::{
    Array, DType, Dim, NoProgress, Slots, SourceError, Type, WeightBytes, WeightInfo, WeightSource,
};
use inkstone_engine_cpu::{Cpu, FirstTile, Phased, Section, Sections, Tile};
use std::sync::Arc;

/// One section, a row for each row of the result.
fn sections(shape: &Shape) -> Sections {
    std::iter::once(Section::of(shape.outs[0].row_bytes() as usize / 4)).collect()
}

/// Tiles of two rows in the first phase, of three in the step.
fn work(shape: &Shape) -> Work {
    let rows = Grid::along(shape.ins, shape.outs);
    let first = Grid { rows, row_block: 2, col_block: usize::MAX, col_blocks: 1 };
    let scratch = Section::bytes(&sections(shape), rows.at(&shape.bucket));
    Work { tiling: Tiling { row_block: 3, ..Tiling::WHOLE }, scratch, first: Some(first) }
}

/// The definition of an op on the rows of a tile.
fn first(tile: &mut FirstTile) -> Result<(), StepError> {
    let ins = tile.ins.iter().map(|view| {
        let rows = if matches!(view.ty.rows, Dim::N(_)) { 0..view.rows() } else { tile.rows.clone() };
        let bytes: Vec<u8> = rows.flat_map(|row| view.row_bytes(row).iter().copied()).collect();
        Array::from_bytes(view.ty.dtype, view.ty.cols, &bytes).unwrap()
    });
    let outs = tile.op.eval(tile.step, ins.collect());
    tile.parts[0].copy_from_slice(outs[0].all());
    Ok(())
}

fn copy(tile: &mut Tile) -> Result<(), StepError> {
    let words = tile.outs[0].ty.row_bytes() as usize / 4;
    for row in tile.rows.clone() {
        let made = &tile.shared[0][row * words..][..words];
        tile.outs[0].row::<u32>(row).copy_from_slice(made);
    }
    Ok(())
}

fn kernel(name: &'static str, op: &'static str) -> Kernel {
    let phased = Phased { sections, first, then: copy };
    Kernel { work, ..Kernel::by_definition(name, Pattern::Named(op), Arc::new(phased)) }
}

/// The engine with these kernels only.
fn cpu(threads: usize) -> Cpu {
    let options = EngineOptions::default().threads(threads).budget(1 << 28).isa("portable").in_place(true);
    let own = Cpu::new(&options).unwrap().registry().kernels.clone();
    let options = own.iter().fold(options, |options, kernel| options.without_kernel(kernel.name));
    let kernels = [kernel("phased.map", "map"), kernel("phased.linear", "linear"), kernel("phased.norm", "rms_norm")];
    Cpu::new(&kernels.into_iter().fold(options, EngineOptions::with_kernel)).unwrap()
}

#[test]
fn kernels_with_first_phases_conform() {
    let report = conformance::run(&cpu(3));
    let ran = |name: &str| report.results.iter().filter(|r| r.kernels.contains(name)).count();
    assert!(report.passed(), "{report}");
    assert!(ran("phased.map") > 3 && ran("phased.linear") > 3 && ran("phased.norm") > 1, "{report}");
}

/// Numbers below a bound, the same for each seed.
fn numbers(seed: u64) -> impl FnMut(usize) -> usize {
    let mut state = seed.wrapping_mul(31) | 1;
    move |below| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    }
}

fn floats(seed: u64, count: usize) -> Vec<u8> {
    let mut number = numbers(seed);
    (0..count).flat_map(|_| (number(2001) as f32 / 1000.0 - 1.0).to_le_bytes()).collect()
}

const WIDTHS: [usize; 3] = [1, 5, 32];

/// A matrix `KxN` for each two widths.
struct Matrices;

impl Matrices {
    fn dims(name: &str) -> Option<[u64; 2]> {
        let (k, n) = name.split_once('x')?;
        Some([k.parse().ok()?, n.parse().ok()?])
    }
}

impl WeightSource for Matrices {
    fn info(&self, name: &str) -> Option<WeightInfo> {
        Some(WeightInfo { dtype: DType::F32, dims: Matrices::dims(name)?.to_vec() })
    }

    fn bytes(&self, name: &str) -> Result<WeightBytes, SourceError> {
        let [k, n] = Matrices::dims(name).unwrap();
        let bytes = floats(k * 100 + n, (k * n) as usize);
        Ok(WeightBytes { len: bytes.len(), offset: 0, data: Arc::new(bytes) })
    }
}

/// Sums, products and maps that pick their operands among the values so far.
fn graph(seed: u64) -> Graph {
    let mut number = numbers(seed);
    let t = Tracer::new("random", &Matrices);
    let mut values = vec![t.input(Port::HIDDEN, Type::f32(Dim::Rows, 5))];
    for _ in 0..4 + number(24) {
        let (a, b) = (values[number(values.len())], values[number(values.len())]);
        let (cols, width) = (a.ty().cols, WIDTHS[number(WIDTHS.len())]);
        values.push(match number(4) {
            0 if a.ty() == b.ty() => t.add(a, b).unwrap(),
            1 if a.ty() == b.ty() => t.mul(a, b).unwrap(),
            0..=2 => t.silu(a).unwrap(),
            _ => t.linear(a, t.weight(&format!("{cols}x{width}"), width, cols).unwrap(), None).unwrap(),
        });
    }
    t.output(Port::LOGITS, t.silu(*values.last().unwrap()).unwrap());
    t.finish().unwrap()
}

/// The bytes of the output for an input of so many rows.
fn run(engine: &dyn Engine, compiled: &Compiled, plan: Plan, rows: usize, seed: u64) -> Vec<u8> {
    let (plan, interface) = (Arc::new(plan), compiled.interface());
    let ports = interface.ports.iter();
    let ports = ports.map(|(port, ty)| (*port, engine.alloc(ty.bytes(&plan.bucket), Usage::Port).unwrap()));
    let bind = Bindings {
        weights: engine.load(&Matrices, &interface.weights, &NoProgress).unwrap(),
        states: Arc::new([]),
        ports: ports.collect(),
        arena: engine.alloc(plan.arena_bytes, Usage::Arena).unwrap(),
        step: engine.alloc(1 << 12, Usage::Step).unwrap(),
    };
    let buffer = |port| &bind.ports.iter().find(|(p, _)| *p == port).unwrap().1;
    let executable = engine.prepare(plan.clone(), bind.clone(), Exec::Steps).unwrap();
    let mut step = StepBuffer::with_capacity(1, rows, 1, 1);
    let tokens = vec![0; rows];
    step.push(&SeqStep { slot: 0, tokens: &tokens, tables: &[&[0]], logits: LogitWish::None, sampler: None });
    let mut queue = engine.queue().unwrap();
    let words: Vec<u8> = step.encode(0, 0).iter().flat_map(|word| word.to_ne_bytes()).collect();
    queue.write(&bind.step, 0, &words).unwrap();
    queue.write(buffer(Port::HIDDEN), 0, &floats(seed, rows * 5)).unwrap();
    let ticket = queue.submit(&executable, &[]).unwrap();
    queue.wait(ticket).unwrap();
    let output = interface.port(Port::LOGITS).unwrap();
    let mut bytes = vec![0; output.row_bytes() as usize * rows];
    queue.read(buffer(Port::LOGITS), 0, &mut bytes).unwrap();
    bytes
}

#[test]
fn random_graphs_give_the_bits_of_the_reference_engine() {
    let reference = Reference::new(&EngineOptions::default().budget(1 << 28)).unwrap();
    let engines = [1, 2, 3].map(cpu);
    let mut scratch = 0;
    for seed in 0..60 {
        let (g, rows) = (graph(seed), 1 + seed as usize % 8);
        let compiled = |engine: &dyn Engine| {
            compile(&[(Kind::BODY, &g)], engine.caps(), engine.registry(), Slots::default(), &[]).unwrap()
        };
        let plan = |compiled: &Compiled| compiled.step(rows, 0, &Wants::CHUNK.kinds()).unwrap();
        let by_definition = compiled(&reference);
        let expected = run(&reference, &by_definition, plan(&by_definition), rows, seed);
        for engine in &engines {
            let compiled = compiled(engine);
            let plan = plan(&compiled);
            scratch += plan.steps.iter().filter(|s| s.first.is_some()).count();
            let text = plan.to_string();
            for _ in 0..4 {
                let found = run(engine, &compiled, plan.clone(), rows, seed);
                assert_eq!(found, expected, "seed {seed}, {} threads\n{text}", engine.caps().threads);
            }
            // The reference engine runs the same plan.
            assert_eq!(run(&reference, &compiled, plan, rows, seed), expected, "seed {seed}\n{text}");
        }
    }
    assert!(scratch > 60 * 3 * 2, "{scratch} first phases");
}
