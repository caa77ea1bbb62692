//! Between graphs and devices: plans as plain data, kernels as data in a registry, and [`Engine`], which runs plans.
//!
//! A [`Plan`] is a list of steps over ranges of bytes. Each step carries its op, which is its meaning, and the name of a
//! kernel, which is a choice; [`Plan::check`] verifies one before code runs on it, and a [`TileProgram`] derives from it
//! which tiles wait for which. [`Reference`] runs any plan by the definitions of its ops. [`conformance`] checks the
//! kernels of any engine against these definitions.
//!
//! ```
//! use inkstone_compute::{Engine, EngineOptions, Engines, conformance};
//!
//! let options = EngineOptions::default().budget(1 << 28);
//! let engine = Engines::reference().open("reference", &options)?;
//! assert_eq!(engine.caps().rows, [1, 8, 512]);
//!
//! let report = conformance::run(engine.as_ref());
//! assert!(report.passed(), "{report}");
//! # Ok::<(), inkstone_compute::Error>(())
//! ```

mod backs;
mod budget;
mod check;
pub mod conformance;
mod device;
mod engine;
mod engines;
mod error;
mod gauge;
mod indices;
mod kernel;
mod pass_on;
mod plan;
mod platform;
mod queue;
mod reference;
mod tiles;
mod weight;

/// For [`pass_on!`].
#[doc(hidden)]
pub use inkstone_tensor as tensor;

pub use backs::Backs;
pub use budget::{Budget, Charge, WEIGHTS};
pub use check::ARENA_ALIGN;
pub use device::DeviceInfo;
pub use engine::{Bindings, Buffer, Caps, Engine, Exec, Executable, Usage, Weights};
pub use engines::{Engines, Factory};
pub use error::{Error, Result};
pub use gauge::{Gauge, median_read};
pub use indices::check_indices;
pub use kernel::{
    Accuracy, Choice, EngineOptions, Kernel, Layout, Numerics, Pattern, Query, Registry, Shape, Tiling, Work,
};
pub use plan::{Arg, Cut, Grid, Interface, Plan, Port, Region, StateSlot, Step, WeightSlot, What};
pub use platform::{available_memory, huge_pages, peak_memory};
pub use queue::{Back, KEPT, Queue, Ticket};
pub use reference::{Reference, ReferenceKernel};
pub use tiles::{Phase, TileProgram};
