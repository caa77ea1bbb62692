//! An open model.

use crate::load::load;
use crate::{ModelOptions, Result, context, slow_build, vocabulary};
use inkstone_compute::{Accuracy, Engine};
use inkstone_engine_cpu::{Cpu, FloatMode, OPT_LEVEL};
use inkstone_generate::{
    Batch, BatchStream, Flow, Generator, Metrics, Options, Piece, Prompt, Reply, Request, RunConfig, Session, Stream,
};
use inkstone_gguf::{Gguf, OpenOptions};
use inkstone_model::{KvFormats, ModelGraph};
use inkstone_text::{ChatTemplate, Tokenizer};
use std::fmt;
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// A model with its tokenizer, loaded into an engine. Every method takes `&self`, and many threads may generate at the
/// same time. A clone is cheap: it is another handle of the same model, for another thread or task.
///
/// [`Model::chat`] applies the chat template of the model; all other methods use the prompt unchanged.
#[derive(Clone)]
pub struct Model(Arc<Inner>);

struct Inner {
    generator: Generator,
    file: Arc<Gguf>,
    /// The chat template, compiled on first use. It also caches the form of its tool calls.
    template: OnceLock<ChatTemplate>,
    notes: Vec<String>,
}

impl Model {
    /// Opens a GGUF file with the default options.
    ///
    /// # Errors
    /// The file is invalid or unsupported, or the model does not fit in memory.
    pub fn open(path: impl AsRef<Path>) -> Result<Model> {
        Model::open_with(path, &ModelOptions::default())
    }

    /// Opens a GGUF file.
    ///
    /// # Errors
    /// The file or an option is invalid or unsupported, or the model does not fit in memory.
    pub fn open_with(path: impl AsRef<Path>, options: &ModelOptions) -> Result<Model> {
        context::check(options)?;
        Model::from_gguf(Gguf::open(path.as_ref(), &OpenOptions::default().mmap(options.mmap))?, options)
    }

    /// Opens the built-in story model, which has 5.5 M parameters and writes short stories.
    ///
    /// # Errors
    /// An option is invalid, or the model does not fit in memory.
    #[cfg(feature = "embedded-model")]
    pub fn embedded(options: &ModelOptions) -> Result<Model> {
        Model::from_gguf(crate::embedded::story()?, options)
    }

    /// Opens a model from a file that is already open, for example in memory ([`Gguf::from_bytes`]).
    ///
    /// # Errors
    /// Like [`Model::open_with`].
    pub fn from_gguf(file: Gguf, options: &ModelOptions) -> Result<Model> {
        context::check(options)?;
        // This thread computes tables of the model.
        let _mode = FloatMode::default_mode();
        let file = Arc::new(file);
        let kv = KvFormats { keys: options.kv_type.dtype, values: options.kv_type.dtype };
        let graph = Arc::new(ModelGraph::open_with(file.clone(), kv, |config| config.kv_window = options.kv_window)?);
        let (tokenizer, opened) = vocabulary::beside(&file, options.progress.as_deref(), |progress| {
            load(&graph, file.metadata(), options, progress)
        })?;
        let (loaded, notes) = opened;
        let mut notes: Vec<String> = tokenizer.notes().iter().cloned().chain(notes).collect();
        let generator = Generator::of(loaded, Arc::new(tokenizer), Options::default());
        if generator.engine().caps().name == Cpu::NAME {
            notes.extend(slow_build::note(OPT_LEVEL));
        }
        if options.numerics == Accuracy::Fast && !is_faster(&generator) {
            notes.push(
                "numerics fast: on this machine no weight of this model has a faster one than precise".to_owned(),
            );
        }
        Ok(Model(Arc::new(Inner { generator, file, template: OnceLock::new(), notes })))
    }

    /// Generates a continuation of a prompt.
    ///
    /// # Errors
    /// The prompt or an option is invalid, or the generation fails.
    pub fn generate(&self, prompt: &str, options: &Options) -> Result<Reply> {
        Ok(self.0.generator.generate(prompt, options)?)
    }

    /// Generates a continuation of token ids.
    ///
    /// # Errors
    /// Like [`Model::generate`].
    pub fn generate_ids(&self, prompt: &[u32], options: &Options) -> Result<Reply> {
        Ok(self.0.generator.generate_ids(prompt, options)?)
    }

    /// Generates a continuation of a prompt and calls a function with each piece. The function decides whether to
    /// continue.
    ///
    /// # Errors
    /// Like [`Model::generate`], or the error that the function returned.
    pub fn generate_with(&self, prompt: &str, options: &Options, f: impl FnMut(&Piece) -> Flow) -> Result<Reply> {
        Ok(self.0.generator.generate_with(prompt, options, f)?)
    }

    /// Starts a generation and returns its pieces as a stream. The stream computes only when the next piece is
    /// requested.
    ///
    /// # Errors
    /// The prompt or an option is invalid.
    pub fn stream(&self, prompt: &str, options: &Options) -> Result<Stream> {
        Ok(self.0.generator.stream(prompt, options)?)
    }

    /// Starts a generation from token ids and returns its pieces as a stream.
    ///
    /// # Errors
    /// Like [`Model::stream`].
    pub fn stream_ids(&self, prompt: &[u32], options: &Options) -> Result<Stream> {
        Ok(self.0.generator.stream_ids(prompt, options)?)
    }

