//! Byte-level BPE (Sennrich et al. 2016; bytes as in GPT-2): patterns split the text into words, and the bytes of each
//! word are merged in the order of the list of merges.
//!
//! This is our own code because in the `tokenizers` crate (0.23) the merges of a long word take more than linear time,
//! a pattern gives up on a million spaces without an error, and a merge of an unknown token is refused.

use crate::merge::{MergeRule, Merger, NO_TOKEN, Symbol};
use crate::pre::{PreTokenizer, Splitter};
use crate::tokenizer::TokenModel;
use crate::vocab::Vocab;
use crate::{Error, byte_chars, nfc};
use inkstone_gguf::Strings;
use std::borrow::Cow;

/// The model of a file with `tokenizer.ggml.model` = `gpt2`.
pub(crate) struct Bpe {
    /// Whether texts are composed before they are split.
    nfc: bool,
    splitter: Splitter,
    merges: Merges,
    bytes: [u32; 256],
    /// A word of at most this many bytes is looked up as a token before its bytes are merged.
    longest_whole_word: usize,
}

/// The purpose of an allocation, in errors.
const MERGES: &str = "the merges";

/// The numbers of merges that were ignored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct IgnoredMerges {
    /// Entries without a space between two texts.
    pub malformed: usize,
    /// Merges with a part or a result that is not the text of a plain token.
    pub unknown: usize,
    /// Merges that occur earlier in the list.
    pub repeated: usize,
}

impl Bpe {
    pub(crate) fn new(vocab: &Vocab, merges: &Strings, row: &PreTokenizer) -> Result<(Bpe, IgnoredMerges), Error> {
        let (merges, ignored) = Merges::new(vocab, merges)?;
        let bytes =
            byte_chars::CHARS.map(|c| vocab.find_plain(c.encode_utf8(&mut [0; 4]).as_bytes()).unwrap_or(NO_TOKEN));
        // Each character of a token's text stands for at most one byte of a word, so a longer word can't be a token.
        let longest_whole_word = if row.whole_words { vocab.longest_plain() } else { 0 };
        let splitter = Splitter::new(row.stages);
        Ok((Bpe { nfc: row.nfc, splitter, merges, bytes, longest_whole_word }, ignored))
    }

    /// The number of bytes, of all 256, that have no token.
    pub(crate) fn missing_bytes(&self) -> usize {
        self.bytes.iter().filter(|&&id| id == NO_TOKEN).count()
    }
}

impl TokenModel for Bpe {
    /// Omits bytes that have no token, as llama.cpp does.
    fn encode(&self, vocab: &Vocab, text: &str, _first: bool, ids: &mut Vec<u32>) -> Result<(), Error> {
        let mut merger = Merger::default();
        let mut chars = String::new();
        let text = if self.nfc { nfc::compose(text)? } else { Cow::Borrowed(text) };
        self.splitter.split(&text, &mut |word| {
            if word.len() <= self.longest_whole_word {
                chars.clear();
                byte_chars::encode(word.as_bytes(), &mut chars);
                if let Some(id) = vocab.find_plain(chars.as_bytes()) {
                    return push(ids, id);
                }
            }
            let symbols = word.bytes().map(|b| (1, self.bytes[usize::from(b)]));
            merger.run(word.len(), symbols, &self.merges, |symbol| match symbol.token {
                NO_TOKEN => Ok(()),
                id => push(ids, id),
            })
        })
    }
}

fn push(ids: &mut Vec<u32>, id: u32) -> Result<(), Error> {
    ids.try_reserve(1).map_err(Error::memory("the ids of a text"))?;
    ids.push(id);
    Ok(())
}

/// The merges, sorted by the left token, then by the right one.
struct Merges {
    /// For each left token the index of its first merge, and one more entry at the end.
    starts: Vec<u32>,
    rows: Vec<Merge>,
}

/// A merge, without its left token.
#[derive(Clone, Copy, Default)]
struct Merge {
    right: u32,
    rank: u32,
    token: u32,
}

impl Merges {
    fn new(vocab: &Vocab, list: &Strings) -> Result<(Merges, IgnoredMerges), Error> {
        let mut ignored = IgnoredMerges::default();
        let known = known(vocab, list, &mut ignored)?;
        // The index of the next merge of each left token, and finally the end of its merges.
        let mut starts = zeros::<u32>(vocab.len() + 1)?;
        known.iter().for_each(|(left, _)| starts[*left as usize + 1] += 1);
        for id in 0..vocab.len() {
            starts[id + 1] += starts[id];
        }
        let mut rows = zeros::<Merge>(known.len())?;
        for (left, merge) in &known {
            let next = &mut starts[*left as usize];
            rows[*next as usize] = *merge;
            *next += 1;
        }
        // Sorts by the right token and keeps only the lowest rank of equal pairs.
        let (mut from, mut kept) = (0, 0);
        for start in &mut starts {
            let end = *start as usize;
            *start = kept as u32;
            rows[from..end].sort_unstable_by_key(|m| (m.right, m.rank));
            for i in from..end {
                if i == from || rows[i].right != rows[i - 1].right {
                    rows[kept] = rows[i];
                    kept += 1;
                }
            }
            from = end;
        }
        ignored.repeated = rows.len() - kept;
        rows.truncate(kept);
        Ok((Merges { starts, rows }, ignored))
    }
}

/// The merges whose parts and result are tokens, in the order of the list, each with its left token.
fn known(vocab: &Vocab, list: &Strings, ignored: &mut IgnoredMerges) -> Result<Vec<(u32, Merge)>, Error> {
    let mut known = Vec::new();
    known.try_reserve_exact(list.len()).map_err(Error::memory(MERGES))?;
    // Most lists are in the order of the resulting tokens.
    let (mut joined, mut last) = (Vec::new(), 0);
    for (rank, text) in (0u32..).zip(list.iter()) {
        // A space at the start is part of the left text, not the separator.
        let Some(space) = text.iter().skip(1).position(|&b| b == b' ').map(|at| at + 1) else {
            ignored.malformed += 1;
            continue;
        };
        let (left, right) = (&text[..space], &text[space + 1..]);
        joined.clear();
        joined.try_reserve(text.len()).map_err(Error::memory(MERGES))?;
        joined.extend_from_slice(left);
        joined.extend_from_slice(right);
        let [left, right] = vocab.find_all_plain([left, right]);
        match (left, right, vocab.find_plain_near(&joined, last)) {
            (Some(left), Some(right), Some(token)) => {
                known.push((left, Merge { right, rank, token }));
                last = token;
            }
            _ => ignored.unknown += 1,
        }
    }
    Ok(known)
}

fn zeros<T: Clone + Default>(len: usize) -> Result<Vec<T>, Error> {
    let mut list = Vec::new();
    list.try_reserve_exact(len).map_err(Error::memory(MERGES))?;
    list.resize(len, T::default());
    Ok(list)
}

impl MergeRule for Merges {
    fn merge(&self, left: Symbol, right: Symbol) -> Option<(u32, u32)> {
        let at = left.token as usize;
        let range = *self.starts.get(at)? as usize..*self.starts.get(at.checked_add(1)?)? as usize;
        let rows = self.rows.get(range)?;
        let row = rows[rows.binary_search_by_key(&right.token, |m| m.right).ok()?];
        Some((row.rank, row.token))
    }
}
