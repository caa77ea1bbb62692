//! What comes back: pieces while it is generated, a reply at the end.

use std::fmt;
use std::time::Duration;

/// A piece of generated text: whole characters, and the tokens that were drawn for it. Pieces, replies and their parts have the
/// serialised form that `inkstone complete --json` writes (feature `serde`).
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Piece {
    /// Text; empty while the bytes of a character, or what may become a stop text, are held back.
    pub text: String,
    /// Tokens drawn since the piece before.
    pub ids: Vec<u32>,
    /// Their log-probabilities, if asked for.
    pub logprobs: Vec<TokenScore>,
}

/// The log-probability of a token under the model's own distribution, before the sampling chain. In its serialised form minus
/// infinity is null.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TokenScore {
    /// Token id.
    pub id: u32,
    /// Its log-probability in nats.
    pub logprob: f32,
    /// The most probable tokens with theirs.
    pub top: Vec<(u32, f32)>,
}

/// Why a generation ended. The serialised form is [`FinishReason::name`]; `length` is read as [`FinishReason::Length`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FinishReason {
    /// An end token of the vocabulary or a stop id.
    End,
    /// A stop text.
    Stop,
    /// The limit of tokens.
    Length,
    /// The context is full.
    Context,
    /// The callback said so.
    Callback,
    /// The deadline passed.
    Deadline,
    /// Cancelled.
    Cancelled,
    /// An error, which was returned.
    Error,
}

impl FinishReason {
    /// As it is written in JSON, in the words of other programs: a full context is a `length`, too. What people read is
    /// its [`Display`](fmt::Display).
    pub fn name(self) -> &'static str {
        match self {
            FinishReason::End => "end",
            FinishReason::Stop => "stop",
            FinishReason::Length => "length",
            FinishReason::Context => "length",
            FinishReason::Callback => "callback",
            FinishReason::Deadline => "deadline",
            FinishReason::Cancelled => "cancelled",
            FinishReason::Error => "error",
        }
    }
}

impl FinishReason {
    /// The `finish_reason` of OpenAI's API: `stop` after an end token or a stop text, `length` at the limit of tokens or at the end
    /// of the context. `None` for the reasons that this API does not have: the caller, a deadline, an error.
    ///
    /// ```
    /// use inkstone_generate::FinishReason;
    ///
    /// assert_eq!(FinishReason::End.openai(), Some("stop"));
    /// assert_eq!(FinishReason::Context.openai(), Some("length"));
    /// assert_eq!(FinishReason::Deadline.openai(), None);
    /// ```
    pub fn openai(self) -> Option<&'static str> {
        match self {
            FinishReason::End | FinishReason::Stop => Some("stop"),
            FinishReason::Length | FinishReason::Context => Some("length"),
            FinishReason::Callback | FinishReason::Deadline | FinishReason::Cancelled | FinishReason::Error => None,
        }
    }
}

impl fmt::Display for FinishReason {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.pad(if *self == FinishReason::Context { "context full" } else { self.name() })
    }
}

/// Counts of tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Usage {
    /// Of the prompt, BOS included.
    pub prompt_tokens: u64,
    /// Of these, found in a cache.
    pub cached_tokens: u64,
    /// Drawn, the end token included.
    pub completion_tokens: u64,
}

/// Where the time went. The serialised form has seconds: `prefill_seconds`, `decode_seconds`, `total_seconds`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Timings {
    /// From the request to the first drawn token.
    pub prefill: Duration,
    /// From the first drawn token to the last.
    pub decode: Duration,
    /// From the request to now, or to the end.
    pub total: Duration,
}

impl Timings {
    /// Tokens a second after the first; `None` if there was no time or no second token.
    pub fn decode_rate(&self, usage: &Usage) -> Option<f64> {
        let seconds = self.decode.as_secs_f64();
        (seconds > 0.0 && usage.completion_tokens > 1).then(|| (usage.completion_tokens - 1) as f64 / seconds)
    }
}

/// A finished generation.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Reply {
    /// All text.
    pub text: String,
    /// All drawn tokens, the end token included.
    pub ids: Vec<u32>,
    /// Their log-probabilities, if asked for.
    pub logprobs: Vec<TokenScore>,
    /// Why it ended.
    pub finish: FinishReason,
    /// The seed of the draws: the same request with it gives the same tokens.
    pub seed: u64,
    /// Counts.
    pub usage: Usage,
    /// Times.
    pub timings: Timings,
}

/// What a callback wants next.
#[derive(Debug)]
pub enum Flow {
    /// More.
    Continue,
    /// No more; the reply has the pieces up to this one.
    Stop,
    /// No more, and this error is returned.
    Fail(Box<dyn std::error::Error + Send + Sync>),
}
