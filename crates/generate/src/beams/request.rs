//! The options of a beam search, and its sequences.

use super::MAX_BEAMS;
use super::search::{Rules, Search};
use crate::generator::Start;
use crate::memory::reserve;
use crate::output::Output;
use crate::question::{Question, Scoring};
use crate::request::chain;
use crate::sequence::Goal;
use crate::stream::Handle;
use crate::{Error, FinishReason, Generator, Options, Result};
use inkstone_kvcache::Salt;
use inkstone_tensor::ops::TOP;
use inkstone_tensor::step::Sampler;

/// The largest power in the score of a text.
const MAX_PENALTY: f64 = 10.0;

impl Generator {
    /// Checks a request for a beam search and adds its sequences. No text is asked yet.
    pub(super) fn begin_search(&self, prompt: &[u32], options: &Options, salt: Salt) -> Result<(Search, Vec<Handle>)> {
        self.check_prompt(prompt)?;
        let o = self.resolve(options);
        o.check()?;
        options.draws_nothing()?;
        o.gives_texts()?;
        let ends = self.ends(&o)?;
        let (limit, by_room) = o.limit((self.config().context - prompt.len()) as u64);
        let at_limit = if by_room { FinishReason::Context } else { FinishReason::Length };
        let beams = o.beams()?;
        let length_penalty = o.length_penalty.unwrap_or(1.0);
        if !(-MAX_PENALTY..=MAX_PENALTY).contains(&length_penalty) {
            let allowed = format!("-{MAX_PENALTY} to {MAX_PENALTY}");
            return Err(Error::Option { option: "length_penalty", value: length_penalty.to_string(), allowed });
        }
        // The scores of a row must hold enough tokens that don't end a text.
        if beams + ends.len() > TOP {
            let (value, most) = (format!("{} end tokens", ends.len()), TOP - beams);
            return Err(Error::Option {
                option: "stop_ids",
                value,
                allowed: format!("at most {most} with num_beams {beams}"),
            });
        }
        let reach = prompt.len() + limit as usize;
        self.check_room(prompt.len(), reach, beams)?;
        let early_stopping = o.early_stopping.unwrap_or(false);
        let mut search = Search::new(Rules { beams, limit, at_limit, length_penalty, early_stopping, ends });
        if limit == 0 {
            search.stop(at_limit);
            return Ok((search, Vec::new()));
        }
        let greedy = chain(&Options::default().temperature(0.0), &[], self.graph().config.vocab)?;
        let sequences = (0..beams).map(|i| {
            let first = i == 0;
            let mut sampler = Vec::new();
            Sampler::encode(0, prompt.len(), &greedy, &mut sampler);
            let ids = if first { prompt } else { &[] };
            let mut text = Vec::new();
            reserve(&mut text, reach, "the tokens of a search")?;
            let output = Output::new(ids.len(), Vec::new(), Some(Question::new(text)));
            let goal = Goal::Score(Box::new(Scoring { sampler, asked: false, idle: 0, counts: first }));
            let own = Options::default();
            self.start(
                Start { ids, reach, goal, chunks: vec![self.chunk()], output },
                salt,
                if first { &o } else { &own },
            )
        });
        Ok((search, sequences.collect::<Result<_>>()?))
    }

    /// Checks that the texts of a search fit in the cache, and that each has a sequence.
    fn check_room(&self, prompt: usize, reach: usize, beams: usize) -> Result<()> {
        let few = |allowed| Err(Error::Option { option: "num_beams", value: beams.to_string(), allowed });
        let sequences = self.config().sequences;
        if beams > sequences {
            return few(format!("at most {sequences}, the number of sequences"));
        }
        let (page, pages) = (self.config().page, self.metrics().pages);
        let shared = prompt / page;
        let own = reach.div_ceil(page) - shared;
        if shared + beams * own > pages {
            let most = (pages - shared) / own.max(1);
            return few(format!("at most {most} with texts of {reach} tokens, for which the cache has room"));
        }
        Ok(())
    }
}

impl Options {
    /// The largest number of texts of a beam search; 1: no search.
    pub(crate) fn beams(&self) -> Result<usize> {
        match self.num_beams {
            None => Ok(1),
            Some(n) if (1..=MAX_BEAMS).contains(&(n as usize)) => Ok(n as usize),
            Some(n) => {
                let allowed = format!("1 to {MAX_BEAMS}");
                Err(Error::Option { option: "num_beams", value: n.to_string(), allowed })
            }
        }
    }

    /// Checks that a request for a beam search has no options for draws. Those of the file and of the defaults are ignored.
    fn draws_nothing(&self) -> Result<()> {
        let number = |value: Option<f64>| value.map(|value| value.to_string());
        let whole = |value: Option<u32>| value.map(|value| value.to_string());
        let count = |n: usize, what| (n > 0).then(|| format!("a list of {n} {what}"));
        refuse([
            ("temperature", number(self.temperature)),
            ("top_k", whole(self.top_k)),
            ("top_p", number(self.top_p)),
            ("typical_p", number(self.typical_p)),
            ("min_p", number(self.min_p)),
            ("repeat_penalty", number(self.repeat_penalty)),
            ("repeat_last_n", whole(self.repeat_last_n)),
            ("frequency_penalty", number(self.frequency_penalty)),
            ("presence_penalty", number(self.presence_penalty)),
            ("no_repeat_ngram", whole(self.no_repeat_ngram)),
            ("logit_bias", count(self.logit_bias.len(), "biases")),
            ("banned", count(self.banned.len(), "tokens")),
            ("min_tokens", (self.min_tokens > 0).then(|| self.min_tokens.to_string())),
            ("seed", self.seed.map(|seed| seed.to_string())),
        ])
    }

    /// Checks that a beam search, whose results are whole texts, is not asked for anything else.
    fn gives_texts(&self) -> Result<()> {
        refuse([
            ("n", self.n.filter(|n| *n != 1).map(|n| n.to_string())),
            ("stop", (!self.stop.is_empty()).then(|| format!("a list of {} texts", self.stop.len()))),
            ("logprobs", self.logprobs.map(|n| n.to_string())),
        ])
    }
}

/// The error of the first option that is set.
fn refuse<const N: usize>(options: [(&'static str, Option<String>); N]) -> Result<()> {
    let set = options.into_iter().find_map(|(option, value)| Some((option, value?)));
    set.map_or(Ok(()), |(option, value)| {
        Err(Error::Option { option, value, allowed: "not set with num_beams above 1".to_owned() })
    })
}
