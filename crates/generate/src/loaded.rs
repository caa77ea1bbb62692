//! A model in its engine, without a tokenizer.

use crate::runner::Runner;
use crate::scheduler::Parts;
use crate::{Result, RunConfig};
use inkstone_compute::Engine;
use inkstone_kvcache::{Pool, PrefixTree};
use inkstone_model::ModelGraph;
use inkstone_tensor::Progress;
use inkstone_tensor::step::SEQS;
use std::sync::Arc;

/// Plans, weights and caches in an engine. [`Generator::of`](crate::Generator::of) adds a tokenizer, which another
/// thread can make at the same time.
pub struct Loaded {
    pub(crate) graph: Arc<ModelGraph>,
    pub(crate) engine: Arc<dyn Engine>,
    pub(crate) config: RunConfig,
    pub(crate) parts: Parts,
}

impl Loaded {
    /// Compiles the graph for the engine, loads its weights, with reports of its progress, and allocates its caches.
    ///
    /// # Errors
    /// The graph can't be compiled, the weights can't be loaded, or an allocation fails.
    pub fn new(
        graph: Arc<ModelGraph>,
        engine: Arc<dyn Engine>,
        mut config: RunConfig,
        progress: &dyn Progress,
    ) -> Result<Loaded> {
        config.sequences = config.sequences.clamp(1, SEQS);
        let pages = config.context.div_ceil(config.page.max(1));
        let all = match config.cache {
            0 => pages.saturating_mul(config.sequences),
            tokens => pages.max(tokens / config.page.max(1)),
        };
        let mut pool = Pool::new(all.saturating_mul(config.page), config.page)?;
        let tree = PrefixTree::new(&mut pool)?;
        let (runner, step) = Runner::new(&graph, &engine, &config, &pool, progress)?;
        Ok(Loaded { graph, engine, config, parts: Parts { runner, step, pool, tree } })
    }
}
