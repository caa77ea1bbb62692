//! A model that is ready to generate.

use crate::loaded::Loaded;
use crate::output::Output;
use crate::request::{chain, file_options};
use crate::runner::{reserve, sampler_words};
use crate::scheduler::Scheduler;
use crate::sequence::{Draw, Goal, Sequence};
use crate::stops::MAX_STOP_BYTES;
use crate::stops::StopRules;
use crate::stream::{Handle, Stream};
use crate::{Defaults, Error, FinishReason, Flow, Footprint, Options, Piece, PlanTimes, Reply, Result, Usage};
use inkstone_compute::Engine;
use inkstone_gguf::Metadata;
use inkstone_graph::Compiled;
use inkstone_kvcache::PageTable;
use inkstone_model::ModelGraph;
use inkstone_tensor::NoProgress;
use inkstone_tensor::step::{Sampler, carry::ENDS};
use inkstone_text::{Encode, Tokenizer};
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// Most bytes of a prompt for each token of context: many times what a token of a text has.
const PROMPT_BYTES_PER_TOKEN: usize = 64;

/// How a model is run.
#[derive(Clone)]
#[non_exhaustive]
pub struct RunConfig {
    /// Tokens that a sequence can have.
    pub context: usize,
    /// Sequences that can be resident at once; more wait. At most 64.
    pub sequences: usize,
    /// Tokens a page of the cache.
    pub page: usize,
    /// Most prompt tokens of a sequence in one step; 0: as many as the engine takes.
    pub chunk: usize,
    /// Names of fusions that the compiler leaves out ([`fusions`](inkstone_graph::fusions)). They change no bit of a result.
    pub without_fusions: Vec<String>,
    /// Values of options that neither a request nor the file sets.
    pub defaults: Defaults,
    /// What the file recommends.
    pub file: Options,
}

impl RunConfig {
    /// A context of so many tokens, and defaults for the rest.
    pub fn new(context: usize) -> RunConfig {
        let (defaults, file) = (Defaults::LIBRARY, Options::default());
        RunConfig { context, sequences: 8, page: 32, chunk: 0, without_fusions: Vec::new(), defaults, file }
    }

    /// With what a file recommends.
    ///
    /// # Errors
    /// A key of another type, or with a value that can't be.
    pub fn recommended(mut self, metadata: &Metadata) -> Result<RunConfig> {
        self.file = file_options(metadata)?;
        if let Err(Error::Chain(source)) = chain(&self.file, &[], usize::MAX) {
            return Err(Error::Recommended(source));
        }
        Ok(self)
    }
}

/// A graph, a tokenizer and an engine, put together: the fine-grained way in. Everything on it takes `&self`, and many
/// threads may generate at once; they take turns a step at a time.
pub struct Generator {
    graph: Arc<ModelGraph>,
    tokenizer: Arc<Tokenizer>,
    engine: Arc<dyn Engine>,
    config: RunConfig,
    options: Options,
    scheduler: Arc<Mutex<Scheduler>>,
    chunk: usize,
    compiled: Arc<Compiled>,
    footprint: Footprint,
    load_time: Duration,
}

impl Generator {
    /// Compiles the graph for the engine, loads its weights and allocates its caches. `options` are those of requests
    /// that don't set their own.
    ///
    /// # Errors
    /// What can't be compiled, loaded or allocated.
    pub fn new(
        graph: Arc<ModelGraph>,
        tokenizer: Arc<Tokenizer>,
        engine: Arc<dyn Engine>,
        config: RunConfig,
        options: Options,
    ) -> Result<Generator> {
        Ok(Generator::of(Loaded::new(graph, engine, config, &NoProgress)?, tokenizer, options))
    }

    /// The same of a model that was loaded before.
    pub fn of(loaded: Loaded, tokenizer: Arc<Tokenizer>, options: Options) -> Generator {
        let Loaded { graph, engine, config, runner, pool } = loaded;
        let chunk = if config.chunk == 0 { usize::MAX } else { config.chunk };
        let (compiled, footprint, load_time) = (runner.compiled().clone(), runner.footprint(), runner.load_time());
        let scheduler = Scheduler::new(runner, pool, tokenizer.clone(), config.sequences);
        let scheduler = Arc::new(Mutex::new(scheduler));
        Generator { graph, tokenizer, engine, config, options, scheduler, chunk, compiled, footprint, load_time }
    }

    /// Continues a prompt. Text in it that looks like a special token is plain text, unless the options say otherwise.
    ///
    /// # Errors
    /// A prompt or an option that can't be, or what fails while it is generated.
    pub fn generate(&self, prompt: &str, options: &Options) -> Result<Reply> {
        self.stream(prompt, options)?.finish_up(|_| Flow::Continue)
    }

    /// The same on token ids.
    ///
    /// # Errors
    /// As [`Generator::generate`].
    pub fn generate_ids(&self, prompt: &[u32], options: &Options) -> Result<Reply> {
        self.stream_ids(prompt, options)?.finish_up(|_| Flow::Continue)
    }

    /// The same with a function that sees each piece and says how to go on.
    ///
    /// # Errors
    /// As [`Generator::generate`], or what the function gave.
    pub fn generate_with(&self, prompt: &str, options: &Options, f: impl FnMut(&Piece) -> Flow) -> Result<Reply> {
        self.stream(prompt, options)?.finish_up(f)
    }

    /// The same, piece by piece. Nothing is computed but when the stream is asked.
    ///
    /// # Errors
    /// A prompt or an option that can't be.
    pub fn stream(&self, prompt: &str, options: &Options) -> Result<Stream> {
        self.stream_ids(&self.encode(prompt, options)?, options)
    }

