//! Devices that are described, not present, and models without weights: what would a device run?

use inkstone::compute::{
    Back, Bindings, Buffer, Caps, Engine, EngineOptions, Error, Exec, Executable, Plan, Queue, Result, Ticket, Usage,
    WeightSlot, Weights,
};
use inkstone::gguf::{Metadata, TensorSpec, Writer};
use inkstone::tensor::{DType, Progress, WeightSource};
use inkstone_engine_cpu::Cpu;
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// The sizes of a llama.
#[derive(Clone, Copy, Debug)]
pub struct Llama {
    /// In the name of the test's line.
    pub name: &'static str,
    /// The type of all matrices.
    pub dtype: DType,
    /// Layers.
    pub layers: u32,
    /// Values of a hidden row.
    pub width: u32,
    /// Values within the network of a layer.
    pub ffn: u32,
    /// Heads of queries, with 128 values each.
    pub heads: u32,
    /// Heads of keys and values.
    pub kv_heads: u32,
    /// Tokens of the vocabulary.
    pub vocab: u32,
    /// The context that it was trained with.
    pub context: u32,
}

/// Values of a head.
const HEAD_DIM: u32 = 128;

impl Llama {
    /// Writes a file with its metadata and a hole for its tensors.
    ///
    /// # Panics
    /// If the file can't be written.
    pub fn write(&self, path: &Path) {
        let mut metadata = Metadata::new();
        metadata.insert("general.architecture", "llama");
        for (key, value) in [
            ("block_count", self.layers),
            ("context_length", self.context),
            ("embedding_length", self.width),
            ("feed_forward_length", self.ffn),
            ("attention.head_count", self.heads),
            ("attention.head_count_kv", self.kv_heads),
            ("attention.key_length", HEAD_DIM),
            ("attention.value_length", HEAD_DIM),
        ] {
            metadata.insert(&format!("llama.{key}"), value);
        }
        metadata.insert("llama.attention.layer_norm_rms_epsilon", 1e-5f32);
        let tokens: Vec<String> = (0..self.vocab).map(|id| format!("t{id}")).collect();
        metadata.insert("tokenizer.ggml.model", "llama");
        metadata.insert("tokenizer.ggml.tokens", tokens.iter().map(String::as_str).collect::<Vec<&str>>());
        metadata.insert("tokenizer.ggml.scores", vec![0f32; tokens.len()]);
        metadata.insert("tokenizer.ggml.token_type", vec![1i32; tokens.len()]);
        let specs = self.tensors();
        let row = |s: &TensorSpec| s.dtype.row_bytes(s.dims[0] as usize).expect("whole blocks") as u64;
        let bytes = |s: &TensorSpec| row(s) * s.dims.get(1).copied().unwrap_or(1);
        // Tensors begin at multiples of 32 bytes.
        let hole: u64 = specs.iter().map(|s| bytes(s).next_multiple_of(32)).sum();
        let writer = Writer::new(BufWriter::new(File::create(path).expect("a file")), &metadata, specs);
        drop(writer.expect("a header"));
        let file = File::options().write(true).open(path).expect("the file");
        let header = file.metadata().expect("its size").len();
        file.set_len(header + hole).expect("a hole");
    }

    fn tensors(&self) -> Vec<TensorSpec> {
        let [width, ffn, vocab] = [self.width, self.ffn, self.vocab].map(u64::from);
        let [q, kv] = [self.heads, self.kv_heads].map(|heads| u64::from(heads * HEAD_DIM));
        let matrix = |name: &str, dims: [u64; 2]| TensorSpec::new(format!("{name}.weight"), self.dtype, &dims);
        let norm = |name: &str| TensorSpec::new(format!("{name}.weight"), DType::F32, &[width]);
        let mut specs =
            vec![matrix("token_embd", [width, vocab]), matrix("output", [width, vocab]), norm("output_norm")];
        for layer in 0..self.layers {
            let at = |name: &str| format!("blk.{layer}.{name}");
            specs.extend([norm(&at("attn_norm")), norm(&at("ffn_norm"))]);
            specs
                .extend([("attn_q", q), ("attn_k", kv), ("attn_v", kv)].map(|(n, rows)| matrix(&at(n), [width, rows])));
            specs.extend([("ffn_gate", ffn), ("ffn_up", ffn)].map(|(n, rows)| matrix(&at(n), [width, rows])));
            specs.extend([matrix(&at("attn_output"), [q, width]), matrix(&at("ffn_down"), [ffn, width])]);
        }
        specs
    }
}

