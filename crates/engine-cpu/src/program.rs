//! A plan with its buffers, and a run of it: tiles that are claimed, wait, run and are counted.
#![allow(unsafe_code)]

use crate::memory::{Memory, Place, View, ViewMut, memory};
use crate::pool::Wait;
use crate::tile::{Entry, Scratch, Tile};
use crate::verify;
use crate::weights::Loaded;
use inkstone_compute::{
    Arg, Bindings, Caps, Counters, Cut, Error, Executable, Plan, Region, Registry, Result, Step, TileProgram,
};
use inkstone_tensor::step::{Header, LogitRow, Seq, StepError, StepView};
use inkstone_tensor::{NoMemory, Sizes, Type};
use smallvec::SmallVec;
use std::any::Any;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard};

/// A plan that is ready to run.
pub(crate) struct Program {
    plan: Arc<Plan>,
    tiles: TileProgram,
    steps: Vec<Code>,
    run: RwLock<Run>,
    /// Keeps the places alive.
    bind: Bindings,
}

/// A step: what to call, on what.
struct Code {
    entry: Entry,
    ins: SmallVec<[Operand; 4]>,
    outs: SmallVec<[Operand; 2]>,
}

#[derive(Clone, Copy)]
struct Operand {
    place: Place,
    ty: Type,
    cut: Cut,
    /// A state that this step writes: reached through the result.
    consumed: bool,
    /// Of a result that is cut by columns: the block that its columns begin with.
    first_block: usize,
}

/// A tile that was claimed.
struct Item {
    index: usize,
    tile: usize,
    /// See [`Tile::first`].
    first: bool,
}

/// The run under way, or the last one.
struct Run {
    counters: Counters,
    /// The step, as it was when the run began.
    words: Vec<u32>,
    sizes: Sizes,
    failed: AtomicBool,
    failure: Mutex<Option<Failure>>,
}

/// Why a run failed.
#[derive(Clone, Debug)]
pub(crate) enum Failure {
    /// The step names what is not there.
    Step(StepError),
    /// Memory of a kernel.
    NoMemory(NoMemory),
    /// A kernel panicked.
    Panicked { step: usize, op: String, message: String },
}

impl Failure {
    pub(crate) fn error(self, plan: &Plan) -> Error {
        match self {
            Failure::Step(error) => error.into(),
            Failure::NoMemory(source) => Error::NoMemory { what: "a step", source },
            Failure::Panicked { step, op, message } => Error::Panicked { plan: plan.name.clone(), step, op, message },
        }
    }
}

impl Executable for Program {
    fn plan(&self) -> &Plan {
        &self.plan
    }
}

impl Program {
    /// Checks plan, buffers, weights and kernels.
    pub(crate) fn new(plan: Arc<Plan>, bind: Bindings, registry: &Registry, caps: &Caps) -> Result<Program> {
        let tiles = verify::plan(&plan, &bind, registry, caps)?;
        let loaded: &Loaded = bind.weights.get(crate::Cpu::NAME)?;
        for (slot, found) in plan.interface.weights.iter().zip(&loaded.slots) {
            if (slot.ty, slot.layout) != (found.ty, found.layout) {
                let (tensor, expected) = (found.name.to_string(), slot.ty.to_string());
                return Err(Error::WeightType { tensor, found: found.ty.to_string(), expected });
            }
        }
        let steps = plan.steps.iter().map(|step| code(&plan, step, &bind, loaded, registry)).collect::<Result<_>>()?;
        let run = Run {
            counters: Counters::new(&tiles),
            words: Vec::new(),
            sizes: Sizes::default(),
            failed: AtomicBool::new(false),
            failure: Mutex::new(None),
        };
        Ok(Program { plan, tiles, steps, run: RwLock::new(run), bind })
    }

    fn run(&self) -> RwLockReadGuard<'_, Run> {
        self.run.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a run on what the step buffer holds.
    ///
    /// # Safety
    /// Nothing runs on the memory that is bound, and nobody writes the step buffer.
    pub(crate) unsafe fn begin(&self) -> Result<()> {
        let mut run = self.run.write().unwrap_or_else(PoisonError::into_inner);
        let step = memory(&self.bind.step)?;
        // SAFETY: the caller's promise.
        unsafe { read_words(step, self.bind.step.bytes(), &mut run.words) }?;
        let sizes = StepView::new(&run.words)?.sizes(self.plan.bucket.slots);
        let bucket = self.plan.bucket;
        let counts = [("rows", sizes.rows, bucket.rows), ("logit rows", sizes.logit_rows, bucket.logit_rows)];
        for (what, value, limit) in counts {
            if value > limit {
                return Err(Error::TooLarge { what, value, limit, plan: self.plan.name.clone() });
            }
        }
        run.sizes = sizes;
        run.counters.begin(&self.tiles, &sizes);
        *run.failed.get_mut() = false;
        *run.failure.get_mut().unwrap_or_else(PoisonError::into_inner) = None;
        Ok(())
    }

    /// Whether all tiles have run.
    pub(crate) fn is_finished(&self) -> bool {
        self.run().counters.is_finished()
    }

