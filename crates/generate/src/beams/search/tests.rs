//! The search against one that keeps and sorts everything.

use super::*;
use crate::FinishReason::{End, Length};
use crate::clock::tests::rig::{PlainSearch, Rng};
use inkstone_tensor::ops::TOP;

/// A model with random log-probabilities behind every text.
struct Model {
    seed: u64,
    vocab: usize,
    /// The number of different probabilities: small numbers make equal sums.
    levels: usize,
}

impl Model {
    fn scores(&self, ids: &[u32]) -> Vec<(u32, f32)> {
        let text = ids.iter().fold(self.seed, |hash, &id| Rng(hash ^ (u64::from(id) + 1)).below(usize::MAX) as u64);
        let mut rng = Rng(text);
        let logits: Vec<f64> =
            (0..self.vocab).map(|_| rng.below(self.levels) as f64 * 6.0 / self.levels as f64).collect();
        let sum: f64 = logits.iter().map(|l| l.exp()).sum();
        (0..).zip(logits).map(|(id, l)| (id, (l - sum.ln()) as f32)).collect()
    }

    /// The most probable tokens, as an engine gives them.
    fn top(&self, ids: &[u32]) -> Vec<(u32, f32)> {
        let mut scores = self.scores(ids);
        scores.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        scores.truncate(TOP);
        scores
    }
}

#[test]
fn three_thousand_random_models_have_the_results_of_the_plain_search() {
    let (mut ended, mut limited) = (0, 0);
    for seed in 0..3000 {
        let rng = &mut Rng(seed);
        let model = Model { seed, vocab: 1 + rng.below(60), levels: rng.one_of(&[3, 1 << 40]) };
        let plain = PlainSearch {
            beams: 1 + rng.below(8),
            limit: 1 + rng.below(10) as u64,
            length_penalty: rng.one_of(&[1.0, 0.0, 2.0, 0.6, -1.0]),
            early_stopping: rng.once_in(2),
            ends: (0..rng.below(4)).map(|_| rng.below(model.vocab) as u32).collect(),
        };
        let PlainSearch { beams, limit, length_penalty, early_stopping, ends } = plain.clone();
        let mut search = Search::new(Rules { beams, limit, at_limit: Length, length_penalty, early_stopping, ends });
        loop {
            let tops: Vec<_> = search.beams().iter().map(|beam| model.top(&beam.ids)).collect();
            if search.advance(|beam| tops[beam].clone()) {
                break;
            }
        }
        let found = search.take_results();
        let wanted = plain.results(|ids| model.scores(ids));
        let texts: Vec<(Vec<u32>, f64)> = found.iter().map(|h| (h.ids.clone(), h.score)).collect();
        assert_eq!(texts, wanted, "seed {seed}, {plain:?}");
        for Hypothesis { ids, finish, .. } in found {
            let end = plain.ends.contains(&ids[ids.len() - 1]);
            assert_eq!(finish, if end { End } else { Length });
            *(if end { &mut ended } else { &mut limited }) += 1;
        }
    }
    assert!(ended > 1000 && limited > 1000, "{ended} ended, {limited} at the limit");
}

#[test]
fn a_search_that_is_stopped_gives_its_texts() {
    let model = Model { seed: 1, vocab: 30, levels: 1 << 40 };
    let rules =
        Rules { beams: 3, limit: 9, at_limit: Length, length_penalty: 1.0, early_stopping: false, ends: vec![] };
    let mut search = Search::new(rules);
    for _ in 0..4 {
        let tops: Vec<_> = search.beams().iter().map(|beam| model.top(&beam.ids)).collect();
        assert!(!search.advance(|beam| tops[beam].clone()));
    }
    let beams = search.beams().to_vec();
    search.stop(FinishReason::Deadline);
    let found = search.take_results();
    assert_eq!(found.len(), 3);
    for (found, beam) in found.iter().zip(beams) {
        assert_eq!((&found.ids, found.score, found.finish), (&beam.ids, beam.sum / 4.0, FinishReason::Deadline));
    }
    // Before the first answer there is one text, without tokens.
    let rules =
        Rules { beams: 2, limit: 9, at_limit: Length, length_penalty: 2.0, early_stopping: false, ends: vec![] };
    let mut search = Search::new(rules);
    search.stop(FinishReason::Cancelled);
    assert_eq!(search.take_results(), [Hypothesis { ids: vec![], score: 0.0, finish: FinishReason::Cancelled }]);
}

#[test]
fn tokens_that_are_impossible_continue_no_text() {
    let rules =
        Rules { beams: 2, limit: 3, at_limit: Length, length_penalty: 1.0, early_stopping: false, ends: vec![] };
    let mut search = Search::new(rules);
    assert!(!search.advance(|_| [(5, -0.5), (6, f32::NEG_INFINITY), (7, f32::NAN)]));
    assert_eq!(search.beams(), [Beam { ids: vec![5], sum: -0.5, parent: 0 }]);
    assert!(search.advance(|_| [(1, f32::NEG_INFINITY)]));
    assert_eq!(search.take_results(), []);
}
