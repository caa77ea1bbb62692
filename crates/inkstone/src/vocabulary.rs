//! Loads the tokenizer while the weights are read. Both take time and are independent.

use crate::Result;
use inkstone_gguf::Gguf;
use inkstone_tensor::Progress;
use inkstone_text::Tokenizer;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// Makes the tokenizer of a file on a separate thread and calls `load` at the same time. If both fail, the error of the
/// tokenizer is returned. If the tokenizer fails, loading ends early.
pub(crate) fn beside<T>(
    file: &Gguf,
    progress: Option<&dyn Progress>,
    load: impl FnOnce(&dyn Progress) -> Result<T>,
) -> Result<(Tokenizer, T)> {
    let failed = AtomicBool::new(false);
    let make = || {
        let tokenizer = Tokenizer::from_metadata(file.metadata());
        failed.store(tokenizer.is_err(), Ordering::Relaxed);
        tokenizer
    };
    let (tokenizer, loaded) = thread::scope(|scope| {
        let thread = thread::Builder::new().name("inkstone-vocab".to_owned()).spawn_scoped(scope, make);
        // If the system can't start a thread, they run one after the other.
        let early = thread.is_err().then(make);
        let loaded = load(&Until { progress, failed: &failed });
        let joined = || thread.ok().map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
        (early.or_else(joined), loaded)
    });
    let tokenizer = tokenizer.unwrap_or_else(make)?;
    Ok((tokenizer, loaded?))
}

/// A progress callback that ends loading when the tokenizer has failed.
struct Until<'a> {
    progress: Option<&'a dyn Progress>,
    failed: &'a AtomicBool,
}

impl Progress for Until<'_> {
    fn update(&self, done: u64, total: u64) {
        if let Some(progress) = self.progress {
            progress.update(done, total);
        }
    }

    fn cancelled(&self) -> bool {
        self.failed.load(Ordering::Relaxed) || self.progress.is_some_and(Progress::cancelled)
    }
}
