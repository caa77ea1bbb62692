//! Logits and log-probabilities belong to their rows, in steps of any composition.

use crate::rig::{BOS, Request, Setup, VOCAB, logit};
use inkstone_generate::TokenScore;

/// The log-probability of a token after another one.
fn logprob(last: u32, token: u32) -> f64 {
    let sum: f64 = (0..VOCAB as u32).map(|id| f64::from(logit(last, id)).exp()).sum();
    f64::from(logit(last, token)) - sum.ln()
}

/// Compares the scores of the tokens of a request.
#[track_caller]
pub fn check(request: &Request, ids: &[u32], scores: &[TokenScore]) {
    assert_eq!(scores.iter().map(|s| s.id).collect::<Vec<_>>(), ids);
    let top = request.logprobs.unwrap() as usize;
    let mut last = *request.prompt.last().unwrap();
    for score in scores {
        let near = |found: f32, token| (f64::from(found) - logprob(last, token)).abs() < 1e-5;
        assert!(near(score.logprob, score.id), "{score:?} after {last}");
        assert_eq!(score.top.len(), top.min(VOCAB));
        assert!(score.top.iter().all(|(id, p)| near(*p, *id)), "{score:?} after {last}");
        assert!(score.top.is_sorted_by(|a, b| a.1 >= b.1));
        // The logits grow with the id.
        assert!(last == 0 || score.top.first().is_none_or(|(id, _)| *id as usize == VOCAB - 1));
        last = score.id;
    }
}

#[test]
fn scores_belong_to_the_drawn_tokens_of_their_own_sequence() {
    // Six draws in a step have three windows of logit rows.
    let generator = Setup { sequences: 6, logit_rows: vec![1, 2], ..Setup::default() }.generator();
    let requests: Vec<Request> = (0..6)
        .map(|i| Request {
            logprobs: [None, Some(0), Some(3), Some(20)][i % 4],
            ..Request::new(i as u64, &vec![BOS; 1 + 5 * i]).tokens(9 + i as u64)
        })
        .collect();
    let mut readers: Vec<_> = requests.iter().map(|r| r.stream(&generator)).collect();
    while readers.iter_mut().fold(false, |any, reader| any | reader.read()) {}
    for (request, reader) in requests.iter().zip(&mut readers) {
        assert_eq!(reader.rest(), request.outcome(64));
        match request.logprobs {
            Some(_) => check(request, reader.ids(), reader.scores()),
            None => assert_eq!(reader.scores(), []),
        }
    }
}

#[test]
fn logits_have_a_row_for_each_token_in_steps_and_windows_of_any_size() {
    let generator = Setup::default().generator();
    for tokens in [1, 2, 15, 16, 17, 50] {
        let ids: Vec<u32> = (0..tokens).map(|i| (i * 7 + 3) % VOCAB as u32).collect();
        let wanted: Vec<f32> = ids.iter().flat_map(|last| (0..VOCAB as u32).map(|id| logit(*last, id))).collect();
        for chunks in [&[][..], &[1], &[2, 5, 3], &[5], &[40]] {
            // Draws share its steps.
            let request = Request::new(5, &[BOS, 4]).tokens(12);
            let mut reader = request.stream(&generator);
            reader.read_pieces(2);
            assert_eq!(generator.logits(&ids, chunks).unwrap(), wanted, "{tokens} tokens in steps of {chunks:?}");
            assert_eq!(reader.rest(), request.outcome(64));
        }
    }
}
