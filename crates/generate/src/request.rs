//! Resolves and checks the options of a request.

use crate::options::{Defaults, Limit, Options};
use crate::stops::{MAX_STOP_BYTES, MAX_STOPS};
use crate::{Error, Result};
use inkstone_gguf::Metadata;
use inkstone_tensor::ops::TOP;
use inkstone_tensor::sampling::{Chain, Stage, TokenBias};

/// Reads the options that a model file recommends in the keys `general.sampling.*`.
///
/// # Errors
/// A key has the wrong type.
pub fn file_options(metadata: &Metadata) -> Result<Options> {
    // An f32 is converted to the decimal number that it prints as: 0.8, not 0.800000011920929.
    let decimal = |v: f32| v.to_string().parse().unwrap_or(f64::from(v));
    let number = |name: &str| metadata.f32(&format!("general.sampling.{name}")).map(|v| v.map(decimal));
    let count = |name: &str| metadata.i64(&format!("general.sampling.{name}"));
    Ok(Options {
        temperature: number("temp")?,
        top_k: count("top_k")?.map(|k| u32::try_from(k).unwrap_or(0)), // files say -1 for all
        top_p: number("top_p")?,
        min_p: number("min_p")?,
        repeat_penalty: number("penalty_repeat")?,
        repeat_last_n: count("penalty_last_n")?.map(|n| u32::try_from(n).unwrap_or(u32::MAX)),
        ..Options::default()
    })
}

/// The words that a step reserves for the sampling of each sequence: the parameters of every stage, with short lists.
pub(crate) const CHAIN_WORDS: usize = 64;

/// The words that a step reserves for longer lists (biases of two words, banned tokens, end tokens) of all sequences: lists as
/// long as the vocabulary, for one sequence. A request whose lists don't fit next to those in use waits.
pub(crate) fn list_words(vocab: usize) -> usize {
    vocab.saturating_mul(4)
}

/// The words of the sampling of this number of sequences in a step.
pub(crate) fn sampler_words(vocab: usize, sequences: usize) -> usize {
    sequences.saturating_mul(CHAIN_WORDS).saturating_add(list_words(vocab))
}

/// The sampling chain of a request whose options are resolved.
pub(crate) fn chain(o: &Options, ends: &[u32], vocab: usize) -> Result<Chain> {
    let last_n = o.repeat_last_n.filter(|n| *n != u32::MAX);
    let bias = o.logit_bias.iter().map(|(token, bias)| TokenBias { token: *token, bias: *bias }).collect();
    let chain = Chain::in_order([
        Stage::Bias(bias),
        Stage::Ban(o.banned.clone()),
        Stage::MinTokens { tokens: o.min_tokens, ids: ends.to_vec() },
        Stage::Repetition { penalty: o.repeat_penalty.unwrap_or(1.0), last_n },
        Stage::Frequency(o.frequency_penalty.unwrap_or(0.0)),
        Stage::Presence(o.presence_penalty.unwrap_or(0.0)),
        Stage::NoRepeatNgram(o.no_repeat_ngram.unwrap_or(0)),
        Stage::Temperature(o.temperature.unwrap_or(1.0)),
        Stage::TopK(o.top_k.unwrap_or(0)),
        Stage::TypicalP(o.typical_p.unwrap_or(1.0)),
        Stage::TopP(o.top_p.unwrap_or(1.0)),
        Stage::MinP(o.min_p.unwrap_or(0.0)),
    ]);
    chain.check(vocab)?;
    Ok(chain)
}

impl Options {
    /// These options, completed by the options of `other`. Lists are concatenated.
    #[must_use]
    pub fn over(&self, other: &Options) -> Options {
        let mut o = self.clone();
        macro_rules! first {
            ($($field:ident)+) => { $(o.$field = o.$field.or_else(|| other.$field.clone());)+ };
        }
        first!(temperature top_k top_p typical_p min_p repeat_penalty repeat_last_n frequency_penalty presence_penalty);
        first!(no_repeat_ngram max_tokens seed n num_beams length_penalty early_stopping logprobs bos deadline cancel cache_salt);
        o.logit_bias.extend_from_slice(&other.logit_bias);
        o.banned.extend_from_slice(&other.banned);
        o.stop.extend_from_slice(&other.stop);
        o.stop_ids.extend_from_slice(&other.stop_ids);
        o.template_vars.extend_from_slice(&other.template_vars);
        o.min_tokens = o.min_tokens.max(other.min_tokens);
        o.ignore_end |= other.ignore_end;
        o.special |= other.special;
        o
    }

    /// These options, completed by the defaults.
    pub(crate) fn with_defaults(mut self, d: &Defaults) -> Options {
        self.temperature.get_or_insert(d.temperature);
        self.top_k.get_or_insert(d.top_k);
        self.top_p.get_or_insert(d.top_p);
        self.min_p.get_or_insert(d.min_p);
        self.max_tokens.get_or_insert(d.max_tokens);
        self
    }

