//! A row's result depends on its own sequence only: the same bits alone, in any batch, in any chunking.

use inkstone::tensor::sampling::{Chain, Draw, Stage, log_probs, sample};
use inkstone::{Model, ModelOptions, Options, Reply, Stream, TokenScore};
use inkstone_tests::{Subject, assert_same_bits, on_engines, tries_few};

/// Two layers, four query heads, two KV heads.
const MODEL: &str = "llama";

/// A model of each architecture, of one with windows also with a layer without.
fn subjects() -> [Subject; 6] {
    [MODEL, "qwen2", "qwen3", "gpt2", "gemma3", "gemma3-8l"].map(Subject::arch)
}

/// Models of quantised weights, which are larger.
fn quantised() -> [Subject; 2] {
    [Subject::story_q8_0(), Subject::story_q4_k_m()]
}

fn model(engine: &str, options: ModelOptions) -> Model {
    Subject::arch(MODEL).open(engine, "f32", &options)
}

fn ids() -> Vec<u32> {
    Subject::arch(MODEL).ids
}

/// Draws that go on to the limit.
fn plain(seed: u64, tokens: u64) -> Options {
    Options::default().seed(seed).max_tokens(tokens).ignore_end(true)
}

/// Draws with all the scores that can be had: they depend on every logit.
fn draws(seed: u64, tokens: u64) -> Options {
    plain(seed, tokens).logprobs(20)
}

fn score_bits(scores: &[TokenScore]) -> Vec<u32> {
    let of =
        |s: &TokenScore| [vec![s.id, s.logprob.to_bits()], s.top.iter().flat_map(|(i, p)| [*i, p.to_bits()]).collect()];
    scores.iter().flat_map(|s| of(s).concat()).collect()
}

fn same(a: &Reply, b: &Reply, what: &str) {
    assert_eq!(a.ids, b.ids, "{what}");
    assert_eq!(score_bits(&a.logprobs), score_bits(&b.logprobs), "{what}");
}

fn every_split_of_a_prompt_gives_the_same_bits(engine: &str) {
    subjects().iter().for_each(|subject| splits_of(engine, subject, 48));
}

fn every_split_gives_the_same_bits_on_quantised_weights(engine: &str) {
    quantised().iter().for_each(|subject| splits_of(engine, subject, 18));
}

fn splits_of(engine: &str, subject: &Subject, tokens: usize) {
    let (model, name) = (subject.open(engine, "f32", &ModelOptions::default()), subject.name);
    let ids = &subject.ids[..tokens];
    let whole = model.logits(ids, None).unwrap();
    let every = if tries_few(engine) { 6 } else { 1 };
    for n in 1..ids.len() {
        let rest_at_once = model.generator().logits(ids, &[n, usize::MAX]).unwrap();
        assert_same_bits(&rest_at_once, &whole, &format!("{name}: {n}, then the rest"));
        if n % every > 0 {
            continue;
        }
        let rest_one_by_one = model.generator().logits(ids, &[n, 1]).unwrap();
        assert_same_bits(&rest_one_by_one, &whole, &format!("{name}: {n}, then one by one"));
    }
}

fn prefill_then_decode_equals_prefill(engine: &str) {
    let (model, ids) = (model(engine, ModelOptions::default()), ids());
    for n in [1, 2, 17, 33, 64] {
        let reply = model.generate_ids(&ids[..n], &draws(n as u64, 40)).unwrap();
        let all: Vec<u32> = ids[..n].iter().chain(&reply.ids).copied().collect();
        let logits = model.logits(&all, None).unwrap();
        let vocab = logits.len() / all.len();
        for (i, score) in reply.logprobs.iter().enumerate() {
            let row = &logits[(n - 1 + i) * vocab..][..vocab];
            let wanted = log_probs(row, score.id, 20).unwrap();
            assert_eq!(score.logprob.to_bits(), (wanted.token as f32).to_bits(), "prompt {n}, token {i}");
            let found: Vec<_> = score.top.iter().map(|(id, p)| (*id, p.to_bits())).collect();
            let wanted: Vec<_> = wanted.top.iter().map(|(id, p)| (*id, (*p as f32).to_bits())).collect();
            assert_eq!(found, wanted, "prompt {n}, token {i}");
        }
    }
}

fn draws_are_those_of_the_definition(engine: &str) {
    let (model, ids) = (model(engine, ModelOptions::default()), ids());
    let options = plain(7, 40).temperature(0.9).top_k(12).repeat_penalty(1.3).repeat_last_n(9).frequency_penalty(0.2);
    let chain = Chain::in_order([
        Stage::Repetition { penalty: 1.3, last_n: Some(9) },
        Stage::Frequency(0.2),
        Stage::Temperature(0.9),
        Stage::TopK(12),
    ]);
    let reply = model.generate_ids(&ids[..21], &options).unwrap();
    let mut history = ids[..21].to_vec();
    for (index, found) in reply.ids.iter().enumerate() {
        let logits = model.logits(&history, None).unwrap();
        let row = &logits[logits.len() - logits.len() / history.len()..];
        let token = sample(row, &history, 21, &chain, Draw { seed: 7, index: index as u64 }).unwrap();
        assert_eq!(token, *found, "token {index}");
        history.push(token);
    }
}

