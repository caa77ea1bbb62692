//! Every way in gives the same: generate, generate_with, stream, token ids, a generator of one's own.

use inkstone::{Defaults, FinishReason, Flow, Generator, Model, ModelOptions, Options, RunConfig};
use inkstone_tests::{assets, on_engines};
use proptest::prelude::*;
use std::time::Duration;

fn open(engine: &str) -> Model {
    Model::open_with(assets("story-draft-q8_0.gguf"), &ModelOptions::default().engine(engine)).unwrap()
}

const PROMPT: &str = "Once upon a time, there was a";

/// What a caller sees: ids, text, why it ended, seed.
type Seen = (Vec<u32>, String, FinishReason, u64);

fn by_generate(model: &Model, o: &Options) -> Seen {
    let r = model.generate(PROMPT, o).unwrap();
    assert_eq!(r.usage.completion_tokens as usize, r.ids.len());
    (r.ids, r.text, r.finish, r.seed)
}

fn by_stream(model: &Model, o: &Options) -> Seen {
    let mut stream = model.stream(PROMPT, o).unwrap();
    let (mut text, mut ids) = (String::new(), Vec::new());
    for piece in stream.by_ref() {
        let piece = piece.unwrap();
        text.push_str(&piece.text);
        ids.extend(piece.ids);
    }
    assert_eq!(stream.ids(), ids);
    (ids, text, stream.finish().unwrap(), stream.seed())
}

fn by_callback(model: &Model, o: &Options) -> Seen {
    let mut text = String::new();
    let r = model.generate_with(PROMPT, o, |piece| {
        text.push_str(&piece.text);
        Flow::Continue
    });
    let r = r.unwrap();
    assert_eq!(r.text, text);
    (r.ids, r.text, r.finish, r.seed)
}

fn by_ids(model: &Model, o: &Options) -> Seen {
    let ids = model.generator().encode(PROMPT, o).unwrap();
    let r = model.generate_ids(&ids, o).unwrap();
    (r.ids, r.text, r.finish, r.seed)
}

fn by_own_generator(model: &Model, o: &Options) -> Seen {
    let (graph, tokenizer, engine) = (model.graph().clone(), model.tokenizer().clone(), model.engine().clone());
    // Here the options are the generator's own, and the request sets none.
    let generator = Generator::new(graph, tokenizer, engine, model.config().clone(), o.clone()).unwrap();
    let r = generator.generate(PROMPT, &Options::default()).unwrap();
    (r.ids, r.text, r.finish, r.seed)
}

fn all_agree(model: &Model, o: &Options) -> Seen {
    let seen = by_generate(model, o);
    for (name, other) in [
        ("stream", by_stream(model, o)),
        ("generate_with", by_callback(model, o)),
        ("generate_ids", by_ids(model, o)),
        ("Generator", by_own_generator(model, o)),
    ] {
        assert_eq!(other, seen, "{name} under {o:?}");
    }
    seen
}

fn base() -> Options {
    Options::default().seed(11).max_tokens(24)
}

fn every_option_means_the_same_at_every_entry_point(engine: &str) {
    let model = &open(engine);
    let plain = all_agree(model, &base());
    let token = plain.0[3];
    let one: Vec<(&str, Options)> = vec![
        ("temperature", base().temperature(0.3)),
        ("greedy", base().temperature(0.0)),
        ("top_k", base().top_k(2)),
        ("top_p", base().top_p(0.4)),
        ("typical_p", base().typical_p(0.3)),
        ("min_p", base().min_p(0.4)),
        ("repeat_penalty", base().repeat_penalty(1.8)),
        ("repeat_last_n", base().repeat_penalty(30.0).repeat_last_n(8)),
        ("frequency_penalty", base().frequency_penalty(1.5)),
        ("presence_penalty", base().presence_penalty(1.5)),
        ("no_repeat_ngram", base().no_repeat_ngram(1)),
        ("logit_bias", base().logit_bias(token, -100.0)),
        ("banned", base().ban([token])),
        ("max_tokens", base().max_tokens(5)),
        ("stop", base().stop("e")),
        ("stop_ids", base().stop_id(token)),
        ("seed", base().seed(12)),
        ("bos", base().bos(false)),
        ("deadline", base().deadline(Duration::ZERO)),
    ];
    for (name, options) in one {
        assert_ne!(all_agree(model, &options), plain, "{name} has no effect");
    }
    let neutral: Vec<(&str, Options)> = vec![
        ("ignore_end", base().ignore_end(true)),
        ("min_tokens", base().min_tokens(3)),
        ("logprobs", base().logprobs(5)),
        ("special", base().special(true)),
        ("neutral numbers", base().temperature(1.0).top_k(0).top_p(1.0).min_p(0.0).typical_p(1.0).repeat_penalty(1.0)),
    ];
    for (name, options) in neutral {
        assert_eq!(all_agree(model, &options), plain, "{name}");
    }
}