    /// Checks the options that are not part of the sampling chain.
    pub(crate) fn check(&self) -> Result<()> {
        let bad = |option, value: String, allowed: String| Err(Error::Option { option, value, allowed });
        if self.stop.len() > MAX_STOPS {
            return bad("stop", format!("{} texts", self.stop.len()), format!("at most {MAX_STOPS} texts"));
        }
        if let Some(text) = self.stop.iter().find(|t| t.is_empty() || t.len() > MAX_STOP_BYTES) {
            return bad("stop", format!("a text of {} bytes", text.len()), format!("1 to {MAX_STOP_BYTES} bytes"));
        }
        if let Some(n) = self.logprobs.filter(|n| *n as usize > TOP) {
            return bad("logprobs", n.to_string(), format!("0 to {TOP}"));
        }
        Ok(())
    }

    /// The number of samples.
    pub(crate) fn samples(&self) -> Result<u32> {
        match self.n {
            None => Ok(1),
            Some(n @ 1..=64) => Ok(n),
            Some(n) => Err(Error::Option { option: "n", value: n.to_string(), allowed: "1 to 64".to_owned() }),
        }
    }

    /// Checks that a request that gives one reply asks for one.
    pub(crate) fn one_sample(&self) -> Result<()> {
        let allowed = || "1; generate_all and generate_batch give several replies".to_owned();
        match (self.samples()?, self.beams()?) {
            (1, 1) => Ok(()),
            (1, beams) => Err(Error::Option { option: "num_beams", value: beams.to_string(), allowed: allowed() }),
            (n, _) => Err(Error::Option { option: "n", value: n.to_string(), allowed: allowed() }),
        }
    }

    /// The largest number of tokens to draw, which is at most `room`, and whether `room` limits it.
    pub(crate) fn limit(&self, room: u64) -> (u64, bool) {
        match self.max_tokens {
            Some(Limit::Tokens(n)) if n <= room => (n, false),
            _ => (room, true),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Cancel;
    use inkstone_text::TemplateLimits;

    fn resolved(request: &Options, own: &Options, file: &Options) -> Options {
        request.over(own).over(file).with_defaults(&Defaults::COMMAND_LINE)
    }

    #[test]
    fn files_recommend_decimals() {
        let mut m = Metadata::new();
        m.insert("general.sampling.temp", 0.6f32);
        m.insert("general.sampling.top_k", 20i32);
        m.insert("general.sampling.penalty_last_n", -1i32);
        let file = file_options(&m).unwrap();
        assert_eq!((file.temperature, file.top_k, file.top_p), (Some(0.6), Some(20), None));
        assert_eq!(file.repeat_last_n, Some(u32::MAX));
        m.insert("general.sampling.top_p", "most");
        assert!(file_options(&m).unwrap_err().to_string().contains("general.sampling.top_p"));
    }

    #[test]
    fn a_request_comes_before_the_file_and_the_file_before_the_defaults() {
        let (none, file) = (Options::default(), Options::default().temperature(0.6).top_k(7));
        let o = resolved(&Options::default().top_k(3), &none, &file);
        assert_eq!((o.temperature, o.top_k, o.top_p), (Some(0.6), Some(3), Some(0.95)));
        let o = resolved(&none, &Options::default().temperature(0.1), &file);
        assert_eq!((o.temperature, o.top_k), (Some(0.1), Some(7)));
    }

    #[test]
    fn every_option_of_the_generator_completes_a_request() {
        let cancel = Cancel::new();
        cancel.cancel();
        // A generator renders no templates, so it has no limits for them.
        let own = Options { cancel: Some(cancel), template_limits: TemplateLimits::default(), ..Options::all_set() };
        let none = Options::default();
        assert_eq!(format!("{:?}", none.over(&own)), format!("{own:?}"));
        assert_eq!(format!("{:?}", own.over(&none)), format!("{own:?}"));

        let request = Options::default().max_tokens(5).stop("\n").stop_id(1).ban([8]).min_tokens(1);
        let o = request.over(&own);
        assert_eq!((o.max_tokens, o.min_tokens), (Some(Limit::Tokens(5)), 2));
        assert_eq!((o.stop, o.stop_ids, o.banned), (vec!["\n".to_owned(), "END".to_owned()], vec![1, 9], vec![8, 7]));
        assert_eq!(request.min_tokens(3).over(&own).min_tokens, 3);
    }

    #[test]
    fn neutral_options_leave_no_stage() {
        let neutral = Options::default().temperature(1.0).top_k(0).top_p(1.0).repeat_penalty(1.0);
        assert_eq!(chain(&neutral, &[5], 10).unwrap().to_string(), "draw");
        let some = Options::default().temperature(0.5).top_k(4).logit_bias(2, 1.5).min_tokens(3);
        let printed = chain(&some, &[5], 10).unwrap().to_string();
        assert!(printed.contains("temperature 0.5 | top-k 4 | draw"), "{printed}");
        assert!(chain(&Options::default().ban([10]), &[], 10).unwrap_err().is_usage());
    }

    #[test]
    fn the_room_of_the_context_is_a_limit() {
        assert_eq!(Options::default().max_tokens(5).limit(9), (5, false));
        assert_eq!(Options::default().max_tokens(9).limit(9), (9, false));
        assert_eq!(Options::default().max_tokens(10).limit(9), (9, true));
        assert_eq!(Options::default().unlimited().limit(9), (9, true));
    }
}
