//! A loaded model with its tokenizer.

use crate::host::Drawer;
use crate::inbox::Shared;
use crate::loaded::Loaded;
use crate::memory::{CHECKPOINTS, reserve};
use crate::output::Output;
use crate::request::{chain, file_options, sampler_words};
use crate::scheduler::Scheduler;
use crate::sequence::{Draw, Goal, Sampling, Sequence};
use crate::stops::MAX_STOP_BYTES;
use crate::stops::StopRules;
use crate::stream::{Handle, Stream};
use crate::{
    Defaults, Error, FinishReason, Flow, Footprint, Metrics, Needs, Options, Piece, PlanTimes, Reply, Result, clock,
};
use inkstone_compute::Engine;
use inkstone_gguf::Metadata;
use inkstone_graph::Compiled;
use inkstone_kvcache::{Salt, Salts, Tables};
use inkstone_model::ModelGraph;
use inkstone_tensor::NoProgress;
use inkstone_tensor::step::{Sampler, carry::ENDS};
use inkstone_text::{Encode, Tokenizer};
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The configuration of a loaded model.
#[derive(Clone)]
#[non_exhaustive]
pub struct RunConfig {
    /// The largest number of tokens of a sequence.
    pub context: usize,
    /// The number of sequences that can be resident at the same time, at most 64. Further sequences wait.
    pub sequences: usize,
    /// The largest number of sequences that wait.
    pub queue: usize,
    /// Tokens of the cache, which all sequences share; at least `context`. 0: `context` for each sequence.
    pub cache: usize,
    /// The most bytes of the cache with all layer groups; 0: the free memory of the engine. Layers with windows have less room for
    /// checkpoints if it is short.
    pub cache_bytes: u64,
    /// Checkpoints for each sequence, in models with windows: lengths of texts from which other texts can go on. 0: none.
    pub checkpoints: usize,
    /// Whether sequences share the pages of equal beginnings, and find them again later.
    pub prefix: bool,
    /// Tokens per page of the cache.
    pub page: usize,
    /// The largest number of prompt tokens of a sequence in one step; 0: the limit of the engine.
    pub chunk: usize,
    /// Names of fusions that the compiler omits ([`fusions`](inkstone_graph::fusions)). They change no bit of a result.
    pub without_fusions: Vec<String>,
    /// The values of options that neither a request nor the file sets.
    pub defaults: Defaults,
    /// The options that the file recommends.
    pub file: Options,
}

impl RunConfig {
    /// A configuration with this context and defaults for all other fields.
    pub fn new(context: usize) -> RunConfig {
        RunConfig {
            context,
            sequences: 8,
            queue: 1024,
            cache: 0,
            cache_bytes: 0,
            checkpoints: CHECKPOINTS,
            prefix: true,
            page: 32,
            chunk: 0,
            without_fusions: Vec::new(),
            defaults: Defaults::LIBRARY,
            file: Options::default(),
        }
    }

    /// The most bytes of a prompt that is tokenized: many times the average length of a token, for each token of the
    /// context. A longer text does not fit.
    pub fn prompt_bytes(&self) -> u64 {
        const PER_TOKEN: u64 = 64;
        (self.context as u64).saturating_mul(PER_TOKEN)
    }

    /// Adds the sampling options that a file recommends.
    ///
    /// # Errors
    /// A key has the wrong type or an invalid value.
    pub fn recommended(mut self, metadata: &Metadata) -> Result<RunConfig> {
        self.file = file_options(metadata)?;
        if let Err(Error::Chain(source)) = chain(&self.file, &[], usize::MAX) {
            return Err(Error::Recommended(source));
        }
        Ok(self)
    }
}

/// A graph, a tokenizer and an engine: the low-level interface to generation. All methods take `&self`, and many
/// threads may generate at the same time; they take turns, one step at a time.
#[derive(Clone)]
pub struct Generator {
    graph: Arc<ModelGraph>,
    tokenizer: Arc<Tokenizer>,
    engine: Arc<dyn Engine>,
    config: Arc<RunConfig>,
    options: Arc<Options>,
    shared: Arc<Shared>,
    salts: Arc<Salts>,
    chunk: usize,
    compiled: Arc<Compiled>,
    footprint: Footprint,
    needs: Needs,
    load_time: Duration,
}