    /// Generates all samples of a prompt ([`Options::n`]), in their order, or the texts of a beam search
    /// ([`Options::num_beams`]), best first. Sample i has the seed of the options plus i.
    ///
    /// ```no_run
    /// use inkstone::{Model, Options};
    ///
    /// let model = Model::open("model.gguf")?;
    /// let search = Options::default().num_beams(4).max_tokens(40);
    /// for reply in model.generate_all("Once upon a time", &search)? {
    ///     println!("{:?}: {}", reply.score, reply.text);
    /// }
    /// # Ok::<(), inkstone::Error>(())
    /// ```
    ///
    /// # Errors
    /// Like [`Model::generate`].
    pub fn generate_all(&self, prompt: impl Into<Prompt>, options: &Options) -> Result<Vec<Reply>> {
        Ok(self.0.generator.generate_all(prompt, options)?)
    }

    /// Generates the replies of many requests at once. The result of a request does not depend on the others: an error of
    /// one ends only this one.
    ///
    /// ```no_run
    /// use inkstone::{Model, Options, Request};
    ///
    /// let model = Model::open("model.gguf")?;
    /// let requests = ["Red", "Green", "Blue"].map(|prompt| Request::new(prompt, Options::default().max_tokens(8)));
    /// for replies in model.generate_batch(&requests) {
    ///     println!("{}", replies?[0].text);
    /// }
    /// # Ok::<(), inkstone::Error>(())
    /// ```
    pub fn generate_batch(&self, requests: &[Request]) -> Vec<Result<Vec<Reply>>> {
        self.0.generator.generate_batch(requests).into_iter().map(|replies| Ok(replies?)).collect()
    }

    /// Generates many requests at once and returns their pieces as they come.
    pub fn stream_batch<'r>(&'r self, requests: &'r [Request]) -> BatchStream<'r> {
        self.0.generator.stream_batch(requests)
    }

    /// A batch whose requests are added while others run.
    pub fn batch(&self) -> Batch {
        self.0.generator.batch()
    }

    /// A session: a text that grows from call to call, and is computed once.
    pub fn session(&self) -> Session {
        self.0.generator.session()
    }

    /// Reads a session that was saved with [`Session::save`], and the bytes of its caller.
    ///
    /// ```no_run
    /// use inkstone::{Model, Options};
    ///
    /// let model = Model::open("model.gguf")?;
    /// let mut session = model.session();
    /// session.append("Once upon a time")?;
    /// session.generate(&Options::default())?;
    /// session.save("story.session", b"")?;
    /// // Later, perhaps in another process: nothing is computed again.
    /// let (mut session, _) = model.restore("story.session")?;
    /// session.append(" And then")?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The file can't be read, is damaged, or belongs to another model or engine.
    pub fn restore(&self, path: impl AsRef<Path>) -> Result<(Session, Vec<u8>)> {
        Ok(self.0.generator.restore(path)?)
    }

    /// The counts of this model so far. Their `Display` is the text format of Prometheus. Does not wait for a step.
    pub fn metrics(&self) -> Metrics {
        self.0.generator.metrics()
    }

    /// Computes the logits of every position of `ids`, f32 [ids, vocabulary]. A step computes at most `chunk` tokens,
    /// or as many as the engine allows.
    ///
    /// # Errors
    /// An id is invalid, or a step fails.
    pub fn logits(&self, ids: &[u32], chunk: Option<usize>) -> Result<Vec<f32>> {
        Ok(self.0.generator.logits(ids, chunk.as_slice())?)
    }

    /// Its tokenizer.
    pub fn tokenizer(&self) -> &Arc<Tokenizer> {
        self.0.generator.tokenizer()
    }

    /// Its graphs, with shapes and constants in `graph().config`.
    pub fn graph(&self) -> &Arc<ModelGraph> {
        self.0.generator.graph()
    }

    /// Its engine.
    pub fn engine(&self) -> &Arc<dyn Engine> {
        self.0.generator.engine()
    }

    /// The configuration with which it runs.
    pub fn config(&self) -> &RunConfig {
        self.0.generator.config()
    }

    /// The underlying generator.
    pub fn generator(&self) -> &Generator {
        &self.0.generator
    }

    /// Its file: metadata and tensors.
    pub fn file(&self) -> &Gguf {
        &self.0.file
    }

    /// Notes for the user, such as a context beyond the trained length, an old tokenizer, or an engine that was
    /// compiled without optimisation.
    pub fn notes(&self) -> &[String] {
        &self.0.notes
    }

    /// The cache of the compiled chat template.
    pub(crate) fn template(&self) -> &OnceLock<ChatTemplate> {
        &self.0.template
    }
}

/// A summary of the model and its configuration, without its tensors.
impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Model")
            .field("file", &self.file().name())
            .field("architecture", &self.graph().config.arch)
            .field("engine", &self.engine().caps().name)
            .field("context", &self.config().context)
            .finish_non_exhaustive()
    }
}

/// Whether a weight has a numerics that only [`Accuracy::Fast`] allows.
fn is_faster(generator: &Generator) -> bool {
    let mut fast = generator.engine().registry().kernels.iter().filter(|k| k.fast);
    let weights = &generator.compiled().interface().weights;
    fast.any(|k| weights.iter().any(|w| w.numerics == k.numerics))
}
