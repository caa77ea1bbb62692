//! A model in its engine, without a tokenizer, and the steps towards it: compile, decide, warm, allocate, load.

use crate::memory::{Needs, compile_to_fit};
use crate::runner::Runner;
use crate::scheduler::Parts;
use crate::{Result, RunConfig};
use inkstone_compute::{Engine, Plan};
use inkstone_graph::Compiled;
use inkstone_kvcache::Caches;
use inkstone_model::ModelGraph;
use inkstone_tensor::step::{GROUPS, SEQS};
use inkstone_tensor::{Group, Progress, Slots};
use std::sync::Arc;

/// A model that is compiled for an engine and has no memory there yet.
pub struct Unloaded {
    graph: Arc<ModelGraph>,
    engine: Arc<dyn Engine>,
    compiled: Compiled,
}

/// Plans, weights and caches in an engine. [`Generator::of`](crate::Generator::of) adds a tokenizer, which another
/// thread can make at the same time.
pub struct Loaded {
    pub(crate) graph: Arc<ModelGraph>,
    pub(crate) engine: Arc<dyn Engine>,
    pub(crate) config: RunConfig,
    pub(crate) needs: Needs,
    pub(crate) parts: Parts,
}

impl Unloaded {
    /// Compiles the graph for the engine, without these fusions ([`RunConfig::without_fusions`]). If the engine has little
    /// memory, its largest steps are smaller.
    ///
    /// # Errors
    /// The graph can't be compiled.
    pub fn new(graph: Arc<ModelGraph>, engine: Arc<dyn Engine>, without_fusions: &[String]) -> Result<Unloaded> {
        let compiled = compile_to_fit(&graph, &*engine, without_fusions)?;
        Ok(Unloaded { graph, engine, compiled })
    }

    /// The memory that the model needs with pages of `page` tokens, and page tables for `sequences` sequences.
    pub fn needs(&self, page: usize, sequences: usize) -> Needs {
        Needs::of(&self.compiled, &*self.engine, &self.graph.config.groups(), page.max(1), sequences.clamp(1, SEQS))
    }

    /// Prepares the kernels, allocates caches and buffers, and loads the weights, with reports of its progress.
    ///
    /// # Errors
    /// The model and its caches do not fit in memory, which is found before anything is allocated; a kernel can't be
    /// prepared; the weights can't be loaded; an allocation fails all the same.
    pub fn load(self, mut config: RunConfig, progress: &dyn Progress) -> Result<Loaded> {
        config.sequences = config.sequences.clamp(1, SEQS);
        let mut needs = self.needs(config.page, config.sequences);
        needs.windows.checkpoints = config.checkpoints as u64;
        let Unloaded { graph, engine, compiled } = self;
        let context = config.context.div_ceil(config.page.max(1));
        let pages = match config.cache {
            0 => context.saturating_mul(config.sequences),
            tokens => context.max(tokens / config.page.max(1)),
        };
        needs.check(context as u64, pages as u64)?;
        let bytes = if config.cache_bytes > 0 { config.cache_bytes.min(needs.free()) } else { needs.free() };
        let windows = needs.window_pages(context as u64, pages as u64, bytes);
        let pages = [pages as u64].into_iter().chain(windows);
        let tokens = pages.map(|pages| usize::try_from(pages).unwrap_or(usize::MAX).saturating_mul(config.page));
        let groups: Vec<(Group, usize)> = graph.config.groups().into_iter().zip(tokens).collect();
        let mut caches = Caches::new(&groups, config.page)?;
        caches.set_checkpoints(config.checkpoints > 0);
        let mut slots = [0; GROUPS];
        slots.iter_mut().zip(0..groups.len()).for_each(|(slots, group)| *slots = caches.pool(group).slots());
        let compiled = compiled.with_slots(Slots::new(slots))?;
        engine.warm(&compiled.all_plans().collect::<Vec<&Plan>>(), progress)?;
        let (runner, step) = Runner::new(&graph, &engine, compiled, &config, progress)?;
        Ok(Loaded { graph, engine, config, needs, parts: Parts { runner, step, caches } })
    }
}

impl Loaded {
    /// Compiles the graph for the engine, allocates its caches, and loads its weights, with reports of its progress.
    ///
    /// # Errors
    /// See [`Unloaded::new`] and [`Unloaded::load`].
    pub fn new(
        graph: Arc<ModelGraph>,
        engine: Arc<dyn Engine>,
        config: RunConfig,
        progress: &dyn Progress,
    ) -> Result<Loaded> {
        Unloaded::new(graph, engine, &config.without_fusions)?.load(config, progress)
    }
}
