//! Plans and products on the engine.

mod bad_plans;
mod equal_bits;
mod float_mode;
mod float_products;
mod options;
mod phases;
mod products;
mod regions;
#[path = "../rig/mod.rs"]
mod rig;
mod side_by_side;
mod tiles;