impl Generator {
    /// Compiles the graph for the engine, loads its weights and allocates its caches. `options` are the defaults of
    /// requests.
    ///
    /// # Errors
    /// The graph can't be compiled, the weights can't be loaded, or an allocation fails.
    pub fn new(
        graph: Arc<ModelGraph>,
        tokenizer: Arc<Tokenizer>,
        engine: Arc<dyn Engine>,
        config: RunConfig,
        options: Options,
    ) -> Result<Generator> {
        Ok(Generator::of(Loaded::new(graph, engine, config, &NoProgress)?, tokenizer, options))
    }

    /// A generator for a model that has already been loaded.
    pub fn of(loaded: Loaded, tokenizer: Arc<Tokenizer>, options: Options) -> Generator {
        let Loaded { graph, engine, config, needs, parts } = loaded;
        let runner = &parts.runner;
        let chunk = if config.chunk == 0 { usize::MAX } else { config.chunk };
        let (compiled, footprint, load_time) = (runner.compiled().clone(), runner.footprint(), runner.load_time());
        let scheduler = Scheduler::new(parts, tokenizer.clone(), config.sequences);
        let shared = Arc::new(Shared::new(scheduler, config.queue));
        let (salts, config, options) = (Arc::default(), Arc::new(config), Arc::new(options));
        Generator {
            graph,
            tokenizer,
            engine,
            config,
            options,
            shared,
            salts,
            chunk,
            compiled,
            footprint,
            needs,
            load_time,
        }
    }

    /// Generates a continuation of a prompt. Text that looks like a special token is plain text, unless
    /// [`Options::special`] is set.
    ///
    /// # Errors
    /// The prompt or an option is invalid, or the generation fails.
    pub fn generate(&self, prompt: &str, options: &Options) -> Result<Reply> {
        self.stream(prompt, options)?.finish_up(|_| Flow::Continue)
    }

    /// Generates a continuation of token ids.
    ///
    /// # Errors
    /// Like [`Generator::generate`].
    pub fn generate_ids(&self, prompt: &[u32], options: &Options) -> Result<Reply> {
        self.stream_ids(prompt, options)?.finish_up(|_| Flow::Continue)
    }

    /// Generates a continuation of a prompt and calls a function with each piece. The function decides whether to
    /// continue.
    ///
    /// # Errors
    /// Like [`Generator::generate`], or the error that the function returned.
    pub fn generate_with(&self, prompt: &str, options: &Options, f: impl FnMut(&Piece) -> Flow) -> Result<Reply> {
        self.stream(prompt, options)?.finish_up(f)
    }

    /// Starts a generation and returns its pieces as a stream. The stream computes only when the next piece is
    /// requested.
    ///
    /// # Errors
    /// The prompt or an option is invalid.
    pub fn stream(&self, prompt: &str, options: &Options) -> Result<Stream> {
        self.stream_ids(&self.encode(prompt, options)?, options)
    }

    /// Encodes a prompt with these options.
    ///
    /// # Errors
    /// The tokenizer reports an error.
    pub fn encode(&self, prompt: &str, options: &Options) -> Result<Vec<u32>> {
        Ok(self.tokenizer.encode(prompt, &self.how_to_encode(options).bos(options.bos.or(self.options.bos)))?)
    }

    /// Encodes a text that continues another one.
    pub(crate) fn encode_more(&self, text: &str, options: &Options) -> Result<Vec<u32>> {
        Ok(self.tokenizer.encode(text, &self.how_to_encode(options).bos(false).start(false))?)
    }

    fn how_to_encode(&self, options: &Options) -> Encode {
        // A prompt has no end-of-text token.
        let special = options.special || self.options.special;
        Encode::new().eos(false).special(special).max_bytes(self.config.prompt_bytes())
    }

    /// Starts a generation from token ids and returns its pieces as a stream.
    ///
    /// # Errors
    /// Like [`Generator::stream`].
    pub fn stream_ids(&self, prompt: &[u32], options: &Options) -> Result<Stream> {
        self.stream_with_salt(prompt, options, self.salt(options, None))
    }

