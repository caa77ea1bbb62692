//! Small models that are made up in memory, to be broken in one place.

use inkstone::gguf::{Gguf, Metadata, TensorSpec, Value, Writer};
use inkstone::tensor::DType;
use inkstone::{Model, ModelOptions, Result};
use std::sync::Arc;

/// Layers of [`Tiny::random`].
pub const LAYERS: usize = 2;
const HEADS: usize = 4;
const KV_HEADS: usize = 2;
const HEAD_DIM: usize = 8;
const FFN: usize = 64;
const CONTEXT: u32 = 64;
/// Ids of the tokens that every vocabulary begins with: unknown, begin, end.
pub const BOS: u32 = 1;
/// The end token.
pub const EOS: u32 = 2;

/// A model as its parts: metadata, then tensors of f32, unless they are replaced.
#[derive(Clone)]
pub struct Tiny {
    /// All keys.
    pub metadata: Metadata,
    tensors: Vec<(TensorSpec, Vec<u8>)>,
    /// Values in the residual of a token.
    pub width: usize,
    /// Tokens.
    pub vocab: usize,
}

impl Tiny {
    /// Two layers of random weights, several KV heads, a vocabulary of three control tokens and the letters.
    pub fn random() -> Tiny {
        let letters: Vec<String> = ('a'..='z').map(String::from).collect();
        let mut tiny = Tiny::new(&letters, 32, LAYERS);
        let mut state = 1u64;
        for (spec, bytes) in &mut tiny.tensors {
            let scale = if spec.dims.len() == 1 { 0.0 } else { 1.0 };
            let values = bytes.as_chunks_mut::<4>().0;
            for value in values {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let random = (state >> 40) as f32 / (1u64 << 24) as f32 - 0.5;
                *value = (1.0 - scale + scale * random).to_le_bytes();
            }
        }
        tiny
    }

    /// A model whose most probable text after the begin token is these pieces, one token each, then the end token.
    /// Pieces like `<0xE2>` are bytes.
    pub fn saying(pieces: &[&str]) -> Tiny {
        let vocab = 3 + pieces.len();
        // The embedding of a token is a direction of its own, the layers add nothing, and the head of each token looks
        // into the direction of the token before it.
        let width = vocab.next_multiple_of(HEADS * 2);
        let mut tiny = Tiny::new(pieces, width, 1);
        let one_hot = |directions: Vec<Option<usize>>| -> Vec<f32> {
            directions.iter().flat_map(|d| (0..width).map(move |i| f32::from(u8::from(*d == Some(i))))).collect()
        };
        let before = |token: usize| match token {
            3 => Some(BOS as usize),
            2 => Some(if vocab == 3 { BOS as usize } else { vocab - 1 }),
            0 | 1 => None,
            token => Some(token - 1),
        };
        let dims = [width as u64, vocab as u64];
        tiny = tiny.tensor("token_embd.weight", &dims, &one_hot((0..vocab).map(Some).collect()));
        tiny.tensor("output.weight", &dims, &one_hot((0..vocab).map(before).collect()))
    }

    /// A model that gives these logits after every token.
    pub fn with_logits(logits: &[f32]) -> Tiny {
        let pieces: Vec<String> = (3..logits.len()).map(|i| format!("t{i} ")).collect();
        let mut tiny = Tiny::new(&pieces, 8, 1);
        assert_eq!(tiny.vocab, logits.len(), "three logits belong to the control tokens");
        // A norm does not change rows of ones, except for the rounding of its epsilon.
        let row = |first: f32| (0..8).map(move |i| if i == 0 { first } else { 0.0 });
        let head: Vec<f32> = logits.iter().flat_map(|l| row(*l)).collect();
        let dims = [8, tiny.vocab as u64];
        tiny = tiny.tensor("token_embd.weight", &dims, &vec![1.0; 8 * logits.len()]);
        tiny.tensor("output.weight", &dims, &head)
    }

