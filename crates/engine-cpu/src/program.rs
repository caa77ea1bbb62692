//! A plan with its buffers, and a run of it: tiles that are claimed, wait, run and are counted.
#![allow(unsafe_code)]

use crate::counters::{Counters, Turn};
use crate::memory::{Place, Shape, View, ViewMut, memory};
use crate::phase::{Code, FirstTile, Section, sections};
use crate::pool::Device;
use crate::scratch::Scratch;
use crate::tile::{Entry, Tile};
use crate::times::Times;
use crate::verify;
use crate::wait::{Bell, Wait};
use crate::weights::Loaded;
use inkstone_compute::{
    Arg, Bindings, Budget, Caps, Cut, Error, Executable, Layout, Phase, Plan, Region, Registry, Result, Step,
    TileProgram,
};
use inkstone_tensor::step::{StepError, StepView};
use inkstone_tensor::{DType, Dim, NoMemory, Sizes, Type};
use smallvec::SmallVec;
use std::any::Any;
use std::fmt;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A plan that is ready to run.
pub(crate) struct Program {
    plan: Arc<Plan>,
    tiles: TileProgram,
    steps: Vec<Call>,
    counters: Counters,
    /// The words of the step buffer.
    step: (Shape, Place),
    failed: AtomicBool,
    failure: Mutex<Option<Failure>>,
    /// When steps begin and end, if someone wants to know.
    times: Option<Times>,
    /// Of the engine that it is of.
    budget: Arc<Budget>,
    /// Keeps the places alive.
    _bind: Bindings,
}

/// A step: a function and its arguments.
struct Call {
    entry: Entry,
    ins: SmallVec<[Operand; 4]>,
    outs: SmallVec<[Operand; 2]>,
    first: Option<First>,
    /// Whether neighbouring tiles may be done as one.
    joins: bool,
}

/// The first phase of a step: a function, and the sections of the scratch.
struct First {
    entry: fn(&mut FirstTile) -> Result<(), StepError>,
    sections: SmallVec<[(Section, Place); 2]>,
}

/// Rows up to which tiles are joined: a larger one needs no fewer calls, and its results would leave the nearest cache.
const JOINED_ROWS: usize = 8;

#[derive(Clone, Copy)]
struct Operand {
    place: Place,
    shape: Shape,
    cut: Cut,
    /// A state that this step writes: reached through the result.
    consumed: bool,
    /// The layout of a weight, whose views are always the whole weight.
    weight: Option<Layout>,
    /// Of a result that is cut by columns: the block that its columns begin with.
    first_block: usize,
}

/// Tiles that were claimed, of one block of rows and one result, and are done as one.
struct Item {
    /// Of the tile program.
    phase: usize,
    tiles: Range<usize>,
    /// See [`Tile::first`].
    first: bool,
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

    fn times(&self) -> Option<Vec<Duration>> {
        self.times.as_ref().map(Times::totals)
    }
}

impl Program {
    /// Checks plan, buffers, weights and kernels.
    pub(crate) fn new(
        plan: Arc<Plan>,
        bind: Bindings,
        registry: &Registry,
        caps: &Caps,
        device: &Device,
    ) -> Result<Program> {
        let tiles = verify::plan(&plan, &bind, registry, caps, device.budget())?;
        let loaded: &Loaded = bind.weights.get(crate::Cpu::NAME)?;
        for (slot, found) in plan.interface.weights.iter().zip(&loaded.slots) {
            if (slot.ty, slot.layout) != (found.ty, found.layout) {
                let (tensor, expected) = (found.name.to_string(), slot.ty.to_string());
                return Err(Error::WeightType { tensor, found: found.ty.to_string(), expected });
            }
        }
        let call = |step| call(&plan, step, &bind, loaded, registry, caps);
        let steps = plan.steps.iter().map(call).collect::<Result<_>>()?;
        let counters = Counters::new(&tiles, device.threads(), |index| match tiles.phases()[index] {
            Phase { first: true, .. } => 1,
            Phase { step, .. } => together(&plan.steps[step], &plan.bucket),
        });
        let words = (bind.step.bytes() / 4) as usize;
        let step =
            (Shape::of(Type::new(DType::U32, Dim::N(1), words)), Place::of(memory(&bind.step)?, 0, 4 * words as u64)?);
        let (failed, failure) = (AtomicBool::new(false), Mutex::new(None));
        let budget = device.budget().clone();
        Ok(Program { plan, tiles, steps, counters, step, failed, failure, times: None, budget, _bind: bind })
    }