fn a_sequence_in_any_mixed_batch_has_the_bits_it_has_alone(engine: &str) {
    let ways = [0, 1, 3, 8].map(|chunk| [(chunk, 7), (chunk, 3)]).concat();
    let ways = if tries_few(engine) { &ways[3..5] } else { &ways };
    subjects().iter().for_each(|subject| batches_of(engine, subject, ways));
}

fn a_mixed_batch_has_the_bits_of_each_alone_on_quantised_weights(engine: &str) {
    quantised().iter().for_each(|subject| batches_of(engine, subject, &[(3, 5)]));
}

/// As many tokens of prompts in a step, and sequences at once, as each of `ways` says.
fn batches_of(engine: &str, subject: &Subject, ways: &[(usize, usize)]) {
    let (ids, name) = (&subject.ids, subject.name);
    let open = |options: ModelOptions| subject.open(engine, "f32", &options);
    // Prompts of all lengths, so that decodes, whole prompts and chunks of prompts meet in a step.
    let requests: Vec<(&[u32], Options)> =
        (0..7).map(|i| (&ids[i..i + 1 + 11 * i % 60], draws(i as u64, 6 + 9 * i as u64 % 20))).collect();
    let alone: Vec<Reply> = {
        let model = open(ModelOptions::default());
        requests.iter().map(|(prompt, options)| model.generate_ids(prompt, options).unwrap()).collect()
    };
    for &(chunk, sequences) in ways {
        let model = open(ModelOptions::default().chunk(chunk).sequences(sequences));
        let mut streams: Vec<(Stream, Vec<TokenScore>)> = Vec::new();
        for (i, (prompt, options)) in requests.iter().enumerate() {
            streams.push((model.stream_ids(prompt, options).unwrap(), Vec::new()));
            // Sequences join while others are under way.
            for (stream, scores) in streams.iter_mut().take(i % 3) {
                if let Some(piece) = stream.next() {
                    scores.extend(piece.unwrap().logprobs);
                }
            }
        }
        // Readers that are ahead and behind.
        for turn in 0..200 {
            for (i, (stream, scores)) in streams.iter_mut().enumerate() {
                if turn % (i + 1) == 0
                    && let Some(piece) = stream.next()
                {
                    scores.extend(piece.unwrap().logprobs);
                }
            }
        }
        for (i, (stream, scores)) in streams.iter_mut().enumerate() {
            scores.extend(stream.by_ref().flat_map(|piece| piece.unwrap().logprobs));
            let what = format!("{name}: request {i}, chunks of {chunk}, {sequences} sequences");
            assert_eq!(stream.ids(), alone[i].ids, "{what}");
            assert_eq!(score_bits(scores), score_bits(&alone[i].logprobs), "{what}");
        }
        drop(streams);
        let (free, all) = model.generator().pages();
        assert_eq!(free, all, "pages are back");
    }
}

fn scores_and_other_options_of_neighbours_change_nothing(engine: &str) {
    let (model, ids) = (model(engine, ModelOptions::default()), ids());
    let plain = plain(5, 24);
    let alone = model.generate_ids(&ids[..9], &plain).unwrap();
    let scored = model.generate_ids(&ids[..9], &draws(5, 24)).unwrap();
    assert_eq!(alone.ids, scored.ids);
    let mut other = model.stream_ids(&ids[3..40], &draws(6, 30).temperature(0.0)).unwrap();
    let mut again = model.stream_ids(&ids[..9], &plain).unwrap();
    other.by_ref().for_each(|piece| drop(piece.unwrap()));
    again.by_ref().for_each(|piece| drop(piece.unwrap()));
    assert_eq!(again.ids(), alone.ids);
    same(&model.generate_ids(&ids[..9], &draws(5, 24)).unwrap(), &scored, "again");
}

fn pages_that_were_used_before_leave_nothing_behind(engine: &str) {
    let ids = ids();
    let fresh = model(engine, ModelOptions::default().sequences(1)).generate_ids(&ids[..30], &draws(1, 30)).unwrap();
    let used = model(engine, ModelOptions::default().sequences(1));
    for i in 0..4 {
        used.generate_ids(&ids[i..70], &draws(9, 100)).unwrap();
        drop(used.stream_ids(&ids[i..50], &draws(8, 50)).unwrap().next());
        same(&used.generate_ids(&ids[..30], &draws(1, 30)).unwrap(), &fresh, "after others");
    }
}

on_engines! {
    every_split_of_a_prompt_gives_the_same_bits
    prefill_then_decode_equals_prefill
    draws_are_those_of_the_definition
    a_sequence_in_any_mixed_batch_has_the_bits_it_has_alone
    scores_and_other_options_of_neighbours_change_nothing
    pages_that_were_used_before_leave_nothing_behind;
    cpu:
    every_split_gives_the_same_bits_on_quantised_weights
    a_mixed_batch_has_the_bits_of_each_alone_on_quantised_weights
}