    /// Reads the tensors of a file in F32.
    ///
    /// # Panics
    /// If a tensor is of another type.
    pub fn from_gguf(gguf: &Gguf) -> Tiny {
        let tensors = gguf.tensors().iter().map(|info| {
            assert_eq!(info.dtype.known(), Some(DType::F32), "{}", info.name);
            let data = gguf.tensor_data(&info.name).expect("a sound file");
            (TensorSpec::new(&info.name, DType::F32, &info.dims), data.as_slice().to_vec())
        });
        let mut tiny = Tiny { metadata: gguf.metadata().clone(), tensors: tensors.collect(), width: 0, vocab: 0 };
        let embedding = tiny.tensors().find(|s| s.name == "token_embd.weight").expect("an embedding");
        (tiny.width, tiny.vocab) = (embedding.dims[0] as usize, embedding.dims[1] as usize);
        tiny
    }

    /// So many layers that add nothing.
    pub fn of_layers(layers: usize) -> Tiny {
        Tiny::new(&["a"], 8, layers)
    }

    /// Layers whose weights are zero, norms of one.
    fn new<S: AsRef<str>>(pieces: &[S], width: usize, layers: usize) -> Tiny {
        let tokens = ["<unk>", "<s>", "</s>"].into_iter().chain(pieces.iter().map(AsRef::as_ref));
        let tokens: Vec<&str> = tokens.collect();
        let kind = |t: &&str| match *t {
            "<unk>" => 2,
            "<s>" | "</s>" => 3,
            byte if byte.starts_with("<0x") => 6,
            _ => 1,
        };
        let (kinds, vocab): (Vec<i32>, usize) = (tokens.iter().map(kind).collect(), tokens.len());
        let mut metadata = Metadata::new();
        let count = |n: usize| n as u32;
        metadata.insert("general.architecture", "llama");
        metadata.insert("llama.block_count", count(layers));
        metadata.insert("llama.context_length", CONTEXT);
        metadata.insert("llama.embedding_length", count(width));
        metadata.insert("llama.feed_forward_length", count(FFN));
        metadata.insert("llama.attention.head_count", count(HEADS));
        metadata.insert("llama.attention.head_count_kv", count(KV_HEADS));
        metadata.insert("llama.attention.key_length", count(HEAD_DIM));
        metadata.insert("llama.attention.value_length", count(HEAD_DIM));
        metadata.insert("llama.attention.layer_norm_rms_epsilon", 1e-5f32);
        metadata.insert("tokenizer.ggml.model", "llama");
        metadata.insert("tokenizer.ggml.tokens", tokens);
        metadata.insert("tokenizer.ggml.scores", vec![0f32; vocab]);
        metadata.insert("tokenizer.ggml.token_type", kinds);
        let mut tiny = Tiny { metadata, tensors: Vec::new(), width, vocab };
        let (q, kv) = (HEADS * HEAD_DIM, KV_HEADS * HEAD_DIM);
        tiny = tiny.zeros("token_embd", width, vocab).zeros("output", width, vocab).ones("output_norm");
        for i in 0..layers {
            let at = |name: &str| format!("blk.{i}.{name}");
            tiny = tiny.ones(&at("attn_norm")).zeros(&at("attn_q"), width, q).zeros(&at("attn_k"), width, kv);
            tiny = tiny.zeros(&at("attn_v"), width, kv).zeros(&at("attn_output"), q, width).ones(&at("ffn_norm"));
            tiny = tiny.zeros(&at("ffn_gate"), width, FFN).zeros(&at("ffn_up"), width, FFN);
            tiny = tiny.zeros(&at("ffn_down"), FFN, width);
        }
        tiny
    }

    fn zeros(self, name: &str, cols: usize, rows: usize) -> Tiny {
        self.tensor(&format!("{name}.weight"), &[cols as u64, rows as u64], &vec![0.0; cols * rows])
    }

    fn ones(self, name: &str) -> Tiny {
        let width = self.width;
        self.tensor(&format!("{name}.weight"), &[width as u64], &vec![1.0; width])
    }

