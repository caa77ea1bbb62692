//! The traits of engines, which are object-safe. Everything that a captured graph or a bind group fixes (plan and
//! buffers) is passed to `prepare`; values that change from step to step are written to the step buffer.

use crate::device::DeviceInfo;
use crate::gauge::{Gauge, median_read};
use crate::kernel::Registry;
use crate::plan::{Plan, Port, Region, WeightSlot};
use crate::queue::Queue;
use crate::{Error, Result};
use inkstone_tensor::sampling::ChainRef;
use inkstone_tensor::{Progress, WeightSource};
use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// How a plan is executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Exec {
    /// Step by step.
    Steps,
    /// As one captured graph.
    Graph,
    /// As one kernel that walks the tiles.
    Mega,
}

/// The capabilities of a device.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Caps {
    /// Name of the device.
    pub name: String,
    /// The device and its driver, if results depend on them: states that were saved on another one are not used.
    pub device: String,
    /// Bytes of memory for weights and buffers.
    pub memory: u64,
    /// Whether the device or the options tell the memory; if not, it is assumed.
    pub memory_known: bool,
    /// The most bytes of a buffer that a kernel can reach; [`u64::MAX`] if there is no such limit.
    pub binding: u64,
    /// Features that kernels may need: instruction sets, extensions.
    pub features: Vec<&'static str>,
    /// Threads of the host that compute.
    pub threads: usize,
    /// Buckets of rows, ascending: plans are made for these.
    pub rows: Vec<usize>,
    /// Buckets of logit rows, ascending.
    pub logit_rows: Vec<usize>,
    /// Executors, best first.
    pub exec: Vec<Exec>,
    /// Steps that a loop keeps submitted before it reads the results of the first one, 1 to [`KEPT`](crate::KEPT). With
    /// 1 the host composes a step when the device has finished the previous one.
    pub ahead: usize,
}

impl Caps {
    /// Capabilities of a device that is described, not present: for snapshots and tests.
    pub fn made_up(name: &str) -> Caps {
        Caps {
            name: name.to_owned(),
            device: String::new(),
            memory: 1 << 34,
            memory_known: true,
            binding: u64::MAX,
            features: Vec::new(),
            threads: 1,
            rows: vec![1, 8, 512],
            logit_rows: vec![1, 8, 64],
            exec: vec![Exec::Steps],
            ahead: 1,
        }
    }
}

/// The purpose of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Usage {
    /// A cache or the carry.
    State,
    /// Values between steps of a plan.
    Arena,
    /// Values between plans.
    Port,
    /// The step buffer.
    Step,
}

impl Usage {
    /// In messages.
    pub fn name(self) -> &'static str {
        match self {
            Usage::State => "a state",
            Usage::Arena => "the arena",
            Usage::Port => "a port",
            Usage::Step => "the step buffer",
        }
    }
}

/// A device.
pub trait Engine: Send + Sync {
    /// Its capabilities.
    fn caps(&self) -> &Caps;

    /// The kernels it has.
    fn registry(&self) -> &Registry;

    /// Zeroed memory.
    ///
    /// # Errors
    /// [`Error::Budget`] or [`Error::NoMemory`] with the numbers.
    fn alloc(&self, bytes: u64, usage: Usage) -> Result<Buffer>;

    /// Several buffers at once, in this order. A device may make one buffer of them; plans whose arena and ports come from one
    /// call can be faster there.
    ///
    /// # Errors
    /// Like [`Engine::alloc`].
    fn alloc_all(&self, buffers: &[(u64, Usage)]) -> Result<Vec<Buffer>> {
        buffers.iter().map(|(bytes, usage)| self.alloc(*bytes, *usage)).collect()
    }

    /// The bytes of memory that weights take once they are loaded. By default, weights are stored as in the file.
    fn weight_bytes(&self, weights: &[WeightSlot]) -> u64 {
        weights.iter().map(|w| w.ty.bytes(&Default::default())).fold(0, u64::saturating_add)
    }

    /// Prepares the kernels of all plans of a model, so that nothing is compiled while text is generated. It is called
    /// once, before the weights are loaded. By default, there is nothing to do.
    ///
    /// # Errors
    /// A kernel that the device refuses; cancellation.
    fn warm(&self, _plans: &[&Plan], _progress: &dyn Progress) -> Result<()> {
        Ok(())
    }

    /// Loads weights, each once, in the layout that its slot gives it.
    ///
    /// # Errors
    /// A tensor that is missing, of another type or unreadable; memory; cancellation.
    fn load(&self, source: &dyn WeightSource, weights: &[WeightSlot], progress: &dyn Progress) -> Result<Weights>;

    /// Binds a plan to its buffers and makes it ready to run. Plans are checked here, because anyone can make one.
    ///
    /// # Errors
    /// [`Error::BadPlan`], [`Error::Unbound`], a kernel or executor that is not there.
    fn prepare(&self, plan: Arc<Plan>, bind: Bindings, exec: Exec) -> Result<Arc<dyn Executable>>;

    /// A queue of work.
    ///
    /// # Errors
    /// If the device gives none.
    fn queue(&self) -> Result<Box<dyn Queue>>;

