//! An op of one's own in three files: [`soft_cap`] is the op, [`kernel`] computes it on the CPU engine, [`model`] has it
//! in a graph. This one tells a story with capped logits, `cargo run -- MODEL.gguf` with a Llama's.

mod kernel;
mod model;
mod soft_cap;
#[cfg(test)]
mod tests;

use inkstone::Options;
use inkstone::compute::EngineOptions;
use inkstone_engine_cpu::Cpu;
use soft_cap::SoftCap;
use std::error::Error;
use std::sync::Arc;

/// The model that ships with Inkstone.
const STORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../crates/inkstone/assets/story-5m-q8_0.gguf");

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).unwrap_or_else(|| STORY.to_owned());
    let cpu = Cpu::new(&EngineOptions::default().with_kernel(kernel::kernel()))?;
    let model = model::generator(&path, Arc::new(cpu), Some(SoftCap { cap: 20.0 }))?;
    let reply = model.generate("Once upon a time", &Options::default().temperature(0.7).seed(1).max_tokens(40))?;
    println!("Once upon a time{}", reply.text);
    Ok(())
}
