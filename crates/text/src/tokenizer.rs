//! Converts texts to tokens and back.

use crate::special::{Part, Specials};
use crate::vocab::{Token, TokenKind, Vocab};
use crate::{Decoder, Error, Rendered};
use std::fmt;

/// The largest length of a text in bytes: one less than the largest 32-bit offset.
pub(crate) const LONGEST_TEXT: u64 = u32::MAX as u64 - 1;

/// Encodes plain text.
pub(crate) trait TokenModel: Send + Sync {
    /// Appends the tokens of a text without special tokens. `first`: the text is at the start, or after a special
    /// token.
    fn encode(&self, vocab: &Vocab, text: &str, first: bool, ids: &mut Vec<u32>) -> Result<(), Error>;
}

/// Options for encoding a text.
///
/// ```
/// let options = inkstone_text::Encode::new().bos(false).special(true);
/// assert_eq!(options.max_bytes, 64 << 20);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Encode {
    /// Begin with the beginning-of-text token; `None`: as the metadata say. It is not added if the text already begins
    /// with it (after white space), either with [`Encode::special`] or because a template wrote it.
    pub bos: Option<bool>,
    /// End with the end-of-text token; `None`: as the metadata say.
    pub eos: Option<bool>,
    /// Encode the texts of control tokens as control tokens. Do not set this for text from users: they could forge
    /// roles.
    pub special: bool,
    /// The text is at the start of a prompt. Otherwise it continues another text, and no space is put before it.
    pub start: bool,
    /// The largest length of a text in bytes. Texts above 4 GiB - 2 bytes are always refused, because offsets have 32
    /// bits.
    pub max_bytes: u64,
}

impl Default for Encode {
    fn default() -> Encode {
        Encode { bos: None, eos: None, special: false, start: true, max_bytes: 64 << 20 }
    }
}

impl Encode {
    /// The defaults: begin and end as the metadata say, no control tokens, at most 64 MiB.
    pub fn new() -> Encode {
        Encode::default()
    }

    /// Options that add no token before or after the text.
    pub fn plain() -> Encode {
        Encode::new().bos(false).eos(false)
    }

    /// Sets [`Encode::bos`].
    pub fn bos(self, bos: impl Into<Option<bool>>) -> Encode {
        Encode { bos: bos.into(), ..self }
    }

    /// Sets [`Encode::eos`].
    pub fn eos(self, eos: impl Into<Option<bool>>) -> Encode {
        Encode { eos: eos.into(), ..self }
    }

    /// Sets [`Encode::special`].
    pub fn special(self, special: bool) -> Encode {
        Encode { special, ..self }
    }

    /// Sets [`Encode::start`].
    pub fn start(self, start: bool) -> Encode {
        Encode { start, ..self }
    }

    /// Sets [`Encode::max_bytes`].
    pub fn max_bytes(self, max_bytes: u64) -> Encode {
        Encode { max_bytes, ..self }
    }
}

/// The ids of special tokens, by role.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Roles {
    pub bos: Option<u32>,
    pub eos: Option<u32>,
    pub eot: Option<u32>,
    pub eom: Option<u32>,
    pub unknown: Option<u32>,
    pub padding: Option<u32>,
    pub add_bos: bool,
    pub add_eos: bool,
}

/// The tokenizer of a model file.
pub struct Tokenizer {
    pub(crate) vocab: Vocab,
    pub(crate) model: Box<dyn TokenModel>,
    pub(crate) model_name: &'static str,
    pub(crate) pre: Option<String>,
    pub(crate) specials: Specials,
    pub(crate) roles: Roles,
    pub(crate) space_prefix: bool,
    pub(crate) end_tokens: Vec<u32>,
    pub(crate) notes: Vec<String>,
}

impl Tokenizer {
    /// Encodes a text.
    pub fn encode(&self, text: &str, options: &Encode) -> Result<Vec<u32>, Error> {
        self.encode_parts(text, options, options.special, |part| self.specials.split(text, options.special, part))
    }

    /// Encodes a prompt that a chat template rendered. Only text written by the template becomes special tokens, never
    /// the text of users; [`Encode::special`] has no effect.
    pub fn encode_rendered(&self, rendered: &Rendered, options: &Encode) -> Result<Vec<u32>, Error> {
        // A token of another kind may come from the text of a user.
        let templates_bos = self.bos().is_some_and(|bos| self.specials.is_control(bos));
        self.encode_parts(rendered.text(), options, templates_bos, |part| self.specials.split_rendered(rendered, part))
    }