/// An engine with the kernels of the CPU engine and other capabilities, which allocates and computes nothing.
pub struct Described {
    caps: Caps,
    cpu: Cpu,
    asked: Arc<Asked>,
}

/// The requests for memory so far.
#[derive(Debug, Default)]
pub struct Asked(Mutex<Vec<(u64, Usage)>>);

impl Asked {
    /// In their order.
    pub fn all(&self) -> Vec<(u64, Usage)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The bytes for some usages.
    pub fn bytes(&self, of: impl Fn(Usage) -> bool) -> u64 {
        self.all().iter().filter(|(_, usage)| of(*usage)).map(|(bytes, _)| bytes).sum()
    }
}

impl Described {
    /// It has the capabilities of the CPU engine, with changes.
    ///
    /// # Errors
    /// The CPU engine does not open.
    pub fn new(options: &EngineOptions, change: impl FnOnce(&mut Caps), asked: Arc<Asked>) -> Result<Described> {
        // The same plans on every machine.
        let cpu = Cpu::new(&options.clone().isa("portable").threads(1))?;
        let mut caps = cpu.caps().clone();
        caps.name = "described".to_owned();
        change(&mut caps);
        Ok(Described { caps, cpu, asked })
    }

    fn note(&self, buffers: &[(u64, Usage)]) {
        self.asked.0.lock().unwrap_or_else(PoisonError::into_inner).extend(buffers);
    }
}

fn nothing(bytes: u64) -> Buffer {
    Buffer::new(Arc::new(()), bytes)
}

impl Engine for Described {
    inkstone::compute::pass_on! { cpu: registry weight_bytes draws gauge }

    fn caps(&self) -> &Caps {
        &self.caps
    }

    fn alloc(&self, bytes: u64, usage: Usage) -> Result<Buffer> {
        self.note(&[(bytes, usage)]);
        Ok(nothing(bytes))
    }

    fn alloc_all(&self, buffers: &[(u64, Usage)]) -> Result<Vec<Buffer>> {
        self.note(buffers);
        Ok(buffers.iter().map(|(bytes, _)| nothing(*bytes)).collect())
    }

    fn load(&self, _from: &dyn WeightSource, _slots: &[WeightSlot], _told: &dyn Progress) -> Result<Weights> {
        Ok(Weights::new(Arc::new(()), 0))
    }

    fn prepare(&self, plan: Arc<Plan>, _bind: Bindings, _exec: Exec) -> Result<Arc<dyn Executable>> {
        Ok(Arc::new(OnPaper(plan)))
    }

    fn queue(&self) -> Result<Box<dyn Queue>> {
        Ok(Box::new(Idle))
    }
}

struct OnPaper(Arc<Plan>);

impl Executable for OnPaper {
    fn plan(&self) -> &Plan {
        &self.0
    }
}

/// A queue that refuses all work.
struct Idle;

impl Queue for Idle {
    fn submit(&mut self, _executable: &Arc<dyn Executable>, _back: &[Back]) -> Result<Ticket> {
        Err(Error::Cancelled)
    }
    fn fetch(&mut self, _ticket: Ticket, _range: usize, _into: &mut [u8]) -> Result<()> {
        Err(Error::Cancelled)
    }
    fn write(&mut self, _dst: &Buffer, _offset: u64, _bytes: &[u8]) -> Result<()> {
        Err(Error::Cancelled)
    }
    fn read(&mut self, _src: &Buffer, _offset: u64, _into: &mut [u8]) -> Result<()> {
        Err(Error::Cancelled)
    }
    fn wait(&mut self, _ticket: Ticket) -> Result<()> {
        Err(Error::Cancelled)
    }
}
