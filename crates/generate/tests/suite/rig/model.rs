//! The model: a file with a vocabulary and weights, whose graphs are replaced by shorter ones.

use super::Leaves;
use super::engine::Wrapped;
use super::{attention, hash};
use inkstone_compute::conformance::Delayed;
use inkstone_compute::{Engine, EngineOptions, Engines};
use inkstone_generate::{Generator, Options, Result, RunConfig};
use inkstone_gguf::{Gguf, Metadata, TensorSpec, Writer};
use inkstone_graph::{Graph, Kind, Port, Tracer};
use inkstone_model::{KvFormats, ModelGraph};
use inkstone_tensor::ops::Window;
use inkstone_tensor::{DType, Dim, Type, WeightSource};
use inkstone_text::Tokenizer;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The token before a text.
pub const BOS: u32 = 1;
/// The only end token of the vocabulary.
pub const EOS: u32 = 2;

/// The texts of the tokens, their types in the file, and the bytes that they add to a text. Texts overlap, and
/// characters can be divided between tokens.
const TOKENS: [(&str, i32, &[u8]); 16] = [
    ("<unk>", 2, b""),
    ("<s>", 3, b""),
    ("</s>", 3, b""),
    ("a", 1, b"a"),
    ("b", 1, b"b"),
    ("c", 1, b"c"),
    ("ab", 1, b"ab"),
    ("ca", 1, b"ca"),
    ("abc", 1, b"abc"),
    ("\u{2581}", 1, b" "),
    ("\u{2581}a", 1, b" a"),
    ("é", 1, "é".as_bytes()),
    ("<0xE2>", 6, b"\xE2"),
    ("<0x82>", 6, b"\x82"),
    ("<0xAC>", 6, b"\xAC"),
    ("bb", 1, b"bb"),
];

/// The number of tokens.
pub const VOCAB: usize = TOKENS.len();

/// The bytes of each token.
pub const PIECES: [&[u8]; VOCAB] = {
    let mut pieces: [&[u8]; VOCAB] = [b""; VOCAB];
    let mut id = 0;
    while id < VOCAB {
        pieces[id] = TOKENS[id].2;
        id += 1;
    }
    pieces
};

/// Values in the row of a token.
const WIDTH: usize = 2;

/// The logit of `token` after the token `last`.
pub fn logit(last: u32, token: u32) -> f32 {
    (last * token) as f32 / 64.0
}

/// The variable with the default of [`Setup::ahead`].
pub const AHEAD: &str = "INKSTONE_AHEAD";

/// The variable with the default of [`Setup::window`]: its size and its first tokens, `8:2`.
pub const WINDOW: &str = "INKSTONE_WINDOW";

/// The memory of the engine.
pub const BUDGET: u64 = 1 << 26;

/// The configuration of a generator.
#[derive(Clone, Debug)]
pub struct Setup {
    pub context: usize,
    pub sequences: usize,
    /// Tokens of the cache; 0: a context for each sequence.
    pub cache: usize,
    pub queue: usize,
    /// Whether equal prompts share pages.
    pub prefix: bool,
    pub page: usize,
    pub chunk: usize,
    /// Checkpoints of each sequence.
    pub checkpoints: usize,
    /// Buckets of the engine.
    pub rows: Vec<usize>,
    pub logit_rows: Vec<usize>,
    /// The engine says that its steps took no time, instead of nothing.
    pub timed: bool,
    /// The steps that are under way; 0: the work of the engine is done at once.
    pub ahead: usize,
    /// Draws come from the definition of `sample`, not from the hash.
    pub samples: bool,
    /// What the engine leaves to the host, which draws by the definition.
    pub leaves: Leaves,
    /// Logits behind this token are NaN, in a layer with attention.
    pub nan: Option<u32>,
    /// The whole graphs of a layer with attention, whose weights have this seed, instead of the shorter ones.
    pub attention: Option<u64>,
    /// The window of this layer.
    pub window: Option<Window>,
    /// The formats of the caches of this layer.
    pub kv: KvFormats,
    /// Options of the file.
    pub file: Options,
}

