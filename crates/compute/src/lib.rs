//! Between graphs and devices: plans as plain data, kernels as data in a registry, and [`Engine`], which runs plans.

mod engine;
mod error;
mod kernel;
mod plan;

pub use engine::{Bindings, Buffer, Caps, Engine, Exec, Executable, Queue, Ticket, Usage, Weights};
pub use error::{Error, Result};
pub use kernel::{Choice, EngineOptions, Kernel, Layout, Numerics, Pattern, Query, Registry, Tiling};
pub use plan::{Arg, Cut, Grid, Interface, Plan, Port, Region, StateSlot, Step, WeightSlot};
