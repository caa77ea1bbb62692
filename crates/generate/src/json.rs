//! The serialised forms of requests and results, with the names of `inkstone complete --json`.
//!
//! The forms below mirror the public types field by field; a missing field is a compile error. Numbers out of range are accepted
//! here, because requests are checked when they are used.

use crate::{FinishReason, Limit, Options, Piece, Reply, Timings, TokenScore, Usage};
use inkstone_text::{Json, TemplateLimits};
use serde::de::{Error, Unexpected};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::time::Duration;

/// Fields that are not set are left out. An absent or null field is not set. `cancel` is not part of the data.
#[derive(Default, Serialize, Deserialize)]
#[serde(remote = "Options", default, deny_unknown_fields)]
struct OptionsForm {
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_k: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    typical_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    min_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    repeat_penalty: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    repeat_last_n: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    frequency_penalty: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    presence_penalty: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    no_repeat_ngram: Option<u32>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    logit_bias: Vec<(u32, f32)>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    banned: Vec<u32>,
    #[serde(skip_serializing_if = "is_default")]
    min_tokens: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<Limit>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    stop: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    stop_ids: Vec<u32>,
    #[serde(skip_serializing_if = "is_default")]
    ignore_end: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    n: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    num_beams: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    length_penalty: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    early_stopping: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    logprobs: Option<u32>,
    #[serde(skip_serializing_if = "is_default")]
    special: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    bos: Option<bool>,
    #[serde(rename = "deadline_seconds", with = "optional_seconds", skip_serializing_if = "Option::is_none")]
    deadline: Option<Duration>,
    #[serde(skip)]
    cancel: Option<crate::Cancel>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_salt: Option<String>,
    #[serde(with = "variables", skip_serializing_if = "Vec::is_empty")]
    template_vars: Vec<(String, Json)>,
    #[serde(skip_serializing_if = "is_unlimited")]
    template_limits: TemplateLimits,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Piece", deny_unknown_fields)]
struct PieceForm {
    text: String,
    ids: Vec<u32>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    logprobs: Vec<TokenScore>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "TokenScore", deny_unknown_fields)]
struct TokenScoreForm {
    id: u32,
    #[serde(with = "nats")]
    logprob: f32,
    #[serde(with = "top")]
    top: Vec<(u32, f32)>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Reply", deny_unknown_fields)]
struct ReplyForm {
    text: String,
    ids: Vec<u32>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    logprobs: Vec<TokenScore>,
    finish: FinishReason,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    score: Option<f64>,
    seed: u64,
    usage: Usage,
    timings: Timings,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Usage", deny_unknown_fields)]
struct UsageForm {
    prompt_tokens: u64,
    cached_tokens: u64,
    completion_tokens: u64,
}

/// Implements both directions for types that have a form.
macro_rules! forms {
    ($($type:ident: $form:ident;)+) => {$(
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                $form::serialize(self, serializer)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<$type, D::Error> {
                $form::deserialize(deserializer)
            }
        }
    )+};
}

forms! {
    Options: OptionsForm;
    Piece: PieceForm;
    TokenScore: TokenScoreForm;
    Reply: ReplyForm;
    Usage: UsageForm;
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TimingsForm {
    prefill_seconds: f64,
    decode_seconds: f64,
    total_seconds: f64,
    /// The program writes this rate, which follows from the times and a [`Usage`]. It is ignored here.
    #[serde(default, skip_serializing, rename = "decode_tokens_per_second")]
    _rate: Option<f64>,
}

impl Serialize for Timings {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let [prefill_seconds, decode_seconds, total_seconds] =
            [self.prefill, self.decode, self.total].map(|time| time.as_secs_f64());
        TimingsForm { prefill_seconds, decode_seconds, total_seconds, _rate: None }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Timings {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Timings, D::Error> {
        let form = TimingsForm::deserialize(deserializer)?;
        Ok(Timings {
            prefill: duration("prefill_seconds", form.prefill_seconds)?,
            decode: duration("decode_seconds", form.decode_seconds)?,
            total: duration("total_seconds", form.total_seconds)?,
        })
    }
}

/// The time of a number of seconds, which must be at least 0 and fit a [`Duration`].
fn duration<E: Error>(name: &str, seconds: f64) -> Result<Duration, E> {
    let time = Duration::try_from_secs_f64(seconds);
    time.map_err(|_| E::custom(format_args!("{name} is {seconds}, allowed: a time in seconds, 0 or more")))
}

impl Serialize for FinishReason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// Reads a name; `length` is [`FinishReason::Length`].
impl<'de> Deserialize<'de> for FinishReason {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<FinishReason, D::Error> {
        use FinishReason::{Callback, Cancelled, Deadline, End, Length, Stop};
        const ALL: [FinishReason; 7] = [End, Stop, Length, Callback, Deadline, Cancelled, FinishReason::Error];
        const NAMES: &[&str] = &["end", "stop", "length", "callback", "deadline", "cancelled", "error"];
        let name = String::deserialize(deserializer)?;
        let found = ALL.into_iter().find(|reason| reason.name() == name);
        found.ok_or_else(|| D::Error::unknown_variant(&name, NAMES))
    }
}

/// The name of [`Limit::None`].
const UNLIMITED: &str = "unlimited";

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum LimitForm {
    Tokens(u64),
    Name(String),
}

/// A number, or `"unlimited"`.
impl Serialize for Limit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Limit::Tokens(tokens) => serializer.serialize_u64(*tokens),
            Limit::None => serializer.serialize_str(UNLIMITED),
        }
    }
}

