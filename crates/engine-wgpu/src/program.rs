//! A plan with its buffers: bind groups and parameters of every dispatch, made once.

use crate::bindings::{ACTIVATIONS, PARAMETERS, STATES, STEP, VECTORS, WEIGHTS};
use crate::call::{Call, Dispatch, Entry, NONE, Operand, Place, Source};
use crate::device::Device;
use crate::faults::Mistake;
use crate::memory::{self, Memory, own};
use crate::pipelines::Pipelines;
use crate::shader::Shader;
use crate::tables::Tables;
use crate::times::Times;
use crate::weights::{Held, Loaded};
use crate::words::Reads;
use inkstone_compute::{Arg, Bindings, Budget, Error, Executable, Plan, Region, Registry, Result, Step};
use inkstone_tensor::Sizes;
use inkstone_tensor::step::StepView;
use inkstone_tensor::step::carry::{LENGTH, word};
use smallvec::SmallVec;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use wgpu::{
    BindGroup, BindGroupDescriptor, BindGroupEntry, BindingResource, BufferBinding, BufferDescriptor, BufferUsages,
    CommandEncoder, CommandEncoderDescriptor, ComputePassDescriptor, ComputePipeline, SubmissionIndex,
};

/// A plan that is ready to run.
pub(crate) struct Program {
    plan: Arc<Plan>,
    bind: Bindings,
    reads: Reads,
    dispatches: Vec<Ready>,
    /// The dispatches of each submission.
    submissions: Vec<Range<usize>>,
    /// The activations, if the arena and the ports are not parts of one buffer: a copy of them that kernels work on.
    copy: Option<Copy>,
    /// The version of the step buffer that was checked last.
    checked: AtomicU64,
    times: Option<Times>,
    budget: Arc<Budget>,
}

/// A dispatch with its bindings.
struct Ready {
    pipeline: ComputePipeline,
    /// Whether the pass has the pipeline from the dispatch before.
    same: bool,
    group: BindGroup,
    groups: [u32; 3],
}

/// The operations of a submission. Drivers end programs whose submissions take seconds; a card that does 200 GFLOP per second is
/// done with this in a tenth of a second. The number does not depend on measurements, so that equal runs have equal submissions.
const SUBMISSION: u64 = 20_000_000_000;

/// A buffer for the activations, and the places of arena and ports in it.
struct Copy {
    buffer: wgpu::Buffer,
    parts: Vec<(inkstone_compute::Buffer, u64)>,
}

impl Executable for Program {
    fn plan(&self) -> &Plan {
        &self.plan
    }

    fn times(&self) -> Option<Vec<Duration>> {
        self.times.as_ref().map(Times::sums)
    }
}

/// The parts of an engine that make programs.
pub(crate) struct Maker<'a> {
    pub(crate) device: &'a Device,
    pub(crate) pipelines: &'a Pipelines,
    pub(crate) tables: &'a Tables,
    pub(crate) registry: &'a Registry,
    pub(crate) budget: &'a Arc<Budget>,
}

/// Where arena and ports begin in the buffer of activations, in bytes.
type Places = HashMap<Region, u64>;

/// The activations of a plan.
struct Activations {
    buffer: wgpu::Buffer,
    places: Places,
    copy: Option<Copy>,
}

