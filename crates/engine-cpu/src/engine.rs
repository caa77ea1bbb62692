//! The engine: its capabilities, its memory, its queues.

use crate::gauge::CpuGauge;
#[cfg(target_arch = "x86_64")]
use crate::isa::{Avx512Bf16, Isa};
use crate::isa::{BF16_PAIRS, Set};
use crate::kernels;
use crate::lines::LINES4;
use crate::memory::{Memory, own};
use crate::panel::PANEL16;
use crate::phase::Code;
use crate::pool::{Device, Pool};
use crate::program::Program;
use crate::scratch::Need;
use crate::weights::Loading;
use inkstone_compute::{
    Accuracy, Back, Bindings, Budget, Buffer, Caps, Engine, EngineOptions, Error, Exec, Executable, Gauge, Layout,
    Plan, Queue, Registry, Result, Ticket, Usage, WeightSlot, Weights, available_memory,
};
use inkstone_tensor::{Progress, WeightSource};
use std::fmt;
use std::sync::Arc;
use std::thread::available_parallelism;

/// The engine for CPUs.
pub struct Cpu {
    caps: Caps,
    registry: Registry,
    budget: Arc<Budget>,
    in_place: bool,
    pool: Pool,
    /// Whether programs record times.
    profile: bool,
}

impl Cpu {
    /// Its name.
    pub const NAME: &'static str = "cpu";

    /// The engine on this machine, with the instruction set of the options, or else with all that the machine has.
    ///
    /// # Errors
    /// [`Error::NoIsa`] if the machine lacks the instruction set; [`Error::KernelEntry`] if the entry of a custom
    /// kernel is not an [`Entry`](crate::Entry) or a [`Phased`](crate::Phased).
    pub fn new(options: &EngineOptions) -> Result<Cpu> {
        let sets = sets(options.isa.as_deref())?;
        options.kernels.iter().try_for_each(|kernel| Code::of(kernel).map(drop))?;
        let mut caps = Caps::made_up(Self::NAME);
        caps.memory = if options.budget > 0 { options.budget } else { available_memory() };
        caps.features = sets.iter().map(|s| s.name()).collect();
        let pairs = options.numerics == Accuracy::Fast && has_pairs(&sets);
        caps.features.extend(pairs.then_some(BF16_PAIRS));
        let threads =
            if options.threads > 0 { options.threads } else { available_parallelism().map_or(1, usize::from) };
        let layouts = if options.in_place { vec![Layout::FILE] } else { vec![PANEL16, LINES4, Layout::FILE] };
        let registry = options.apply(Self::NAME, layouts, kernels::table(&sets, pairs));
        let budget = Budget::new(Cpu::NAME, caps.memory);
        let pool = Pool::new(threads, &budget);
        caps.threads = pool.threads();
        Ok(Cpu { budget, caps, registry, in_place: options.in_place, pool, profile: options.profile })
    }

    fn loading(&self) -> Loading<'_> {
        Loading { budget: &self.budget, threads: self.pool.threads(), in_place: self.in_place }
    }
}

/// Whether products of pairs of BF16 may be used with these sets.
fn has_pairs(sets: &[Set]) -> bool {
    #[cfg(target_arch = "x86_64")]
    return sets.contains(&Set::Avx512) && Avx512Bf16::detect().is_some();
    #[cfg(not(target_arch = "x86_64"))]
    return false;
}

/// The instruction set of this name, or else all; of those that the machine has, best first.
fn sets(name: Option<&str>) -> Result<Vec<Set>> {
    let mut here: Vec<Set> = Set::ALL.into_iter().filter(|s| s.is_here()).collect();
    let Some(isa) = name else { return Ok(here) };
    let known = here.iter().map(|s| s.name()).collect::<Vec<_>>().join(", ");
    here.retain(|s| s.name() == isa);
    if here.is_empty() {
        return Err(Error::NoIsa { engine: Cpu::NAME.to_owned(), isa: isa.to_owned(), known });
    }
    Ok(here)
}

impl fmt::Debug for Cpu {
    /// Prints the running steps and their waits.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{} threads, {:?}", self.pool.threads(), self.pool.device)
    }
}

impl Engine for Cpu {
    fn caps(&self) -> &Caps {
        &self.caps
    }

    fn registry(&self) -> &Registry {
        &self.registry
    }

    fn alloc(&self, bytes: u64, usage: Usage) -> Result<Buffer> {
        Ok(Buffer::new(Arc::new(Memory::new(&self.budget, bytes, usage.name())?), bytes))
    }

    fn load(&self, source: &dyn WeightSource, weights: &[WeightSlot], progress: &dyn Progress) -> Result<Weights> {
        self.loading().load(source, weights, progress)
    }

    fn weight_bytes(&self, weights: &[WeightSlot]) -> u64 {
        self.loading().bytes(weights)
    }

    fn prepare(&self, plan: Arc<Plan>, bind: Bindings, exec: Exec) -> Result<Arc<dyn Executable>> {
        if !self.caps.exec.contains(&exec) {
            let known = self.caps.exec.iter().map(|e| format!("{e:?}").to_lowercase()).collect::<Vec<_>>().join(", ");
            let (engine, exec) = (Self::NAME.to_owned(), format!("{exec:?}").to_lowercase());
            return Err(Error::NoExecutor { engine, exec, known });
        }
        let program = Program::new(plan, bind, &self.registry, &self.caps, &self.pool.device)?;
        self.pool.device.reserve(&Need::of(program.plan()))?;
        Ok(Arc::new(if self.profile { program.timed() } else { program }))
    }

    fn gauge(&self, threads: usize) -> Option<Box<dyn Gauge>> {
        let best = Set::ALL.into_iter().find(|s| self.caps.features.contains(&s.name()))?;
        Some(Box::new(CpuGauge::new(threads, best)?))
    }

    fn queue(&self) -> Result<Box<dyn Queue>> {
        let device = self.pool.device.clone();
        Ok(Box::new(CpuQueue { number: device.open(), device }))
    }
}

/// All queues of an engine are one line: plans share arenas and states.
struct CpuQueue {
    device: Arc<Device>,
    /// Which queue of the device.
    number: u64,
}

impl Queue for CpuQueue {
    fn submit(&mut self, executable: &Arc<dyn Executable>, back: &[Back]) -> Result<Ticket> {
        self.device.submit(self.number, executable, back)
    }

    fn fetch(&mut self, ticket: Ticket, range: usize, into: &mut [u8]) -> Result<()> {
        self.device.fetch(self.number, ticket, range, into)
    }

    fn write(&mut self, dst: &Buffer, offset: u64, bytes: &[u8]) -> Result<()> {
        dst.check(offset, bytes.len())?;
        let memory = own(dst, self.device.budget())?;
        self.device.write(memory, offset as usize, bytes)
    }

    fn read(&mut self, src: &Buffer, offset: u64, into: &mut [u8]) -> Result<()> {
        src.check(offset, into.len())?;
        let memory = own(src, self.device.budget())?;
        self.device.read(memory, offset as usize, into)
    }

    fn wait(&mut self, ticket: Ticket) -> Result<()> {
        self.device.wait(ticket)
    }
}

impl Drop for CpuQueue {
    fn drop(&mut self) {
        self.device.close(self.number);
    }
}
