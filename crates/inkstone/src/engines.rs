//! The engines by name: those of this build, and those that a program adds.

use crate::Result;
use inkstone_compute::{Engine, EngineOptions, Engines, Factory, Reference};
use inkstone_engine_cpu::Cpu;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

static ENGINES: LazyLock<Mutex<Engines>> = LazyLock::new(|| Mutex::new(of_this_build()));

/// What `auto` tries first is registered last.
fn of_this_build() -> Engines {
    let mut engines = Engines::default();
    engines.register(Reference::NAME, Arc::new(|options| Ok(Arc::new(Reference::new(options)?))));
    engines.register(Cpu::NAME, Arc::new(|options| Ok(Arc::new(Cpu::new(options)?))));
    engines
}

fn engines() -> MutexGuard<'static, Engines> {
    ENGINES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes an engine from outside known under a name; one of the same name is replaced, and `auto` tries it first.
pub fn register(name: impl Into<String>, factory: Factory) {
    engines().register(name, factory);
}

/// The names of all engines, in the order that `auto` tries them.
///
/// ```
/// assert_eq!(inkstone::engines::names(), ["cpu", "reference"]);
/// ```
pub fn names() -> Vec<String> {
    engines().names().map(str::to_owned).collect()
}

/// The engine of this name; `auto` is the first of [`names`] that opens on this machine.
///
/// # Errors
/// No engine of that name, or what the engine says.
pub fn open(name: &str, options: &EngineOptions) -> Result<Arc<dyn Engine>> {
    let engines = engines().clone();
    Ok(engines.open(name, options)?)
}
