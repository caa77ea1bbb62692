//! Plans of sums made by hand, with kernels from outside, and what it takes to run them.

// Each test uses its part.
#![allow(dead_code)]

use inkstone_compute::{
    Arg, Bindings, Cut, Engine, EngineOptions, Exec, Executable, Grid, Interface, Kernel, Pattern, Plan, Port, Queue,
    Region, Result, Step, Ticket, Usage, WeightSlot,
};
use inkstone_engine_cpu::{Cpu, Entry, Tile};
use inkstone_tensor::ops::{Expr, Map, Term};
use inkstone_tensor::step::{LogitWish, SeqStep, StepBuffer, StepError};
use inkstone_tensor::{Dim, NoProgress, Op, Sizes, SourceError, Type, WeightBytes, WeightInfo, WeightSource};
use std::sync::Arc;

/// Columns of all values: so many that a row is worth a claim of its own. The kernels use the first.
pub const COLS: usize = 1 << 14;
/// Bytes that a value takes in the arena, for up to [`ROWS`] rows.
pub const BYTES: u64 = (ROWS * COLS * 4) as u64;
/// Most rows of a step.
pub const ROWS: usize = 8;
/// The type of all values.
pub const TYPE: Type = Type::f32(Dim::Rows, COLS);

/// The sum of so many operands.
pub fn sum(operands: usize) -> Op {
    let mut terms = vec![Term::In(0)];
    (1..operands).for_each(|i| terms.extend([Term::In(i as u8), Term::Add]));
    Map(Expr::new(&terms)).into()
}

/// A kernel from outside for sums.
pub fn kernel(name: &'static str, entry: Entry) -> Kernel {
    Kernel::by_definition(name, Pattern::Named("map"), Arc::new(entry))
}

/// A place for a value.
pub fn arg(region: Region, offset: u64, value: u32, write: bool) -> Arg {
    Arg { region, offset, ty: TYPE, value, write, cut: Cut { rows: true, cols: false } }
}

/// Sums the first values of the operands' rows.
pub fn sum_rows(tile: &mut Tile) -> Result<(), StepError> {
    for row in tile.rows.clone() {
        let total: f32 = tile.ins.iter().map(|view| view.row::<f32>(row)[0]).sum();
        tile.outs[0].row::<f32>(row)[0] = total;
    }
    Ok(())
}

/// What plans read.
pub fn input() -> Arg {
    arg(Region::Port(Port::HIDDEN), 0, 0, false)
}

/// What plans write.
pub fn output(value: u32) -> Arg {
    arg(Region::Port(Port::LOGITS), 0, value, true)
}

/// Value `value` in the arena, in a place of its own.
pub fn own(value: u32, write: bool) -> Arg {
    arg(Region::Arena, u64::from(value) * BYTES, value, write)
}

/// A step with a tile for every `block` rows.
pub fn step(kernel: &str, block: usize, args: &[Arg]) -> Step {
    let grid = Grid { rows: Dim::Rows, row_block: block, col_block: usize::MAX, col_blocks: 1 };
    let op = sum(args.iter().filter(|a| !a.write).count());
    let kernel = kernel.to_owned();
    Step { op, kernel, args: args.iter().cloned().collect(), grid, scratch: 0..0, first: None, refused: Vec::new() }
}

/// A plan of these steps.
pub fn plan(steps: Vec<Step>) -> Plan {
    let ports = vec![(Port::HIDDEN, TYPE), (Port::LOGITS, TYPE)];
    let interface = Arc::new(Interface { ports, ..Interface::default() });
    let bucket = Sizes { rows: ROWS, logit_rows: 0, slots: Default::default() };
    let mut plan = Plan { name: "sums".to_owned(), bucket, steps, arena_bytes: 0, interface };
    plan.arena_bytes = plan.bytes_of(Region::Arena);
    plan
}

/// The buffers of a plan.
pub fn bind(engine: &Cpu, plan: &Plan) -> Result<Bindings> {
    let ports = plan.interface.ports.iter();
    let ports = ports.map(|(p, ty)| Ok((*p, engine.alloc(ty.bytes(&plan.bucket), Usage::Port)?)));
    let states = plan.interface.states.iter().map(|s| engine.alloc(s.ty.bytes(&plan.bucket), Usage::State));
    Ok(Bindings {
        weights: engine.load(&Nothing, &[] as &[WeightSlot], &NoProgress)?,
        states: states.collect::<Result<_>>()?,
        ports: ports.collect::<Result<_>>()?,
        arena: engine.alloc(plan.arena_bytes, Usage::Arena)?,
        step: engine.alloc(1 << 12, Usage::Step)?,
    })
}

/// No weights.
struct Nothing;

impl WeightSource for Nothing {
    fn info(&self, _name: &str) -> Option<WeightInfo> {
        None
    }
    fn bytes(&self, name: &str) -> Result<WeightBytes, SourceError> {
        panic!("{name} is asked for")
    }
}

/// An engine with a plan that is ready.
pub struct Rig {
    pub engine: Arc<Cpu>,
    pub bind: Bindings,
    pub executable: Arc<dyn Executable>,
    pub queue: Box<dyn Queue>,
}

impl Rig {
    pub fn new(options: &EngineOptions, plan: Plan) -> Result<Rig> {
        Rig::on(&Arc::new(Cpu::new(&options.clone().budget(1 << 28))?), plan)
    }

    pub fn on(engine: &Arc<Cpu>, plan: Plan) -> Result<Rig> {
        let bind = bind(engine, &plan)?;
        let executable = engine.prepare(Arc::new(plan), bind.clone(), Exec::Steps)?;
        Ok(Rig { engine: engine.clone(), bind, executable, queue: engine.queue()? })
    }

    /// Gives the plan its input: a value a row.
    pub fn feed(&mut self, rows: &[f32]) -> Result<()> {
        let mut step = StepBuffer::with_capacity(64, ROWS, 1, 0);
        let tokens = vec![0; rows.len()];
        step.push(&SeqStep { slot: 0, tokens: &tokens, tables: &[&[0]], logits: LogitWish::None, sampler: None });
        self.queue.write(&self.bind.step, 0, bytemuck::cast_slice(step.encode(0, 0)))?;
        let mut write = |(row, value): (usize, &f32)| {
            self.queue.write(&self.bind.ports[0].1, (row * COLS * 4) as u64, &value.to_ne_bytes())
        };
        rows.iter().enumerate().try_for_each(&mut write)
    }

    pub fn submit(&mut self) -> Result<Ticket> {
        self.queue.submit(&self.executable, &[])
    }

    /// What the plan gives: the first value of each row.
    pub fn read(&mut self, ticket: Ticket, rows: usize) -> Result<Vec<f32>> {
        self.queue.wait(ticket)?;
        let mut read = |row: usize| {
            let mut value = [0; 4];
            self.queue.read(&self.bind.ports[1].1, (row * COLS * 4) as u64, &mut value)?;
            Ok(f32::from_ne_bytes(value))
        };
        (0..rows).map(&mut read).collect()
    }

    pub fn run(&mut self, rows: &[f32]) -> Result<Vec<f32>> {
        self.feed(rows)?;
        let ticket = self.submit()?;
        self.read(ticket, rows.len())
    }
}
