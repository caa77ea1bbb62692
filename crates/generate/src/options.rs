//! The options of a request.

use inkstone_text::{Json, TemplateLimits};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Options of one request. The value of an option that is not set comes from the model file (`general.sampling.*`),
/// then from the [`Defaults`] of the entry point.
///
/// ```
/// let options = inkstone_generate::Options::default().temperature(0.7).max_tokens(64).stop("\n\n");
/// assert_eq!(options.temperature, Some(0.7));
/// ```
///
/// With the feature `serde`, options are read and written under the names of the fields, with these exceptions:
/// `deadline` is `deadline_seconds`, a number; `template_vars` is an object; `max_tokens` is a number or `"unlimited"`;
/// `cancel` is not part of the data. An absent or null field is an option that is not set, and an unknown field is an
/// error. Values are checked when the options are used.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Options {
    /// A divisor of the logits; 0 selects the most probable token.
    pub temperature: Option<f64>,
    /// Keeps only this number of the most probable tokens; 0: all.
    pub top_k: Option<u32>,
    /// Keeps only the most probable tokens that together reach this probability; 1: all.
    pub top_p: Option<f64>,
    /// Keeps only the most typical tokens that together reach this probability; 1: all.
    pub typical_p: Option<f64>,
    /// Keeps only tokens with at least this probability relative to the most probable token; 0: all.
    pub min_p: Option<f64>,
    /// The repetition penalty: positive logits of tokens in the window are divided by it, other logits of these tokens
    /// are multiplied by it; 1: off.
    pub repeat_penalty: Option<f64>,
    /// The window of the repetition penalty in tokens; `u32::MAX`: all tokens.
    pub repeat_last_n: Option<u32>,
    /// Subtracted from the logit of a token for each time it was generated; 0: off.
    pub frequency_penalty: Option<f64>,
    /// Subtracted from the logit of a token if it was generated; 0: off.
    pub presence_penalty: Option<f64>,
    /// No sequence of this number of tokens is repeated; 0: off.
    pub no_repeat_ngram: Option<u32>,
    /// Biases that are added to the logits of tokens.
    pub logit_bias: Vec<(u32, f32)>,
    /// Tokens that are never drawn.
    pub banned: Vec<u32>,
    /// End tokens are not drawn before this number of tokens.
    pub min_tokens: u32,
    /// The largest number of tokens.
    pub max_tokens: Option<Limit>,
    /// Texts that end the generation; they are not part of the result.
    pub stop: Vec<String>,
    /// Tokens that end the generation, in addition to the end tokens of the vocabulary.
    pub stop_ids: Vec<u32>,
    /// The end tokens of the vocabulary do not end the generation.
    pub ignore_end: bool,
    /// The seed of the draws. If it is not set, a random seed is used. The reply contains the seed.
    pub seed: Option<u64>,
    /// The number of samples, 1 to 64; each is a sequence of its own. [`Generator::generate_all`](crate::Generator::generate_all)
    /// and batches give several.
    pub n: Option<u32>,
    /// The number of texts of a beam search, 1 to 8; 1: no search, tokens are drawn. A search finds the most probable texts,
    /// by the rules of transformers. Its results come from [`Generator::generate_all`](crate::Generator::generate_all)
    /// and from batches, best first.
    pub num_beams: Option<u32>,
    /// The score of a text of a beam search is the sum of its log-probabilities, divided by the number of its tokens to this
    /// power, -10 to 10. The default is 1, the mean. A larger power prefers longer texts.
    pub length_penalty: Option<f64>,
    /// Ends a beam search as soon as as many texts have ended as it has beams, even if better ones could follow.
    pub early_stopping: Option<bool>,
    /// Returns the log-probabilities of the tokens and of this number of the most probable tokens.
    pub logprobs: Option<u32>,
    /// The texts of special tokens in the prompt are encoded as special tokens.
    pub special: bool,
    /// Whether a BOS token is added before the prompt. If it is not set, the metadata of the model decide. No BOS token
    /// is added to a prompt that already begins with one ([`Options::special`]).
    pub bos: Option<bool>,
    /// The generation ends after this time.
    pub deadline: Option<Duration>,
    /// A switch that ends the generation.
    pub cancel: Option<Cancel>,
    /// Requests share cached pages only with requests of the same salt, so that nobody learns from the time of a first
    /// token which prompts others have sent. A service sets it to the name of its user.
    pub cache_salt: Option<String>,
    /// Further variables of the chat template, such as `enable_thinking`; used only by chats.
    pub template_vars: Vec<(String, Json)>,
    /// Limits of the chat template; used only by chats. [`Options::cancel`] and [`Options::deadline`] also end a
    /// template.
    pub template_limits: TemplateLimits,
}