fn ends_are_kept_to(engine: &str) {
    let model = &open(engine);
    let greedy = || Options::default().temperature(0.0);
    let long = model.generate(PROMPT, &greedy().unlimited()).unwrap();
    assert_eq!(long.finish, FinishReason::End);
    let end = *long.ids.last().unwrap();
    assert!(model.tokenizer().end_tokens().contains(&end));
    // A ban or a minimum of tokens keeps it from ending there.
    let later = greedy().min_tokens(long.ids.len() as u32 + 1).max_tokens(long.ids.len() as u64 + 1);
    let later = model.generate(PROMPT, &later).unwrap();
    assert_eq!(later.ids[..long.ids.len() - 1], long.ids[..long.ids.len() - 1]);
    assert_ne!(later.ids[long.ids.len() - 1], end);
    let on = greedy().ignore_end(true).max_tokens(long.ids.len() as u64 + 3);
    let on = model.generate(PROMPT, &on).unwrap();
    assert_eq!((on.ids.len(), on.finish), (long.ids.len() + 3, FinishReason::Length));

    let stopped = model.generate_with(PROMPT, &greedy(), |_| Flow::Stop).unwrap();
    assert_eq!((stopped.ids.len(), stopped.finish), (1, FinishReason::Callback));
    let failed = model.generate_with(PROMPT, &greedy(), |_| Flow::Fail("disk full".into())).unwrap_err();
    assert_eq!(failed.to_string(), "the callback failed: disk full");
    let late = model.generate(PROMPT, &greedy().deadline(Duration::ZERO)).unwrap();
    assert_eq!((late.ids.len(), late.finish), (0, FinishReason::Deadline));
}

fn a_full_context_keeps_the_text(engine: &str) {
    let model = &open(engine);
    let options = ModelOptions::default().engine(engine).ctx(20);
    let small = Model::open_with(assets("story-draft-q8_0.gguf"), &options).unwrap();
    let free = Options::default().temperature(0.0).ignore_end(true);
    let reply = small.generate(PROMPT, &free.clone().unlimited()).unwrap();
    assert_eq!(reply.finish, FinishReason::Context);
    assert_eq!(reply.usage.prompt_tokens + reply.usage.completion_tokens, 20);
    let whole = model.generate(PROMPT, &free.max_tokens(12)).unwrap();
    assert!(whole.text.starts_with(&reply.text), "{:?} {:?}", whole.text, reply.text);
}

fn explicit_options_override_the_file_and_the_file_the_defaults(engine: &str) {
    let model = &open(engine);
    let none = Options::default();
    let file = Options::default().temperature(0.0);
    let build = |defaults: Defaults, file: Options| {
        let mut config = RunConfig::new(64);
        (config.defaults, config.file) = (defaults, file);
        let (graph, tokenizer, engine) = (model.graph().clone(), model.tokenizer().clone(), model.engine().clone());
        Generator::new(graph, tokenizer, engine, config, Options::default().seed(4)).unwrap()
    };
    let limit = |o: &Options| o.clone().max_tokens(16);
    let greedy = model.generate(PROMPT, &limit(&file)).unwrap().ids;
    let drawn = model.generate(PROMPT, &limit(&none).seed(4)).unwrap().ids;
    assert_ne!(greedy, drawn);
    let recommended = build(Defaults::LIBRARY, file);
    assert_eq!(recommended.generate(PROMPT, &limit(&none)).unwrap().ids, greedy);
    assert_eq!(recommended.generate(PROMPT, &limit(&none).temperature(1.0)).unwrap().ids, drawn);
    let plain = build(Defaults::LIBRARY, Options::default());
    assert_eq!(plain.generate(PROMPT, &limit(&none)).unwrap().ids, drawn);
    assert_eq!(plain.generate(PROMPT, &limit(&none).temperature(0.0)).unwrap().ids, greedy);
    let command_line = build(Defaults::COMMAND_LINE, Options::default());
    let spelled = limit(&none).seed(4).temperature(0.8).top_k(40).top_p(0.95).min_p(0.05);
    let reply = command_line.generate(PROMPT, &limit(&none)).unwrap();
    assert_eq!(reply.ids, model.generate(PROMPT, &spelled).unwrap().ids);
}

