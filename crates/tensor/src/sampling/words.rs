//! A chain as words of the step buffer, and back.
//!
//! The first word is the number of words that follow; then each stage: its tag, the number of its words, the words.
//! Numbers are the low and the high word of a double; a `last_n` of all is `u32::MAX`.

use super::{Chain, ChainError, StageRef};
use std::fmt;

impl Chain {
    /// Appends the words of the chain.
    pub fn encode(&self, words: &mut Vec<u32>) {
        let start = words.len();
        words.push(0);
        for stage in self {
            encode_stage(stage, words);
        }
        words[start] = count(words.len() - start - 1);
    }
}

/// A length as a word; one that does not fit (a list of 16 GB) becomes a word that no decoder accepts.
fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

fn encode_stage(stage: StageRef, words: &mut Vec<u32>) {
    let start = words.len();
    words.extend([stage.rank(), 0]);
    let double = |p: f64| [p.to_bits() as u32, (p.to_bits() >> 32) as u32];
    match stage {
        StageRef::Bias(list) => words.extend_from_slice(bytemuck::cast_slice(list)),
        StageRef::Ban(ids) => words.extend_from_slice(ids),
        StageRef::MinTokens { tokens, ids } => {
            words.push(tokens);
            words.extend_from_slice(ids);
        }
        StageRef::Repetition { penalty, last_n } => {
            words.extend(double(penalty));
            words.push(last_n.unwrap_or(u32::MAX));
        }
        StageRef::NoRepeatNgram(n) | StageRef::TopK(n) => words.push(n),
        StageRef::Frequency(p)
        | StageRef::Presence(p)
        | StageRef::Temperature(p)
        | StageRef::TypicalP(p)
        | StageRef::TopP(p)
        | StageRef::MinP(p) => words.extend(double(p)),
    }
    words[start + 1] = count(words.len() - start - 2);
}

/// A chain in the words of a step: checked once, read without allocation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChainRef<'a> {
    stages: &'a [u32],
}

impl<'a> ChainRef<'a> {
    /// Decodes the chain at the beginning of `words` and ignores the words after it. Checks the form and the
    /// parameters; [`ChainRef::check`] checks that the tokens are in the vocabulary.
    pub fn decode(words: &'a [u32]) -> Result<ChainRef<'a>, ChainError> {
        let (&length, rest) = words.split_first().ok_or(ChainError::Words { at: 0, reason: "is missing" })?;
        let stages = usize::try_from(length)
            .ok()
            .and_then(|n| rest.get(..n))
            .ok_or(ChainError::Words { at: 0, reason: "says more words than there are" })?;
        let mut rest = stages;
        while !rest.is_empty() {
            let at = 1 + stages.len() - rest.len();
            let (stage, after) = decode_stage(rest).map_err(|reason| ChainError::Words { at, reason })?;
            stage.check_numbers()?;
            rest = after;
        }
        Ok(ChainRef { stages })
    }

    /// Whether all numbers are in their ranges and all tokens in a vocabulary of `vocab`.
    pub fn check(self, vocab: usize) -> Result<(), ChainError> {
        self.into_iter().try_for_each(|stage| stage.check(vocab))
    }
}

impl<'a> IntoIterator for ChainRef<'a> {
    type Item = StageRef<'a>;
    type IntoIter = StageRefs<'a>;

    fn into_iter(self) -> StageRefs<'a> {
        StageRefs { rest: self.stages }
    }
}

/// `temperature 0.8 | top-k 40 | draw`
impl fmt::Display for ChainRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        super::chain::print(f, *self)
    }
}

/// The stages of a [`ChainRef`].
#[derive(Clone, Debug)]
pub struct StageRefs<'a> {
    rest: &'a [u32],
}

impl<'a> Iterator for StageRefs<'a> {
    type Item = StageRef<'a>;

    fn next(&mut self) -> Option<StageRef<'a>> {
        let (stage, rest) = decode_stage(self.rest).ok()?;
        self.rest = rest;
        Some(stage)
    }
}

/// The first stage of `words` and the words after it, or the reason why its words are invalid.
fn decode_stage(words: &[u32]) -> Result<(StageRef<'_>, &[u32]), &'static str> {
    const LENGTH: &str = "begins a stage of the wrong length";
    let [tag, length, rest @ ..] = words else { return Err(LENGTH) };
    let (own, rest) = usize::try_from(*length).ok().and_then(|n| rest.split_at_checked(n)).ok_or(LENGTH)?;
    let one = || if let [n] = *own { Ok(n) } else { Err(LENGTH) };
    let double = || if let [lo, hi] = *own { Ok(join(lo, hi)) } else { Err(LENGTH) };
    let stage = match tag {
        0 => StageRef::Bias(bytemuck::try_cast_slice(own).map_err(|_| LENGTH)?),
        1 => StageRef::Ban(own),
        2 => {
            let (&tokens, ids) = own.split_first().ok_or(LENGTH)?;
            StageRef::MinTokens { tokens, ids }
        }
        3 => {
            let [lo, hi, last_n] = *own else { return Err(LENGTH) };
            let last_n = if last_n == u32::MAX { None } else { Some(last_n) };
            StageRef::Repetition { penalty: join(lo, hi), last_n }
        }
        4 => StageRef::Frequency(double()?),
        5 => StageRef::Presence(double()?),
        6 => StageRef::NoRepeatNgram(one()?),
        7 => StageRef::Temperature(double()?),
        8 => StageRef::TopK(one()?),
        9 => StageRef::TypicalP(double()?),
        10 => StageRef::TopP(double()?),
        11 => StageRef::MinP(double()?),
        _ => return Err("is not the tag of a stage (0 to 11)"),
    };
    Ok((stage, rest))
}

/// A double of its low and its high word.
fn join(lo: u32, hi: u32) -> f64 {
    f64::from_bits(u64::from(hi) << 32 | u64::from(lo))
}
