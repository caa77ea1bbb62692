//! The engines by name: the engines of this build, and engines that a program registers.

use crate::Result;
use inkstone_compute::{DeviceInfo, Engine, EngineOptions, Engines, Factory, Reference};
use inkstone_engine_cpu::Cpu;
#[cfg(feature = "wgpu")]
use inkstone_engine_wgpu::Wgpu;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

static ENGINES: LazyLock<Mutex<Engines>> = LazyLock::new(|| Mutex::new(of_this_build()));

/// The engines of this build. `auto` tries the last registered engine first, and never `reference`.
fn of_this_build() -> Engines {
    let mut engines = Engines::default();
    engines.register(Reference::NAME, Arc::new(|options| Ok(Arc::new(Reference::new(options)?))));
    engines.register(Cpu::NAME, Arc::new(|options| Ok(Arc::new(Cpu::new(options)?))));
    #[cfg(feature = "wgpu")]
    engines.register(Wgpu::NAME, Arc::new(|options| Ok(Arc::new(Wgpu::new(options)?))));
    engines
}

fn engines() -> MutexGuard<'static, Engines> {
    ENGINES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Registers a custom engine under a name. It replaces an engine with the same name, and `auto` tries it first.
pub fn register(name: impl Into<String>, factory: Factory) {
    engines().register(name, factory);
}

/// The names of all engines, in the order that `auto` tries them; it never tries `reference`.
///
/// ```
/// let names = inkstone::engines::names();
/// assert!(names.iter().any(|name| name == "cpu"));
/// assert_eq!(names.last().map(String::as_str), Some("reference"));
/// ```
pub fn names() -> Vec<String> {
    engines().names().map(str::to_owned).collect()
}

/// The engines that a name stands for, best first.
pub(crate) fn named(name: &str) -> Result<Vec<(String, Factory)>> {
    let engines = engines().clone();
    Ok(engines.named(name)?.into_iter().map(|(name, factory)| (name.to_owned(), factory.clone())).collect())
}

/// An engine of this build, and whether it can be used here.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct EngineInfo {
    /// Its name.
    pub name: String,
    /// Whether it opens.
    pub available: bool,
    /// Why it does not open.
    pub reason: Option<String>,
    /// Its devices, in the order of their numbers.
    pub devices: Vec<DeviceInfo>,
}

/// Opens each engine by its name, and describes it and its devices.
///
/// ```
/// let engines = inkstone::engines::describe();
/// assert!(engines.iter().any(|engine| engine.name == "cpu" && engine.available));
/// ```
pub fn describe() -> Vec<EngineInfo> {
    let info = |name: String| match open(&name, &EngineOptions::default()) {
        Ok(engine) => EngineInfo { name, available: true, reason: None, devices: engine.devices() },
        Err(error) => EngineInfo { name, available: false, reason: Some(error.to_string()), devices: Vec::new() },
    };
    names().into_iter().map(info).collect()
}

/// Opens the engine with this name; `auto` opens the first of [`names`] that works on this machine, but not `reference`.
///
/// # Errors
/// The name is unknown, or the engine can't be opened.
pub fn open(name: &str, options: &EngineOptions) -> Result<Arc<dyn Engine>> {
    let engines = engines().clone();
    Ok(engines.open(name, options)?)
}
