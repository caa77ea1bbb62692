//! A custom engine: [`engine`] defines its capabilities, [`memory`] its buffers, [`kernels`] its table of kernels and
//! [`program`] a plan that it runs. Once it is registered, every model can be opened on it by name.

mod engine;
mod kernels;
mod memory;
mod program;
#[cfg(test)]
mod tests;

use engine::Plain;
use inkstone::{Model, ModelOptions, Options, engines};
use std::error::Error;
use std::sync::Arc;

fn main() -> Result<(), Box<dyn Error>> {
    engines::register(Plain::NAME, Arc::new(|options| Ok(Arc::new(Plain::new(options)))));
    let model = Model::embedded(&ModelOptions::default().engine(Plain::NAME).ctx(128))?;
    let reply = model.generate("Once upon a time", &Options::default().temperature(0.7).seed(1).max_tokens(40))?;
    println!("Once upon a time{}", reply.text);
    Ok(())
}