impl Default for Setup {
    fn default() -> Setup {
        Setup {
            context: 64,
            sequences: 4,
            cache: 0,
            queue: 1024,
            prefix: true,
            page: 4,
            chunk: 0,
            checkpoints: 8,
            rows: vec![1, 4, 16],
            logit_rows: vec![1, 2, 4],
            timed: false,
            ahead: std::env::var(AHEAD).ok().and_then(|ahead| ahead.parse().ok()).unwrap_or(0),
            samples: false,
            leaves: Leaves::Nothing,
            nan: None,
            attention: None,
            window: std::env::var(WINDOW).ok().map(|text| {
                let [size, first] = [0, 1].map(|at| text.split(':').nth(at).and_then(|n| n.parse().ok()).unwrap_or(0));
                Window { size, first }
            }),
            kv: KvFormats::default(),
            file: Options::default(),
        }
    }
}

impl Setup {
    /// The engine, whose work is done at once.
    pub fn engine(&self) -> Arc<dyn Engine> {
        self.gated_engine()
    }

    /// The same as a type that has a gate.
    pub fn gated_engine(&self) -> Arc<Wrapped> {
        let mut options = EngineOptions::default().budget(BUDGET);
        if !self.samples {
            options = options.with_kernel(hash::kernel());
        }
        if let Some(kernel) = self.leaves.kernel() {
            options = options.with_kernel(kernel);
        }
        let engine: Arc<dyn Engine> = Engines::reference().open("reference", &options).expect("an engine");
        Arc::new(Wrapped::new(engine, self))
    }

    /// A generator with these options of its own on an engine.
    pub fn open(&self, engine: Arc<dyn Engine>, own: Options) -> Result<Generator> {
        let mut config = RunConfig::new(self.context);
        (config.sequences, config.page, config.chunk) = (self.sequences, self.page, self.chunk);
        (config.cache, config.queue, config.prefix) = (self.cache, self.queue, self.prefix);
        config.checkpoints = self.checkpoints;
        config.file = self.file.clone();
        let file = self.attention.map_or_else(file, |seed| attention::file(seed, self.nan));
        let tokenizer = Tokenizer::from_metadata(file.metadata()).expect("a vocabulary");
        let graphs = ModelGraph::open_with(file.clone(), self.kv, |config| config.kv_window = self.window);
        let mut graphs = graphs.expect("a sound model");
        if self.attention.is_none() {
            shorten(&mut graphs, &file);
        }
        Generator::new(Arc::new(graphs), Arc::new(tokenizer), engine, config, own)
    }

    /// A generator with these options of its own.
    pub fn generator_with(&self, own: Options) -> Generator {
        let mut engine = self.engine();
        if self.ahead > 0 {
            static SEED: AtomicU64 = AtomicU64::new(1);
            engine = Arc::new(Delayed::new(engine, self.ahead, SEED.fetch_add(1, Ordering::Relaxed)));
        }
        self.open(engine, own).expect("memory")
    }

    pub fn generator(&self) -> Generator {
        self.generator_with(Options::default())
    }
}

/// A file of one layer, as the reader of the architecture wants it.
fn file() -> Arc<Gguf> {
    let m = metadata(WIDTH, 1);
    // The product of both rows of a token is its `logit`.
    let table = |second: f32| (0..VOCAB).flat_map(|id| [id as f32 / 8.0, second]).collect::<Vec<f32>>();
    let mut tensors = vec![
        ("token_embd", vec![WIDTH, VOCAB], table(1.0)),
        ("output", vec![WIDTH, VOCAB], table(0.0)),
        ("output_norm", vec![WIDTH], vec![1.0; WIDTH]),
        ("blk.0.attn_norm", vec![WIDTH], vec![1.0; WIDTH]),
        ("blk.0.ffn_norm", vec![WIDTH], vec![1.0; WIDTH]),
        ("blk.0.ffn_gate", vec![WIDTH, 1], vec![0.0; WIDTH]),
        ("blk.0.ffn_up", vec![WIDTH, 1], vec![0.0; WIDTH]),
        ("blk.0.ffn_down", vec![1, WIDTH], vec![0.0; WIDTH]),
    ];
    for name in ["blk.0.attn_q", "blk.0.attn_k", "blk.0.attn_v", "blk.0.attn_output"] {
        tensors.push((name, vec![WIDTH, WIDTH], vec![0.0; WIDTH * WIDTH]));
    }
    write(&m, &tensors)
}

