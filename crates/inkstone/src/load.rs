//! Loads a model into an engine: the named one, or with `auto` the first one that runs the model.

use crate::{Error, ModelOptions, Result, context, engines};
use inkstone_compute::{Caps, EngineOptions, Engines, Factory};
use inkstone_generate::{Loaded, RunConfig, Unloaded};
use inkstone_gguf::Metadata;
use inkstone_model::ModelGraph;
use inkstone_tensor::{ErrorKind, Progress};
use std::sync::Arc;

/// The model in its engine, and notes for the user.
pub(crate) fn load(
    graph: &Arc<ModelGraph>,
    metadata: &Metadata,
    options: &ModelOptions,
    progress: &dyn Progress,
) -> Result<(Loaded, Vec<String>)> {
    let mut config = RunConfig::new(0).recommended(metadata)?;
    (config.sequences, config.queue, config.chunk) = (options.sequences, options.queue, options.chunk);
    (config.page, config.prefix, config.defaults) = (options.kv_page, options.prefix, options.defaults);
    config.without_fusions.clone_from(&options.without_fusions);
    (config.checkpoints, config.cache_bytes) = (options.ctx_checkpoints, options.kv_memory.unwrap_or(0));

    let auto = options.engine == Engines::AUTO;
    let engine_options = engine_options(options);
    let engine_options = if auto { engine_options.auto(graph.weight_bytes()) } else { engine_options };
    let (mut refusals, mut notes) = (Vec::new(), Vec::new());
    for (name, factory) in engines::named(&options.engine)? {
        let attempt = Attempt { graph, options, config: config.clone(), progress };
        match attempt.load(&factory, &engine_options) {
            Ok((loaded, more)) => {
                notes.extend(more);
                return Ok((loaded, notes));
            }
            Err(Refusal { error, .. }) if !auto || error.kind() == ErrorKind::Cancelled => {
                return Err(error);
            }
            Err(Refusal { error, opened }) => {
                // An engine whose device is absent is not worth a note, and no reason if another one opens.
                notes.extend(opened.then(|| format!("engine {name} does not run this model: {error}")));
                refusals.push((opened, (name, error)));
            }
        }
    }
    let any_opened = refusals.iter().any(|(opened, _)| *opened);
    let told = refusals.into_iter().filter(|(opened, _)| *opened || !any_opened);
    Err(refused(told.map(|(_, refusal)| refusal).collect()))
}

/// The error of engines that all refuse a model.
fn refused(mut refusals: Vec<(String, Error)>) -> Error {
    match refusals.pop() {
        Some((_, only)) if refusals.is_empty() => only,
        last => Error::Refused { engines: refusals.into_iter().chain(last).collect() },
    }
}

/// The reason why an engine does not run a model, and whether it opened.
struct Refusal {
    error: Error,
    opened: bool,
}

/// A model that is to be loaded into some engine.
struct Attempt<'a> {
    graph: &'a Arc<ModelGraph>,
    options: &'a ModelOptions,
    config: RunConfig,
    progress: &'a dyn Progress,
}

impl Attempt<'_> {
    fn load(mut self, factory: &Factory, options: &EngineOptions) -> Result<(Loaded, Vec<String>), Refusal> {
        let engine = factory(options).map_err(|error| Refusal { error: error.into(), opened: false })?;
        let assumed = assumed_memory(engine.caps());
        let opened = |error: Error| Refusal { error, opened: true };
        let compiled = Unloaded::new(self.graph.clone(), engine, &self.config.without_fusions);
        let compiled = compiled.map_err(|error| opened(error.into()))?;
        let needs = compiled.needs(self.config.page, self.config.sequences);
        let chosen = context::choose(self.graph, self.options, &needs).map_err(opened)?;
        (self.config.context, self.config.cache) = (chosen.tokens, chosen.cache);
        let loaded = compiled.load(self.config, self.progress).map_err(|error| opened(error.into()))?;
        Ok((loaded, assumed.into_iter().chain(chosen.notes).collect()))
    }
}

/// A note about memory that is only assumed.
fn assumed_memory(caps: &Caps) -> Option<String> {
    let Caps { name, memory, memory_known, .. } = caps;
    let assumed = || {
        format!(
            "engine {name} can't ask its device for its memory; {memory} bytes are assumed, \
                              and the option budget sets it"
        )
    };
    (!memory_known).then(assumed)
}

/// The options of the engine.
fn engine_options(options: &ModelOptions) -> EngineOptions {
    let engine = EngineOptions::default().threads(options.threads).in_place(options.mmap).profile(options.profile);
    let engine = engine.numerics(options.numerics).budget(options.budget);
    let engine = options.isa.iter().fold(engine, |engine, isa| engine.isa(isa));
    options.device.iter().fold(engine, |engine, device| engine.device(device))
}
