//! The engine: its capabilities, its memory, its queues.

use crate::adapters;
use crate::call::{Entry, PLANES32};
use crate::device::Device;
use crate::faults::Faults;
use crate::kernels;
use crate::memory::Memory;
use crate::pipelines::Pipelines;
use crate::program::Maker;
use crate::queue::WgpuQueue;
use crate::self_check;
use crate::tables::Tables;
use crate::variant::{VARIANTS, Variant};
use crate::weights::Loading;
use inkstone_compute::{
    Bindings, Budget, Buffer, Caps, DeviceInfo, Engine, EngineOptions, Error, Exec, Executable, Layout, Plan, Queue,
    Registry, Result, Usage, WeightSlot, Weights,
};
use inkstone_tensor::sampling::ChainRef;
use inkstone_tensor::{Progress, WeightSource};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use wgpu::Adapter;

/// The engine for GPUs.
pub struct Wgpu {
    caps: Caps,
    registry: Registry,
    budget: Arc<Budget>,
    device: Arc<Device>,
    pipelines: Pipelines,
    tables: Tables,
    /// The result of the check of the device.
    check: String,
    /// The most bytes of a piece of a matrix.
    piece: u64,
}

impl Wgpu {
    /// Its name.
    pub const NAME: &'static str = "wgpu";

    /// Opens the engine on the device of the options, or on the best one.
    ///
    /// # Errors
    /// [`Error::NoDevice`] without an adapter, or if the driver refuses; [`Error::NoIsa`] if the options name an unknown
    /// variant; [`Error::KernelEntry`] if the entry of a custom kernel is not an [`Entry`].
    pub fn new(options: &EngineOptions) -> Result<Wgpu> {
        Wgpu::with_faults(options, Faults::default())
    }

    /// The same with faults that a test plants.
    ///
    /// # Errors
    /// Like [`Wgpu::new`].
    pub fn with_faults(options: &EngineOptions, faults: Faults) -> Result<Wgpu> {
        checked(options)?;
        let adapter = match options.auto {
            Some(weight_bytes) => adapters::automatic(weight_bytes)?,
            None => adapters::named(options.device.as_deref())?,
        };
        let mut refused = None;
        for variant in variants(&adapter, options.isa.as_deref())? {
            match Wgpu::on_adapter(&adapter, variant, options, faults.clone()) {
                Ok(engine) => return Ok(engine),
                Err(error) => refused = Some(error),
            }
        }
        Err(refused.unwrap_or_else(|| adapters::none("no variant of kernels runs on the device")))
    }

    fn on_adapter(adapter: &Adapter, variant: Variant, options: &EngineOptions, faults: Faults) -> Result<Wgpu> {
        let device = Device::open(adapter, variant, options, faults)?;
        let mut engine = Wgpu::on(device, options, adapters::told_memory(adapter));
        engine.caps.device = adapters::identity(adapter);
        let left_out = kernels::with_regions(&self_check::left_out(&engine)?);
        let options = left_out.iter().fold(options.clone(), |options, name| options.without_kernel(*name));
        engine.registry = registry(&options);
        kernels::serve_all_rows(&mut engine.registry.kernels, &left_out);
        engine.check = self_check::verdict(&left_out);
        if !left_out.is_empty() {
            engine.caps.device = format!("{}, without {}", engine.caps.device, left_out.join(", "));
        }
        Ok(engine)
    }

    /// The engine on a device that does nothing and gives zeros: for measurements of the host.
    ///
    /// # Errors
    /// The options, like [`Wgpu::new`].
    pub fn without_device(options: &EngineOptions) -> Result<Wgpu> {
        checked(options)?;
        Ok(Wgpu::on(Device::noop(), options, Some(u64::MAX)))
    }

    fn on(device: Device, options: &EngineOptions, told_memory: Option<u64>) -> Wgpu {
        let mut caps = Caps::made_up(Self::NAME);
        let asked = Some(options.budget).filter(|budget| *budget > 0);
        caps.memory = asked.or(told_memory).unwrap_or(adapters::UNKNOWN);
        caps.memory_known = asked.or(told_memory).is_some();
        caps.binding = adapters::binding(&device.limits);
        caps.features = Variant::ALL.into_iter().skip_while(|v| *v != device.variant).map(Variant::name).collect();
        caps.rows = vec![1, 8, 32, 128, 512];
        caps.logit_rows = vec![1, 8, 64];
        caps.ahead = 3;
        let (registry, budget) = (registry(options), Budget::new(Self::NAME, caps.memory));
        let (pipelines, tables, check) = Default::default();
        let piece = caps.binding;
        Wgpu { caps, registry, budget, device: Arc::new(device), pipelines, tables, check, piece }
    }

    /// The same engine, which stores matrices in pieces of at most so many bytes, as it does where bindings are small.
    #[must_use]
    pub fn pieces_of(self, bytes: u64) -> Wgpu {
        Wgpu { piece: bytes.min(self.caps.binding), ..self }
    }

    /// The device with its driver and the variant of kernels, if no test planted faults there.
    pub(crate) fn sound_device(&self) -> Option<String> {
        let (device, variant) = (&self.caps.device, self.device.variant.name());
        self.device.faults.are_none().then(|| format!("{device}, {variant}"))
    }

