//! The BPE of SentencePiece (Kudo and Richardson 2018): two neighbours merge if together they are a token, the pair
//! with the highest score first. Characters without a token are encoded as byte tokens.

use crate::Error;
use crate::merge::{MergeRule, Merger, NO_TOKEN, Symbol};
use crate::tokenizer::TokenModel;
use crate::vocab::Vocab;

/// U+2581, which stands for a space in the texts of tokens.
pub(crate) const SPACE: &str = "\u{2581}";

/// Encoding never produces longer tokens: each lookup of a pair hashes up to this many bytes.
pub(crate) const LONGEST: usize = 1024;

/// The model of a file with `tokenizer.ggml.model` = `llama`.
pub(crate) struct Spm {
    /// For each id the rank of its score among all distinct scores, the highest first.
    ranks: Vec<u32>,
    bytes: [Option<u32>; 256],
    unknown: Option<u32>,
    space_prefix: bool,
    /// True if no token has a space after another character, so that no merge crosses the start of a word.
    words: bool,
    longest: usize,
}

impl Spm {
    /// `scores` must have an entry for each token, and none may be NaN.
    pub(crate) fn new(vocab: &Vocab, scores: &[f32], unknown: Option<u32>, space_prefix: bool) -> Result<Spm, Error> {
        let mut bytes = [None; 256];
        for (byte, id) in (0u8..=255).zip(&mut bytes) {
            *id = vocab.find(format!("<0x{byte:02X}>").as_bytes());
        }
        let words = !vocab.texts().filter(|t| t.len() <= LONGEST).any(has_inner_space);
        let longest = vocab.longest_plain().min(LONGEST);
        Ok(Spm { ranks: ranks(scores)?, bytes, unknown, space_prefix, words, longest })
    }

    /// The number of bytes that have no token.
    pub(crate) fn missing_bytes(&self) -> usize {
        self.bytes.iter().filter(|id| id.is_none()).count()
    }

    fn encode_word(&self, vocab: &Vocab, word: &str, merger: &mut Merger, ids: &mut Vec<u32>) -> Result<(), Error> {
        let rule = Scores { spm: self, vocab, word: word.as_bytes() };
        let symbols = word.char_indices().map(|(at, c)| {
            let text = &word.as_bytes()[at..at + c.len_utf8()];
            (text.len(), vocab.find_plain(text).unwrap_or(NO_TOKEN))
        });
        merger.run(word.len(), symbols, &rule, |symbol| {
            let text = &word.as_bytes()[symbol.start as usize..symbol.end as usize];
            ids.try_reserve(text.len()).map_err(Error::memory("the ids of a text"))?;
            if symbol.token != NO_TOKEN {
                ids.push(symbol.token);
                return Ok(());
            }
            for &byte in text {
                let id = self.bytes[usize::from(byte)].or(self.unknown).ok_or_else(|| no_token(byte, text))?;
                ids.push(id);
            }
            Ok(())
        })
    }
}

impl TokenModel for Spm {
    fn encode(&self, vocab: &Vocab, text: &str, first: bool, ids: &mut Vec<u32>) -> Result<(), Error> {
        let text = escape(text, first && self.space_prefix)?;
        let mut merger = Merger::default();
        let mut rest = text.as_str();
        while !rest.is_empty() {
            let end = if self.words { word_end(rest) } else { rest.len() };
            let (word, tail) = rest.split_at(end);
            self.encode_word(vocab, word, &mut merger, ids)?;
            rest = tail;
        }
        Ok(())
    }
}

/// Replaces the spaces of a text with U+2581, and adds one at the start if `prefix` is set.
fn escape(text: &str, prefix: bool) -> Result<String, Error> {
    let spaces = text.bytes().filter(|&b| b == b' ').count() + usize::from(prefix);
    let len = (SPACE.len() - 1).checked_mul(spaces).and_then(|more| more.checked_add(text.len() + 1));
    let len = len.ok_or(Error::OutOfMemory { what: "a text with its spaces escaped" })?;
    let mut out = String::new();
    out.try_reserve_exact(len).map_err(Error::memory("a text with its spaces escaped"))?;
    if prefix {
        out.push_str(SPACE);
    }
    for (i, part) in text.split(' ').enumerate() {
        if i > 0 {
            out.push_str(SPACE);
        }
        out.push_str(part);
    }
    Ok(out)
}

/// The start of the next word: the first space that follows another character.
fn word_end(text: &str) -> usize {
    let spaces = text.len() - text.trim_start_matches(SPACE).len();
    text.get(spaces..).and_then(|rest| rest.find(SPACE)).map_or(text.len(), |at| spaces + at)
}

fn has_inner_space(token: &[u8]) -> bool {
    std::str::from_utf8(token).is_ok_and(|text| word_end(text) < text.len())
}

fn no_token(byte: u8, text: &[u8]) -> Error {
    let character =
        std::str::from_utf8(text).ok().and_then(|t| t.chars().next()).unwrap_or(char::REPLACEMENT_CHARACTER);
    Error::NoToken { byte, character }
}

/// The ranks of the scores. Equal scores have equal ranks, so that the leftmost pair merges first.
fn ranks(scores: &[f32]) -> Result<Vec<u32>, Error> {
    const WHAT: &str = "the ranks of the scores";
    let mut order: Vec<u32> = Vec::new();
    order.try_reserve_exact(scores.len()).map_err(Error::memory(WHAT))?;
    order.extend((0u32..).zip(scores).map(|(id, _)| id));
    let score = |id: u32| scores[id as usize] + 0.0; // -0 is 0
    order.sort_unstable_by(|&a, &b| score(b).total_cmp(&score(a)));
    let mut ranks = Vec::new();
    ranks.try_reserve_exact(scores.len()).map_err(Error::memory(WHAT))?;
    ranks.resize(scores.len(), 0);
    let mut rank = 0;
    for pair in order.windows(2) {
        rank += u32::from(score(pair[0]) != score(pair[1]));
        ranks[pair[1] as usize] = rank;
    }
    Ok(ranks)
}

/// Two neighbours merge if together they are the text of a token.
struct Scores<'a> {
    spm: &'a Spm,
    vocab: &'a Vocab,
    word: &'a [u8],
}

impl MergeRule for Scores<'_> {
    fn merge(&self, left: Symbol, right: Symbol) -> Option<(u32, u32)> {
        let text = self.word.get(left.start as usize..right.end as usize)?;
        if text.len() > self.spm.longest {
            return None;
        }
        let id = self.vocab.find_plain(text)?;
        Some((*self.spm.ranks.get(id as usize)?, id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_spaces_and_what_follows() {
        assert_eq!(word_end("▁▁ab▁c"), "▁▁ab".len());
        assert_eq!(word_end("ab▁c"), 2);
        assert_eq!(word_end("▁▁"), "▁▁".len());
        assert_eq!(word_end("a"), 1);
    }

    #[test]
    fn equal_scores_have_equal_ranks() {
        assert_eq!(ranks(&[0.0, -1.0, 3.0, -1.0, -0.0, f32::NEG_INFINITY]).unwrap(), [1, 2, 0, 2, 1, 3]);
        assert!(ranks(&[]).unwrap().is_empty());
    }
}
