//! The vocabulary: the text, the kind and the decoded bytes of each token.

use crate::Error;
use crate::token_index::TokenIndex;

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TokenKind {
    /// A part of ordinary text.
    Normal,
    /// Stands for characters that the vocabulary does not contain.
    Unknown,
    /// Begins, ends or separates texts. Never produced by the text of a user, unless the caller asks for it.
    Control,
    /// Matched in a text before it is split into words, in any context.
    UserDefined,
    /// An id without a meaning.
    Unused,
    /// A single byte, used for characters without a token.
    Byte,
}

impl TokenKind {
    /// The kind with this id in `tokenizer.ggml.token_type`.
    pub(crate) fn from_id(id: i32) -> Option<TokenKind> {
        Some(match id {
            1 => TokenKind::Normal,
            2 => TokenKind::Unknown,
            3 => TokenKind::Control,
            4 => TokenKind::UserDefined,
            0 | 5 => TokenKind::Unused,
            6 => TokenKind::Byte,
            _ => return None,
        })
    }

    /// Whether merges of plain text may produce the token.
    pub(crate) fn is_plain(self) -> bool {
        matches!(self, TokenKind::Normal | TokenKind::UserDefined | TokenKind::Unused)
    }
}

/// A token of the vocabulary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token<'v> {
    /// Its text in the file, with U+2581 or byte-level characters for spaces.
    pub text: &'v str,
    /// The kind of the token.
    pub kind: TokenKind,
}

/// Byte strings, concatenated in one buffer.
#[derive(Default)]
pub(crate) struct Texts {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Texts {
    pub(crate) fn with_capacity(texts: usize, bytes: usize) -> Result<Texts, Error> {
        let mut out = Texts::default();
        out.bytes.try_reserve_exact(bytes).map_err(Error::memory("the tokens' texts"))?;
        out.ends.try_reserve_exact(texts).map_err(Error::memory("the tokens' texts"))?;
        Ok(out)
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(crate) fn get(&self, index: usize) -> Option<&[u8]> {
        let end = *self.ends.get(index)?;
        let start = index.checked_sub(1).and_then(|i| self.ends.get(i)).copied().unwrap_or(0);
        self.bytes.get(start..end)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len()).map(|i| self.get(i).unwrap_or_default())
    }

    /// Appends bytes to the current text, which `end` completes.
    pub(crate) fn extend(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    pub(crate) fn end(&mut self) {
        self.ends.push(self.bytes.len());
    }
}

/// All tokens, with an index by text.
pub(crate) struct Vocab {
    texts: Texts,
    pieces: Texts,
    kinds: Vec<TokenKind>,
    index: TokenIndex,
}

impl Vocab {
    /// `texts` must be UTF-8 and have as many entries as the other two. A search returns the lowest id of equal texts.
    pub(crate) fn new(texts: Texts, pieces: Texts, kinds: Vec<TokenKind>) -> Result<Vocab, Error> {
        let index = TokenIndex::new(&texts)?;
        Ok(Vocab { texts, pieces, kinds, index })
    }

    pub(crate) fn len(&self) -> usize {
        self.kinds.len()
    }

    /// The number of tokens whose text also belongs to a lower id.
    pub(crate) fn duplicates(&self) -> usize {
        self.index.duplicates()
    }

    pub(crate) fn text(&self, id: u32) -> Option<&str> {
        self.texts.get(id as usize).and_then(|t| std::str::from_utf8(t).ok())
    }

    pub(crate) fn kind(&self, id: u32) -> Option<TokenKind> {
        self.kinds.get(id as usize).copied()
    }

    pub(crate) fn kinds(&self) -> impl Iterator<Item = (u32, TokenKind)> {
        (0..).zip(self.kinds.iter().copied())
    }

    pub(crate) fn set_kind(&mut self, id: u32, kind: TokenKind) {
        if let Some(k) = self.kinds.get_mut(id as usize) {
            *k = kind;
        }
    }

    /// The decoded bytes of a token: the text of control and unknown tokens, nothing for unused tokens.
    pub(crate) fn piece(&self, id: u32) -> Option<&[u8]> {
        let special = matches!(self.kind(id)?, TokenKind::Control | TokenKind::Unknown | TokenKind::UserDefined);
        if special { self.texts.get(id as usize) } else { self.pieces.get(id as usize) }
    }

    pub(crate) fn find(&self, text: &[u8]) -> Option<u32> {
        self.index.find(&self.texts, text)
    }

    /// Like `find`, but only for tokens that plain text may produce.
    pub(crate) fn find_plain(&self, text: &[u8]) -> Option<u32> {
        let id = self.find(text)?;
        self.kind(id)?.is_plain().then_some(id)
    }

    /// `find_plain` for several texts at once.
    pub(crate) fn find_all_plain<const N: usize>(&self, texts: [&[u8]; N]) -> [Option<u32>; N] {
        let plain = |id: &u32| self.kind(*id).is_some_and(TokenKind::is_plain);
        self.index.find_all(&self.texts, texts).map(|id| id.filter(plain))
    }

    /// Like `find_plain`, but faster if the text belongs to token `near` or the next token.
    pub(crate) fn find_plain_near(&self, text: &[u8], near: u32) -> Option<u32> {
        let is_it =
            |id: &u32| self.texts.get(*id as usize) == Some(text) && self.kind(*id).is_some_and(TokenKind::is_plain);
        // With duplicate texts the lowest id must be found.
        let near = [near, near.saturating_add(1)].into_iter().find(|id| self.duplicates() == 0 && is_it(id));
        near.or_else(|| self.find_plain(text))
    }

    /// The length in bytes of the longest token that plain text may produce.
    pub(crate) fn longest_plain(&self) -> usize {
        self.texts.iter().zip(&self.kinds).filter(|(_, k)| k.is_plain()).map(|(t, _)| t.len()).max().unwrap_or(0)
    }

    pub(crate) fn texts(&self) -> impl Iterator<Item = &[u8]> {
        self.texts.iter()
    }
}
