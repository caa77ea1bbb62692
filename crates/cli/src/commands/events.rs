//! The last JSON object of `complete --json` and `chat --json`. The objects before it are the pieces of the library.

use inkstone::{FinishReason, Stream, Timings, Usage};
use serde::Serialize;

/// The last object.
#[derive(Serialize)]
pub(super) struct End {
    finish: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
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

impl End {
    /// The end of a stream, with its error if it failed.
    pub(super) fn new(stream: &Stream, failure: Option<&inkstone::Error>) -> End {
        let (usage, timings) = (stream.usage(), stream.timings());
        let finish = if failure.is_some() { Some(FinishReason::Error) } else { stream.finish() };
        End {
            finish: finish.map_or("none", FinishReason::name),
            error: failure.map(ToString::to_string),
            seed: stream.seed(),
            timings: Times { timings, decode_tokens_per_second: timings.decode_rate(&usage) },
            usage,
        }
    }
}
