//! The engine for CPUs. Kernels are written once over 16 lanes and compiled for each instruction set; tiles of a plan
//! are claimed by threads that wait for counters, not for barriers. The result has the same bits on every instruction
//! set, with any number of threads, in any batch.
//!
//! ```
//! use inkstone_compute::{Engine, EngineOptions};
//! use inkstone_engine_cpu::Cpu;
//!
//! let engine = Cpu::new(&EngineOptions::default().threads(2))?;
//! assert!(engine.caps().features.contains(&"portable"));
//! # Ok::<(), inkstone_compute::Error>(())
//! ```

mod bandwidth;
mod counters;
mod engine;
mod gauge;
mod isa;
mod kernels;
mod lines;
pub mod math;
mod memory;
mod pages;
mod panel;
mod peak;
mod phase;
mod pool;
mod program;
mod scratch;
mod stream;
mod tile;
mod times;
mod together;
mod verify;
mod wait;
mod weights;

pub use engine::Cpu;
#[doc(hidden)]
pub use isa::set_streams;
pub use isa::{FloatMode, Set};
pub use kernels::{BF16, F32, Q8, Q8_WHOLE};
pub use lines::LINES4;
pub use memory::{View, ViewMut};
pub use panel::PANEL16;
pub use phase::{FirstTile, Phased, Section, Sections};
pub use scratch::Scratch;
pub use tile::{Entry, Tile};

/// The `opt-level` that this crate was compiled with: `0` to `3`, `s` or `z`. Below `2` the kernels are many times slower.
pub const OPT_LEVEL: &str = env!("INKSTONE_OPT_LEVEL");