    /// Why the last run failed, if it did.
    pub(crate) fn failure(&self) -> Option<Failure> {
        self.run().failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Claims tiles until there are none.
    pub(crate) fn help(&self, scratch: &mut Scratch) {
        let run = self.run();
        let Ok(step) = StepView::new(&run.words) else { return };
        let (mut cursor, mut last) = (0, None);
        while let Some((index, tile)) = run.counters.claim(&mut cursor) {
            let mut wait = Wait::default();
            while !run.counters.ready(&self.tiles, index) {
                wait.pause();
            }
            // After a failure the tiles that remain are counted, not run.
            if !run.failed.load(Ordering::Relaxed) {
                let first = last.replace(index) != Some(index);
                let item = Item { index, tile, first };
                let result = catch_unwind(AssertUnwindSafe(|| self.tile(&item, &step, run.sizes, scratch)));
                let failure = match result {
                    Ok(result) => result.err().map(Failure::Step),
                    Err(panic) => Some(self.panicked(index, panic.as_ref())),
                };
                if let Some(failure) = failure {
                    run.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(failure);
                    run.failed.store(true, Ordering::Relaxed);
                }
            }
            run.counters.finish(index);
        }
    }

    fn tile(&self, item: &Item, view: &StepView, sizes: Sizes, scratch: &mut Scratch) -> Result<(), StepError> {
        let &Item { index, tile, first } = item;
        let (step, code) = (&self.plan.steps[index], &self.steps[index]);
        let grid = &step.grid;
        let (row_block, col_block) = (tile / grid.col_blocks, tile % grid.col_blocks);
        let rows = block(row_block, grid.row_block, grid.rows.at(&sizes));
        let of = |o: &Operand| if o.cut.rows { rows.clone() } else { 0..o.ty.rows.at(&sizes) };
        let ins = code.ins.iter().map(|o| {
            if o.consumed {
                return View::none(o.ty);
            }
            // SAFETY: see `memory`: `verify` has checked the plan, and the tile has waited for all steps that write
            // what it reads.
            unsafe { View::new(o.ty, o.place, of(o)) }
        });
        let ins: SmallVec<[View; 8]> = ins.collect();
        let outs = code.outs.iter().map(|o| {
            let cols = if o.cut.cols { grid.columns(col_block, o.first_block, o.ty.cols) } else { 0..o.ty.cols };
            // SAFETY: as above; the cuts of the tiles of a step are disjoint.
            unsafe { ViewMut::new(o.ty, o.place, of(o), cols) }
        });
        let mut outs: SmallVec<[ViewMut; 2]> = outs.collect();
        (code.entry)(&mut Tile { op: &step.op, step: view, sizes, rows, first, ins: &ins, outs: &mut outs, scratch })
    }

    fn panicked(&self, step: usize, panic: &(dyn Any + Send)) -> Failure {
        if let Some(source) = panic.downcast_ref::<NoMemory>() {
            return Failure::NoMemory(*source);
        }
        let text = panic.downcast_ref::<&str>().map(|s| (*s).to_owned());
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
        let message = text.unwrap_or_else(|| "no message".to_owned());
        Failure::Panicked { step, op: self.plan.steps[step].op.name().to_owned(), message }
    }
}

fn code(plan: &Plan, step: &Step, bind: &Bindings, loaded: &Loaded, registry: &Registry) -> Result<Code> {
    let unbound = |a: &Arg| {
        let bytes = a.ty.bytes(&plan.bucket);
        Error::Unbound { plan: plan.name.clone(), region: a.region, bytes, bound: 0 }
    };
    let operand = |a: &Arg| {
        let place = match a.region {
            Region::Weight(id) => Place::shared(loaded.bytes.get(id as usize).ok_or_else(|| unbound(a))?.as_slice()),
            region => {
                let buffer = bind.buffer(region).ok_or_else(|| unbound(a))?;
                Place::of(memory(buffer)?, a.offset, a.ty.bytes(&plan.bucket))?
            }
        };
        let consumed = !a.write && a.ty.state && step.outs().any(|o| o.region == a.region);
        Ok(Operand { place, ty: a.ty, cut: a.cut, consumed, first_block: 0 })
    };
    let kernel = registry.get(&step.kernel).and_then(|k| k.entry.downcast_ref::<Entry>());
    Ok(Code {
        entry: *kernel.ok_or_else(|| Error::KernelEntry {
            kernel: step.kernel.clone(),
            engine: crate::Cpu::NAME.to_owned(),
            expected: "an inkstone_engine_cpu::Entry",
        })?,
        ins: step.ins().map(operand).collect::<Result<_>>()?,
        outs: step
            .outs()
            .zip(step.first_blocks())
            .map(|(a, first_block)| Ok(Operand { first_block, ..operand(a)? }))
            .collect::<Result<_>>()?,
    })
}

/// Block `i` of blocks of `size` of `count`.
fn block(i: usize, size: usize, count: usize) -> Range<usize> {
    let start = i.saturating_mul(size).min(count);
    start..start.saturating_add(size).min(count)
}

/// The words of the step that a buffer of `bytes` holds, as many as its header says.
///
/// # Safety
/// Nobody writes the buffer.
unsafe fn read_words(buffer: &Memory, bytes: u64, words: &mut Vec<u32>) -> Result<()> {
    let words_of = |n: u32, size: usize| (n as usize).saturating_mul(size / 4);
    let have = usize::try_from(bytes / 4).unwrap_or(usize::MAX);
    words.clear();
    words.resize(have.min(size_of::<Header>() / 4), 0);
    // SAFETY: the caller's promise.
    unsafe { buffer.read(0, bytemuck::cast_slice_mut(words)) }?;
    let Ok(header) = bytemuck::try_pod_read_unaligned::<Header>(bytemuck::cast_slice(words)) else { return Ok(()) };
    let parts = [
        words_of(header.seqs, size_of::<Seq>()),
        header.rows as usize,
        words_of(header.logits, size_of::<LogitRow>()),
        header.pages as usize,
        header.samplers as usize,
    ];
    let count = parts.iter().fold(words.len(), |sum, n| sum.saturating_add(*n)).min(have);
    words.resize(count, 0);
    // SAFETY: the caller's promise.
    unsafe { buffer.read(0, bytemuck::cast_slice_mut(words)) }
}
