//! The results of a generation: pieces of text while it runs, and a reply at the end.

use inkstone_tensor::step::NONE;
use std::fmt;
use std::time::Duration;

/// A piece of generated text: whole characters, and the tokens that were drawn for it. Pieces, replies and their parts
/// have the serialised form that `inkstone complete --json` writes (feature `serde`).
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Piece {
    /// The text. It is empty while an incomplete character, or the possible beginning of a stop text, is held back.
    pub text: String,
    /// Tokens drawn since the previous piece.
    pub ids: Vec<u32>,
    /// Their log-probabilities, if requested.
    pub logprobs: Vec<TokenScore>,
}

/// The log-probability of a token in the distribution of the model, before the sampling chain. In its serialised form
/// minus infinity is null.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TokenScore {
    /// Token id.
    pub id: u32,
    /// Its log-probability in nats.
    pub logprob: f32,
    /// The most probable tokens with their log-probabilities.
    pub top: Vec<(u32, f32)>,
}

impl TokenScore {
    /// The score of the token `id` with up to `top` alternatives, from the words of a row of scores.
    pub(crate) fn decode(id: u32, words: &[u32], top: usize) -> Option<TokenScore> {
        let (logprob, pairs) = words.split_first()?;
        let pairs = pairs.chunks_exact(2).take_while(|p| p[0] != NONE).take(top);
        let top = pairs.map(|p| (p[0], f32::from_bits(p[1]))).collect();
        Some(TokenScore { id, logprob: f32::from_bits(*logprob), top })
    }
}

/// The reason why a generation ended. The serialised form is [`FinishReason::name`]; `length` is read as
/// [`FinishReason::Length`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FinishReason {
    /// An end token of the vocabulary or a stop id was drawn.
    End,
    /// A stop text was generated.
    Stop,
    /// The limit on tokens was reached.
    Length,
    /// The context is full.
    Context,
    /// The callback ended it.
    Callback,
    /// The deadline passed.
    Deadline,
    /// It was cancelled.
    Cancelled,
    /// An error occurred and was returned.
    Error,
}

impl FinishReason {
    /// All reasons.
    pub const ALL: [FinishReason; 8] = [
        FinishReason::End,
        FinishReason::Stop,
        FinishReason::Length,
        FinishReason::Context,
        FinishReason::Callback,
        FinishReason::Deadline,
        FinishReason::Cancelled,
        FinishReason::Error,
    ];

    /// The name in JSON, which follows the names of other programs: a full context is also a `length`.
    /// [`Display`](fmt::Display) shows the reason to users.
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
    /// Tokens of the prompt, including BOS.
    pub prompt_tokens: u64,
    /// Tokens of the prompt that were found in a cache.
    pub cached_tokens: u64,
    /// Tokens drawn, including the end token.
    pub completion_tokens: u64,
}

/// The times of a generation. The serialised form has seconds: `prefill_seconds`, `decode_seconds`, `total_seconds`.
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
    /// Tokens per second after the first token; `None` if no second token was drawn or no time passed.
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
    /// All drawn tokens, including the end token.
    pub ids: Vec<u32>,
    /// Their log-probabilities, if requested.
    pub logprobs: Vec<TokenScore>,
    /// The reason why it ended.
    pub finish: FinishReason,
    /// The score of the text, if a beam search found it ([`Options::num_beams`](crate::Options::num_beams)).
    pub score: Option<f64>,
    /// The seed of the draws, 0 for a beam search. The same request with this seed produces the same tokens.
    pub seed: u64,
    /// Counts.
    pub usage: Usage,
    /// Times.
    pub timings: Timings,
}

/// The decision of a callback after a piece.
#[derive(Debug)]
pub enum Flow {
    /// Generate the next piece.
    Continue,
    /// End the generation. The reply contains the pieces up to this one.
    Stop,
    /// End the generation and return this error.
    Fail(Box<dyn std::error::Error + Send + Sync>),
}

#[cfg(test)]
mod tests {
    use super::FinishReason::{self, Callback, Cancelled, Context, Deadline, End, Error, Length, Stop};

    #[test]
    fn every_reason_has_its_names() {
        let names: [(FinishReason, &str, &str, Option<&str>); 8] = [
            (End, "end", "end", Some("stop")),
            (Stop, "stop", "stop", Some("stop")),
            (Length, "length", "length", Some("length")),
            (Context, "length", "context full", Some("length")),
            (Callback, "callback", "callback", None),
            (Deadline, "deadline", "deadline", None),
            (Cancelled, "cancelled", "cancelled", None),
            (Error, "error", "error", None),
        ];
        for (reason, name, shown, openai) in names {
            assert_eq!((reason.name(), reason.to_string().as_str(), reason.openai()), (name, shown, openai));
        }
    }
}
