//! Tokenizers and chat templates from the metadata of GGUF files, and streaming decoders.
//!
//! Two kinds of tokenizers are supported: `gpt2`, byte-level BPE with a table of pre-tokenizers, and `llama`, the BPE
//! of SentencePiece with scores and byte tokens. Encoding takes linear time for any text, and no file or text makes it
//! panic. A text never produces control tokens unless the caller asks for it ([`Encode::special`]).
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
