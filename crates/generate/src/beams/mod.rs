//! Beam search: the most probable texts instead of drawn ones. The search asks sequences of the scheduler which tokens may
//! follow each of its texts. A text whose parent has another sequence finds the parent's pages in the prefix tree, so
//! that each text costs one row per token.

mod request;
mod search;

use crate::stream::{Handle, unshared};
use crate::{FinishReason, Generator, Options, Result, Timings, Usage};
use inkstone_kvcache::Salt;
pub(crate) use search::Hypothesis;
use search::Search;

/// The largest number of texts of a search.
pub(crate) const MAX_BEAMS: usize = 8;

/// A running beam search.
pub(crate) struct Beams {
    prompt: Vec<u32>,
    search: Search,
    /// One for each beam. The first one has the deadline of the request and its counts.
    sequences: Vec<Handle>,
    /// The index of the sequence of each beam.
    places: [usize; MAX_BEAMS],
}

/// The results of a beam search.
pub(crate) struct Found {
    /// Best first.
    pub hypotheses: Vec<Hypothesis>,
    /// The counts of the prompt.
    pub usage: Usage,
    pub timings: Timings,
}

impl Generator {
    /// Begins the beam search of a request whose [`Options::num_beams`] is at least 2. Its texts share pages with
    /// sequences of this salt.
    ///
    /// # Errors
    /// The prompt or an option is invalid, or too many requests wait.
    pub(crate) fn beams(&self, prompt: &[u32], options: &Options, salt: Salt) -> Result<Beams> {
        let (search, sequences) = self.begin_search(prompt, options, salt)?;
        let beams = Beams { prompt: prompt.to_vec(), search, sequences, places: [0; MAX_BEAMS] };
        beams.ask();
        Ok(beams)
    }
}

impl Beams {
    /// The results if the search has ended. Otherwise [`step`](Beams::step) continues it.
    pub fn poll(&mut self) -> Option<Result<Found>> {
        let mut finish = None;
        for (i, sequence) in self.sequences.iter().enumerate() {
            let mut output = sequence.output().lock();
            if let Some(error) = output.error.take() {
                return Some(Err(unshared(error)));
            }
            if i == 0 {
                finish = output.finish;
            }
        }
        if let Some(finish) = finish {
            self.search.stop(finish);
        } else if self.waits_for().is_some() || !self.advance() {
            return None;
        }
        Some(Ok(self.end()))
    }

    /// The number of sequences.
    pub fn sequences(&self) -> usize {
        self.sequences.len()
    }

    /// Runs a step for all sequences.
    pub fn step(&self) {
        if let Some(sequence) = self.waits_for() {
            sequence.step();
        }
    }

    /// A sequence whose answer is missing.
    fn waits_for(&self) -> Option<&Handle> {
        let asked = self.places[..self.search.beams().len()].iter().map(|&place| &self.sequences[place]);
        asked.into_iter().find(|sequence| !sequence.output().lock().is_ready())
    }

    /// Continues each text with the tokens that may follow it. Returns whether the search has ended.
    fn advance(&mut self) -> bool {
        let Beams { search, sequences, places, .. } = self;
        let ended = search.advance(|beam| {
            let output = sequences[places[beam]].output().lock();
            output.question.as_ref().map(|question| question.answer()).into_iter().flatten()
        });
        if !ended {
            self.assign();
            self.ask();
        }
        ended
    }

    /// Gives each text a sequence. One of the texts that continue the same text keeps its sequence.
    fn assign(&mut self) {
        let before = self.places;
        let mut taken = [false; MAX_BEAMS];
        let mut moves = [false; MAX_BEAMS];
        for (i, beam) in self.search.beams().iter().enumerate() {
            let place = before[beam.parent];
            moves[i] = std::mem::replace(&mut taken[place], true);
            self.places[i] = place;
        }
        let mut free = (0..MAX_BEAMS).filter(|&place| !taken[place]);
        for (place, _) in self.places.iter_mut().zip(moves).filter(|(_, moves)| *moves) {
            // There are as many sequences as beams.
            *place = free.next().unwrap_or_default();
        }
    }

    /// Asks which tokens may follow each text.
    fn ask(&self) {
        for (beam, &place) in self.search.beams().iter().zip(&self.places) {
            if let Some(sequence) = self.sequences.get(place)
                && let Some(question) = &mut sequence.output().lock().question
            {
                question.ask(&self.prompt, &beam.ids);
            }
        }
    }

    /// Ends the sequences and takes the results.
    fn end(&mut self) -> Found {
        let hypotheses = self.search.take_results();
        let finish = hypotheses.first().map_or(FinishReason::Length, |best| best.finish);
        self.sequences.iter().for_each(|sequence| sequence.end(finish));
        let first = self.sequences.first().map(|first| first.output().lock());
        let (usage, timings) = first.map_or_else(Default::default, |first| (first.usage, first.timings()));
        Found { hypotheses, usage, timings }
    }
}
