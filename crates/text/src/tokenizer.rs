//! Text to tokens and back.

use crate::special::{Part, Specials};
use crate::vocab::{Token, TokenKind, Vocab};
use crate::{Decoder, Error, Rendered};
use std::fmt;

/// In bytes: one less than what an offset of 32 bits can be.
pub(crate) const LONGEST_TEXT: u64 = u32::MAX as u64 - 1;

/// How plain text becomes tokens.
pub(crate) trait TokenModel: Send + Sync {
    /// Appends the tokens of a text that has no special ones; `first`: nothing or a special token is before it.
    fn encode(&self, vocab: &Vocab, text: &str, first: bool, ids: &mut Vec<u32>) -> Result<(), Error>;
}

/// How a text is encoded.
///
/// ```
/// let options = inkstone_text::Encode::new().bos(false).special(true);
/// assert_eq!(options.max_bytes, 64 << 20);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Encode {
    /// Begin with the token that begins texts; `None`: as the metadata say. None is added where the first token, after
    /// white space, is this one already: with [`Encode::special`], or because a template wrote it.
    pub bos: Option<bool>,
    /// End with the token that ends texts; `None`: as the metadata say.
    pub eos: Option<bool>,
    /// Make control tokens out of their texts. Never for what a user wrote: he could forge roles.
    pub special: bool,
    /// A longer text is refused. Above 4 GiB - 2 bytes all are: offsets have 32 bits.
    pub max_bytes: u64,
}

impl Default for Encode {
    fn default() -> Encode {
        Encode { bos: None, eos: None, special: false, max_bytes: 64 << 20 }
    }
}

impl Encode {
    /// As the metadata say, no control tokens out of the text, at most 64 MiB.
    pub fn new() -> Encode {
        Encode::default()
    }

    /// No token before or after the text.
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

    /// Sets [`Encode::max_bytes`].
    pub fn max_bytes(self, max_bytes: u64) -> Encode {
        Encode { max_bytes, ..self }
    }
}

/// The ids of tokens with a role.
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

/// The tokenizer of a file.
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
    /// The tokens of a text.
    pub fn encode(&self, text: &str, options: &Encode) -> Result<Vec<u32>, Error> {
        self.encode_parts(text, options, options.special, |part| self.specials.split(text, options.special, part))
    }

    /// The tokens of a prompt that a chat template made: special tokens are those that the template wrote, whatever the
    /// texts of users look like; [`Encode::special`] says nothing here.
    pub fn encode_rendered(&self, rendered: &Rendered, options: &Encode) -> Result<Vec<u32>, Error> {
        // A token of another kind may be made of what a user wrote.
        let templates_bos = self.bos().is_some_and(|bos| self.specials.is_control(bos));
        self.encode_parts(rendered.text(), options, templates_bos, |part| self.specials.split_rendered(rendered, part))
    }

    /// `has_bos`: if the first part that is not white space is the token that begins texts, it does so, and none is added.
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
        let mut first = true;
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

    /// The bytes that a token adds to a text: none for control and unknown tokens. They need not be whole characters:
    /// see [`Decoder`]. A SentencePiece vocabulary puts a space before each text, and so do the pieces: see
    /// [`Tokenizer::strip_prefix`].
    pub fn piece(&self, id: u32) -> Option<&[u8]> {
        match self.vocab.kind(id)? {
            TokenKind::Control | TokenKind::Unknown => Some(&[]),
            _ => self.vocab.piece(id),
        }
    }

    /// Like [`Tokenizer::piece`], but control and unknown tokens give their texts.
    pub fn piece_or_text(&self, id: u32) -> Option<&[u8]> {
        self.vocab.piece(id)
    }

    /// The pieces one after the other; an id outside the vocabulary adds nothing.
    pub fn decode(&self, ids: &[u32]) -> Vec<u8> {
        ids.iter().filter_map(|&id| self.piece(id)).flatten().copied().collect()
    }

    /// For the pieces of tokens as they come.
    pub fn decoder(&self) -> Decoder {
        Decoder::new()
    }

    /// What was decoded from the first token of a text on, without the space that encoding put before the text. (Not
    /// for what a model adds to a prompt: its space is there because the text has it.)
    pub fn strip_prefix<'b>(&self, bytes: &'b [u8]) -> &'b [u8] {
        if self.space_prefix { bytes.strip_prefix(b" ").unwrap_or(bytes) } else { bytes }
    }

    /// Number of tokens.
    pub fn vocab_size(&self) -> usize {
        self.vocab.len()
    }

    /// A token's text and kind.
    pub fn token(&self, id: u32) -> Option<Token<'_>> {
        Some(Token { text: self.vocab.text(id)?, kind: self.vocab.kind(id)? })
    }

    /// The token with exactly this text, of whatever kind.
    pub fn find(&self, text: &str) -> Option<u32> {
        self.vocab.find(text.as_bytes())
    }

    /// The token that begins texts.
    pub fn bos(&self) -> Option<u32> {
        self.roles.bos
    }

    /// The token that ends texts.
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

    /// The token for what the vocabulary does not have.
    pub fn unknown(&self) -> Option<u32> {
        self.roles.unknown
    }

    /// The token that fills up batches.
    pub fn padding(&self) -> Option<u32> {
        self.roles.padding
    }

    /// Texts begin with [`Tokenizer::bos`] if the caller does not say.
    pub fn add_bos(&self) -> bool {
        self.roles.add_bos
    }

    /// Texts end with [`Tokenizer::eos`] if the caller does not say.
    pub fn add_eos(&self) -> bool {
        self.roles.add_eos
    }

    /// The tokens that end what a model says, ascending: those that the file names and those known by their texts.
    pub fn end_tokens(&self) -> &[u32] {
        &self.end_tokens
    }

    /// The kind of tokenizer, as in `tokenizer.ggml.model`.
    pub fn model(&self) -> &'static str {
        self.model_name
    }

    /// The name of the pre-tokenizer, if this kind has one.
    pub fn pre(&self) -> Option<&str> {
        self.pre.as_deref()
    }

    /// What was odd about the metadata, in sentences for people.
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