    /// Whether its kernels draw by this chain. Of a chain that they don't draw by, the logits come back, and the host draws by
    /// the definition. A kernel that can decide most draws of a chain, but not all, draws, and answers the others with
    /// [`Record::Host`](inkstone_tensor::step::record::Record::Host).
    fn draws(&self, _chain: ChainRef) -> bool {
        true
    }

    /// The devices that it could be opened on, in the order of their numbers.
    fn devices(&self) -> Vec<DeviceInfo> {
        vec![DeviceInfo::of(self.caps(), "cpu")]
    }

    /// A gauge that measures the machine with this number of threads. `None` if the engine does not support it or the
    /// memory can't be allocated.
    fn gauge(&self, _threads: usize) -> Option<Box<dyn Gauge>> {
        None
    }

    /// The current read rate of this number of threads in bytes per second. The measurement takes a fraction of a
    /// second. `None` if the engine does not support it or the memory can't be allocated.
    fn read_bandwidth(&self, threads: usize) -> Option<f64> {
        median_read(&mut *self.gauge(threads)?)
    }
}

/// A plan with its buffers bound. Engines downcast their own.
pub trait Executable: Any + Send + Sync {
    /// The plan.
    fn plan(&self) -> &Plan;

    /// Of each step the time from the start of its first tile to the end of its last one, summed over all runs. `None`
    /// without [`EngineOptions::profile`](crate::EngineOptions), and from an engine that does not record it.
    fn times(&self) -> Option<Vec<Duration>> {
        None
    }
}

/// A handle to an engine's memory; cheap to clone.
#[derive(Clone)]
pub struct Buffer {
    memory: Arc<dyn Any + Send + Sync>,
    bytes: u64,
}

impl Buffer {
    /// Wraps an engine's own kind of memory.
    pub fn new(memory: Arc<dyn Any + Send + Sync>, bytes: u64) -> Buffer {
        Buffer { memory, bytes }
    }
    /// Its size.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
    /// Whether two handles are of one memory.
    pub fn is(&self, other: &Buffer) -> bool {
        Arc::ptr_eq(&self.memory, &other.memory)
    }
    /// The engine's own kind of memory.
    ///
    /// # Errors
    /// [`Error::Foreign`] if it is another engine's.
    pub fn get<T: Any>(&self, engine: &str) -> Result<&T> {
        self.memory.downcast_ref().ok_or_else(|| Error::Foreign { what: "buffer", engine: engine.to_owned() })
    }
    /// Checks that `offset..offset + len` is inside the buffer.
    ///
    /// # Errors
    /// [`Error::OutOfBuffer`] if not.
    pub fn check(&self, offset: u64, len: usize) -> Result<()> {
        let end = offset.saturating_add(len as u64);
        if end <= self.bytes { Ok(()) } else { Err(Error::OutOfBuffer { offset, end, bytes: self.bytes }) }
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "Buffer({} bytes)", self.bytes)
    }
}

/// A handle to loaded weights; cheap to clone.
#[derive(Clone)]
pub struct Weights {
    loaded: Arc<dyn Any + Send + Sync>,
    /// Bytes that they take beyond the source's own.
    pub bytes: u64,
    /// Bytes that are kept in memory where the source has them, and bytes that are read from there again and again,
    /// because memory does not hold all.
    pub locked: u64,
    /// See [`Weights::locked`].
    pub streamed: u64,
}

impl Weights {
    /// Wraps an engine's own kind of weights.
    pub fn new(loaded: Arc<dyn Any + Send + Sync>, bytes: u64) -> Weights {
        Weights { loaded, bytes, locked: 0, streamed: 0 }
    }
    /// The same, some of which stay in a mapped file that memory does not hold.
    #[must_use]
    pub fn in_file(self, locked: u64, streamed: u64) -> Weights {
        Weights { locked, streamed, ..self }
    }
    /// The engine's own kind of weights.
    ///
    /// # Errors
    /// [`Error::Foreign`] if they are another engine's.
    pub fn get<T: Any>(&self, engine: &str) -> Result<&T> {
        self.loaded.downcast_ref().ok_or_else(|| Error::Foreign { what: "weights", engine: engine.to_owned() })
    }
}

/// The buffers of a plan.
#[derive(Clone)]
pub struct Bindings {
    /// All weights of the interface.
    pub weights: Weights,
    /// By id.
    pub states: Arc<[Buffer]>,
    /// The ports.
    pub ports: Arc<[(Port, Buffer)]>,
    /// Shared by the plans of a queue.
    pub arena: Buffer,
    /// The step buffer.
    pub step: Buffer,
}

impl Bindings {
    /// The buffer of a region other than a weight.
    pub fn buffer(&self, region: Region) -> Option<&Buffer> {
        match region {
            Region::Arena => Some(&self.arena),
            Region::Weight(_) => None,
            Region::State(i) => self.states.get(i as usize),
            Region::Port(port) => self.ports.iter().find(|(p, _)| *p == port).map(|(_, b)| b),
        }
    }
}
