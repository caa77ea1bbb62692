//! Options of the key-value cache, which all commands with a model share.

use super::{MODEL_OPTIONS, number};
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use inkstone::ModelOptions;
use inkstone::kvcache::{FORMATS, Format};
use inkstone::tensor::ops::Window;

/// The cache.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = MODEL_OPTIONS)]
pub(crate) struct CacheArgs {
    /// Precision of the key-value cache
    #[arg(long, value_name = "TYPE", default_value = FORMATS[0].name,
          value_parser = PossibleValuesParser::new(FORMATS.iter().map(|f| f.name)).try_map(|name| Format::named(&name)))]
    kv_type: Format,
    /// Tokens per page of the cache, which does not change the results [default: 32]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = number::page)]
    kv_page: Option<usize>,
    /// Memory of the cache in bytes, such as 512M; 0: the context of each sequence, if it fits [default: 0]
    #[arg(long, value_name = "BYTES", allow_negative_numbers = true, value_parser = number::bytes)]
    kv_memory: Option<u64>,
    /// Let each layer see only the last N tokens and the FIRST ones, if it would see more, so that the cache grows by 4 bytes
    /// per token; it changes the results
    #[arg(long, value_name = "N[:FIRST]", allow_negative_numbers = true, value_parser = number::window)]
    kv_window: Option<Window>,
    /// Checkpoints for each sequence in models with windows, from which other texts can go on [default: 8]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = number::whole::<usize>(0, 1024))]
    ctx_checkpoints: Option<usize>,
    /// Compute every prompt as a whole, even if the cache holds its beginning
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true",
          value_parser = number::switch)]
    no_prefix: Option<bool>,
}

impl CacheArgs {
    /// Sets the options of a model.
    pub(crate) fn set(&self, options: &mut ModelOptions) {
        options.kv_type = self.kv_type;
        options.kv_page = self.kv_page.unwrap_or(options.kv_page);
        options.kv_memory = self.kv_memory.filter(|bytes| *bytes > 0);
        options.kv_window = self.kv_window;
        options.ctx_checkpoints = self.ctx_checkpoints.unwrap_or(options.ctx_checkpoints);
        options.prefix = !self.no_prefix.unwrap_or(false);
    }
}