    /// Takes the device away, as a driver does that fails.
    pub fn destroy(&self) {
        self.device.wgpu.destroy();
    }

    /// The allocations of memory so far.
    pub fn allocations(&self) -> u64 {
        self.device.allocations.load(Ordering::Relaxed)
    }

    /// The number of shaders that were compiled.
    pub fn compiled(&self) -> usize {
        self.pipelines.len()
    }

    fn maker(&self) -> Maker<'_> {
        let Wgpu { device, pipelines, tables, registry, budget, .. } = self;
        Maker { device, pipelines, tables, registry, budget }
    }

    fn loading(&self) -> Loading<'_> {
        Loading { device: &self.device, budget: &self.budget, piece: self.piece }
    }
}

/// The variants for an adapter, the best first, or the named one.
fn variants(adapter: &Adapter, isa: Option<&str>) -> Result<Vec<Variant>> {
    let named = Variant::ALL.into_iter().filter(|variant| isa.is_none_or(|isa| isa == variant.name()));
    let variants: Vec<Variant> = named.filter(|variant| variant.fits(adapter)).collect();
    match isa {
        Some(isa) if variants.is_empty() => {
            Err(adapters::none(format!("{} has no subgroups, which the variant {isa} needs", adapter.get_info().name)))
        }
        _ => Ok(variants),
    }
}

/// That the engine has what the options name.
fn checked(options: &EngineOptions) -> Result<()> {
    let engine = || Wgpu::NAME.to_owned();
    if let Some(isa) = options.isa.clone().filter(|isa| !VARIANTS.contains(&isa.as_str())) {
        return Err(Error::NoIsa { engine: engine(), isa, known: VARIANTS.join(", ") });
    }
    match options.kernels.iter().find(|kernel| kernel.entry.downcast_ref::<Entry>().is_none()) {
        None => Ok(()),
        Some(kernel) => {
            Err(Error::KernelEntry { kernel: kernel.name.to_owned(), engine: engine(), expected: "an Entry" })
        }
    }
}

fn registry(options: &EngineOptions) -> Registry {
    options.apply(Wgpu::NAME, vec![PLANES32, Layout::FILE], kernels::table())
}

impl fmt::Debug for Wgpu {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{:?}", self.caps)
    }
}

impl Engine for Wgpu {
    fn caps(&self) -> &Caps {
        &self.caps
    }

    fn registry(&self) -> &Registry {
        &self.registry
    }

    fn alloc(&self, bytes: u64, usage: Usage) -> Result<Buffer> {
        let buffer = self.alloc_all(&[(bytes, usage)])?.pop();
        buffer.ok_or(Error::Foreign { what: "buffer", engine: Self::NAME.to_owned() })
    }

    fn alloc_all(&self, buffers: &[(u64, Usage)]) -> Result<Vec<Buffer>> {
        let memory = Memory::all(&self.device, &self.budget, buffers)?;
        Ok(memory.into_iter().zip(buffers).map(|(memory, (bytes, _))| Buffer::new(Arc::new(memory), *bytes)).collect())
    }

    fn weight_bytes(&self, weights: &[WeightSlot]) -> u64 {
        match self.loading().bytes(weights) {
            Ok(bytes) => bytes,
            Err(Error::NoMemory { .. }) => u64::MAX,
            // `load` gives the error.
            Err(_) => 0,
        }
    }

    fn warm(&self, plans: &[&Plan], progress: &dyn Progress) -> Result<()> {
        let Some(first) = plans.first() else { return Ok(()) };
        let outline = self.loading().outline(&first.interface.weights)?;
        self.pipelines.warm(&self.device, self.maker().shaders(plans, &outline)?, progress)?;
        if self.device.is_noop { Ok(()) } else { self_check::of_plans(self, plans) }
    }

    fn load(&self, source: &dyn WeightSource, weights: &[WeightSlot], progress: &dyn Progress) -> Result<Weights> {
        self.loading().load(source, weights, progress)
    }

    fn prepare(&self, plan: Arc<Plan>, bind: Bindings, exec: Exec) -> Result<Arc<dyn Executable>> {
        if !self.caps.exec.contains(&exec) {
            let known = self.caps.exec.iter().map(|e| format!("{e:?}").to_lowercase()).collect::<Vec<_>>().join(", ");
            let (engine, exec) = (Self::NAME.to_owned(), format!("{exec:?}").to_lowercase());
            return Err(Error::NoExecutor { engine, exec, known });
        }
        Ok(Arc::new(self.maker().program(plan, bind)?))
    }

    fn queue(&self) -> Result<Box<dyn Queue>> {
        Ok(Box::new(WgpuQueue::new(self.device.clone(), self.budget.clone())))
    }

    fn devices(&self) -> Vec<DeviceInfo> {
        let adapters = adapters::all().unwrap_or_default();
        let describe = |adapter: &Adapter| {
            let own = self.caps.device.starts_with(&adapters::identity(adapter));
            let mut device = adapters::describe(adapter, &self.caps);
            device.self_check = own.then(|| self.check.clone());
            device
        };
        adapters.iter().map(describe).collect()
    }

    fn draws(&self, chain: ChainRef) -> bool {
        kernels::sample::draws(chain)
    }
}
