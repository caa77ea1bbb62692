//! Arguments of `bench`, with the names of llama-bench where possible.

use super::{CacheArgs, FileArgs, MODEL_OPTIONS, accuracies, engine_names, number};
use crate::Error;
use clap::{Args, ValueEnum};
use inkstone::compute::EngineOptions;
use inkstone::{Accuracy, ModelOptions};
use std::path::Path;

const EXAMPLES: &str = "Examples:
  inkstone bench model.gguf                          a prompt of 512 tokens, a text of 128 tokens
  inkstone bench model.gguf -p 0 -d 0,4096 -t 1,2    texts after 0 and 4096 tokens, 1 and 2 threads
  inkstone bench model.gguf -p 0 -b 8 -o json        eight sequences per step
  inkstone bench --kernels --assert -t 1             check that the chosen kernels are the fastest
  inkstone bench model.gguf --scheduler              what shared pages, reused prompts and batches cost

Test pp512 reads a prompt of 512 tokens, test tg128 generates 128 tokens; @ d4096: after 4096 tokens.
Decoding is timed in slices of 100 ms, with a measurement of the memory bandwidth before and after
each slice. Slices whose two measurements differ by more than 15% are dropped. With several threads
the memory may have a slow and a fast state; the results of the two states are separate rows.

With --scheduler each test measures two quantities in turns, and shows the ratio of their medians:
  batch      tokens/s of 8 requests at once / of 8 sequences that are computed step by step
  single     tokens/s of a stream / of a sequence
  prompt     the same for the tokens of a prompt
  prefix     time to the first token after 3/4 of the context: found in the cache / computed
  stall      longest wait of a text for such a prompt / 50 ms or 4 times its usual wait, whichever is more
  scattered  tokens/s after such a prompt: pages in random order / in order
  samples    time to the first token of all of 8 samples of such a prompt / of one
The rounds of a test take at least a second.";

/// Measure the speed of prompts and text, and the share of the machine's peak rates
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct BenchArgs {
    #[command(flatten)]
    model: FileArgs,
    /// Length of the prompt in tokens; several lengths separated by commas; 0: skip this test
    #[arg(short = 'p', long, value_name = "N", value_delimiter = ',', default_value = "512",
          allow_negative_numbers = true, value_parser = number::whole::<usize>(0, 1 << 24))]
    pub(crate) n_prompt: Vec<usize>,
    /// Length of the generated text in tokens
    #[arg(short = 'n', long, value_name = "N", value_delimiter = ',', default_value = "128",
          allow_negative_numbers = true, value_parser = number::whole::<usize>(0, 1 << 24))]
    pub(crate) n_gen: Vec<usize>,
    /// Number of tokens in the caches before the test
    #[arg(short = 'd', long, value_name = "N", value_delimiter = ',', default_value = "0",
          allow_negative_numbers = true, value_parser = number::whole::<usize>(0, 1 << 24))]
    pub(crate) n_depth: Vec<usize>,
    /// Number of compute threads; 0 or -1: one per core [default: 0]
    #[arg(short, long, value_name = "N", value_delimiter = ',', allow_negative_numbers = true,
          value_parser = number::threads())]
    pub(crate) threads: Vec<usize>,
    /// Number of sequences per decode step
    #[arg(short = 'b', long = "batch", value_name = "N", value_delimiter = ',', default_value = "1",
          allow_negative_numbers = true, value_parser = number::whole::<usize>(1, 64))]
    pub(crate) sequences: Vec<usize>,
    /// Number of repetitions of each test
    #[arg(short, long, value_name = "N", default_value = "3", allow_negative_numbers = true,
          value_parser = number::whole::<usize>(1, 1000))]
    pub(crate) repetitions: usize,
    /// Format of the output: a table, a JSON array, one JSON object per line, comma-separated values
    #[arg(short, long, value_enum, value_name = "FORM", default_value = "md")]
    pub(crate) output: Output,
    /// Answer requests on standard input instead: fill N, decode MS, prompt N, first N, sweep, products, peak, quit
    #[arg(long, group = "bounded")]
    pub(crate) slices: bool,
    /// Measure what the scheduler costs, compared with sequences that are computed step by step
    #[arg(long, group = "bounded", conflicts_with_all = ["n_prompt", "n_gen", "n_depth", "sequences"])]
    pub(crate) scheduler: bool,
    /// Maximum number of tokens of a sequence, with --slices [default: 1024] or --scheduler [default: 2048, or the
    /// trained context if that is shorter]
    #[arg(short, long = "ctx", value_name = "N", requires = "bounded", allow_negative_numbers = true,
          value_parser = number::whole::<u32>(2, 1 << 30))]
    pub(crate) context: Option<u32>,
    /// Time kernels instead of a model: all that support each case, the chosen kernel first
    #[arg(long, conflicts_with_all = ["slices", "scheduler", "model", "file"])]
    pub(crate) kernels: bool,
    /// With --kernels: fail if a chosen kernel takes over 5% more time than the fastest; with --scheduler: if a ratio
    /// misses its floor
    #[arg(long)]
    pub(crate) assert: bool,
    /// Compute engine
    #[arg(long, default_value = "auto", value_parser = engine_names(), help_heading = MODEL_OPTIONS)]
    engine: String,
    /// Variant of the kernels: portable, avx2 or avx512; on wgpu core or subgroup [default: the best of this machine]
    #[arg(long, value_name = "NAME", help_heading = MODEL_OPTIONS)]
    isa: Option<String>,
    /// Device of the engine: a part of its name, or its number [default: the best one]
    #[arg(long, value_name = "NAME", help_heading = MODEL_OPTIONS)]
    device: Option<String>,
    /// Accuracy of products: precise, or fast, which rounds activations more if that is faster
    #[arg(long, value_name = "NAME", default_value = Accuracy::default().name(), value_parser = accuracies(),
          help_heading = MODEL_OPTIONS)]
    numerics: Accuracy,
    #[command(flatten)]
    cache: CacheArgs,
    /// Use the weights in the mapped file
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true",
          value_parser = number::switch, help_heading = MODEL_OPTIONS)]
    mmap: Option<bool>,
}

/// A format of the results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    Md,
    Json,
    Jsonl,
    Csv,
}

impl BenchArgs {
    /// The options for opening the model.
    pub(crate) fn options(&self, threads: usize, sequences: usize, tokens: u32) -> ModelOptions {
        let mut options = ModelOptions::default().threads(threads).sequences(sequences).ctx(tokens);
        options.engine = self.engine.clone();
        options.isa = self.isa.clone();
        options.device = self.device.clone();
        options.numerics = self.numerics;
        self.cache.set(&mut options);
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

    /// The options for opening an engine without a model.
    pub(crate) fn engine_options(&self, threads: usize) -> EngineOptions {
        let options =
            EngineOptions::default().threads(threads).in_place(self.mmap.unwrap_or(false)).numerics(self.numerics);
        let options = self.isa.iter().fold(options, |options, isa| options.isa(isa));
        self.device.iter().fold(options, |options, device| options.device(device))
    }

    /// The numbers of threads; 0 stands for one per core.
    pub(crate) fn thread_counts(&self) -> &[usize] {
        if self.threads.is_empty() { &[0] } else { &self.threads }
    }
}