    /// The same, recording when steps begin and end.
    pub(crate) fn timed(self) -> Program {
        Program { times: Some(Times::new(self.steps.len())), ..self }
    }

    /// Whether it is of the engine with this budget.
    pub(crate) fn is_of(&self, budget: &Arc<Budget>) -> bool {
        Arc::ptr_eq(&self.budget, budget)
    }

    fn reason(&self) -> MutexGuard<'_, Option<Failure>> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The step buffer in place.
    ///
    /// # Safety
    /// No other code may write the step buffer while the view is used.
    unsafe fn view(&self) -> Result<StepView<'_>, StepError> {
        // SAFETY: the caller's promise; the program keeps the buffer alive.
        StepView::new(unsafe { View::new(self.step.0, self.step.1, 0..1) }.all())
    }

    /// Begins a run on what the step buffer holds. Gives its number, and whether there is work for several.
    ///
    /// # Safety
    /// Nothing runs on the memory that is bound, and until the run is finished nobody writes the step buffer.
    pub(crate) unsafe fn begin(&self) -> Result<(u32, bool)> {
        let bucket = self.plan.bucket;
        // SAFETY: the caller's promise.
        let sizes = unsafe { self.view() }?.sizes(bucket.slots);
        let counts = [("rows", sizes.rows, bucket.rows), ("logit rows", sizes.logit_rows, bucket.logit_rows)];
        for (what, value, limit) in counts {
            if value > limit {
                return Err(Error::TooLarge { what, value, limit, plan: self.plan.name.clone() });
            }
        }
        self.failed.store(false, Ordering::Relaxed);
        *self.reason() = None;
        self.times.iter().for_each(Times::next_run);
        Ok(self.counters.begin(&self.tiles, &sizes))
    }

    /// Whether a run is finished; the program may be in another by now.
    pub(crate) fn is_finished(&self, run: u32) -> bool {
        self.counters.is_finished(run)
    }

    /// Why the last run failed, if it did.
    pub(crate) fn failure(&self) -> Option<Failure> {
        self.reason().clone()
    }

    /// Claims tiles of a run until there are none; `index` tells workers apart.
    pub(crate) fn help(&self, run: u32, index: usize, scratch: &mut Scratch, bell: &Bell) {
        let mut worker = self.counters.worker(&self.tiles, run, index);
        let (mut view, mut last, mut wait) = (None, None, Wait::default());
        loop {
            let turn = worker.next_turn();
            // Sleeping workers are not needed for a step that one worker computes at once.
            let alone = matches!(turn, Turn::Run { phase, .. } if !self.counters.is_shared(phase));
            if !alone && worker.take_completed() {
                bell.ring();
            }
            let (phase, tiles) = match turn {
                Turn::Run { phase, tiles } => (phase, tiles),
                Turn::Wait => {
                    wait.pause(bell, || worker.can_go_on());
                    continue;
                }
                Turn::Over => return,
            };
            wait = Wait::default();
            let begun = self.times.as_ref().map(Times::now);
            // SAFETY: tiles of the run are held, so it is not finished, and nobody writes the buffer (see `begin`).
            match view.get_or_insert_with(|| unsafe { self.view() }) {
                Ok(view) => {
                    let sizes = view.sizes(self.plan.bucket.slots);
                    let mut left = tiles;
                    while !left.is_empty() {
                        let tiles = left.start..left.start + self.joined(phase, &left, &sizes);
                        left.start = tiles.end;
                        let first = last.replace(phase) != Some(phase);
                        self.attempt(&Item { phase, tiles, first }, view, sizes, scratch);
                    }
                }
                Err(error) => self.fail(Failure::Step(*error)),
            }
            if let (Some(times), Some(begun)) = (&self.times, begun) {
                times.ran(self.tiles.phases()[phase].step, begun);
            }
        }
    }

    /// How many of the tiles, from the first on, are done as one.
    fn joined(&self, phase: usize, tiles: &Range<usize>, sizes: &Sizes) -> usize {
        let Phase { step, first, ref grid, .. } = self.tiles.phases()[phase];
        let call = &self.steps[step];
        if first || !call.joins || grid.rows.at(sizes) > JOINED_ROWS {
            return 1;
        }
        // Up to the next result, or block of rows.
        let block = tiles.start % grid.col_blocks;
        let borders = call.outs.iter().filter(|o| o.cut.cols).map(|o| o.first_block);
        let border = borders.filter(|first| *first > block).min().unwrap_or(grid.col_blocks);
        tiles.len().min(border - block)
    }

    /// Runs tiles. After a failure those that remain are counted, not run.
    fn attempt(&self, item: &Item, view: &StepView, sizes: Sizes, scratch: &mut Scratch) {
        if self.failed.load(Ordering::Relaxed) {
            return;
        }
        let result = catch_unwind(AssertUnwindSafe(|| self.tile(item, view, sizes, scratch)));
        let failure = match result {
            Ok(result) => result.err().map(Failure::Step),
            Err(panic) => Some(self.panicked(self.tiles.phases()[item.phase].step, panic.as_ref())),
        };
        if let Some(failure) = failure {
            self.fail(failure);
        }
    }

    fn fail(&self, failure: Failure) {
        self.reason().get_or_insert(failure);
        self.failed.store(true, Ordering::Relaxed);
    }

    fn tile(&self, item: &Item, view: &StepView, sizes: Sizes, scratch: &mut Scratch) -> Result<(), StepError> {
        let &Item { phase, ref tiles, first } = item;
        let Phase { step, first: is_first, ref grid, .. } = self.tiles.phases()[phase];
        let (op, call) = (&self.plan.steps[step].op, &self.steps[step]);
        let (row_block, col_block) = (tiles.start / grid.col_blocks, tiles.start % grid.col_blocks);
        let last_block = col_block + tiles.len() - 1;
        let count = grid.rows.at(&sizes);
        let rows = block(row_block, grid.row_block, count);
        let of = |o: &Operand| if o.cut.rows && !is_first { rows.clone() } else { 0..o.shape.ty.rows.at(&sizes) };
        let ins = call.ins.iter().map(|o| {
            if o.consumed {
                return View::none(o.shape);
            }
            if let Some(layout) = o.weight {
                // SAFETY: nobody writes weights, and `bind` keeps them alive.
                return unsafe { View::weight(o.shape, layout, o.place, o.shape.ty.rows.at(&sizes)) };
            }
            // SAFETY: see `memory`: `verify` has checked the plan, and the tile has waited for all steps that write
            // what it reads.
            unsafe { View::new(o.shape, o.place, of(o)) }
        });
        let ins: SmallVec<[View; 16]> = ins.collect();
        let sections = call.first.iter().flat_map(|first| &first.sections);
        if let Some(phase) = call.first.as_ref().filter(|_| is_first) {
            let parts = sections.map(|(section, place)| {
                // SAFETY: parts of tiles are disjoint, and the tile has waited for all steps that use the scratch.
                unsafe { place.words_mut(section.part(count, rows.clone(), col_block)) }
            });
            let (mut parts, ins): (SmallVec<[&mut [u32]; 2]>, _) = (parts.collect(), &ins);
            let parts = &mut parts;
            return (phase.entry)(&mut FirstTile {
                op,
                step: view,
                sizes,
                rows,
                block: col_block,
                ins,
                parts,
                scratch,
            });
        }
        let outs = call.outs.iter().map(|o| {
            if o.cut.cols
                && o.shape.ty.state
                && let Dim::Slots { heads, .. } = o.shape.ty.rows
            {
                let (rows, heads) = (o.shape.ty.rows.at(&sizes), grid.part(col_block, heads));
                // SAFETY: as below; no other tile has these heads.
                return unsafe { ViewMut::of_heads(o.shape, o.place, rows, heads) };
            }
            let cols = match o.cut.cols {
                true => {
                    let cols = |block| grid.columns(block, o.first_block, o.shape.ty.cols);
                    cols(col_block).start..cols(last_block).end
                }
                false => 0..o.shape.ty.cols,
            };
            // SAFETY: as above; the cuts of the tiles of a step are disjoint.
            unsafe { ViewMut::new(o.shape, o.place, of(o), cols) }
        });
        let mut outs: SmallVec<[ViewMut; 4]> = outs.collect();
        let shared = sections.map(|(section, place)| {
            // SAFETY: the first phase is done, and no code writes the scratch until the step is done.
            unsafe { place.words(0..count * section.words) }
        });
        let shared: SmallVec<[&[u32]; 2]> = shared.collect();
        let (ins, outs, shared) = (&ins, &mut outs, &shared);
        (call.entry)(&mut Tile { op, step: view, sizes, rows, first, ins, outs, shared, scratch })
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

fn call(plan: &Plan, step: &Step, bind: &Bindings, loaded: &Loaded, registry: &Registry, caps: &Caps) -> Result<Call> {
    let unbound = |a: &Arg| {
        let bytes = a.ty.bytes(&plan.bucket);
        Error::Unbound { plan: plan.name.clone(), region: a.region, bytes, bound: 0 }
    };
    let operand = |a: &Arg| {
        let (place, weight) = match a.region {
            Region::Weight(id) => {
                let (bytes, layout) = loaded.get(id as usize).ok_or_else(|| unbound(a))?;
                (Place::shared(bytes), Some(layout))
            }
            region => {
                let buffer = bind.buffer(region).ok_or_else(|| unbound(a))?;
                (Place::of(memory(buffer)?, a.offset, a.ty.bytes(&plan.bucket))?, None)
            }
        };
        let consumed = !a.write && a.ty.state && step.outs().any(|o| o.region == a.region);
        Ok(Operand { place, shape: Shape::of(a.ty), cut: a.cut, consumed, weight, first_block: 0 })
    };
    let Some(kernel) = registry.get(&step.kernel) else { return Err(Code::none(&step.kernel)) };
    let code = Code::of(kernel)?;
    let first = code.phased.filter(|_| step.first.is_some()).map(|phased| -> Result<First> {
        let (rows, memory) = (step.grid.rows.at(&plan.bucket), memory(&bind.arena)?);
        let sections = sections(&phased, step, &plan.bucket, caps);
        let sections = Section::places(&sections, rows).map(|(section, at)| {
            let bytes = 4 * (section.words * rows) as u64;
            Ok((section, Place::of(memory, step.scratch.start + at, bytes)?))
        });
        Ok(First { entry: phased.first, sections: sections.collect::<Result<_>>()? })
    });
    Ok(Call {
        // Custom kernels get tiles of the size that they define.
        joins: !registry.is_outside(kernel) && step.args.iter().all(|a| !a.ty.state),
        entry: code.entry,
        first: first.transpose()?,
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

/// Bytes, or an eighth as many flops, that are worth a claim.
const CLAIM: u64 = 8 << 10;

/// The minimum number of tiles of a step that are claimed together. The cost of attention depends on the context, so
/// its tiles are claimed one by one.
fn together(step: &Step, bucket: &Sizes) -> usize {
    if step.args.iter().any(|a| a.ty.state) {
        return 1;
    }
    let types = |args: &mut dyn Iterator<Item = &Arg>| args.map(|a| a.ty).collect::<Vec<Type>>();
    let cost = step.op.cost(&types(&mut step.ins()), &types(&mut step.outs()), bucket);
    let work = cost.bytes.max(cost.flops / 8).max(1);
    let tiles = step.grid.tiles(bucket) as u64;
    usize::try_from(tiles.saturating_mul(CLAIM).div_ceil(work)).unwrap_or(usize::MAX)
}

impl fmt::Debug for Program {
    /// Prints the unfinished part of the current run.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "plan {}\n{}", self.plan.name, self.counters.progress(&self.tiles))
    }
}
