//! Arguments of `tokenize`.

use super::{InputArgs, number};
use clap::Args;

const EXAMPLES: &str = "Examples:
  inkstone tokenize model.gguf \"Hello world\"        one line per token: id, text
  inkstone tokenize model.gguf --ids < book.txt     [1, 2, 3]

A single argument is the model or the text, as in `inkstone complete`. Unlike there, the last line
end of standard input or of a file is part of the text.";

/// Print the tokens of a text; the file may be a vocabulary without tensors
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct TokenizeArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,
    /// Print only the ids: [1, 2, 3]
    #[arg(long)]
    pub(crate) ids: bool,
    /// Do not add a beginning-of-text token, even if the file requests it
    #[arg(long)]
    pub(crate) no_bos: bool,
    /// Encode the texts of control tokens, such as <|im_start|>, as control tokens
    #[arg(long)]
    pub(crate) special: bool,
    /// Maximum length of the text in bytes
    #[arg(long, value_name = "N", default_value = "67108864", allow_negative_numbers = true,
          value_parser = number::whole::<u64>(1, 0x7FFF_FFFF))]
    pub(crate) max_bytes: u64,
}
