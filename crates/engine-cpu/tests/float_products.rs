//! Products of weights that are floats give the same bits on every instruction set, for any number of rows at once, whether
//! or not rows are whole lines.

use inkstone_compute::{
    Accuracy, Arg, Bindings, Buffer, Cut, Engine, EngineOptions, Exec, Grid, Interface, Layout, Plan, Port, Region,
    Result, Step, Usage, WeightSlot,
};
use inkstone_engine_cpu::{BF16, Cpu, F32, Set};
use inkstone_tensor::ops::Linear;
use inkstone_tensor::step::{LogitWish, SeqStep, StepBuffer};
use inkstone_tensor::{DType, Dim, NoProgress, Sizes, SourceError, Type, WeightBytes, WeightInfo, WeightSource};
use std::sync::Arc;

/// A weight: its bytes, rows after rows of `k` values.
struct Weight {
    dtype: DType,
    k: usize,
    rows: usize,
    bytes: Arc<Vec<u8>>,
}

impl WeightSource for Weight {
    fn info(&self, _name: &str) -> Option<WeightInfo> {
        Some(WeightInfo { dtype: self.dtype, dims: vec![self.k as u64, self.rows as u64] })
    }
    fn bytes(&self, _name: &str) -> Result<WeightBytes, SourceError> {
        Ok(WeightBytes { data: self.bytes.clone(), offset: 0, len: self.bytes.len() })
    }
}

/// A number from -1 to 1, of 8 bits: exact in all dtypes.
fn random(seed: &mut u64) -> f32 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    f32::from((*seed >> 56) as i8) / 128.0
}

fn weight(dtype: DType, k: usize, rows: usize, seed: &mut u64) -> Weight {
    let values: Vec<f32> = (0..k * rows).map(|_| random(seed)).collect();
    let mut bytes = vec![0; dtype.row_bytes(k).unwrap() * rows];
    dtype.info().encode.unwrap()(&values, &mut bytes);
    Weight { dtype, k, rows, bytes: Arc::new(bytes) }
}

/// A product as a plan of one step, of activations of this dtype.
fn plan(weight: &Weight, kernel: &str, rows: usize, x: DType) -> Plan {
    let numerics = if x == DType::F32 { F32 } else { BF16 };
    let x = Type::new(x, Dim::Rows, weight.k);
    let w = Type::new(weight.dtype, Dim::N(weight.rows), weight.k);
    let y = Type::f32(Dim::Rows, weight.rows);
    let arg = |region, ty, value, write| {
        let cut = Cut { rows: false, cols: write };
        Arg { region, offset: 0, ty, value, write, cut }
    };
    let args = [
        arg(Region::Port(Port::Hidden), x, 0, false),
        arg(Region::Weight(0), w, 1, false),
        arg(Region::Port(Port::Logits), y, 2, true),
    ];
    let col_blocks = weight.rows.div_ceil(32);
    let grid = Grid { rows: Dim::Rows, row_block: usize::MAX, col_block: 32, col_blocks };
    let step =
        Step { op: Linear.into(), kernel: kernel.to_owned(), args: args.into_iter().collect(), grid, refused: vec![] };
    let interface = Interface {
        weights: vec![WeightSlot { name: "w".into(), ty: w, layout: Layout::FILE, numerics }],
        states: vec![],
        ports: vec![(Port::Hidden, x), (Port::Logits, y)],
    };
    let bucket = Sizes { rows, logit_rows: 0, slots: 0 };
    Plan { name: "product".to_owned(), bucket, steps: vec![step], arena_bytes: 0, interface: Arc::new(interface) }
}

