//! A product with one weight, as a plan of one step.

use inkstone_compute::{
    Accuracy, Arg, Bindings, Buffer, Cut, Engine, EngineOptions, Exec, Grid, Interface, Layout, Plan, Port, Region,
    Result, Step, Usage, WeightSlot,
};
use inkstone_engine_cpu::{BF16, Cpu, F32, Q8, Q8_WHOLE, Set};
use inkstone_tensor::ops::Linear;
use inkstone_tensor::step::{LogitWish, SeqStep, StepBuffer};
use inkstone_tensor::{DType, Dim, NoProgress, Sizes, SourceError, Type, WeightBytes, WeightInfo, WeightSource};
use std::sync::Arc;

/// A weight: its bytes, rows after rows of `k` values.
pub struct Weight {
    pub dtype: DType,
    pub k: usize,
    pub rows: usize,
    pub bytes: Arc<Vec<u8>>,
}

impl WeightSource for Weight {
    fn info(&self, _name: &str) -> Option<WeightInfo> {
        Some(WeightInfo { dtype: self.dtype, dims: vec![self.k as u64, self.rows as u64] })
    }
    fn bytes(&self, _name: &str) -> Result<WeightBytes, SourceError> {
        Ok(WeightBytes { data: self.bytes.clone(), offset: 0, len: self.bytes.len() })
    }
}

/// How a product is run.
pub struct Way<'a> {
    pub set: Set,
    pub layout: Layout,
    pub kernel: &'a str,
    /// Of the activations.
    pub dtype: DType,
    pub accuracy: Accuracy,
    /// Columns of a tile.
    pub columns: usize,
}

impl Way<'_> {
    fn plan(&self, weight: &Weight, rows: usize) -> Plan {
        let numerics = match self.dtype {
            DType::F32 => F32,
            DType::BF16 => BF16,
            DType::Q8_B => Q8_WHOLE,
            _ => Q8,
        };
        let x = Type::new(self.dtype, Dim::Rows, weight.k);
        let w = Type::new(weight.dtype, Dim::N(weight.rows), weight.k);
        let y = Type::f32(Dim::Rows, weight.rows);
        let arg = |region, ty, value, write| {
            let cut = Cut { rows: false, cols: write };
            Arg { region, offset: 0, ty, value, write, cut }
        };
        let args = [
            arg(Region::Port(Port::HIDDEN), x, 0, false),
            arg(Region::Weight(0), w, 1, false),
            arg(Region::Port(Port::LOGITS), y, 2, true),
        ];
        let col_blocks = weight.rows.div_ceil(self.columns);
        let grid = Grid { rows: Dim::Rows, row_block: usize::MAX, col_block: self.columns, col_blocks };
        let kernel = self.kernel.to_owned();
        let step = Step {
            op: Linear.into(),
            kernel,
            args: args.into_iter().collect(),
            grid,
            scratch: 0..0,
            first: None,
            refused: vec![],
        };
        let interface = Interface {
            weights: vec![WeightSlot { name: "w".into(), ty: w, layout: self.layout, numerics }],
            states: vec![],
            ports: vec![(Port::HIDDEN, x), (Port::LOGITS, y)],
        };
        let bucket = Sizes { rows, logit_rows: 0, slots: Default::default() };
        Plan { name: "product".to_owned(), bucket, steps: vec![step], arena_bytes: 0, interface: Arc::new(interface) }
    }
}

/// The bits of the results of a product of so many rows of activations, by row.
pub fn product(way: &Way, weight: &Weight, x: &[u8], rows: usize) -> Result<Vec<u32>> {
    let options = EngineOptions::default().budget(1 << 24).threads(2).isa(way.set.name()).numerics(way.accuracy);
    let engine = Cpu::new(&options)?;
    let plan = Arc::new(way.plan(weight, rows));
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
    let ticket = queue.submit(&executable, &[])?;
    queue.wait(ticket)?;
    let mut y = vec![0u32; rows * weight.rows];
    queue.read(&bind.ports[1].1, 0, bytemuck::cast_slice_mut(&mut y))?;
    Ok(y)
}