    /// Sets a key.
    #[must_use]
    pub fn set(mut self, key: &str, value: impl Into<Value>) -> Tiny {
        self.metadata.insert(key, value);
        self
    }

    /// Takes a key out.
    #[must_use]
    pub fn without(mut self, key: &str) -> Tiny {
        let mut rest = Metadata::new();
        for (k, v) in self.metadata.iter().filter(|(k, _)| *k != key) {
            rest.insert(k, v.clone());
        }
        self.metadata = rest;
        self
    }

    /// Adds a tensor of f32, or puts it in the place of the one of this name.
    #[must_use]
    pub fn tensor(self, name: &str, dims: &[u64], values: &[f32]) -> Tiny {
        let bytes = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        self.encoded(TensorSpec::new(name, DType::F32, dims), bytes)
    }

    /// The same with encoded bytes.
    #[must_use]
    pub fn encoded(mut self, spec: TensorSpec, bytes: Vec<u8>) -> Tiny {
        match self.tensors.iter_mut().find(|(s, _)| s.name == spec.name) {
            Some(place) => *place = (spec, bytes),
            None => self.tensors.push((spec, bytes)),
        }
        self
    }

    /// Encodes the matrices of f32 whose rows are whole blocks of a dtype.
    ///
    /// # Panics
    /// If the dtype has no encoder.
    #[must_use]
    pub fn quantised(mut self, dtype: DType) -> Tiny {
        let encode = dtype.info().encode.expect("a dtype with an encoder");
        for (spec, bytes) in &mut self.tensors {
            let cols = spec.dims[0] as usize;
            if spec.dims.len() > 1 && spec.dtype == DType::F32 && cols.is_multiple_of(dtype.block()) {
                let values: Vec<f32> = bytes.as_chunks().0.iter().map(|b| f32::from_le_bytes(*b)).collect();
                *bytes = vec![0; values.len() / dtype.block() * dtype.block_bytes()];
                encode(&values, bytes);
                spec.dtype = dtype;
            }
        }
        self
    }

    /// A tensor's values, to be changed.
    ///
    /// # Panics
    /// If there is none.
    #[must_use]
    pub fn value(mut self, name: &str, index: usize, value: f32) -> Tiny {
        let (_, bytes) = self.tensors.iter_mut().find(|(s, _)| s.name == name).expect(name);
        bytes[4 * index..][..4].copy_from_slice(&value.to_le_bytes());
        self
    }

    /// Takes a tensor out.
    #[must_use]
    pub fn without_tensor(mut self, name: &str) -> Tiny {
        self.tensors.retain(|(s, _)| s.name != name);
        self
    }

    /// Its tensors.
    pub fn tensors(&self) -> impl Iterator<Item = &TensorSpec> {
        self.tensors.iter().map(|(spec, _)| spec)
    }

    /// The file.
    ///
    /// # Panics
    /// If the writer refuses it.
    pub fn bytes(&self) -> Vec<u8> {
        let specs = self.tensors().cloned().collect();
        let mut writer = Writer::new(Vec::new(), &self.metadata, specs).expect("a file that can be written");
        self.tensors.iter().for_each(|(_, bytes)| writer.data(bytes).expect("memory"));
        writer.finish().expect("all data")
    }

    /// The file, read.
    ///
    /// # Panics
    /// If the reader refuses it.
    pub fn gguf(&self) -> Gguf {
        Gguf::from_bytes(Arc::new(self.bytes()), "tiny").expect("a sound file")
    }

    /// Opens the model on the reference engine, for errors that do not depend on the engine.
    pub fn open(&self) -> Result<Model> {
        self.open_on("reference")
    }

    /// The model on an engine.
    pub fn open_on(&self, engine: &str) -> Result<Model> {
        self.open_with(&ModelOptions::default().engine(engine))
    }

    /// The model with these options.
    pub fn open_with(&self, options: &ModelOptions) -> Result<Model> {
        Model::from_gguf(self.gguf(), options)
    }
}