    /// The tokens of a prompt under these options.
    ///
    /// # Errors
    /// If the tokenizer refuses.
    pub fn encode(&self, prompt: &str, options: &Options) -> Result<Vec<u32>> {
        let (bos, special) = (options.bos.or(self.options.bos), options.special || self.options.special);
        // A text many times as long can't fit the context: don't tokenize it first. Nothing ends a text that goes on.
        let most = self.config.context.saturating_mul(PROMPT_BYTES_PER_TOKEN) as u64;
        Ok(self.tokenizer.encode(prompt, &Encode::new().bos(bos).eos(false).special(special).max_bytes(most))?)
    }

    /// The same on token ids.
    ///
    /// # Errors
    /// As [`Generator::stream`].
    pub fn stream_ids(&self, prompt: &[u32], options: &Options) -> Result<Stream> {
        self.check_prompt(prompt)?;
        let o = self.resolve(options);
        o.check()?;
        let vocab = self.graph.config.vocab;
        if let Some(id) = o.stop_ids.iter().find(|id| **id as usize >= vocab) {
            let allowed = format!("ids below {vocab}, the size of the vocabulary");
            return Err(Error::Option { option: "stop_ids", value: id.to_string(), allowed });
        }
        let mut ends: Vec<u32> = if o.ignore_end { Vec::new() } else { self.tokenizer.end_tokens().to_vec() };
        ends.extend_from_slice(&o.stop_ids);
        let chain = chain(&o, &ends, vocab)?;
        let seed = o.seed.unwrap_or_else(drawn_seed);
        let mut sampler = Vec::new();
        Sampler::encode(seed, prompt.len(), &chain, &mut sampler);
        if sampler.len() > sampler_words(vocab) {
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
        let handle = self.start(prompt, Goal::Draw(Box::new(draw)), vec![self.chunk], Vec::new(), &o)?;
        Ok(Stream::new(handle, seed, ids))
    }

    /// The logits of every position of `ids`, f32 [ids, vocabulary]. They are fed in steps of at most these numbers of
    /// tokens, the last of which holds for all that follow; without any, as many a step as the engine takes.
    ///
    /// # Errors
    /// Ids that can't be, or what fails while they are fed.
    pub fn logits(&self, ids: &[u32], chunks: &[usize]) -> Result<Vec<f32>> {
        self.check_prompt(ids)?;
        if chunks.contains(&0) {
            return Err(Error::Option { option: "chunk", value: "0".into(), allowed: "at least 1".into() });
        }
        let mut values = Vec::new();
        reserve(&mut values, ids.len().saturating_mul(self.graph.config.vocab), "logits")?;
        let handle = self.start(ids, Goal::Logits, chunks.to_vec(), values, &Options::default())?;
        handle.wait()?;
        Ok(std::mem::take(&mut handle.output().lock().logits))
    }

    pub(crate) fn scheduler(&self) -> &Mutex<Scheduler> {
        &self.scheduler
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

    /// How it is run.
    pub fn config(&self) -> &RunConfig {
        &self.config
    }

    /// The plans.
    pub fn compiled(&self) -> &Compiled {
        &self.compiled
    }

    /// What the model takes in its engine.
    pub fn footprint(&self) -> Footprint {
        self.footprint
    }

    /// How long its engine took to load the weights.
    pub fn load_time(&self) -> Duration {
        self.load_time
    }

    /// What the steps of its plans took so far; `None` if the engine does not record it.
    pub fn profile(&self) -> Option<Vec<PlanTimes>> {
        lock(&self.scheduler).profile()
    }

    /// Cache pages that no sequence holds, and all that there are.
    pub fn pages(&self) -> (usize, usize) {
        lock(&self.scheduler).pages()
    }

    fn resolve(&self, options: &Options) -> Options {
        options.over(&self.options).over(&self.config.file).with_defaults(&self.config.defaults)
    }

    fn check_prompt(&self, ids: &[u32]) -> Result<()> {
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

    fn start(&self, ids: &[u32], goal: Goal, chunks: Vec<usize>, logits: Vec<f32>, o: &Options) -> Result<Handle> {
        // Waiting for a step of others counts.
        let deadline = o.deadline.and_then(|d| Instant::now().checked_add(d));
        let (draws, ended) = match &goal {
            Goal::Draw(draw) => (draw.limit as usize, draw.has_no_room().then_some(draw.at_limit)),
            Goal::Logits => (0, None),
        };
        let mut prompt = Vec::new();
        reserve(&mut prompt, ids.len(), "the prompt")?;
        prompt.extend_from_slice(ids);
        let usage = Usage { prompt_tokens: ids.len() as u64, ..Usage::default() };
        let output = Arc::new(Output::new(usage, logits));
        let sequence = |id| Sequence {
            id,
            prompt,
            fed: 0,
            table: PageTable::default(),
            reach: ids.len() + draws,
            chunks,
            steps: 0,
            goal,
            deadline,
            cancel: o.cancel.clone(),
            output: output.clone(),
        };
        let mut scheduler = lock(&self.scheduler);
        let id = scheduler.add(sequence);
        if let Some(finish) = ended {
            scheduler.end(id, finish);
        }
        drop(scheduler);
        Ok(Handle::new(self.scheduler.clone(), output, id))
    }
}

/// The scheduler, for one step. Whoever holds it may lock outputs; whoever holds an output must not ask for it.
pub(crate) fn lock(scheduler: &Mutex<Scheduler>) -> MutexGuard<'_, Scheduler> {
    scheduler.lock().unwrap_or_else(|poisoned| {
        let mut scheduler = poisoned.into_inner();
        scheduler.cut_short();
        scheduler
    })
}

/// A seed that nobody chose: 32 bits, so that people can type it.
fn drawn_seed() -> u64 {
    RandomState::new().hash_one(Instant::now()) >> 32
}
