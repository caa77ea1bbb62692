//! Arguments of `tokenize`.

use super::{InputArgs, number};
use clap::Args;

const EXAMPLES: &str = "Examples:
  inkstone tokenize model.gguf \"Hello world\"        a line for each token: id, text
  inkstone tokenize model.gguf --ids < book.txt     [1, 2, 3]

Model and text are told apart as with `inkstone complete`. Standard input and files are read byte
for byte.";

/// Shows the tokens of a text; the file may be a vocabulary without tensors
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct TokenizeArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,
    /// Only the ids: [1, 2, 3]
    #[arg(long)]
    pub(crate) ids: bool,
    /// No token for the beginning of the text, whatever the file says
    #[arg(long)]
    pub(crate) no_bos: bool,
    /// Makes control tokens out of their texts, such as <|im_start|>
    #[arg(long)]
    pub(crate) special: bool,
    /// Longest text in bytes
    #[arg(long, value_name = "N", default_value = "67108864", allow_negative_numbers = true,
          value_parser = number::whole::<u64>(1, 0x7FFF_FFFF))]
    pub(crate) max_bytes: u64,
}
