//! The shapes: the metadata of the real files, and their tensors in the order of the real files.

use inkstone_gguf::Metadata;

use super::vocabulary::{GEMMA_3, LLAMA_3, QWEN_2, TINYLLAMA, Vocabulary};

/// The shape of a model, in values unless another unit is said.
pub struct Shape {
    pub name: &'static str,
    pub architecture: &'static str,
    pub layers: usize,
    pub width: usize,
    pub hidden: usize,
    pub heads: usize,
    pub kv_heads: usize,
    pub head_dim: usize,
    /// Tokens.
    pub context: u32,
    pub rope_base: f32,
    /// The factor of Llama 3's scaling, which a file has as a tensor of factors.
    pub rope_factor: Option<f64>,
    pub norm_epsilon: f32,
    /// The head is the table of embeddings.
    pub tied: bool,
    pub qkv_biases: bool,
    pub head_norms: bool,
    /// Norms behind attention and the feed-forward part.
    pub post_norms: bool,
    /// The tokens of a sliding window, which some layers have.
    pub window: Option<u32>,
    pub vocabulary: &'static Vocabulary,
}

pub const SHAPES: &[Shape] = &[
    Shape {
        name: "llama-3.2-1b",
        architecture: "llama",
        layers: 16,
        width: 2048,
        hidden: 8192,
        heads: 32,
        kv_heads: 8,
        head_dim: 64,
        context: 131_072,
        rope_base: 500_000.0,
        rope_factor: Some(32.0),
        norm_epsilon: 1e-5,
        tied: true,
        qkv_biases: false,
        head_norms: false,
        post_norms: false,
        window: None,
        vocabulary: &LLAMA_3,
    },
    Shape {
        name: "qwen2.5-0.5b",
        architecture: "qwen2",
        layers: 24,
        width: 896,
        hidden: 4864,
        heads: 14,
        kv_heads: 2,
        head_dim: 64,
        context: 32_768,
        rope_base: 1_000_000.0,
        rope_factor: None,
        norm_epsilon: 1e-6,
        tied: true,
        qkv_biases: true,
        head_norms: false,
        post_norms: false,
        window: None,
        vocabulary: &QWEN_2,
    },
    Shape {
        name: "qwen3-0.6b",
        architecture: "qwen3",
        layers: 28,
        width: 1024,
        hidden: 3072,
        heads: 16,
        kv_heads: 8,
        head_dim: 128,
        context: 40_960,
        rope_base: 1_000_000.0,
        rope_factor: None,
        norm_epsilon: 1e-6,
        tied: true,
        qkv_biases: false,
        head_norms: true,
        post_norms: false,
        window: None,
        vocabulary: &QWEN_2,
    },
    Shape {
        name: "tinyllama-1.1b",
        architecture: "llama",
        layers: 22,
        width: 2048,
        hidden: 5632,
        heads: 32,
        kv_heads: 4,
        head_dim: 64,
        context: 2048,
        rope_base: 10_000.0,
        rope_factor: None,
        norm_epsilon: 1e-5,
        tied: false,
        qkv_biases: false,
        head_norms: false,
        post_norms: false,
        window: None,
        vocabulary: &TINYLLAMA,
    },
    Shape {
        name: "llama-3.1-8b",
        architecture: "llama",
        layers: 32,
        width: 4096,
        hidden: 14_336,
        heads: 32,
        kv_heads: 8,
        head_dim: 128,
        context: 131_072,
        rope_base: 500_000.0,
        rope_factor: Some(8.0),
        norm_epsilon: 1e-5,
        tied: false,
        qkv_biases: false,
        head_norms: false,
        post_norms: false,
        window: None,
        vocabulary: &LLAMA_3,
    },
    Shape {
        name: "gemma-3-1b",
        architecture: "gemma3",
        layers: 26,
        width: 1152,
        hidden: 6912,
        heads: 4,
        kv_heads: 1,
        head_dim: 256,
        context: 32_768,
        rope_base: 1_000_000.0,
        rope_factor: None,
        norm_epsilon: 1e-6,
        tied: true,
        qkv_biases: false,
        head_norms: true,
        post_norms: true,
        window: Some(512),
        vocabulary: &GEMMA_3,
    },
    // Of no published model: for checks that take seconds.
    Shape {
        name: "tiny",
        architecture: "llama",
        layers: 2,
        width: 256,
        hidden: 512,
        heads: 4,
        kv_heads: 2,
        head_dim: 64,
        context: 2048,
        rope_base: 10_000.0,
        rope_factor: None,
        norm_epsilon: 1e-5,
        tied: true,
        qkv_biases: false,
        head_norms: false,
        post_norms: false,
        window: None,
        vocabulary: &TINYLLAMA,
    },
];

/// The role of a tensor, which determines its type and its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Embedding,
    Head,
    Value,
    Down,
    /// Any other matrix.
    Matrix,
    Norm,
    Bias,
    RopeFactors,
}

