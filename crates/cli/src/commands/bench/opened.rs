//! A model that is open for measurements, with its load time and a meter of the machine.

use super::FIRST_PROMPT;
use crate::args::ModelSource;
use crate::commands::open;
use crate::signals::Signals;
use crate::{Error, terminal};
use inkstone::bench::{Bench, Meter};
use inkstone::compute::peak_memory;
use inkstone::{Model, ModelOptions};
use std::path::Path;
use std::time::{Duration, Instant};

/// A model with measurements of it and its machine.
pub(super) struct Opened {
    /// The stem of its file, or its listed name.
    pub name: String,
    pub model: Model,
    /// The largest number of tokens of a sequence.
    pub tokens: usize,
    /// The time to load the model.
    pub load: Duration,
    /// The time from the loaded model to the first token after a prompt.
    pub first_token: Duration,
    /// The peak memory in bytes, without the memory of the meter.
    pub peak: Option<u64>,
    pub meter: Option<Meter>,
}

impl Opened {
    pub(super) fn new(named: &Path, options: ModelOptions, tokens: usize, signals: &Signals) -> Result<Opened, Error> {
        let source = ModelSource::named(named)?;
        let start = Instant::now();
        let model = open::model(&source, options, signals)?;
        let load = start.elapsed();
        let start = Instant::now();
        Bench::new(&model, 1, tokens, None)?.prompt(FIRST_PROMPT.min(tokens))?;
        let first_token = start.elapsed();
        let name = match source {
            ModelSource::File(path) if path == named => named.file_stem().unwrap_or(named.as_os_str()),
            _ => named.as_os_str(),
        };
        let name = name.to_string_lossy().into_owned();
        Ok(Opened { name, model, tokens, load, first_token, peak: peak_memory(), meter: None })
    }

    /// Measures the machine. From now on the process holds the memory of the meter.
    pub(super) fn measure_machine(&mut self) {
        self.meter = Meter::new(&self.model);
        if self.meter.is_none() {
            terminal::note("note: the speed of memory is not measured: the engine can't, or there is too little of it");
        }
    }

    /// Records the peak memory so far.
    pub(super) fn end(&mut self) {
        let held = self.meter.as_ref().map_or(0, Meter::bytes);
        self.peak = self.peak.max(peak_memory().map(|peak| peak.saturating_sub(held)));
    }

    /// The best instruction set that it uses, or the name of the engine.
    pub(super) fn isa(&self) -> &str {
        let caps = self.model.engine().caps();
        caps.features.first().copied().unwrap_or(&caps.name)
    }

    pub(super) fn threads(&self) -> usize {
        self.model.engine().caps().threads
    }

    /// The bytes and the number of values of its tensors.
    pub(super) fn size(&self) -> (u64, u64) {
        let tensors = self.model.file().tensors();
        (
            tensors.iter().map(|t| t.bytes.unwrap_or(0)).sum(),
            tensors.iter().map(|t| t.dims.iter().product::<u64>()).sum(),
        )
    }
}