/// A limit on the number of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// At most this number; with 0 the prompt is computed but no token is drawn.
    Tokens(u64),
    /// No limit: the generation ends with the text or when the context is full.
    None,
}

macro_rules! setters {
    ($($(#[$doc:meta])* $name:ident: $ty:ty;)+) => {
        impl Options {
            $($(#[$doc])* #[must_use] pub fn $name(mut self, $name: $ty) -> Self {
                self.$name = Some($name);
                self
            })+
        }
    };
}

setters! {
    /// Sets [`Options::temperature`](#structfield.temperature).
    temperature: f64;
    /// Sets [`Options::top_k`](#structfield.top_k).
    top_k: u32;
    /// Sets [`Options::top_p`](#structfield.top_p).
    top_p: f64;
    /// Sets [`Options::typical_p`](#structfield.typical_p).
    typical_p: f64;
    /// Sets [`Options::min_p`](#structfield.min_p).
    min_p: f64;
    /// Sets [`Options::repeat_penalty`](#structfield.repeat_penalty).
    repeat_penalty: f64;
    /// Sets [`Options::repeat_last_n`](#structfield.repeat_last_n).
    repeat_last_n: u32;
    /// Sets [`Options::frequency_penalty`](#structfield.frequency_penalty).
    frequency_penalty: f64;
    /// Sets [`Options::presence_penalty`](#structfield.presence_penalty).
    presence_penalty: f64;
    /// Sets [`Options::no_repeat_ngram`](#structfield.no_repeat_ngram).
    no_repeat_ngram: u32;
    /// Sets [`Options::seed`](#structfield.seed).
    seed: u64;
    /// Sets [`Options::n`](#structfield.n).
    n: u32;
    /// Sets [`Options::num_beams`](#structfield.num_beams).
    num_beams: u32;
    /// Sets [`Options::length_penalty`](#structfield.length_penalty).
    length_penalty: f64;
    /// Sets [`Options::early_stopping`](#structfield.early_stopping).
    early_stopping: bool;
    /// Sets [`Options::logprobs`](#structfield.logprobs).
    logprobs: u32;
    /// Sets [`Options::bos`](#structfield.bos).
    bos: bool;
    /// Sets [`Options::deadline`](#structfield.deadline).
    deadline: Duration;
    /// Sets [`Options::cancel`](#structfield.cancel).
    cancel: Cancel;
}

impl Options {
    /// Limits the number of tokens.
    #[must_use]
    pub fn max_tokens(mut self, tokens: u64) -> Self {
        self.max_tokens = Some(Limit::Tokens(tokens));
        self
    }

    /// Removes the limit: the generation ends with the text or when the context is full.
    #[must_use]
    pub fn unlimited(mut self) -> Self {
        self.max_tokens = Some(Limit::None);
        self
    }

    /// Sets [`Options::cache_salt`](#structfield.cache_salt).
    #[must_use]
    pub fn cache_salt(mut self, salt: impl Into<String>) -> Self {
        self.cache_salt = Some(salt.into());
        self
    }

    /// Adds a text that ends the generation.
    #[must_use]
    pub fn stop(mut self, text: impl Into<String>) -> Self {
        self.stop.push(text.into());
        self
    }

    /// Adds a token that ends the generation.
    #[must_use]
    pub fn stop_id(mut self, id: u32) -> Self {
        self.stop_ids.push(id);
        self
    }

    /// Adds a bias to the logit of a token.
    #[must_use]
    pub fn logit_bias(mut self, id: u32, bias: f32) -> Self {
        self.logit_bias.push((id, bias));
        self
    }

    /// Sets a variable of the chat template: `template_var("enable_thinking", false)`.
    #[must_use]
    pub fn template_var(mut self, name: impl Into<String>, value: impl Into<Json>) -> Self {
        self.template_vars.push((name.into(), value.into()));
        self
    }

    /// Sets [`Options::template_limits`](#structfield.template_limits).
    #[must_use]
    pub fn template_limits(mut self, limits: TemplateLimits) -> Self {
        self.template_limits = limits;
        self
    }

    /// Bans tokens.
    #[must_use]
    pub fn ban(mut self, ids: impl IntoIterator<Item = u32>) -> Self {
        self.banned.extend(ids);
        self
    }

    /// Sets [`Options::min_tokens`](#structfield.min_tokens).
    #[must_use]
    pub fn min_tokens(mut self, tokens: u32) -> Self {
        self.min_tokens = tokens;
        self
    }

    /// Sets [`Options::ignore_end`](#structfield.ignore_end).
    #[must_use]
    pub fn ignore_end(mut self, ignore: bool) -> Self {
        self.ignore_end = ignore;
        self
    }

    /// Sets [`Options::special`](#structfield.special).
    #[must_use]
    pub fn special(mut self, parse: bool) -> Self {
        self.special = parse;
        self
    }
}

/// A switch that ends a generation. Clones share the same switch.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// A new switch, which is off.
    pub fn new() -> Cancel {
        Cancel::default()
    }

    /// Ends all generations that use this switch, at their next step. A thread that handles signals may call it.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether the switch is on.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// The underlying flag, for other work that can be cancelled.
    pub fn switch(&self) -> Arc<AtomicBool> {
        self.0.clone()
    }
}

/// The values of options that neither the request nor the model file sets.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Defaults {
    /// See [`Options::temperature`].
    pub temperature: f64,
    /// See [`Options::top_k`].
    pub top_k: u32,
    /// See [`Options::top_p`].
    pub top_p: f64,
    /// See [`Options::min_p`].
    pub min_p: f64,
    /// See [`Options::max_tokens`].
    pub max_tokens: Limit,
}