    /// Starts a generation that shares pages with sequences of this salt.
    pub(crate) fn stream_with_salt(&self, prompt: &[u32], options: &Options, salt: Salt) -> Result<Stream> {
        self.check_prompt(prompt)?;
        let o = self.resolve(options);
        o.check()?;
        o.one_sample()?;
        let vocab = self.graph.config.vocab;
        let ends = self.ends(&o)?;
        let chain = chain(&o, &ends, vocab)?;
        let seed = o.seed.unwrap_or_else(drawn_seed);
        let mut sampler = Vec::new();
        Sampler::encode(seed, prompt.len(), &chain, &mut sampler);
        if sampler.len() > sampler_words(vocab, 1) {
            let lists = [o.logit_bias.len(), o.banned.len(), ends.len()].map(|n| n.to_string()).join(", ");
            let allowed = format!("lists no longer than the vocabulary of {vocab}");
            return Err(Error::Option { option: "logit_bias, banned, stop_ids", value: lists, allowed });
        }
        let (limit, by_room) = o.limit((self.config.context - prompt.len()) as u64);
        let at_limit = if by_room { FinishReason::Context } else { FinishReason::Length };
        let draw = Draw {
            sampler,
            logprobs: o.logprobs.map(|n| n as usize),
            limit,
            at_limit,
            ends: ends.iter().copied().take(ENDS).collect(),
            stops: StopRules::new(ends, &o.stop),
            decoder: self.tokenizer.decoder(),
            bytes: Vec::with_capacity(2 * MAX_STOP_BYTES),
        };
        let mut ids = Vec::new();
        reserve(&mut ids, limit as usize, "the tokens of the text")?;
        let output = Output::new(prompt.len(), Vec::new(), None);
        let (reach, goal) = (prompt.len() + limit as usize, Goal::Draw(Box::new(draw)));
        let handle = self.start(Start { ids: prompt, reach, goal, chunks: vec![self.chunk], output }, salt, &o)?;
        Ok(Stream::new(handle, seed, ids))
    }

    /// The tokens that end a text with these options, which are resolved.
    pub(crate) fn ends(&self, o: &Options) -> Result<Vec<u32>> {
        let vocab = self.graph.config.vocab;
        if let Some(id) = o.stop_ids.iter().find(|id| **id as usize >= vocab) {
            let allowed = format!("ids below {vocab}, the size of the vocabulary");
            return Err(Error::Option { option: "stop_ids", value: id.to_string(), allowed });
        }
        let own = if o.ignore_end { &[] } else { self.tokenizer.end_tokens() };
        Ok([own, &o.stop_ids].concat())
    }

