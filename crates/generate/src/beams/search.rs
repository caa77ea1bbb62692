//! The search itself: which texts go on, and which ones are results.
//!
//! All candidates, a text with one more token, are ranked by the sums of their log-probabilities. Of the first
//! `beams` candidates, those that end become results. The first `beams` candidates that don't end go on. These are the
//! rules of `transformers.GenerationMixin.generate` with `num_beams`.

use crate::FinishReason;

/// The parameters of a search.
#[derive(Clone, Debug)]
pub(crate) struct Rules {
    /// The largest number of texts that go on, and of results.
    pub beams: usize,
    /// The largest number of tokens of a text.
    pub limit: u64,
    /// The reason for the end at this limit.
    pub at_limit: FinishReason,
    /// The score of a text is its sum divided by its number of tokens to this power.
    pub length_penalty: f64,
    /// The search ends as soon as it has `beams` results, also if better ones could follow.
    pub early_stopping: bool,
    /// The tokens that end a text.
    pub ends: Vec<u32>,
}

/// A text that goes on.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Beam {
    /// Its tokens behind the prompt.
    pub ids: Vec<u32>,
    /// The sum of their log-probabilities.
    pub sum: f64,
    /// The index of the beam of the round before that it continues.
    pub parent: usize,
}

/// A result.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Hypothesis {
    /// Its tokens behind the prompt, including the end token.
    pub ids: Vec<u32>,
    pub score: f64,
    pub finish: FinishReason,
}

/// A beam with one more token.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    beam: usize,
    id: u32,
    sum: f64,
}

/// A search.
#[derive(Debug)]
pub(crate) struct Search {
    rules: Rules,
    /// The beams, then memory for more of them.
    beams: Vec<Beam>,
    live: usize,
    /// The beams of the round before.
    before: Vec<Beam>,
    candidates: Vec<Candidate>,
    /// Best first.
    results: Vec<Hypothesis>,
}

impl Search {
    /// A search with one beam, which has no tokens. `limit` tokens of each beam get their memory here.
    pub fn new(rules: Rules) -> Search {
        let beam = || Beam { ids: Vec::with_capacity(rules.limit as usize), ..Beam::default() };
        let [beams, before] = [(); 2].map(|()| (0..rules.beams).map(|_| beam()).collect());
        Search { rules, beams, live: 1, before, candidates: Vec::new(), results: Vec::new() }
    }

    /// The texts that go on.
    pub fn beams(&self) -> &[Beam] {
        &self.beams[..self.live]
    }

    /// Continues each beam with one of its most probable tokens. `scores` are the tokens that may follow beam i, with their
    /// log-probabilities: all, or at least as many as there are beams and end tokens. Returns whether the search has ended.
    pub fn advance<S: IntoIterator<Item = (u32, f32)>>(&mut self, scores: impl Fn(usize) -> S) -> bool {
        self.candidates.clear();
        for (beam, Beam { sum, .. }) in self.beams[..self.live].iter().enumerate() {
            let possible = scores(beam).into_iter().filter(|(_, logprob)| logprob.is_finite());
            self.candidates.extend(possible.map(|(id, logprob)| Candidate { beam, id, sum: sum + f64::from(logprob) }));
        }
        // Of equal sums, the first beam and the lowest token.
        self.candidates
            .sort_unstable_by(|a, b| b.sum.total_cmp(&a.sum).then(a.beam.cmp(&b.beam)).then(a.id.cmp(&b.id)));
        std::mem::swap(&mut self.beams, &mut self.before);
        let tokens = self.before[0].ids.len() + 1;
        let full = tokens as u64 >= self.rules.limit;
        self.live = 0;
        for (rank, &Candidate { beam, id, sum }) in self.candidates.iter().enumerate() {
            let finish = if self.rules.ends.contains(&id) {
                Some(FinishReason::End)
            } else {
                full.then_some(self.rules.at_limit)
            };
            match finish {
                Some(finish) if rank < self.rules.beams => {
                    let mut ids = self.before[beam].ids.clone();
                    ids.push(id);
                    self.results.push(Hypothesis { ids, score: self.rules.score(sum, tokens), finish });
                }
                None if self.live < self.rules.beams => {
                    let next = &mut self.beams[self.live];
                    next.ids.clone_from(&self.before[beam].ids);
                    next.ids.push(id);
                    (next.sum, next.parent) = (sum, beam);
                    self.live += 1;
                }
                _ => {}
            }
        }
        self.keep_best();
        self.has_ended(tokens)
    }

    /// Ends the search with the beams as results.
    pub fn stop(&mut self, finish: FinishReason) {
        for Beam { ids, sum, .. } in &self.beams[..std::mem::take(&mut self.live)] {
            let score = self.rules.score(*sum, ids.len());
            self.results.push(Hypothesis { ids: ids.clone(), score, finish });
        }
        self.keep_best();
    }

    /// Takes the results, best first.
    pub fn take_results(&mut self) -> Vec<Hypothesis> {
        std::mem::take(&mut self.results)
    }

    fn keep_best(&mut self) {
        // Stable: of equal scores, the first one found.
        self.results.sort_by(|a, b| b.score.total_cmp(&a.score));
        self.results.truncate(self.rules.beams);
    }

    /// Whether the beams, of this number of tokens, can't become better results.
    fn has_ended(&self, tokens: usize) -> bool {
        let Some(best) = self.beams().first() else { return true };
        let worst = self.results.last().filter(|_| self.results.len() == self.rules.beams);
        worst.is_some_and(|worst| self.rules.early_stopping || worst.score >= self.rules.score(best.sum, tokens))
    }
}

impl Rules {
    fn score(&self, sum: f64, tokens: usize) -> f64 {
        sum / (tokens.max(1) as f64).powf(self.length_penalty)
    }
}

#[cfg(test)]
mod tests;