impl<'de> Deserialize<'de> for Limit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Limit, D::Error> {
        const EXPECTED: &str = "a number of tokens, or \"unlimited\"";
        match LimitForm::deserialize(deserializer) {
            Ok(LimitForm::Tokens(tokens)) => Ok(Limit::Tokens(tokens)),
            Ok(LimitForm::Name(name)) if name == UNLIMITED => Ok(Limit::None),
            Ok(LimitForm::Name(name)) => Err(D::Error::invalid_value(Unexpected::Str(&name), &EXPECTED)),
            Err(_) => Err(D::Error::custom(format_args!("max_tokens: expected {EXPECTED}"))),
        }
    }
}

mod optional_seconds {
    use super::{Deserialize, Deserializer, Duration, Serialize, Serializer, duration};

    pub(super) fn serialize<S: Serializer>(time: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
        time.map(|time| time.as_secs_f64()).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
        let seconds = Option::<f64>::deserialize(deserializer)?;
        seconds.map(|seconds| duration("deadline_seconds", seconds)).transpose()
    }
}

/// Log-probabilities. Minus infinity is null, because JSON has no infinity.
mod nats {
    use super::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(value: &f32, serializer: S) -> Result<S::Ok, S::Error> {
        Some(*value).filter(|value| *value != f32::NEG_INFINITY).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f32, D::Error> {
        Ok(Option::deserialize(deserializer)?.unwrap_or(f32::NEG_INFINITY))
    }
}

/// Pairs of a token and its log-probability.
mod top {
    use super::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    struct Pair(u32, #[serde(with = "super::nats")] f32);

    pub(super) fn serialize<S: Serializer>(pairs: &[(u32, f32)], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(pairs.iter().map(|(id, logprob)| Pair(*id, *logprob)))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<(u32, f32)>, D::Error> {
        let pairs = Vec::<Pair>::deserialize(deserializer)?;
        Ok(pairs.into_iter().map(|Pair(id, logprob)| (id, logprob)).collect())
    }
}

/// Variables of a template as an object. If a name is there twice, the last value counts, as in a chat.
mod variables {
    use super::{Deserialize, Deserializer, Error, Json, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(list: &[(String, Json)], serializer: S) -> Result<S::Ok, S::Error> {
        list.iter().cloned().collect::<Json>().serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<(String, Json)>, D::Error> {
        match Json::deserialize(deserializer)? {
            Json::Object(variables) => Ok(variables.into_iter().collect()),
            _ => Err(D::Error::custom("template_vars: expected an object of variables by name")),
        }
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

fn is_unlimited(limits: &TemplateLimits) -> bool {
    (limits.steps, limits.memory, limits.output) == (None, None, None)
}

#[cfg(test)]
mod tests;
