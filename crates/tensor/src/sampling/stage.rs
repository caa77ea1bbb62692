//! The stages of a chain: their names, the ranges of their parameters, and the values with which they have no effect.

use super::ChainError;
use bytemuck::{Pod, Zeroable};
use std::fmt;

/// A bias for the logit of a token.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
pub struct TokenBias {
    /// The token.
    pub token: u32,
    /// The summand of the logit. -infinity bans the token.
    pub bias: f32,
}

/// One stage of a [`Chain`](super::Chain). The order here is the one in which stages usually stand.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Stage {
    /// Adds to the logits of some tokens.
    Bias(Vec<TokenBias>),
    /// Removes tokens.
    Ban(Vec<u32>),
    /// Removes tokens (those that end a text) until enough are generated.
    MinTokens {
        /// The number of generated tokens from which on the stage does nothing.
        tokens: u32,
        /// The tokens that are removed until then.
        ids: Vec<u32>,
    },
    /// Makes tokens of prompt and generated text less likely: each once, a positive logit is divided by the penalty,
    /// any other multiplied.
    Repetition {
        /// Finite and above 0; 1 is neutral.
        penalty: f64,
        /// How many of the last tokens count; `None`: all.
        last_n: Option<u32>,
    },
    /// Subtracts this number for each time that a token was generated.
    Frequency(f64),
    /// Subtracts this number if a token was generated.
    Presence(f64),
    /// Removes tokens that would complete a sequence of this many tokens that is already in prompt and generated text;
    /// 0 is neutral.
    NoRepeatNgram(u32),
    /// Divides the logits; 0 takes the largest one and ends the chain.
    Temperature(f64),
    /// Keeps exactly this many tokens, those with the largest logits; 0 keeps all.
    TopK(u32),
    /// Keeps the tokens whose surprise is nearest to the entropy, until their probabilities reach this sum (Meister et
    /// al. 2023, locally typical sampling).
    TypicalP(f64),
    /// Keeps the smallest set of likely tokens whose probabilities reach this sum (Holtzman et al. 2020, nucleus
    /// sampling).
    TopP(f64),
    /// Keeps tokens that have at least this part of the largest probability (Nguyen et al. 2024).
    MinP(f64),
}

/// A [`Stage`] that borrows its lists from a chain or from the words of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum StageRef<'a> {
    /// See [`Stage::Bias`].
    Bias(&'a [TokenBias]),
    /// See [`Stage::Ban`].
    Ban(&'a [u32]),
    /// See [`Stage::MinTokens`].
    MinTokens {
        /// The number of generated tokens from which on the stage does nothing.
        tokens: u32,
        /// The tokens that are removed until then.
        ids: &'a [u32],
    },
    /// See [`Stage::Repetition`].
    Repetition {
        /// Finite and above 0; 1 is neutral.
        penalty: f64,
        /// How many of the last tokens count; `None`: all.
        last_n: Option<u32>,
    },
    /// See [`Stage::Frequency`].
    Frequency(f64),
    /// See [`Stage::Presence`].
    Presence(f64),
    /// See [`Stage::NoRepeatNgram`].
    NoRepeatNgram(u32),
    /// See [`Stage::Temperature`].
    Temperature(f64),
    /// See [`Stage::TopK`].
    TopK(u32),
    /// See [`Stage::TypicalP`].
    TypicalP(f64),
    /// See [`Stage::TopP`].
    TopP(f64),
    /// See [`Stage::MinP`].
    MinP(f64),
}

impl Stage {
    /// The stage, its lists borrowed.
    pub fn as_ref(&self) -> StageRef<'_> {
        match self {
            Stage::Bias(list) => StageRef::Bias(list),
            Stage::Ban(ids) => StageRef::Ban(ids),
            Stage::MinTokens { tokens, ids } => StageRef::MinTokens { tokens: *tokens, ids },
            Stage::Repetition { penalty, last_n } => StageRef::Repetition { penalty: *penalty, last_n: *last_n },
            Stage::Frequency(p) => StageRef::Frequency(*p),
            Stage::Presence(p) => StageRef::Presence(*p),
            Stage::NoRepeatNgram(n) => StageRef::NoRepeatNgram(*n),
            Stage::Temperature(t) => StageRef::Temperature(*t),
            Stage::TopK(k) => StageRef::TopK(*k),
            Stage::TypicalP(p) => StageRef::TypicalP(*p),
            Stage::TopP(p) => StageRef::TopP(*p),
            Stage::MinP(p) => StageRef::MinP(*p),
        }
    }
}

