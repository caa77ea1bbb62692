//! The tokens: text, kind, and the bytes that each stands for.

use crate::Error;
use crate::token_index::TokenIndex;

/// What a token is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TokenKind {
    /// A part of texts.
    Normal,
    /// Stands for what the vocabulary does not have.
    Unknown,
    /// Begins, ends or divides texts; never made from the text of a user unless asked.
    Control,
    /// Found in a text before all else, whatever is around it.
    UserDefined,
    /// Takes up an id.
    Unused,
    /// One byte, for what no other token has.
    Byte,
}

impl TokenKind {
    /// The kind with this number in `tokenizer.ggml.token_type`.
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

    /// May be made out of plain text by merges.
    pub(crate) fn is_plain(self) -> bool {
        matches!(self, TokenKind::Normal | TokenKind::UserDefined | TokenKind::Unused)
    }
}

/// A token of the vocabulary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token<'v> {
    /// Its text as the file has it: with U+2581 or byte-level characters for spaces.
    pub text: &'v str,
    /// What it is for.
    pub kind: TokenKind,
}

/// Byte strings one after the other in one buffer.
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

    /// Appends to the text that `end` will end.
    pub(crate) fn extend(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    pub(crate) fn end(&mut self) {
        self.ends.push(self.bytes.len());
    }
}

/// All tokens, by id and by text.
pub(crate) struct Vocab {
    texts: Texts,
    pieces: Texts,
    kinds: Vec<TokenKind>,
    index: TokenIndex,
}

impl Vocab {
    /// `texts` are UTF-8 and have as many entries as the other two. Of equal texts the lowest id is found.
    pub(crate) fn new(texts: Texts, pieces: Texts, kinds: Vec<TokenKind>) -> Result<Vocab, Error> {
        let index = TokenIndex::new(&texts)?;
        Ok(Vocab { texts, pieces, kinds, index })
    }

    pub(crate) fn len(&self) -> usize {
        self.kinds.len()
    }

    /// How many tokens have a text that a lower id has too.
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

    /// The bytes of a token: for control and unknown ones their text, for unused ones nothing.
    pub(crate) fn piece(&self, id: u32) -> Option<&[u8]> {
        let special = matches!(self.kind(id)?, TokenKind::Control | TokenKind::Unknown | TokenKind::UserDefined);
        if special { self.texts.get(id as usize) } else { self.pieces.get(id as usize) }
    }

    pub(crate) fn find(&self, text: &[u8]) -> Option<u32> {
        self.index.find(&self.texts, text)
    }

    /// Like `find`, but only what may be made out of plain text.
    pub(crate) fn find_plain(&self, text: &[u8]) -> Option<u32> {
        let id = self.find(text)?;
        self.kind(id)?.is_plain().then_some(id)
    }

    /// `find_plain` of some texts at once.
    pub(crate) fn find_all_plain<const N: usize>(&self, texts: [&[u8]; N]) -> [Option<u32>; N] {
        let plain = |id: &u32| self.kind(*id).is_some_and(TokenKind::is_plain);
        self.index.find_all(&self.texts, texts).map(|id| id.filter(plain))
    }

    /// Like `find_plain`, and quick where the text is that of token `near` or of the next one.
    pub(crate) fn find_plain_near(&self, text: &[u8], near: u32) -> Option<u32> {
        let is_it =
            |id: &u32| self.texts.get(*id as usize) == Some(text) && self.kind(*id).is_some_and(TokenKind::is_plain);
        // Of equal texts the lowest id is to be found.
        let near = [near, near.saturating_add(1)].into_iter().find(|id| self.duplicates() == 0 && is_it(id));
        near.or_else(|| self.find_plain(text))
    }

    /// Length in bytes of the longest text that may be made out of plain text.
    pub(crate) fn longest_plain(&self) -> usize {
        self.texts.iter().zip(&self.kinds).filter(|(_, k)| k.is_plain()).map(|(t, _)| t.len()).max().unwrap_or(0)
    }

    pub(crate) fn texts(&self) -> impl Iterator<Item = &[u8]> {
        self.texts.iter()
    }
}