impl Maker<'_> {
    /// Checks a plan with its buffers, and binds it.
    pub(crate) fn program(&self, plan: Arc<Plan>, bind: Bindings) -> Result<Program> {
        plan.check()?;
        bind.check(&plan)?;
        let loaded: &Loaded = bind.weights.get(crate::Wgpu::NAME)?;
        loaded.check(&plan)?;
        own(&bind.step, self.budget)?;
        bind.states.iter().try_for_each(|state| own(state, self.budget).map(drop))?;
        let mut activations = self.activations(&plan, &bind)?;
        let (mut dispatches, mut submissions, mut ends) = (Vec::new(), Submissions::default(), Vec::new());
        for (index, step) in plan.steps.iter().enumerate() {
            let made = self.dispatches(&plan, step, loaded, &activations.places);
            dispatches.extend(made.map_err(|fault| bad_plan(&plan, index, fault))?);
            submissions.step(operations_of(step, &plan.bucket), dispatches.len());
            ends.push(dispatches.len());
        }
        let submissions = submissions.finish(dispatches.len());
        let dispatches = self.ready(&bind, loaded, &activations, dispatches)?;
        let (reads, copy) = (Reads::of(&plan), activations.copy.take());
        let (checked, times) = (AtomicU64::new(u64::MAX), Times::new(self.device, ends));
        Ok(Program { plan, bind, reads, dispatches, submissions, copy, checked, times, budget: self.budget.clone() })
    }

    /// The shaders of plans, each once.
    pub(crate) fn shaders(&self, plans: &[&Plan], loaded: &Loaded) -> Result<Vec<Shader>> {
        let mut shaders = HashSet::new();
        for plan in plans {
            for (index, step) in plan.steps.iter().enumerate() {
                let dispatches = self.dispatches(plan, step, loaded, &Places::new());
                let dispatches = dispatches.map_err(|fault| bad_plan(plan, index, fault))?;
                shaders.extend(dispatches.into_iter().map(|dispatch| dispatch.shader));
            }
        }
        Ok(shaders.into_iter().collect())
    }

    /// The buffer of arena and ports: their own, or one to which they are copied.
    fn activations(&self, plan: &Plan, bind: &Bindings) -> Result<Activations> {
        let mut parts: Vec<(Region, &inkstone_compute::Buffer, &Memory)> = Vec::new();
        parts.push((Region::Arena, &bind.arena, own(&bind.arena, self.budget)?));
        for (port, buffer) in bind.ports.iter() {
            parts.push((Region::Port(*port), buffer, own(buffer, self.budget)?));
        }
        let first = &parts[0].2.buffer;
        if parts.iter().all(|(.., memory)| memory.buffer == *first) {
            let places = parts.iter().map(|(region, _, memory)| (*region, memory.offset)).collect();
            return Ok(Activations { buffer: first.clone(), places, copy: None });
        }
        let used = |region: Region| plan.bytes_of(region) > 0 || region == Region::Arena;
        let (mut end, mut places, mut copies) = (0u64, HashMap::new(), Vec::new());
        for (region, buffer, memory) in parts.into_iter().filter(|(region, ..)| used(*region)) {
            places.insert(region, end);
            copies.push((buffer.clone(), end));
            end = end.saturating_add(memory.bytes.max(4)).saturating_add(255) / 256 * 256;
        }
        let buffer = memory::buffer(self.device, end, "a copy of arena and ports")?;
        Ok(Activations { buffer: buffer.clone(), places, copy: Some(Copy { buffer, parts: copies }) })
    }

    /// The place of the parameters of a dispatch.
    fn slot(&self, dispatch: usize) -> u64 {
        let late = u64::from(self.device.faults.has(Mistake::Parameters));
        (dispatch as u64).saturating_sub(late)
    }

    /// The dispatches of a step.
    fn dispatches(&self, plan: &Plan, step: &Step, loaded: &Loaded, places: &Places) -> Result<Vec<Dispatch>, String> {
        let Some(kernel) = self.registry.get(&step.kernel) else {
            let known = self.registry.kernels.iter().filter(|k| k.implements.covers(&step.op)).map(|k| k.name);
            let known = known.collect::<Vec<_>>().join(", ");
            return Err(format!("no kernel {}; for this op there are: {known}", step.kernel));
        };
        if !kernel.implements.covers(&step.op) {
            return Err(format!("kernel {} does not do {}", kernel.name, step.op.name()));
        }
        let entry =
            kernel.entry.downcast_ref::<Entry>().ok_or_else(|| format!("kernel {} has no entry", kernel.name))?;
        let late = u32::from(self.device.faults.has(Mistake::Offset));
        let operand = |arg: &Arg| operand(arg, loaded, places).map(|operand| operand.late(late));
        let ins = step.ins().map(operand).collect::<Result<SmallVec<_>, String>>()?;
        let outs = step.outs().map(operand).collect::<Result<SmallVec<_>, String>>()?;
        let arena = places.get(&Region::Arena).copied().unwrap_or(0);
        let scratch = words(arena.saturating_add(step.scratch.start))?;
        entry(&Call { op: &step.op, ins, outs, bucket: plan.bucket, scratch })
    }

    /// Compiles the shaders, and binds the dispatches.
    fn ready(
        &self,
        bind: &Bindings,
        loaded: &Loaded,
        activations: &Activations,
        dispatches: Vec<Dispatch>,
    ) -> Result<Vec<Ready>> {
        let wgpu = &self.device.wgpu;
        let mut bytes = vec![0u8; dispatches.len().max(1) * PARAMETERS as usize];
        for (slot, dispatch) in bytes.chunks_mut(PARAMETERS as usize).zip(&dispatches) {
            let parameters: &[u8] = bytemuck::cast_slice(&dispatch.parameters);
            let Some(place) = slot.get_mut(..parameters.len()) else {
                let shader = dispatch.shader.text.lines().next().unwrap_or_default();
                return Err(Error::NoDevice {
                    engine: crate::Wgpu::NAME.to_owned(),
                    reason: format!("{shader}: {} parameters, allowed: 64", dispatch.parameters.len()),
                });
            };
            place.copy_from_slice(parameters);
        }
        let parameters = wgpu.create_buffer(&BufferDescriptor {
            label: Some("parameters"),
            size: bytes.len() as u64,
            usage: BufferUsages::UNIFORM | BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        self.device.queue.write_buffer(&parameters, 0, &bytes);
        let [read, write, other] = self.device.none()?;
        let write = [write, other];
        let step = own(&bind.step, self.budget)?;
        let mut ready: Vec<Ready> = Vec::with_capacity(dispatches.len());
        let mut last = None;
        for (slot, dispatch) in dispatches.into_iter().enumerate() {
            let pipeline = self.pipelines.get(self.device, &dispatch.shader)?;
            let mut bound: Vec<(u32, wgpu::Buffer, u64, Option<u64>)> = vec![
                (0, parameters.clone(), self.slot(slot) * PARAMETERS, Some(PARAMETERS)),
                (STEP, step.buffer.clone(), step.offset, Some(step.bytes.max(4).next_multiple_of(4))),
                (ACTIVATIONS, activations.buffer.clone(), 0, None),
                (VECTORS, loaded.vectors.clone(), 0, None),
            ];
            for (i, source) in dispatch.weights.iter().enumerate() {
                let buffer = match source {
                    Source::None => read.clone(),
                    Source::Vectors => loaded.vectors.clone(),
                    Source::Piece(matrix, piece) => matrix.pieces.get(*piece).map_or(read, |p| &p.buffer).clone(),
                    Source::Table(name, words) => self.tables.get(self.device, name, words)?,
                };
                bound.push((WEIGHTS + i as u32, buffer, 0, None));
            }
            for (i, state) in dispatch.states.iter().enumerate() {
                let state = state.and_then(|id| bind.states.get(id as usize));
                let (buffer, offset, size) = match state {
                    None => (write[i].clone(), 0, None),
                    Some(state) => {
                        let memory = own(state, self.budget)?;
                        (memory.buffer.clone(), memory.offset, Some(memory.bytes.max(4).next_multiple_of(4)))
                    }
                };
                bound.push((STATES + i as u32, buffer, offset, size));
            }
            let entries: Vec<BindGroupEntry> = bound
                .iter()
                .map(|(binding, buffer, offset, size)| BindGroupEntry {
                    binding: *binding,
                    resource: BindingResource::Buffer(BufferBinding {
                        buffer,
                        offset: *offset,
                        size: size.and_then(std::num::NonZeroU64::new),
                    }),
                })
                .collect();
            let group = wgpu.create_bind_group(&BindGroupDescriptor {
                label: None,
                layout: &self.device.layouts.group,
                entries: &entries,
            });
            let same = last.as_ref() == Some(&dispatch.shader);
            ready.push(Ready { pipeline, same, group, groups: dispatch.groups });
            last = Some(dispatch.shader);
        }
        self.device.check()?;
        Ok(ready)
    }
}

/// Which dispatches go into which submission: a submission ends behind the step with which it has enough operations.
#[derive(Default)]
struct Submissions {
    ranges: Vec<Range<usize>>,
    begin: usize,
    operations: u64,
}

impl Submissions {
    /// Adds a step of so many operations, whose last dispatch is the one before `end`.
    fn step(&mut self, operations: u64, end: usize) {
        self.operations = self.operations.saturating_add(operations);
        if self.operations >= SUBMISSION {
            self.ranges.push(self.begin..end);
            (self.begin, self.operations) = (end, 0);
        }
    }

    /// All of `count` dispatches; at least one submission.
    fn finish(mut self, count: usize) -> Vec<Range<usize>> {
        if self.begin < count || self.ranges.is_empty() {
            self.ranges.push(self.begin..count);
        }
        self.ranges
    }
}

/// The operations of a step with as many rows as the plan allows.
fn operations_of(step: &Step, bucket: &Sizes) -> u64 {
    let types = |args: &mut dyn Iterator<Item = &Arg>| args.map(|arg| arg.ty).collect::<Vec<_>>();
    step.op.cost(&types(&mut step.ins()), &types(&mut step.outs()), bucket).flops
}

/// The error of a step of a plan.
fn bad_plan(plan: &Plan, step: usize, fault: String) -> Error {
    let op = plan.steps.get(step).map_or_else(String::new, |step| step.op.name().to_owned());
    Error::BadPlan { plan: plan.name.clone(), step, op, fault }
}

/// Bytes as words.
fn words(bytes: u64) -> Result<u32, String> {
    u32::try_from(bytes / 4).ok().filter(|word| *word != NONE).ok_or_else(|| format!("byte {bytes} can't be addressed"))
}

/// The operand of an argument.
fn operand(arg: &Arg, loaded: &Loaded, places: &Places) -> Result<Operand, String> {
    let place = match arg.region {
        Region::State(id) => Place::State(id),
        Region::Weight(id) => match loaded.get(id) {
            Some(Held::Vector(word)) => Place::Vector(*word),
            Some(Held::Matrix(matrix)) => Place::Matrix(matrix.clone()),
            None => return Err(format!("{arg} is not loaded")),
        },
        region => {
            let begins = places.get(&region).copied().unwrap_or(0);
            Place::Activations(words(begins.saturating_add(arg.offset))?)
        }
    };
    Ok(Operand { ty: arg.ty, place })
}

impl Program {
    /// Whether it is of the engine with this budget.
    pub(crate) fn is_of(&self, budget: &Arc<Budget>) -> bool {
        Arc::ptr_eq(&self.budget, budget)
    }

    /// Checks the step that the step buffer holds. The lengths of its sequences are those that the host wrote, with the rows of
    /// the submits since: a sequence that the device has ended is shorter, so that it needs no more pages.
    ///
    /// # Errors
    /// The first field that is out of range.
    pub(crate) fn check_step(&self) -> Result<()> {
        let missing = || Error::Foreign { what: "step buffer", engine: crate::Wgpu::NAME.to_owned() };
        let step = own(&self.bind.step, &self.budget)?.words().ok_or_else(missing)?;
        let carry = self.carry()?;
        let carry = carry.as_ref().and_then(|memory| memory.words());
        let version = step.version.wrapping_add(carry.as_ref().map_or(0, |carry| carry.version) << 32);
        let view = StepView::new(&step.words)?;
        let lengths = carry.as_ref().and_then(|carry| carry.words.get(word(LENGTH, 0)..word(LENGTH + 1, 0)));
        let grown = self.checked.load(Ordering::Relaxed) == version;
        self.reads.check(&self.plan, &view, lengths.unwrap_or_default(), grown)?;
        self.checked.store(version, Ordering::Relaxed);
        Ok(())
    }

    /// Lets the lengths of sequences grow by the rows of a step that was submitted.
    pub(crate) fn advance(&self) -> Result<()> {
        if !self.reads.advances {
            return Ok(());
        }
        let (Some(step), Some(carry)) = (own(&self.bind.step, &self.budget)?.words(), self.carry()?) else {
            return Ok(());
        };
        let Some(mut carry) = carry.words() else { return Ok(()) };
        for seq in StepView::new(&step.words)?.seqs {
            if let Some(length) = carry.words.get_mut(word(LENGTH, seq.slot as usize)) {
                *length = length.saturating_add(seq.rows);
            }
        }
        Ok(())
    }

    /// Waits for a run and keeps its times, if they are recorded.
    pub(crate) fn keep_times(&self, device: &Device, run: &SubmissionIndex) -> Result<()> {
        self.times.as_ref().map_or(Ok(()), |times| times.add(device, run.clone()))
    }

    fn carry(&self) -> Result<Option<&Memory>> {
        let carry = self.reads.carry.and_then(|id| self.bind.states.get(id as usize));
        carry.map(|carry| own(carry, &self.budget)).transpose()
    }

    /// Submits the work of a run except for its last part, which is in the encoder that comes back.
    pub(crate) fn encode(&self, device: &Device) -> Result<CommandEncoder> {
        let begin = || device.wgpu.create_command_encoder(&CommandEncoderDescriptor::default());
        let mut encoder = begin();
        self.copies(&mut encoder, true)?;
        for (i, dispatches) in self.submissions.iter().enumerate() {
            if i > 0 {
                device.queue.submit([std::mem::replace(&mut encoder, begin()).finish()]);
            }
            let mut pass = encoder.begin_compute_pass(&ComputePassDescriptor::default());
            let note = |done: usize, pass: &mut _| {
                if let Some(times) = &self.times {
                    times.note(done, pass);
                }
            };
            if i == 0 {
                note(0, &mut pass);
            }
            for (j, dispatch) in self.dispatches[dispatches.clone()].iter().enumerate() {
                if j == 0 || !dispatch.same {
                    pass.set_pipeline(&dispatch.pipeline);
                }
                pass.set_bind_group(0, &dispatch.group, &[]);
                let [x, y, z] = dispatch.groups;
                pass.dispatch_workgroups(x, y, z);
                note(dispatches.start + j + 1, &mut pass);
            }
        }
        if let Some(times) = &self.times {
            times.resolve(&mut encoder);
        }
        self.copies(&mut encoder, false)?;
        Ok(encoder)
    }

    /// Copies arena and ports to the buffer of the program, or from it.
    fn copies(&self, encoder: &mut CommandEncoder, to: bool) -> Result<()> {
        let Some(copy) = &self.copy else { return Ok(()) };
        for (buffer, at) in &copy.parts {
            let memory = own(buffer, &self.budget)?;
            let bytes = memory.bytes.next_multiple_of(4);
            if to {
                encoder.copy_buffer_to_buffer(&memory.buffer, memory.offset, &copy.buffer, *at, bytes);
            } else {
                encoder.copy_buffer_to_buffer(&copy.buffer, *at, &memory.buffer, memory.offset, bytes);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_submission_ends_behind_the_step_with_which_it_has_enough_operations() {
        let of = |steps: &[(u64, usize)]| {
            let (mut submissions, mut count) = (Submissions::default(), 0);
            for (operations, dispatches) in steps {
                count += dispatches;
                submissions.step(*operations, count);
            }
            submissions.finish(count).into_iter().map(|range| (range.start, range.end)).collect::<Vec<_>>()
        };
        let half = SUBMISSION / 2;
        assert_eq!(of(&[]), [(0, 0)]);
        assert_eq!(of(&[(1, 2), (1, 3)]), [(0, 5)]);
        assert_eq!(of(&[(half, 1), (half, 2), (half, 1)]), [(0, 3), (3, 4)]);
        assert_eq!(of(&[(u64::MAX, 1), (u64::MAX, 1)]), [(0, 1), (1, 2)]);
    }
}