/// The results of a product of so many rows of activations of a dtype, by row.
fn product(set: Set, weight: &Weight, dtype: DType, x: &[u8], rows: usize) -> Result<Vec<u32>> {
    let (numerics, kernel) = match dtype {
        DType::BF16 => (Accuracy::Fast, "linear.bf16".to_owned()),
        _ => (Accuracy::Precise, format!("linear.f32.{}", set.name())),
    };
    let engine = Cpu::new(&EngineOptions::default().budget(1 << 24).threads(2).isa(set.name()).numerics(numerics))?;
    let plan = Arc::new(plan(weight, &kernel, rows, dtype));
    let alloc = |ty: &Type, usage| engine.alloc(ty.bytes(&plan.bucket), usage);
    let ports: Vec<(Port, Buffer)> =
        plan.interface.ports.iter().map(|(p, ty)| Ok((*p, alloc(ty, Usage::Port)?))).collect::<Result<_>>()?;
    let bind = Bindings {
        weights: engine.load(weight, &plan.interface.weights, &NoProgress)?,
        states: Arc::from([]),
        ports: ports.into(),
        arena: engine.alloc(0, Usage::Arena)?,
        step: engine.alloc(1 << 12, Usage::Step)?,
    };
    let executable = engine.prepare(plan, bind.clone(), Exec::Steps)?;
    let mut step = StepBuffer::with_capacity(64, rows, 1, 0);
    let tokens = vec![0; rows];
    step.push(&SeqStep { slot: 0, tokens: &tokens, tables: &[&[0]], logits: LogitWish::None, sampler: None });
    let mut queue = engine.queue()?;
    queue.write(&bind.step, 0, bytemuck::cast_slice(step.encode(0, 0)))?;
    queue.write(&bind.ports[0].1, 0, x)?;
    let ticket = queue.submit(&executable)?;
    let mut y = vec![0u32; rows * weight.rows];
    queue.read(ticket, &bind.ports[1].1, 0, bytemuck::cast_slice_mut(&mut y))?;
    Ok(y)
}

/// Rows of a step at once.
const ROWS: usize = 17;

/// That each of the sets gives the bits that the first gives to each row alone, for any number of rows.
fn same_bits(weight: &Weight, dtype: DType, x: &[u8], sets: &[Set]) {
    let row = x.len() / ROWS;
    let alone = |i: usize| product(sets[0], weight, dtype, &x[i * row..][..row], 1).unwrap();
    let wanted: Vec<u32> = (0..ROWS).flat_map(alone).collect();
    assert!(wanted.iter().filter(|y| **y != 0).count() > 600);
    for set in sets {
        for last in 1..=ROWS {
            let found = product(*set, weight, dtype, &x[row * (ROWS - last)..], last).unwrap();
            let at = found.iter().zip(&wanted[weight.rows * (ROWS - last)..]).position(|(a, b)| a != b);
            let (name, k) = (weight.dtype, weight.k);
            assert_eq!(at, None, "{name} rows of {k} on {}, the last {last} rows", set.name());
        }
    }
}

fn activations(k: usize, seed: &mut u64) -> Vec<f32> {
    (0..ROWS * k).map(|_| random(seed) / 3.0).collect()
}

#[test]
fn all_sets_give_the_same_bits_for_any_number_of_rows() {
    let mut seed = 5;
    let sets: Vec<Set> = Set::ALL.into_iter().rev().filter(|s| s.is_here()).collect();
    for (dtype, k) in [DType::F32, DType::F16, DType::BF16].into_iter().flat_map(|d| [1, 40, 64, 999].map(|k| (d, k))) {
        let weight = weight(dtype, k, 37, &mut seed);
        same_bits(&weight, DType::F32, bytemuck::cast_slice(&activations(k, &mut seed)), &sets);
    }
}

#[test]
fn pairs_of_bf16_give_the_same_bits_for_any_number_of_rows() {
    let engine = Cpu::new(&EngineOptions::default().numerics(Accuracy::Fast)).unwrap();
    if !engine.caps().features.contains(&"avx512bf16") {
        println!("not on this cpu: avx512bf16");
        return;
    }
    let mut seed = 6;
    for k in [1, 40, 64, 999] {
        let weight = weight(DType::BF16, k, 37, &mut seed);
        let values = activations(k, &mut seed);
        let mut x = vec![0; 2 * values.len()];
        DType::BF16.info().encode.unwrap()(&values, &mut x);
        same_bits(&weight, DType::BF16, &x, &[Set::Avx512]);
    }
}
