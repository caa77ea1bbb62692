//! Tokenizers from the metadata of GGUF files, and decoding token by token.
//!
//! Two kinds: `gpt2`, byte-level BPE with every pre-tokenizer of its table, and `llama`, SentencePiece's BPE with
//! scores and byte tokens. Encoding takes time that is linear in the text, whatever the text is; nothing in a file or
//! a text makes it panic. Control tokens are never made out of a text unless asked ([`Encode::special`]).
//!
//! ```
//! use inkstone_gguf::Metadata;
//! use inkstone_text::{Encode, Tokenizer};
//!
//! let mut metadata = Metadata::new();
//! metadata.insert("tokenizer.ggml.model", "gpt2");
//! metadata.insert("tokenizer.ggml.pre", "gpt-2");
//! metadata.insert("tokenizer.ggml.tokens", vec!["h", "i", "Ġ", "hi", "Ġhi"]);
//! metadata.insert("tokenizer.ggml.merges", vec!["h i", "Ġ hi"]);
//! let tokenizer = Tokenizer::from_metadata(&metadata)?;
//! assert_eq!(tokenizer.encode("hi hi", &Encode::new())?, [3, 4]);
//! assert_eq!(tokenizer.decode(&[3, 4]), b"hi hi");
//! # Ok::<(), inkstone_text::Error>(())
//! ```

mod bpe;
mod byte_chars;
mod decoder;
mod end_tokens;
mod error;
mod load;
mod merge;
mod nfc;
mod pre;
mod special;
mod spm;
mod template;
mod token_index;
mod tokenizer;
mod utf8;
mod vocab;

pub use decoder::Decoder;
pub use error::Error;
pub use inkstone_template::{Error as TemplateError, Kind as TemplateErrorKind};
pub use serde_json::Value as Json;
pub use template::{
    ChatTemplate, Conversation, MAX_DEPTH, MAX_SOURCE, Message, Origin, Rendered, TemplateLimit, TemplateLimits,
};
pub use tokenizer::{Encode, Tokenizer};
pub use utf8::check_utf8;
pub use vocab::{Token, TokenKind};