impl StageRef<'_> {
    /// Its name in messages and in the printed form.
    pub fn name(&self) -> &'static str {
        match self {
            StageRef::Bias(_) => "logit bias",
            StageRef::Ban(_) => "banned tokens",
            StageRef::MinTokens { .. } => "min tokens",
            StageRef::Repetition { .. } => "repetition penalty",
            StageRef::Frequency(_) => "frequency penalty",
            StageRef::Presence(_) => "presence penalty",
            StageRef::NoRepeatNgram(_) => "no-repeat n-gram",
            StageRef::Temperature(_) => "temperature",
            StageRef::TopK(_) => "top-k",
            StageRef::TypicalP(_) => "typical-p",
            StageRef::TopP(_) => "top-p",
            StageRef::MinP(_) => "min-p",
        }
    }

    /// Its place in the usual order, and its tag in the words of a step.
    pub(super) fn rank(&self) -> u32 {
        match self {
            StageRef::Bias(_) => 0,
            StageRef::Ban(_) => 1,
            StageRef::MinTokens { .. } => 2,
            StageRef::Repetition { .. } => 3,
            StageRef::Frequency(_) => 4,
            StageRef::Presence(_) => 5,
            StageRef::NoRepeatNgram(_) => 6,
            StageRef::Temperature(_) => 7,
            StageRef::TopK(_) => 8,
            StageRef::TypicalP(_) => 9,
            StageRef::TopP(_) => 10,
            StageRef::MinP(_) => 11,
        }
    }

    /// Whether it changes nothing, on any row.
    pub fn is_neutral(&self) -> bool {
        match *self {
            StageRef::Bias(list) => list.is_empty(),
            StageRef::Ban(ids) => ids.is_empty(),
            StageRef::MinTokens { tokens, ids } => tokens == 0 || ids.is_empty(),
            StageRef::Repetition { penalty, last_n } => penalty == 1.0 || last_n == Some(0),
            StageRef::Frequency(p) | StageRef::Presence(p) | StageRef::MinP(p) => p == 0.0,
            StageRef::NoRepeatNgram(n) | StageRef::TopK(n) => n == 0,
            StageRef::Temperature(p) | StageRef::TypicalP(p) | StageRef::TopP(p) => p == 1.0,
        }
    }

    /// How many of the last tokens it reads of a history of `tokens`, of which the last `generated` were generated. A history
    /// cut to them has the same effect.
    pub fn looks_back(&self, tokens: usize, generated: usize) -> usize {
        let at_most = |n: u32| usize::try_from(n).unwrap_or(usize::MAX);
        match *self {
            _ if self.is_neutral() => 0,
            // It counts generated tokens up to its number.
            StageRef::MinTokens { tokens, .. } => generated.min(at_most(tokens)),
            StageRef::Repetition { last_n, .. } => tokens.min(last_n.map_or(usize::MAX, at_most)),
            StageRef::Frequency(_) | StageRef::Presence(_) => generated,
            StageRef::NoRepeatNgram(_) => tokens,
            StageRef::Bias(_)
            | StageRef::Ban(_)
            | StageRef::Temperature(_)
            | StageRef::TopK(_)
            | StageRef::TypicalP(_)
            | StageRef::TopP(_)
            | StageRef::MinP(_) => 0,
        }
    }

    /// Whether its numbers are in their ranges, and its tokens in a vocabulary of `vocab`.
    pub fn check(&self, vocab: usize) -> Result<(), ChainError> {
        self.check_numbers()?;
        let known = |token: u32| match usize::try_from(token) {
            Ok(index) if index < vocab => Ok(()),
            _ => Err(ChainError::Token { stage: self.name(), token, vocab }),
        };
        match *self {
            StageRef::Bias(list) => list.iter().try_for_each(|b| known(b.token)),
            StageRef::Ban(ids) | StageRef::MinTokens { ids, .. } => ids.iter().try_for_each(|&id| known(id)),
            _ => Ok(()),
        }
    }

    /// Whether its numbers are in their ranges.
    pub(super) fn check_numbers(&self) -> Result<(), ChainError> {
        let require = |value: f64, ok: bool, allowed| {
            if ok { Ok(()) } else { Err(ChainError::Value { stage: self.name(), value, allowed }) }
        };
        match *self {
            StageRef::Bias(list) => match list.iter().find(|b| b.bias.is_nan()) {
                Some(b) => require(f64::from(b.bias), false, "a number or an infinity"),
                None => Ok(()),
            },
            StageRef::Repetition { penalty: p, .. } => require(p, p.is_finite() && p > 0.0, "a finite number above 0"),
            StageRef::Frequency(p) | StageRef::Presence(p) => require(p, p.is_finite(), "a finite number"),
            StageRef::Temperature(t) => require(t, t.is_finite() && t >= 0.0, "a finite number, 0 or above"),
            StageRef::TypicalP(p) | StageRef::TopP(p) => require(p, p > 0.0 && p <= 1.0, "above 0 and at most 1"),
            StageRef::MinP(p) => require(p, (0.0..=1.0).contains(&p), "from 0 to 1"),
            StageRef::Ban(_) | StageRef::MinTokens { .. } | StageRef::NoRepeatNgram(_) | StageRef::TopK(_) => Ok(()),
        }
    }
}

/// `top-k 40`, `logit bias [3:+1.5 7:-inf]`; of long lists the first entries.
impl fmt::Display for StageRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.name())?;
        match *self {
            StageRef::Bias(entries) => list(f, entries, |f, b| write!(f, "{}:{:+}", b.token, b.bias)),
            StageRef::Ban(ids) => list(f, ids, |f, id| write!(f, "{id}")),
            StageRef::MinTokens { tokens, ids } => {
                write!(f, " {tokens}")?;
                list(f, ids, |f, id| write!(f, "{id}"))
            }
            StageRef::Repetition { penalty, last_n: None } => write!(f, " {penalty}"),
            StageRef::Repetition { penalty, last_n: Some(n) } => write!(f, " {penalty} last {n}"),
            StageRef::NoRepeatNgram(n) | StageRef::TopK(n) => write!(f, " {n}"),
            StageRef::Frequency(p)
            | StageRef::Presence(p)
            | StageRef::Temperature(p)
            | StageRef::TypicalP(p)
            | StageRef::TopP(p)
            | StageRef::MinP(p) => write!(f, " {p}"),
        }
    }
}

fn list<T>(
    f: &mut fmt::Formatter,
    entries: &[T],
    entry: impl Fn(&mut fmt::Formatter, &T) -> fmt::Result,
) -> fmt::Result {
    const SHOWN: usize = 8;
    for (i, e) in entries.iter().take(SHOWN).enumerate() {
        f.write_str(if i == 0 { " [" } else { " " })?;
        entry(f, e)?;
    }
    match entries.len() {
        0 => f.write_str(" []"),
        n if n > SHOWN => write!(f, " and {} more]", n - SHOWN),
        _ => f.write_str("]"),
    }
}