/// A tensor of a shape; `cols` are neighbours in the file, `rows` is 1 for vectors.
#[derive(Debug)]
pub struct Tensor {
    pub name: String,
    pub role: Role,
    /// Its layer; 0 outside of layers.
    pub layer: usize,
    pub cols: usize,
    pub rows: usize,
}

impl Shape {
    pub fn tensors(&self) -> Vec<Tensor> {
        let tensor = |name: &str, role, cols, rows| Tensor { name: name.to_owned(), role, layer: 0, cols, rows };
        let (queries, keys) = (self.heads * self.head_dim, self.kv_heads * self.head_dim);
        let mut all = Vec::new();
        if self.rope_factor.is_some() {
            all.push(tensor("rope_freqs.weight", Role::RopeFactors, self.head_dim / 2, 1));
        }
        all.push(tensor("token_embd.weight", Role::Embedding, self.width, self.vocabulary.tokens()));
        let norm = |cols| (Role::Norm, cols, 1);
        let matrix = |cols, rows| (Role::Matrix, cols, rows);
        let bias = |cols| (Role::Bias, cols, 1);
        let parts = [
            (true, "attn_norm.weight", norm(self.width)),
            (true, "attn_q.weight", matrix(self.width, queries)),
            (true, "attn_k.weight", matrix(self.width, keys)),
            (true, "attn_v.weight", (Role::Value, self.width, keys)),
            (self.qkv_biases, "attn_q.bias", bias(queries)),
            (self.qkv_biases, "attn_k.bias", bias(keys)),
            (self.qkv_biases, "attn_v.bias", bias(keys)),
            (self.head_norms, "attn_q_norm.weight", norm(self.head_dim)),
            (self.head_norms, "attn_k_norm.weight", norm(self.head_dim)),
            (true, "attn_output.weight", matrix(queries, self.width)),
            (self.post_norms, "post_attention_norm.weight", norm(self.width)),
            (true, "ffn_norm.weight", norm(self.width)),
            (true, "ffn_gate.weight", matrix(self.width, self.hidden)),
            (true, "ffn_up.weight", matrix(self.width, self.hidden)),
            (true, "ffn_down.weight", (Role::Down, self.hidden, self.width)),
            (self.post_norms, "post_ffw_norm.weight", norm(self.width)),
        ];
        for layer in 0..self.layers {
            for (_, name, (role, cols, rows)) in parts.iter().filter(|part| part.0) {
                all.push(Tensor { layer, ..tensor(&format!("blk.{layer}.{name}"), *role, *cols, *rows) });
            }
        }
        all.push(tensor("output_norm.weight", Role::Norm, self.width, 1));
        if !self.tied {
            all.push(tensor("output.weight", Role::Head, self.width, self.vocabulary.tokens()));
        }
        all
    }

    /// The metadata, except for the vocabulary.
    pub fn metadata(&self, file_type: u32) -> Metadata {
        let mut metadata = Metadata::new();
        metadata.insert("general.architecture", self.architecture);
        metadata.insert("general.name", format!("{}, random weights", self.name));
        metadata.insert("general.file_type", file_type);
        metadata.insert("general.quantization_version", 2u32);
        let mut own = |key: &str, value: u32| metadata.insert(&format!("{}.{key}", self.architecture), value);
        own("block_count", self.layers as u32);
        own("context_length", self.context);
        own("embedding_length", self.width as u32);
        own("feed_forward_length", self.hidden as u32);
        own("attention.head_count", self.heads as u32);
        own("attention.head_count_kv", self.kv_heads as u32);
        own("attention.key_length", self.head_dim as u32);
        own("attention.value_length", self.head_dim as u32);
        own("rope.dimension_count", self.head_dim as u32);
        own("vocab_size", self.vocabulary.tokens() as u32);
        if let Some(window) = self.window {
            own("attention.sliding_window", window);
        }
        let mut own = |key: &str, value: f32| metadata.insert(&format!("{}.{key}", self.architecture), value);
        own("rope.freq_base", self.rope_base);
        own("attention.layer_norm_rms_epsilon", self.norm_epsilon);
        metadata
    }

    /// Llama 3's factors: 1 for the short waves, `factor` for those longer than the context before scaling, between
    /// them in between.
    pub fn rope_factors(&self, factor: f64) -> Vec<f32> {
        const OLD_CONTEXT: f64 = 8192.0;
        const LOW: f64 = 1.0;
        const HIGH: f64 = 4.0;
        let rotations = |i: usize| {
            let frequency = f64::from(self.rope_base).powf(-((2 * i) as f64) / self.head_dim as f64);
            OLD_CONTEXT * frequency / std::f64::consts::TAU
        };
        (0..self.head_dim / 2)
            .map(|i| {
                let short = ((rotations(i) - LOW) / (HIGH - LOW)).clamp(0.0, 1.0);
                (1.0 / ((1.0 - short) / factor + short)) as f32
            })
            .collect()
    }
}