impl Defaults {
    /// The defaults of the library: the unmodified distribution of the model, 256 tokens.
    pub const LIBRARY: Defaults =
        Defaults { temperature: 1.0, top_k: 0, top_p: 1.0, min_p: 0.0, max_tokens: Limit::Tokens(256) };

    /// The defaults of the command line: common sampling options, without a limit on tokens.
    pub const COMMAND_LINE: Defaults =
        Defaults { temperature: 0.8, top_k: 40, top_p: 0.95, min_p: 0.05, max_tokens: Limit::None };
}

#[cfg(test)]
impl Options {
    /// Options with a value in every field that can be written down; a new field is a compile error here.
    pub(crate) fn all_set() -> Options {
        Options {
            temperature: Some(0.7),
            top_k: Some(40),
            top_p: Some(0.9),
            typical_p: Some(0.8),
            min_p: Some(0.05),
            repeat_penalty: Some(1.1),
            repeat_last_n: Some(64),
            frequency_penalty: Some(0.1),
            presence_penalty: Some(-0.1),
            no_repeat_ngram: Some(3),
            logit_bias: vec![(5, -1.5)],
            banned: vec![7],
            min_tokens: 2,
            max_tokens: Some(Limit::Tokens(64)),
            stop: vec!["END".to_owned()],
            stop_ids: vec![9],
            ignore_end: true,
            seed: Some(u64::MAX),
            n: Some(2),
            num_beams: Some(3),
            length_penalty: Some(0.5),
            early_stopping: Some(true),
            logprobs: Some(4),
            special: true,
            bos: Some(false),
            deadline: Some(Duration::from_millis(1500)),
            cancel: None,
            cache_salt: Some("user 1".to_owned()),
            template_vars: vec![("enable_thinking".to_owned(), false.into())],
            template_limits: TemplateLimits::default().steps(1000),
        }
    }
}
