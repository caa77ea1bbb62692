//! The words of history that a draw reads, counted: nothing, the last tokens, the generated ones, or all.

use inkstone_tensor::sampling::{Chain, Stage};
use inkstone_tensor::step::Sampler;

/// The number of tokens that the draw behind a row reads, of a sequence whose prompt has 1,000 tokens.
fn words(chain: Vec<Stage>, position: usize) -> usize {
    let mut words = Vec::new();
    Sampler::encode(1, 1000, &Chain(chain), &mut words);
    let reads = Sampler::decode(&words).unwrap().reads(position);
    assert_eq!(reads.end, position + 1, "the last ones");
    reads.len()
}

#[test]
fn a_draw_reads_the_words_that_its_stages_need() {
    let end = |tokens| Stage::MinTokens { tokens, ids: vec![2] };
    let repetition = |last_n| Stage::Repetition { penalty: 1.1, last_n };
    let nothing = vec![Stage::Temperature(0.8), Stage::TopK(40), Stage::TopP(0.95), Stage::MinP(0.05)];
    for position in [15, 999, 4095, 32_767] {
        let (tokens, generated) = (position + 1, (position + 1usize).saturating_sub(1000));
        assert_eq!((words(Vec::new(), position), words(nothing.clone(), position)), (0, 0));
        assert_eq!(words(vec![repetition(Some(64))], position), tokens.min(64));
        assert_eq!(words(vec![repetition(None)], position), tokens);
        assert_eq!(words(vec![Stage::Frequency(0.5)], position), generated);
        assert_eq!(words(vec![Stage::Presence(0.5), repetition(Some(64))], position), generated.max(tokens.min(64)));
        assert_eq!(words(vec![end(5)], position), generated.min(5));
        assert_eq!(words(vec![Stage::NoRepeatNgram(3), repetition(Some(64))], position), tokens);
        // Neutral stages look at nothing.
        let neutral = vec![Stage::Frequency(0.0), Stage::Repetition { penalty: 1.0, last_n: None }];
        assert_eq!(words(neutral, position), 0);
    }
}
