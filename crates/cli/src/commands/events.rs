//! The JSON objects of `run --json` and `chat --json`.

use inkstone::{FinishReason, Piece, Stream, TokenScore};
use serde::Serialize;

/// A piece of text.
#[derive(Serialize)]
pub(super) struct Event<'a> {
    text: &'a str,
    ids: &'a [u32],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    logprobs: Vec<Score<'a>>,
}

impl<'a> From<&'a Piece> for Event<'a> {
    fn from(piece: &'a Piece) -> Event<'a> {
        Event { text: &piece.text, ids: &piece.ids, logprobs: piece.logprobs.iter().map(Score::from).collect() }
    }
}

/// The log-probability of a token; `null` is minus infinity.
#[derive(Serialize)]
struct Score<'a> {
    id: u32,
    logprob: f32,
    /// `[id, logprob]`, most probable first.
    top: &'a [(u32, f32)],
}

impl<'a> From<&'a TokenScore> for Score<'a> {
    fn from(score: &'a TokenScore) -> Score<'a> {
        Score { id: score.id, logprob: score.logprob, top: &score.top }
    }
}

/// The last object.
#[derive(Serialize)]
pub(super) struct End {
    finish: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    seed: u64,
    usage: Usage,
    timings: Timings,
}

#[derive(Serialize)]
struct Usage {
    prompt_tokens: u64,
    cached_tokens: u64,
    completion_tokens: u64,
}

#[derive(Serialize)]
struct Timings {
    prefill_seconds: f64,
    decode_seconds: f64,
    total_seconds: f64,
    decode_tokens_per_second: Option<f64>,
}

impl End {
    /// What the stream says at its end; with the error if there was one.
    pub(super) fn new(stream: &Stream, failure: Option<&inkstone::Error>) -> End {
        let (usage, timings) = (stream.usage(), stream.timings());
        let finish = if failure.is_some() { Some(FinishReason::Error) } else { stream.finish() };
        End {
            finish: finish.map_or("none", FinishReason::name),
            error: failure.map(ToString::to_string),
            seed: stream.seed(),
            timings: Timings {
                prefill_seconds: timings.prefill.as_secs_f64(),
                decode_seconds: timings.decode.as_secs_f64(),
                total_seconds: timings.total.as_secs_f64(),
                decode_tokens_per_second: timings.decode_rate(&usage),
            },
            usage: Usage {
                prompt_tokens: usage.prompt_tokens,
                cached_tokens: usage.cached_tokens,
                completion_tokens: usage.completion_tokens,
            },
        }
    }
}
