//! Opens the models and files of the command line.

use crate::args::{EngineArgs, ModelSource, OutputArgs, missing_model_hint};
use crate::error::Error;
use crate::fault;
use crate::signals::Signals;
use crate::terminal::{self, Bar};
use inkstone::gguf::{Gguf, OpenOptions};
use inkstone::{Defaults, Model, ModelOptions};
use std::path::Path;
use std::sync::Arc;

/// Opens the file of a model by its path or listed name, even if the model can't be run.
pub(super) fn file(model: &Path) -> Result<Gguf, Error> {
    match ModelSource::named(model)? {
        ModelSource::Embedded => Ok(inkstone::embedded_file()?),
        ModelSource::File(path) => {
            announce(&path)?;
            Ok(Gguf::open(&path, &OpenOptions::default())?)
        }
    }
}

/// The options of a model.
pub(super) fn options(engine: &EngineArgs) -> ModelOptions {
    let mut options = ModelOptions::default();
    options.engine = engine.engine.clone();
    options.threads = threads(engine.threads.unwrap_or(0));
    options.isa = engine.isa.clone();
    options.device = engine.device.clone();
    options.numerics = engine.numerics;
    options.ctx = engine.ctx.filter(|tokens| *tokens > 0);
    options.budget = engine.budget.unwrap_or(0);
    engine.cache.set(&mut options);
    options.mmap = engine.mmap.unwrap_or(false);
    options.without_fusions.clone_from(&engine.without_fusion);
    options.defaults = Defaults::COMMAND_LINE;
    options
}

/// The requested number of threads, but at most one per core that this process may use: with more threads, running
/// threads spin for threads that are not running. 64 threads on two cores take 40 times the CPU time.
pub(super) fn threads(wanted: usize) -> usize {
    let cores = std::thread::available_parallelism().map_or(wanted, std::num::NonZero::get);
    if wanted > cores {
        terminal::note(&format!("note: --threads {wanted}: {cores} are used, one per available core"));
    }
    wanted.min(cores)
}

/// The model of a command that generates one text at a time.
pub(super) fn generating(source: &ModelSource, args: &OutputArgs, signals: &Signals) -> Result<Model, Error> {
    model(source, options(&args.engine).profile(args.profile).sequences(1), signals)
}

/// Opens a model, with a progress bar while it is loaded. A first Ctrl-C ends the loading.
pub(super) fn model(source: &ModelSource, options: ModelOptions, signals: &Signals) -> Result<Model, Error> {
    let _watch = signals.watch();
    let bar = Arc::new(Bar::new("loading", signals.cancel()));
    let (mmap, options) = (options.mmap, options.progress(bar.clone()));
    let opened = match source {
        ModelSource::Embedded => Model::embedded(&options),
        ModelSource::File(path) => {
            announce(path)?;
            Model::open_with(path, &options)
        }
    };
    bar.clear();
    if signals.interrupted() {
        return Err(Error::Interrupted);
    }
    let model = opened.map_err(|e| match e.is_lack_of_memory_for_weights() && !mmap {
        true => Error::TooLarge(e),
        false => e.into(),
    })?;
    model.notes().iter().for_each(|note| terminal::note(&format!("note: {note}")));
    Ok(model)
}

/// Passes the name of the file to the handler of faults. If the file does not exist, the error has a suggestion.
fn announce(path: &Path) -> Result<(), Error> {
    let name = path.display().to_string();
    fault::name_mapped_file(&name);
    match std::fs::symlink_metadata(path) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            Err(Error::NoModel { path: name, hint: missing_model_hint(path) })
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_threads_than_cores_are_used() {
        let cores = std::thread::available_parallelism().unwrap().get();
        assert_eq!([0, 1, cores, cores + 1, 1000].map(threads), [0, 1, cores, cores, cores]);
    }
}