/// The metadata of a file of one layer with this width and number of heads.
pub(super) fn metadata(width: usize, heads: u32) -> Metadata {
    let mut m = Metadata::new();
    m.insert("general.architecture", "llama");
    for key in ["block_count", "feed_forward_length"] {
        m.insert(&format!("llama.{key}"), 1u32);
    }
    m.insert("llama.attention.head_count", heads);
    m.insert("llama.embedding_length", width as u32);
    m.insert("llama.context_length", 64u32);
    m.insert("llama.attention.layer_norm_rms_epsilon", 1e-5f32);
    m.insert("tokenizer.ggml.model", "llama");
    m.insert("tokenizer.ggml.tokens", TOKENS.map(|(text, ..)| text).to_vec());
    m.insert("tokenizer.ggml.scores", vec![0f32; VOCAB]);
    m.insert("tokenizer.ggml.token_type", TOKENS.map(|(_, kind, _)| kind).to_vec());
    m
}

/// The name, the shape and the values of a tensor.
pub(super) type Tensor = (&'static str, Vec<usize>, Vec<f32>);

/// A file with these tensors.
pub(super) fn write(metadata: &Metadata, tensors: &[Tensor]) -> Arc<Gguf> {
    let spec = |(name, dims, _): &Tensor| {
        let dims: Vec<u64> = dims.iter().map(|d| *d as u64).collect();
        TensorSpec::new(format!("{name}.weight"), DType::F32, &dims)
    };
    let mut writer = Writer::new(Vec::new(), metadata, tensors.iter().map(spec).collect()).expect("a sound file");
    for (.., values) in tensors {
        writer.data(bytemuck::cast_slice(values)).expect("memory");
    }
    let bytes = writer.finish().expect("all data");
    Arc::new(Gguf::from_bytes(Arc::new(bytes), "made-up").expect("a sound file"))
}

/// Replaces the graphs by ones without the layer and the norms. The caches keep the layer group of the layer.
fn shorten(model: &mut ModelGraph, file: &Gguf) {
    assert_eq!(model.config.vocab, VOCAB);
    let (body, head) = (body(file).expect("a sound body"), head(file).expect("a sound head"));
    model.set_graph(Kind::BODY, body).expect("states that can be copied");
    model.set_graph(Kind::HEAD, head).expect("states that can be copied");
    let copied = model.graph(Kind::COPY).expect("made anew").inputs().map(|(source, _)| source.to_string());
    assert!(copied.eq(["state history"]), "the keys and values of the layer are gone");
}

fn body(source: &dyn WeightSource) -> inkstone_graph::Result<Graph> {
    let t = Tracer::new("body", source);
    let carry = t.carry();
    let rows = t.begin_step(&carry)?;
    t.keep(t.history_write(t.history(), rows)?);
    let x = t.embed(rows, t.weight("token_embd.weight", VOCAB, WIDTH)?)?;
    t.keep(t.advance(carry, rows)?);
    t.output(Port::ROWS, rows);
    t.output(Port::HIDDEN, x);
    t.finish()
}

fn head(source: &dyn WeightSource) -> inkstone_graph::Result<Graph> {
    let t = Tracer::new("head", source);
    let x = t.gather_rows(t.input(Port::HIDDEN, Type::f32(Dim::Rows, WIDTH)))?;
    t.output(Port::LOGITS, t.linear(x, t.weight("output.weight", VOCAB, WIDTH)?, None)?);
    t.finish()
}
