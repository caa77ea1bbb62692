//! Finds special tokens in a text before it is split into words.

use crate::vocab::{TokenKind, Vocab};
use crate::{Error, Rendered};
use aho_corasick::{AhoCorasick, Input, MatchKind};

/// A longer token is refused: the time of a search can grow by this factor.
pub(crate) const LONGEST: usize = 1024;

/// The largest size of all special tokens together, in bytes. The automaton takes some tens of bytes per byte.
pub(crate) const ALL: usize = 2 << 20;

/// A part of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part<'t> {
    Text(&'t str),
    Token(u32),
}

/// Finds the special tokens of a vocabulary: the leftmost match first, and the longest of the matches that start there.
pub(crate) struct Specials {
    user_defined: Finder,
    /// Control and unknown tokens.
    control: Finder,
    all: Finder,
    /// Ids of the tokens that include the spaces after them, ascending.
    strips_right: Vec<u32>,
}

impl Specials {
    /// `strips_right` tells whether a token includes the spaces after it.
    pub(crate) fn new(vocab: &Vocab, strips_right: impl Fn(&str) -> bool) -> Result<Specials, Error> {
        let user_defined = Finder::new(vocab, |kind| kind == TokenKind::UserDefined)?;
        let control = Finder::new(vocab, |kind| matches!(kind, TokenKind::Control | TokenKind::Unknown))?;
        let all = Finder::new(vocab, |kind| {
            matches!(kind, TokenKind::UserDefined | TokenKind::Control | TokenKind::Unknown)
        })?;
        let strips_right = all.ids.iter().copied().filter(|&id| vocab.text(id).is_some_and(&strips_right)).collect();
        Ok(Specials { user_defined, control, all, strips_right })
    }

    /// Splits a text at user-defined tokens and, if `control` is set, at control and unknown tokens.
    pub(crate) fn split<'t>(
        &self,
        text: &'t str,
        control: bool,
        part: impl FnMut(Part<'t>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let finder = if control { &self.all } else { &self.user_defined };
        self.cut(text, |from| finder.find(text, from), part)
    }

    /// Splits a prompt at user-defined tokens, and at the control and unknown tokens whose bytes were all written by
    /// the template.
    pub(crate) fn split_rendered<'t>(
        &self,
        rendered: &'t Rendered,
        part: impl FnMut(Part<'t>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.cut(rendered.text(), |from| self.find_rendered(rendered, from), part)
    }

    fn find_rendered(&self, rendered: &Rendered, mut from: usize) -> Option<(usize, usize, u32)> {
        let text = rendered.text();
        loop {
            let (start, end, id) = self.all.find(text, from)?;
            let input = rendered.next_input(start);
            if input >= end || !self.is_control(id) {
                return Some((start, end, id));
            }
            // A shorter match may begin at the same place: a token that ends before the input, or one that is not a
            // control token.
            let shorter = self.all.find(&text[..input], start).filter(|found| found.0 == start);
            let user_defined = || self.user_defined.find(text, start).filter(|found| found.0 == start);
            if let Some(found) = shorter.or_else(user_defined) {
                return Some(found);
            }
            from = start + text[start..].chars().next().map_or(1, char::len_utf8);
        }
    }

    /// Whether a token is a control or unknown token that is matched in texts.
    pub(crate) fn is_control(&self, id: u32) -> bool {
        self.control.ids.binary_search(&id).is_ok()
    }

    fn cut<'t>(
        &self,
        text: &'t str,
        find: impl Fn(usize) -> Option<(usize, usize, u32)>,
        mut part: impl FnMut(Part<'t>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut done = 0;
        while let Some((start, end, id)) = find(done) {
            if start > done {
                part(Part::Text(&text[done..start]))?;
            }
            part(Part::Token(id))?;
            done = end;
            if self.strips_right.binary_search(&id).is_ok() {
                let is_space = |c: char| matches!(c, ' ' | '\t'..='\r');
                done = text.len() - text[end..].trim_start_matches(is_space).len();
            }
        }
        if done < text.len() { part(Part::Text(&text[done..])) } else { Ok(()) }
    }
}

/// An automaton that finds tokens of some kinds.
struct Finder {
    automaton: Option<AhoCorasick>,
    /// The id of each pattern of the automaton.
    ids: Vec<u32>,
}

impl Finder {
    fn new(vocab: &Vocab, wanted: impl Fn(TokenKind) -> bool) -> Result<Finder, Error> {
        let mut ids = Vec::new();
        let mut texts = Vec::new();
        let mut total = 0;
        for (id, _) in vocab.kinds().filter(|&(_, kind)| wanted(kind)) {
            let text = vocab.text(id).unwrap_or_default();
            if text.is_empty() || vocab.find(text.as_bytes()) != Some(id) {
                continue; // the lowest id of equal texts
            }
            total += text.len();
            if text.len() > LONGEST {
                return Err(Error::LongSpecial { id, bytes: text.len(), max: LONGEST });
            }
            if total > ALL {
                return Err(Error::LongSpecials { id, max: ALL });
            }
            ids.push(id);
            texts.push(text);
        }
        if ids.is_empty() {
            return Ok(Finder { automaton: None, ids });
        }
        let built = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(texts);
        let automaton = Some(built.map_err(Error::memory("the automaton of the special tokens"))?);
        Ok(Finder { automaton, ids })
    }

    /// Start, end and id of the first token from an offset on.
    fn find(&self, text: &str, from: usize) -> Option<(usize, usize, u32)> {
        let found = self.automaton.as_ref()?.find(Input::new(text).range(from..))?;
        Some((found.start(), found.end(), *self.ids.get(found.pattern().as_usize())?))
    }
}