fn numbers_can_be_read_while_a_stream_runs_and_after_an_error(engine: &str) {
    let model = &open(engine);
    let mut stream = model.stream(PROMPT, &base()).unwrap();
    assert_eq!((stream.usage().completion_tokens, stream.finish()), (0, None));
    let prompt = stream.usage().prompt_tokens;
    stream.next().unwrap().unwrap();
    stream.next().unwrap().unwrap();
    // Other callers' steps may have drawn more already.
    assert!(stream.usage().prompt_tokens == prompt && stream.usage().completion_tokens >= 2);
    assert!(stream.timings().total >= stream.timings().prefill);
    // Every token is banned by the second draw: the error names stage and token, and the numbers stay.
    let vocab = model.graph().config.vocab as u32;
    let dead = base().ban(0..vocab);
    let mut stream = model.stream(PROMPT, &dead).unwrap();
    let error = stream.next().unwrap().unwrap_err().to_string();
    assert_eq!(error, "no token is left at token 0: banned tokens took the last one");
    assert!(stream.next().is_none());
    assert_eq!((stream.usage().prompt_tokens, stream.finish()), (prompt, Some(FinishReason::Error)));
}

fn long_lists_of_tokens_fit_or_are_refused(engine: &str) {
    let model = &open(engine);
    let vocab = model.graph().config.vocab as u32;
    // Each bans most tokens three times over.
    let options = |i: u32| (0..3).fold(base().max_tokens(6), |o, _| o.ban((0..vocab).filter(move |t| t % 7 != i)));
    let alone: Vec<_> = (0..4).map(|i| model.generate(PROMPT, &options(i)).unwrap().ids).collect();
    let mut streams: Vec<_> = (0..4).map(|i| model.stream(PROMPT, &options(i)).unwrap()).collect();
    for (i, stream) in streams.iter_mut().enumerate() {
        stream.by_ref().for_each(|piece| drop(piece.unwrap()));
        assert_eq!(stream.ids(), alone[i]);
        assert!(stream.ids().iter().all(|t| t % 7 == i as u32));
    }
    let error = model.generate(PROMPT, &(0..9).fold(base(), |o, _| o.ban(0..vocab))).unwrap_err();
    assert!(error.is_usage() && error.to_string().contains("banned"), "{error}");
}

fn stream_equals_generate(engine: &str) {
    let model = &open(engine);
    proptest!(ProptestConfig { cases: 24, ..ProptestConfig::default() }, |(
        seed in any::<u64>(), temperature in 0.0..2.0f64, top_k in 0u32..50, top_p in 0.05..1.0f64, min_p in 0.0..0.5f64,
        repeat in 0.8..1.5f64, tokens in 0u64..24, ngram in 0u32..4, stop in prop::option::of("[a-z ]{1,3}"),
    )| {
        let mut o = Options::default().seed(seed).temperature(temperature).top_k(top_k).top_p(top_p).min_p(min_p);
        o = o.repeat_penalty(repeat).max_tokens(tokens).no_repeat_ngram(ngram);
        o.stop.extend(stop);
        prop_assert_eq!(by_stream(model, &o), by_generate(model, &o));
    });
}

on_engines! {
    ahead:
    every_option_means_the_same_at_every_entry_point
    ends_are_kept_to
    a_full_context_keeps_the_text
    explicit_options_override_the_file_and_the_file_the_defaults
    numbers_can_be_read_while_a_stream_runs_and_after_an_error
    long_lists_of_tokens_fit_or_are_refused
    stream_equals_generate
}
