//! The last JSON object of `complete --json` and `chat --json`. The objects before it are the pieces of the library. A reply
//! of `batch` has the fields of both.

use inkstone::{BatchEnd, FinishReason, Piece, Stream, Timings, Usage};
use serde::Serialize;

/// The last object.
#[derive(Serialize)]
pub(super) struct End {
    finish: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    score: Option<f64>,
    seed: u64,
    usage: Usage,
    timings: Times,
}

#[derive(Serialize)]
struct Times {
    #[serde(flatten)]
    timings: Timings,
    decode_tokens_per_second: Option<f64>,
}

/// A whole reply.
#[derive(Serialize)]
pub(super) struct Whole {
    #[serde(flatten)]
    piece: Piece,
    #[serde(flatten)]
    end: End,
}

impl Whole {
    /// A reply from all its text and its end.
    pub(super) fn new(piece: Piece, end: &BatchEnd) -> Whole {
        let whole = End::of(Some(end.finish), None, end.seed, end.usage, end.timings);
        Whole { piece, end: End { score: end.score, ..whole } }
    }
}

impl End {
    /// The end of a stream, with its error if it failed.
    pub(super) fn new(stream: &Stream, failure: Option<&inkstone::Error>) -> End {
        let finish = if failure.is_some() { Some(FinishReason::Error) } else { stream.finish() };
        End::of(finish, failure.map(ToString::to_string), stream.seed(), stream.usage(), stream.timings())
    }

    fn of(finish: Option<FinishReason>, error: Option<String>, seed: u64, usage: Usage, timings: Timings) -> End {
        let timings = Times { timings, decode_tokens_per_second: timings.decode_rate(&usage) };
        End { finish: finish.map_or("none", FinishReason::name), error, score: None, seed, usage, timings }
    }
}
