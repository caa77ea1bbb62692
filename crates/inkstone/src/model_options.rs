use inkstone_compute::Accuracy;
use inkstone_generate::Defaults;
use inkstone_kvcache::Format;
use inkstone_tensor::Progress;
use inkstone_tensor::ops::Window;
use std::sync::Arc;

/// Options for opening a model.
///
/// ```
/// let options = inkstone::ModelOptions::default().engine("reference").ctx(256);
/// assert_eq!(options.ctx, Some(256));
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct ModelOptions {
    /// The name of the engine. `auto` selects the first engine that opens.
    pub engine: String,
    /// The number of threads; 0: one per core of the machine.
    pub threads: usize,
    /// The variant of the kernels: an instruction set of the CPU, or on GPUs `core` or `subgroup`. By default the best one of
    /// the machine. All variants of an engine compute the same bits.
    pub isa: Option<String>,
    /// The device of the engine: a part of its name, or its number. By default the best one.
    pub device: Option<String>,
    /// The arithmetic that kernels may use. [`Accuracy::Fast`] changes the results for weights in Q4_K, Q5_K and Q6_K
    /// on a processor without AVX-512, and for BF16 weights on a processor with BF16 products. If it makes no weight
    /// faster, the model has a note.
    pub numerics: Accuracy,
    /// Whether the times of steps are recorded, for [`Model::profile`](crate::Model::profile).
    pub profile: bool,
    /// The bytes that the engine may use for weights, caches and activations; 0: the memory that is free when it opens.
    pub budget: u64,
    /// The largest number of tokens of a sequence. The default is the trained context, or fewer tokens if half of the
    /// free memory does not hold them.
    pub ctx: Option<u32>,
    /// The format of keys and values.
    pub kv_type: Format,
    /// Tokens per page of the cache: a power of two, 16 to 1,024. It changes no result.
    pub kv_page: usize,
    /// Bytes of the cache, which all sequences share; `None`: a context for each sequence, but at most half of the free
    /// memory. A context that does not fit is shortened, with a note.
    pub kv_memory: Option<u64>,
    /// A window for layers that would see more: a token sees itself, the tokens before it up to this size, and the first
    /// tokens. The cache then grows by 4 bytes per token. It changes results; most models are not trained for it.
    pub kv_window: Option<Window>,
    /// In models with windows, the number of checkpoints for each sequence: lengths of texts from which other texts can go on. 0:
    /// none. They change no result.
    pub ctx_checkpoints: usize,
    /// Whether sequences share the pages of equal beginnings and find them again later.
    pub prefix: bool,
    /// Whether weights in the mapped file are used in place. By default they are copied to memory in the layouts of the
    /// engine, which is faster.
    pub mmap: bool,
    /// The number of sequences that can be resident at the same time. Further sequences wait.
    pub sequences: usize,
    /// The largest number of sequences that wait; one more is an error.
    pub queue: usize,
    /// The largest number of prompt tokens in one step; 0: the limit of the engine.
    pub chunk: usize,
    /// The names of fusions that the compiler omits. An unknown name is an error that lists the known ones. Fusions
    /// change no bit of a result.
    pub without_fusions: Vec<String>,
    /// The values of options that neither a request nor the file sets.
    pub defaults: Defaults,
    /// Receives the progress of loading.
    pub progress: Option<Arc<dyn Progress>>,
}

impl Default for ModelOptions {
    fn default() -> ModelOptions {
        ModelOptions {
            engine: "auto".to_owned(),
            threads: 0,
            isa: None,
            device: None,
            numerics: Accuracy::default(),
            profile: false,
            budget: 0,
            ctx: None,
            kv_type: Format::default(),
            kv_page: 32,
            kv_memory: None,
            kv_window: None,
            ctx_checkpoints: 8,
            prefix: true,
            mmap: false,
            sequences: 8,
            queue: 1024,
            chunk: 0,
            without_fusions: Vec::new(),
            defaults: Defaults::LIBRARY,
            progress: None,
        }
    }
}

macro_rules! setters {
    ($($(#[$doc:meta])* $name:ident: $ty:ty => $value:expr;)+) => {
        impl ModelOptions {
            $($(#[$doc])* #[must_use] pub fn $name(mut self, $name: $ty) -> Self {
                self.$name = $value;
                self
            })+
        }
    };
}

impl ModelOptions {
    /// Adds a name to [`ModelOptions::without_fusions`](#structfield.without_fusions).
    #[must_use]
    pub fn without_fusion(mut self, name: impl Into<String>) -> Self {
        self.without_fusions.push(name.into());
        self
    }
}

setters! {
    /// Sets [`ModelOptions::engine`](#structfield.engine).
    engine: &str => engine.to_owned();
    /// Sets [`ModelOptions::threads`](#structfield.threads).
    threads: usize => threads;
    /// Sets [`ModelOptions::isa`](#structfield.isa).
    isa: &str => Some(isa.to_owned());
    /// Sets [`ModelOptions::device`](#structfield.device).
    device: &str => Some(device.to_owned());
    /// Sets [`ModelOptions::numerics`](#structfield.numerics).
    numerics: Accuracy => numerics;
    /// Sets [`ModelOptions::profile`](#structfield.profile).
    profile: bool => profile;
    /// Sets [`ModelOptions::budget`](#structfield.budget).
    budget: u64 => budget;
    /// Sets [`ModelOptions::ctx`](#structfield.ctx).
    ctx: u32 => Some(ctx);
    /// Sets [`ModelOptions::kv_type`](#structfield.kv_type).
    kv_type: Format => kv_type;
    /// Sets [`ModelOptions::kv_page`](#structfield.kv_page).
    kv_page: usize => kv_page;
    /// Sets [`ModelOptions::kv_memory`](#structfield.kv_memory).
    kv_memory: u64 => Some(kv_memory);
    /// Sets [`ModelOptions::kv_window`](#structfield.kv_window).
    kv_window: Window => Some(kv_window);
    /// Sets [`ModelOptions::ctx_checkpoints`](#structfield.ctx_checkpoints).
    ctx_checkpoints: usize => ctx_checkpoints;
    /// Sets [`ModelOptions::prefix`](#structfield.prefix).
    prefix: bool => prefix;
    /// Sets [`ModelOptions::mmap`](#structfield.mmap).
    mmap: bool => mmap;
    /// Sets [`ModelOptions::sequences`](#structfield.sequences).
    sequences: usize => sequences;
    /// Sets [`ModelOptions::queue`](#structfield.queue).
    queue: usize => queue;
    /// Sets [`ModelOptions::chunk`](#structfield.chunk).
    chunk: usize => chunk;
    /// Sets [`ModelOptions::defaults`](#structfield.defaults).
    defaults: Defaults => defaults;
    /// Sets [`ModelOptions::progress`](#structfield.progress).
    progress: Arc<dyn Progress> => Some(progress);
}