    /// Computes the logits of every position of `ids`, f32 [ids, vocabulary]. `chunks` limits the tokens of each step;
    /// its last number applies to all further steps. If it is empty, steps are as large as the engine allows.
    ///
    /// # Errors
    /// An id is invalid, or a step fails.
    pub fn logits(&self, ids: &[u32], chunks: &[usize]) -> Result<Vec<f32>> {
        self.check_prompt(ids)?;
        if chunks.contains(&0) {
            return Err(Error::Option { option: "chunk", value: "0".into(), allowed: "at least 1".into() });
        }
        let mut values = Vec::new();
        reserve(&mut values, ids.len().saturating_mul(self.graph.config.vocab), "logits")?;
        let o = Options::default();
        let output = Output::new(ids.len(), values, None);
        let start = Start { ids, reach: ids.len(), goal: Goal::Logits, chunks: chunks.to_vec(), output };
        let handle = self.start(start, self.salt(&o, None), &o)?;
        handle.wait()?;
        Ok(std::mem::take(&mut handle.output().lock().logits))
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// The tokenizer.
    pub fn tokenizer(&self) -> &Arc<Tokenizer> {
        &self.tokenizer
    }

    /// The graphs.
    pub fn graph(&self) -> &Arc<ModelGraph> {
        &self.graph
    }

    /// The engine.
    pub fn engine(&self) -> &Arc<dyn Engine> {
        &self.engine
    }

    /// The configuration.
    pub fn config(&self) -> &RunConfig {
        &self.config
    }

    /// The plans.
    pub fn compiled(&self) -> &Compiled {
        &self.compiled
    }

    /// The memory of the model in its engine.
    pub fn footprint(&self) -> Footprint {
        self.footprint
    }

    /// The memory that the model was found to need before anything was allocated.
    pub fn needs(&self) -> &Needs {
        &self.needs
    }

    /// The time that the engine took to load the weights.
    pub fn load_time(&self) -> Duration {
        self.load_time
    }

    /// The times of the steps of all plans so far; `None` if the engine does not record them.
    pub fn profile(&self) -> Option<Vec<PlanTimes>> {
        self.shared.turn().profile()
    }

    /// The number of free cache pages, and of all cache pages, of layers without a window; [`Metrics::windows`] has the others.
    pub fn pages(&self) -> (usize, usize) {
        let metrics = self.shared.metrics();
        (metrics.pages - metrics.held_pages, metrics.pages)
    }

    /// The counts of this model so far. Does not wait for a step.
    pub fn metrics(&self) -> Metrics {
        self.shared.metrics()
    }

    /// The options in force for a request. An option that it does not set has its value from this generator, from the model
    /// file, or from the [`Defaults`](crate::Defaults), in this order.
    pub fn resolve(&self, options: &Options) -> Options {
        options.over(&self.options).over(&self.config.file).with_defaults(&self.config.defaults)
    }

    pub(crate) fn check_prompt(&self, ids: &[u32]) -> Result<()> {
        let vocab = self.graph.config.vocab;
        if ids.is_empty() {
            return Err(Error::EmptyPrompt);
        }
        if ids.len() > self.config.context {
            return Err(Error::PromptTooLong { tokens: ids.len(), context: self.config.context });
        }
        match ids.iter().position(|id| *id as usize >= vocab) {
            Some(place) => Err(Error::NoSuchToken { id: ids[place], place, vocab }),
            None => Ok(()),
        }
    }

    /// The salt of a request: its own without shared pages, else `home`, else the salt of its name.
    pub(crate) fn salt(&self, options: &Options, home: Option<Salt>) -> Salt {
        let name = options.cache_salt.as_ref().or(self.options.cache_salt.as_ref());
        match (home, name.or(self.config.file.cache_salt.as_ref())) {
            _ if !self.config.prefix => self.salts.private(),
            (Some(home), _) => home,
            (None, Some(name)) => self.salts.named(name),
            (None, None) => Salt::none(),
        }
    }

    /// A salt that no other sequence has.
    pub(crate) fn private_salt(&self) -> Salt {
        self.salts.private()
    }

    /// The drawer of tokens with this sampling.
    pub(crate) fn drawer(&self, sampling: Sampling) -> Drawer {
        Drawer::of(&*self.engine, &self.compiled, sampling)
    }

    /// The largest number of prompt tokens of a sequence in one step.
    pub(crate) fn chunk(&self) -> usize {
        self.chunk
    }

    /// Adds a sequence, with the deadline and the switch of options that are resolved.
    pub(crate) fn start(&self, start: Start<'_>, salt: Salt, o: &Options) -> Result<Handle> {
        let Start { ids, reach, goal, chunks, output } = start;
        // The time spent waiting for steps of other callers counts.
        let deadline = o.deadline.and_then(|d| clock::now().checked_add(d));
        let ended = match &goal {
            Goal::Draw(draw) => draw.has_no_room().then_some(draw.at_limit),
            Goal::Logits | Goal::Score(_) => None,
        };
        let mut tokens = Vec::new();
        reserve(&mut tokens, reach, "the tokens of a sequence")?;
        tokens.extend_from_slice(ids);
        let output = Arc::new(output);
        let counts = goal.counts();
        let drawer = goal.sampling().map_or(Drawer::Device, |sampling| self.drawer(sampling));
        let sequence = |id| Sequence {
            id,
            tokens,
            prompt: ids.len(),
            known: ids.len(),
            fed: 0,
            given: 0,
            begun: false,
            flights: 0,
            void: 0,
            tables: Tables::default(),
            copies: Default::default(),
            sources: Tables::default(),
            parts: Default::default(),
            salt,
            private: !self.config.prefix,
            looked_up: false,
            counted: !counts,
            offered: 0,
            reach,
            chunks,
            steps: 0,
            draws: 0,
            drawer,
            goal,
            deadline,
            cancel: o.cancel.clone(),
            output: output.clone(),
        };
        match ended {
            Some(finish) => output.lock().end(finish, ""),
            None => self.shared.add(sequence)?,
        }
        Ok(Handle::new(self.shared.clone(), output))
    }
}

/// A sequence that begins.
pub(crate) struct Start<'i> {
    /// The tokens of its prompt.
    pub ids: &'i [u32],
    /// The largest number of tokens that it can have.
    pub reach: usize,
    pub goal: Goal,
    pub chunks: Vec<usize>,
    pub output: Output,
}

/// A random seed of 32 bits, short enough to be typed.
pub(crate) fn drawn_seed() -> u64 {
    RandomState::new().hash_one(Instant::now()) >> 32
}
