use inkstone_compute::Accuracy;
use inkstone_generate::Defaults;
use inkstone_kvcache::Format;
use inkstone_tensor::Progress;
use std::sync::Arc;

/// How a model is opened.
///
/// ```
/// let options = inkstone::ModelOptions::default().engine("reference").ctx(256);
/// assert_eq!(options.ctx, Some(256));
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct ModelOptions {
    /// Name of the engine; `auto`: the first that opens.
    pub engine: String,
    /// Threads; 0: as many as the machine has.
    pub threads: usize,
    /// Name of the only instruction set that kernels use (the bits are those of every other); without it the best that
    /// the machine has.
    pub isa: Option<String>,
    /// What arithmetic the engine's kernels may have. [`Accuracy::Fast`] changes results, of weights in Q4_K, Q5_K and Q6_K on a
    /// processor without AVX-512, and in BF16 on one with products of BF16; where it can't make anything faster, a note of the
    /// model says so.
    pub numerics: Accuracy,
    /// Whether the times of steps are recorded, for [`Model::profile`](crate::Model::profile).
    pub profile: bool,
    /// Bytes that the engine may use for weights, caches and activations; 0: the memory that is free when it opens.
    pub budget: u64,
    /// Tokens that a sequence can have. Without it the smaller of the trained context and what half of the free memory
    /// holds.
    pub ctx: Option<u32>,
    /// Format of keys and values.
    pub kv_type: Format,
    /// Whether weights are used where they lie in the mapped file. Else they are read into memory in the layouts that the
    /// engine likes best, which is faster.
    pub mmap: bool,
    /// Sequences that can be resident at once; more wait.
    pub sequences: usize,
    /// Most prompt tokens in one step; 0: as many as the engine takes.
    pub chunk: usize,
    /// Names of fusions that the compiler leaves out; an unknown one is an error that lists them. They change no bit of a
    /// result.
    pub without_fusions: Vec<String>,
    /// Values of options that neither a request nor the file sets.
    pub defaults: Defaults,
    /// Told how far loading is.
    pub progress: Option<Arc<dyn Progress>>,
}

impl Default for ModelOptions {
    fn default() -> ModelOptions {
        ModelOptions {
            engine: "auto".to_owned(),
            threads: 0,
            isa: None,
            numerics: Accuracy::default(),
            profile: false,
            budget: 0,
            ctx: None,
            kv_type: Format::default(),
            mmap: false,
            sequences: 8,
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
    /// Sets [`ModelOptions::mmap`](#structfield.mmap).
    mmap: bool => mmap;
    /// Sets [`ModelOptions::sequences`](#structfield.sequences).
    sequences: usize => sequences;
    /// Sets [`ModelOptions::chunk`](#structfield.chunk).
    chunk: usize => chunk;
    /// Sets [`ModelOptions::defaults`](#structfield.defaults).
    defaults: Defaults => defaults;
    /// Sets [`ModelOptions::progress`](#structfield.progress).
    progress: Arc<dyn Progress> => Some(progress);
}