    /// Encodes the parts of a text. `has_bos`: if the first part that is not white space is the beginning-of-text
    /// token, no other one is added.
    fn encode_parts<'t>(
        &self,
        text: &'t str,
        options: &Encode,
        has_bos: bool,
        split: impl FnOnce(&mut dyn FnMut(Part<'t>) -> Result<(), Error>) -> Result<(), Error>,
    ) -> Result<Vec<u32>, Error> {
        let (bytes, max) = (text.len() as u64, options.max_bytes.min(LONGEST_TEXT));
        if bytes > max {
            return Err(Error::TextTooLong { bytes, max });
        }
        let mut ids = Vec::new();
        let adds_bos = options.bos.unwrap_or(self.roles.add_bos);
        if adds_bos {
            ids.push(self.bos().ok_or(Error::NoSpecialId { flag: "bos", key: "tokenizer.ggml.bos_token_id" })?);
        }
        // All parts so far are white space.
        let mut blank = true;
        let mut first = options.start;
        split(&mut |part| {
            match part {
                Part::Text(text) => {
                    blank = blank && text.chars().all(char::is_whitespace);
                    self.model.encode(&self.vocab, text, first, &mut ids)?;
                }
                Part::Token(id) => {
                    if std::mem::take(&mut blank) && adds_bos && has_bos && self.bos() == Some(id) {
                        ids.remove(0);
                    }
                    ids.try_reserve(1).map_err(Error::memory("the ids of a text"))?;
                    ids.push(id);
                }
            }
            first = matches!(part, Part::Token(_));
            Ok(())
        })?;
        if options.eos.unwrap_or(self.roles.add_eos) {
            ids.push(self.eos().ok_or(Error::NoSpecialId { flag: "eos", key: "tokenizer.ggml.eos_token_id" })?);
        }
        Ok(ids)
    }

    /// The bytes that a token adds to a text: none for control and unknown tokens. They may be incomplete characters,
    /// see [`Decoder`]. With a SentencePiece vocabulary the first piece of a text begins with an additional space, see
    /// [`Tokenizer::strip_prefix`].
    pub fn piece(&self, id: u32) -> Option<&[u8]> {
        match self.vocab.kind(id)? {
            TokenKind::Control | TokenKind::Unknown => Some(&[]),
            _ => self.vocab.piece(id),
        }
    }

    /// Like [`Tokenizer::piece`], but returns the texts of control and unknown tokens.
    pub fn piece_or_text(&self, id: u32) -> Option<&[u8]> {
        self.vocab.piece(id)
    }

    /// Concatenates the pieces of tokens. An id outside the vocabulary adds nothing.
    pub fn decode(&self, ids: &[u32]) -> Vec<u8> {
        ids.iter().filter_map(|&id| self.piece(id)).flatten().copied().collect()
    }

    /// A decoder for streaming pieces.
    pub fn decoder(&self) -> Decoder {
        Decoder::new()
    }

    /// Removes the space that encoding added before a text from the bytes decoded from its first token on. (Not for the
    /// continuation of a prompt: a space at its start is part of the text.)
    pub fn strip_prefix<'b>(&self, bytes: &'b [u8]) -> &'b [u8] {
        if self.space_prefix { bytes.strip_prefix(b" ").unwrap_or(bytes) } else { bytes }
    }

    /// Number of tokens.
    pub fn vocab_size(&self) -> usize {
        self.vocab.len()
    }

    /// The text and kind of a token.
    pub fn token(&self, id: u32) -> Option<Token<'_>> {
        Some(Token { text: self.vocab.text(id)?, kind: self.vocab.kind(id)? })
    }

    /// The token of any kind with exactly this text.
    pub fn find(&self, text: &str) -> Option<u32> {
        self.vocab.find(text.as_bytes())
    }

    /// The beginning-of-text token.
    pub fn bos(&self) -> Option<u32> {
        self.roles.bos
    }

    /// The end-of-text token.
    pub fn eos(&self) -> Option<u32> {
        self.roles.eos
    }

    /// The token that ends a turn, if the file names one.
    pub fn eot(&self) -> Option<u32> {
        self.roles.eot
    }

    /// The token that ends a message within a turn, if the file names one.
    pub fn eom(&self) -> Option<u32> {
        self.roles.eom
    }

    /// The token for characters that the vocabulary does not contain.
    pub fn unknown(&self) -> Option<u32> {
        self.roles.unknown
    }

    /// The padding token.
    pub fn padding(&self) -> Option<u32> {
        self.roles.padding
    }

    /// Whether texts begin with [`Tokenizer::bos`] by default.
    pub fn add_bos(&self) -> bool {
        self.roles.add_bos
    }

    /// Whether texts end with [`Tokenizer::eos`] by default.
    pub fn add_eos(&self) -> bool {
        self.roles.add_eos
    }

    /// The tokens that end an answer, ascending: the tokens that the file names, and tokens with well-known texts.
    pub fn end_tokens(&self) -> &[u32] {
        &self.end_tokens
    }

    /// The kind of tokenizer, as in `tokenizer.ggml.model`.
    pub fn model(&self) -> &'static str {
        self.model_name
    }

    /// The name of the pre-tokenizer, if this kind of tokenizer has one.
    pub fn pre(&self) -> Option<&str> {
        self.pre.as_deref()
    }

    /// Irregularities of the metadata, as sentences to show to users.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }
}

impl fmt::Debug for Tokenizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tokenizer")
            .field("model", &self.model_name)
            .field("pre", &self.pre)
            .field("tokens", &self.vocab.len())
            .field("roles", &self.roles)
            .field("end_tokens", &self.end_tokens)
            .field("notes", &self.notes)
            .finish_non_exhaustive()
    }
}
