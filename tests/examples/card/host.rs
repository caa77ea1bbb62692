//! The time of the host for a token, on a device that does nothing.

use crate::{Options, figure};
use inkstone::compute::EngineOptions;
use inkstone::{Model, engines};
use inkstone_engine_wgpu::Wgpu;
use serde_json::json;
use std::sync::Arc;
use std::time::Instant;

const NAME: &str = "wgpu without device";

pub fn host(options: &Options) -> Result<(), String> {
    let factory = |options: &EngineOptions| Ok(Arc::new(Wgpu::without_device(options)?) as _);
    engines::register(NAME, Arc::new(factory));
    let (file, model) = options.model()?;
    let (first, last) = if options.tiny { (10, 60) } else { (100, 600) };
    let model = model.engine(NAME).ctx(1024).budget(64 << 30);
    let model = Model::open_with(file, &model).map_err(|error| error.to_string())?;
    let greedy = inkstone::Options::default().temperature(0.0).max_tokens(last + 100).ignore_end(true);
    let mut stream = model.stream("Once upon a time", &greedy).map_err(|error| error.to_string())?;
    let mut take = |tokens: u64| -> Result<(), String> {
        while (stream.ids().len() as u64) < tokens {
            stream.next().ok_or("the text ended")?.map_err(|error| error.to_string())?;
        }
        Ok(())
    };
    take(first)?;
    let begun = Instant::now();
    take(last)?;
    let each = begun.elapsed().as_secs_f64() / (last - first) as f64;
    figure("host.token", each * 1e6, "us", json!({ "isa": options.isa, "tokens": last - first }));
    Ok(())
}
