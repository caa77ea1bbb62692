//! Arguments of `bench`: those of llama-bench where it has them.

use super::{FileArgs, MODEL_OPTIONS, accuracies, engine_names, number};
use crate::Error;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use inkstone::compute::EngineOptions;
use inkstone::kvcache::{FORMATS, Format};
use inkstone::{Accuracy, ModelOptions};
use std::path::Path;

const EXAMPLES: &str = "Examples:
  inkstone bench model.gguf                          512 tokens of a prompt, 128 of a text
  inkstone bench model.gguf -p 0 -d 0,4096 -t 1,2    texts behind prompts of two lengths, with one thread and with two
  inkstone bench model.gguf -p 0 -b 8 -o json        eight sequences in a step
  inkstone bench --kernels --assert -t 1             whether the kernels that are chosen are the fastest

Tests are pp512 (a prompt of 512 tokens), tg128 (128 tokens of a text) and the like; @ d4096: behind 4096 others.
Decodes are timed in slices of 100 ms with a read of memory before and after. Slices whose reads differ by more than
15% are dropped; with several threads memory may have a slow and a fast state, which are told apart.";

/// Measures how fast a model reads prompts and writes text, and how much of its machine it uses
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct BenchArgs {
    #[command(flatten)]
    model: FileArgs,
    /// Tokens of a prompt; several with commas; 0: no such test
    #[arg(short = 'p', long, value_name = "N", value_delimiter = ',', default_value = "512",
          allow_negative_numbers = true, value_parser = number::whole::<usize>(0, 1 << 24))]
    pub(crate) n_prompt: Vec<usize>,
    /// Tokens of a text
    #[arg(short = 'n', long, value_name = "N", value_delimiter = ',', default_value = "128",
          allow_negative_numbers = true, value_parser = number::whole::<usize>(0, 1 << 24))]
    pub(crate) n_gen: Vec<usize>,
    /// Tokens in the caches before
    #[arg(short = 'd', long, value_name = "N", value_delimiter = ',', default_value = "0",
          allow_negative_numbers = true, value_parser = number::whole::<usize>(0, 1 << 24))]
    pub(crate) n_depth: Vec<usize>,
    /// Threads to compute with; 0 or -1: one per core [default: 0]
    #[arg(short, long, value_name = "N", value_delimiter = ',', allow_negative_numbers = true,
          value_parser = number::threads())]
    pub(crate) threads: Vec<usize>,
    /// Sequences that a step of a text has
    #[arg(short = 'b', long = "batch", value_name = "N", value_delimiter = ',', default_value = "1",
          allow_negative_numbers = true, value_parser = number::whole::<usize>(1, 64))]
    pub(crate) sequences: Vec<usize>,
    /// Repetitions of each test
    #[arg(short, long, value_name = "N", default_value = "3", allow_negative_numbers = true,
          value_parser = number::whole::<usize>(1, 1000))]
    pub(crate) repetitions: usize,
    /// Form of the output: a table, a JSON array, a JSON object a line, values with commas
    #[arg(short, long, value_enum, value_name = "FORM", default_value = "md")]
    pub(crate) output: Output,
    /// Answers lines on standard input instead: fill N, decode MS, prompt N, first N, sweep, products, peak, quit
    #[arg(long)]
    pub(crate) slices: bool,
    /// Tokens that a sequence has room for, with --slices
    #[arg(short, long = "ctx", value_name = "N", default_value = "1024", requires = "slices", allow_negative_numbers = true,
          value_parser = number::whole::<u32>(2, 1 << 30))]
    pub(crate) context: u32,
    /// Times each kernel that takes a case instead, without a model; the first is the one that is chosen
    #[arg(long, conflicts_with_all = ["slices", "model", "file"])]
    pub(crate) kernels: bool,
    /// With --kernels: an error if a chosen one takes over 5% more than the fastest
    #[arg(long)]
    pub(crate) assert: bool,
    /// What computes
    #[arg(long, default_value = "auto", value_parser = engine_names(), help_heading = MODEL_OPTIONS)]
    engine: String,
    /// Instruction set of the kernels: portable, avx2, avx512 [default: the best that is here]
    #[arg(long, value_name = "NAME", help_heading = MODEL_OPTIONS)]
    isa: Option<String>,
    /// Accuracy of products: precise, or fast, which rounds activations more where that is faster
    #[arg(long, value_name = "NAME", default_value = Accuracy::default().name(), value_parser = accuracies(),
          help_heading = MODEL_OPTIONS)]
    numerics: Accuracy,
    /// Precision of the key-value cache
    #[arg(long, value_name = "TYPE", default_value = FORMATS[0].name, help_heading = MODEL_OPTIONS,
          value_parser = PossibleValuesParser::new(FORMATS.iter().map(|f| f.name)).try_map(|name| Format::named(&name)))]
    kv_type: Format,
    /// Uses the weights in the mapped file
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true",
          value_parser = number::switch, help_heading = MODEL_OPTIONS)]
    mmap: Option<bool>,
}

/// A form of the results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    Md,
    Json,
    Jsonl,
    Csv,
}

impl BenchArgs {
    /// How the model is opened.
    pub(crate) fn options(&self, threads: usize, sequences: usize, tokens: u32) -> ModelOptions {
        let mut options = ModelOptions::default().threads(threads).sequences(sequences).ctx(tokens);
        options.engine = self.engine.clone();
        options.isa = self.isa.clone();
        options.numerics = self.numerics;
        options.kv_type = self.kv_type;
        options.mmap = self.mmap.unwrap_or(false);
        options
    }

    /// The path or the name of the model.
    pub(crate) fn model(&self) -> Result<&Path, Error> {
        self.model.required()
    }

    pub(crate) fn engine(&self) -> &str {
        &self.engine
    }

    /// How an engine is opened without a model.
    pub(crate) fn engine_options(&self, threads: usize) -> EngineOptions {
        let options =
            EngineOptions::default().threads(threads).in_place(self.mmap.unwrap_or(false)).numerics(self.numerics);
        self.isa.iter().fold(options, |options, isa| options.isa(isa))
    }

    /// Numbers of threads; 0 stands for one a core.
    pub(crate) fn thread_counts(&self) -> &[usize] {
        if self.threads.is_empty() { &[0] } else { &self.threads }
    }
}
