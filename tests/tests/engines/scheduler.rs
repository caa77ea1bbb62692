//! Many sequences in one scheduler, at their worst: more of them than places, ends at any time, readers that don't read,
//! callbacks and engines that fail. Section G of the bad inputs, as far as there are features: whatever ends, the others
//! have the bits that they have alone, and all pages come back.

use inkstone::compute::conformance::{Call, Delayed, Fault};
use inkstone::{Cancel, FinishReason, Flow, Generator, Model, ModelOptions, Options, Stream};
use inkstone_tests::tiny::{BOS, Tiny};
use inkstone_tests::{assert_same_bits, on_engines};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;

fn open(engine: &str, options: ModelOptions) -> Model {
    Tiny::random().open_with(&options.engine(engine)).unwrap()
}

/// Draws that go on to the limit, with scores: they depend on every logit.
fn draws(seed: u64, tokens: u64) -> Options {
    Options::default().seed(seed).max_tokens(tokens).ignore_end(true).logprobs(5)
}

/// Tokens and the bits of their scores.
type Bits = Vec<(u32, u32)>;

/// What is left of a stream.
fn rest(stream: &mut Stream) -> Bits {
    stream.flat_map(|piece| piece.unwrap().logprobs).map(|s| (s.id, s.logprob.to_bits())).collect()
}

/// What a request gives when nothing else runs, and no step is ahead.
fn alone(engine: &str, prompt: &[u32], options: &Options) -> Bits {
    let engine = if engine == "ahead" { "cpu" } else { engine };
    let model = open(engine, ModelOptions::default().ctx(400).sequences(1));
    rest(&mut model.stream_ids(prompt, options).unwrap())
}

fn text(stream: &mut Stream) -> String {
    stream.map(|piece| piece.unwrap().text).collect()
}

#[track_caller]
fn all_pages_are_back(generator: &Generator) {
    let (free, all) = generator.pages();
    assert_eq!(free, all, "pages that nobody holds");
}

fn g2_more_sequences_than_places_wait_and_have_the_bits_they_have_alone(engine: &str) {
    let prompt = |i: usize| vec![3 + i as u32 % 26; 1 + i % 40];
    let options = |i: usize| draws(i as u64, 1 + i as u64 % 23);
    let wanted: Vec<Bits> = (0..64).map(|i| alone(engine, &prompt(i), &options(i))).collect();
    for sequences in [1, 3] {
        let model = open(engine, ModelOptions::default().sequences(sequences).chunk(7));
        let mut streams: Vec<_> = (0..64).map(|i| model.stream_ids(&prompt(i), &options(i)).unwrap()).collect();
        let mut found = vec![Bits::new(); 64];
        // The last come first: what they wait for is held by those whose turn to be read comes later.
        while streams.iter().any(|s| s.finish().is_none()) {
            for (stream, found) in streams.iter_mut().zip(&mut found).rev() {
                found.extend(
                    stream.next().into_iter().flat_map(|p| p.unwrap().logprobs).map(|s| (s.id, s.logprob.to_bits())),
                );
            }
        }
        for (i, (stream, found)) in streams.iter_mut().zip(&mut found).enumerate() {
            found.extend(rest(stream));
            assert_eq!(*found, wanted[i], "sequence {i} of {sequences} at once");
        }
        all_pages_are_back(model.generator());
        let error = model.generate_ids(&[5; 65], &options(0)).unwrap_err().to_string();
        assert_eq!(error, "the prompt has 65 tokens, the context holds 64");
    }
}

/// Where a sequence is when it ends.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Stage {
    Queued,
    Prefill,
    Decode,
}

/// How it ends.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    Cancelled,
    Stopped,
    Dropped,
}

fn g3_only_the_cancelled_one_ends_and_its_pages_are_back_within_a_step(engine: &str) {
    let options = |seed| draws(seed, 30);
    let (prompt, long) = (&[BOS, 7, 9][..], &[5; 30][..]);
    let wanted: Vec<Bits> = (0..2).map(|i| alone(engine, prompt, &options(i))).collect();
    for stage in [Stage::Queued, Stage::Prefill, Stage::Decode] {
        for end in [End::Cancelled, End::Stopped, End::Dropped] {
            let what = format!("{end:?} in {stage:?}");
            // 64 tokens are two pages; the others have at most 33 each.
            let places = if stage == Stage::Queued { 2 } else { 3 };
            let model = open(engine, ModelOptions::default().sequences(places).chunk(4));
            let mut others: Vec<_> = (0..2).map(|i| model.stream_ids(prompt, &options(i)).unwrap()).collect();
            let cancel = Cancel::new();
            let victim_options = options(9).cancel(cancel.clone());
            let victim = model.stream_ids(long, &victim_options).unwrap();
            let mut found: Vec<Bits> = vec![Bits::new(); 2];
            let mut step = |others: &mut Vec<Stream>| {
                for (other, found) in others.iter_mut().zip(&mut found) {
                    let piece = other.next().unwrap().unwrap();
                    found.extend(piece.logprobs.iter().map(|s| (s.id, s.logprob.to_bits())));
                }
            };
            for _ in 0..if stage == Stage::Decode { 12 } else { 3 } {
                step(&mut others);
            }
            let drawn = victim.usage().completion_tokens;
            assert_eq!(drawn > 0, stage == Stage::Decode, "{what}: {drawn} tokens");
            assert_eq!(victim.finish(), None);
            let metrics = model.metrics();
            let queued = usize::from(stage == Stage::Queued);
            assert_eq!((metrics.running, metrics.waiting), (3 - queued, queued), "{what}");
            let mut victim = Some(victim);
            match (end, &victim) {
                (End::Stopped, Some(stream)) => stream.stop(),
                (End::Dropped, _) => drop(victim.take()),
                _ => cancel.cancel(),
            }
            step(&mut others);
            let metrics = model.metrics();
            assert_eq!((metrics.running, metrics.waiting), (2, 0), "{what}: after one step");
            assert!(metrics.held_pages <= 4, "{what}: pages of two after one step: {metrics:?}");
            if let Some(mut victim) = victim {
                let finish = if end == End::Cancelled { FinishReason::Cancelled } else { FinishReason::Callback };
                assert_eq!(victim.finish(), Some(finish), "{what}");
                assert_eq!(victim.usage().completion_tokens, drawn, "{what}");
                assert_eq!(rest(&mut victim).len() as u64, drawn, "{what}: what was drawn can be read");
                assert!(victim.next().is_none());
            }
            for (i, other) in others.iter_mut().enumerate() {
                found[i].extend(rest(other));
                assert_eq!(found[i], wanted[i], "{what}: sequence {i}");
                assert_eq!(other.finish(), Some(FinishReason::Length));
            }
            all_pages_are_back(model.generator());
        }
    }
}

fn g3_sequences_that_end_at_any_time_on_many_threads_leave_nothing_behind(engine: &str) {
    let model = open(engine, ModelOptions::default().sequences(3).chunk(5));
    let options = |seed| draws(seed, 24);
    let wanted: Vec<Bits> = (0..4).map(|i| alone(engine, &[BOS, 4, 5], &options(i))).collect();
    thread::scope(|scope| {
        for t in 0..4u64 {
            let (model, wanted) = (&model, &wanted);
            scope.spawn(move || {
                for i in 0..60 {
                    let cancel = Cancel::new();
                    let limit = if i % 6 == 0 { 0 } else { 24 };
                    let o = draws(100 * t + i, limit).cancel(cancel.clone());
                    let mut doomed = model.stream_ids(&[6; 20], &o).unwrap();
                    let read = doomed.by_ref().take(i as usize % 5).map(Result::unwrap).count() as u64;
                    match i % 3 {
                        0 => drop(doomed),
                        1 => doomed.stop(),
                        _ => {
                            cancel.cancel();
                            assert!(doomed.all(|p| p.is_ok()));
                            assert!(doomed.usage().completion_tokens >= read);
                        }
                    }
                    let none = model.generate_ids(&[6; 20], &draws(i, 0)).unwrap();
                    assert_eq!((none.ids.len(), none.finish), (0, FinishReason::Length));
                    let whole = rest(&mut model.stream_ids(&[BOS, 4, 5], &options(i % 4)).unwrap());
                    assert_eq!(whole, wanted[i as usize % 4]);
                }
            });
        }
    });
    all_pages_are_back(model.generator());
}

fn g4_a_reader_that_never_reads_is_passed_over_and_loses_nothing(engine: &str) {
    let (slow, fast) = (draws(1, 390), draws(2, 390));
    let model = open(engine, ModelOptions::default().ctx(400).sequences(2));
    let mut unread = model.stream_ids(&[BOS], &slow).unwrap();
    let mut read = model.stream_ids(&[BOS], &fast).unwrap();
    assert_eq!(rest(&mut read), alone(engine, &[BOS], &fast));
    assert_eq!((unread.usage().completion_tokens, unread.finish()), (64, None), "it waits for its reader");
    // Its place is wanted by two that wait: now it goes on, although nobody reads.
    let waiting = [3, 4].map(|seed| draws(seed, 100));
    let mut streams = waiting.each_ref().map(|o| model.stream_ids(&[BOS, 8], o).unwrap());
    for (stream, options) in streams.iter_mut().zip(&waiting) {
        assert_eq!(rest(stream), alone(engine, &[BOS, 8], options));
    }
    assert_eq!(rest(&mut unread), alone(engine, &[BOS], &slow));
    all_pages_are_back(model.generator());
}

fn g4_a_callback_that_fails_or_panics_ends_its_own_sequence_only(engine: &str) {
    let model = open(engine, ModelOptions::default());
    let (mine, others) = (draws(1, 40), draws(2, 40));
    for panics in [false, true] {
        let mut other = model.stream_ids(&[BOS], &others).unwrap();
        let mut pieces = 0;
        let ended = catch_unwind(AssertUnwindSafe(|| {
            model.generate_with("abc", &mine, |_| {
                pieces += 1;
                match pieces {
                    5 if panics => std::panic::resume_unwind(Box::new("a callback")),
                    5 => Flow::Fail("disk full".into()),
                    _ => Flow::Continue,
                }
            })
        }));
        match ended {
            Ok(reply) => assert_eq!(reply.unwrap_err().to_string(), "the callback failed: disk full"),
            Err(payload) => assert_eq!(payload.downcast_ref(), Some(&"a callback")),
        }
        assert_eq!(rest(&mut other), alone(engine, &[BOS], &others));
        all_pages_are_back(model.generator());
    }
}

fn g4_a_callback_may_generate(engine: &str) {
    let model = open(engine, ModelOptions::default().sequences(1));
    let (outer, inner) = (draws(1, 6), draws(2, 20));
    let mut found = Vec::new();
    let reply = model.generate_with("abc", &outer, |_| {
        found.push(rest(&mut model.stream_ids(&[BOS], &inner).unwrap()));
        Flow::Continue
    });
    assert_eq!(reply.unwrap().ids, model.generate("abc", &outer).unwrap().ids);
    assert_eq!(found, vec![alone(engine, &[BOS], &inner); 6]);
}

fn a_reply_that_a_callback_ends_does_not_depend_on_who_steps(engine: &str) {
    let model = open(engine, ModelOptions::default());
    for tokens in [30, 2, 1] {
        let options = draws(1, tokens);
        let ended = |go_on: &mut dyn FnMut()| {
            let stop = |_: &inkstone::Piece| {
                go_on();
                Flow::Stop
            };
            let r = model.generate_with("abc", &options, stop).unwrap();
            (r.ids, r.text, r.finish, r.usage.completion_tokens)
        };
        let by_itself = ended(&mut || ());
        let wanted = if tokens == 1 { FinishReason::Length } else { FinishReason::Callback };
        assert_eq!((by_itself.0.len(), by_itself.2, by_itself.3), (1, wanted, 1));
        // Steps of another draw all of its tokens before its callback has seen the first.
        let mut other = model.stream_ids(&[BOS], &draws(2, 50)).unwrap();
        assert_eq!(ended(&mut || drop(rest(&mut other))), by_itself, "of {tokens} tokens");
    }
}

fn text_that_is_held_back_comes_out_at_every_end_but_a_stop_text(engine: &str) {
    // "two" may become the stop text, then a character lacks its last byte.
    let model = Tiny::saying(&["one", "two", "<0xE2>", "<0x82>", "<0xAC>"]).open_on(engine).unwrap();
    let greedy = || Options::default().temperature(0.0);
    for (tokens, stop, held) in [(2, "twox", "two"), (3, "twox", "\u{fffd}"), (4, "two€", "two\u{fffd}")] {
        for end in [End::Cancelled, End::Stopped] {
            let cancel = Cancel::new();
            let mut stream = model.stream_ids(&[BOS], &greedy().stop(stop).cancel(cancel.clone())).unwrap();
            let read: String = stream.by_ref().take(tokens).map(|p| p.unwrap().text).collect();
            match end {
                End::Cancelled => cancel.cancel(),
                _ => stream.stop(),
            }
            let what = format!("{tokens} tokens until {stop:?}, {end:?}");
            assert_eq!(text(&mut stream), held, "{what}: after {read:?}");
            assert_eq!(stream.ids().len(), tokens, "{what}");
        }
        // The limit, in one go.
        let reply = model.generate_ids(&[BOS], &greedy().stop(stop).max_tokens(tokens as u64)).unwrap();
        assert!(reply.text.ends_with(held) && reply.text.starts_with("onetwo"), "{:?}", reply.text);
    }
}

fn logits_of_many_windows_and_draws_share_steps(engine: &str) {
    let model = open(engine, ModelOptions::default().ctx(400).chunk(150));
    let ids: Vec<u32> = (0..300).map(|i| 3 + i * 7 % 26).collect();
    let wanted = model.logits(&ids, None).unwrap();
    let options: Vec<_> = (0..3).map(|i| draws(i, 12)).collect();
    let mut streams: Vec<_> = options.iter().map(|o| model.stream_ids(&[BOS, 9], o).unwrap()).collect();
    let first: Vec<Bits> = streams
        .iter_mut()
        .map(|s| s.next().unwrap().unwrap().logprobs.iter().map(|s| (s.id, s.logprob.to_bits())).collect())
        .collect();
    // Its steps have rows of all: its own in windows, theirs at the end of the first.
    assert_same_bits(&model.generator().logits(&ids, &[130, 1, 70]).unwrap(), &wanted, "logits beside draws");
    for ((stream, mut found), options) in streams.iter_mut().zip(first).zip(&options) {
        assert!(stream.usage().completion_tokens >= 3);
        found.extend(rest(stream));
        assert_eq!(found, alone(engine, &[BOS, 9], options));
    }
    all_pages_are_back(model.generator());
}

fn logits_share_steps_with_a_prompt_that_draws(engine: &str) {
    let model = open(engine, ModelOptions::default().ctx(400).chunk(4));
    let ids: Vec<u32> = (0..300).map(|i| 3 + i * 5 % 26).collect();
    let wanted = model.logits(&ids, None).unwrap();
    let (prompt, options) = ([8; 12], draws(4, 9));
    // The logits get the slot before that of a prompt which is then fed in three steps.
    let mut before = model.stream_ids(&[BOS], &draws(1, 9)).unwrap();
    let mut stream = model.stream_ids(&prompt, &options).unwrap();
    before.next().unwrap().unwrap();
    drop(before);
    assert_same_bits(&model.generator().logits(&ids, &[100]).unwrap(), &wanted, "logits before a draw");
    assert!(stream.usage().completion_tokens >= 2, "it draws in the same steps");
    assert_eq!(rest(&mut stream), alone(engine, &prompt, &options));
}

fn a_sequence_of_nan_fails_alone_and_leaves_no_nan_in_its_pages(engine: &str) {
    let poison = 9;
    let tiny = Tiny::random();
    let nan = tiny.clone().value("token_embd.weight", poison as usize * tiny.width, f32::NAN);
    let model = nan.open_with(&ModelOptions::default().engine(engine).sequences(2)).unwrap();
    let options = |seed| draws(seed, 20).ban([poison]);
    for i in 0..4 {
        let mut sound = model.stream_ids(&[BOS, 5], &options(i)).unwrap();
        let mut sick = model.stream_ids(&[BOS, poison, 6, 6], &options(7)).unwrap();
        let error = sick.next().unwrap().unwrap_err();
        assert_eq!(error.to_string(), "logits are NaN at token 0");
        assert_eq!((sick.next().is_none(), sick.finish()), (true, Some(FinishReason::Error)));
        assert_eq!((sick.usage().prompt_tokens, sick.usage().completion_tokens), (4, 0));
        // The next one gets the pages of the sick one.
        let mut next = model.stream_ids(&[BOS, 8], &options(i)).unwrap();
        assert_eq!(rest(&mut next), alone(engine, &[BOS, 8], &options(i)));
        assert_eq!(rest(&mut sound), alone(engine, &[BOS, 5], &options(i)));
        all_pages_are_back(model.generator());
    }
}

/// The model again, on an engine whose work is late and can fail.
fn delayed(model: &Model, ahead: usize, sequences: usize) -> (Generator, Arc<Delayed>) {
    let delayed = Arc::new(Delayed::new(model.engine().clone(), ahead, 5));
    let mut config = model.config().clone();
    config.sequences = sequences;
    let (graph, tokenizer) = (model.graph().clone(), model.tokenizer().clone());
    (Generator::new(graph, tokenizer, delayed.clone(), config, Options::default()).unwrap(), delayed)
}

fn an_engine_that_fails_or_panics_ends_what_runs_and_nothing_else(engine: &str) {
    let model = open(engine, ModelOptions::default());
    for (panics, steps, ahead) in [false, true].into_iter().flat_map(|p| [(p, 0, 1), (p, 1, 1), (p, 5, 1), (p, 5, 3)]) {
        let (generator, delayed) = delayed(&model, ahead, 2);
        // The first steps, the second has a place, the third waits.
        let mut streams: Vec<_> = (0..3).map(|i| generator.stream_ids(&[BOS], &draws(i, 40)).unwrap()).collect();
        for _ in 0..steps {
            streams[0].next().unwrap().unwrap();
        }
        delayed.inject(Some(Fault { call: Call::Submit, after: 0, lasts: false, panics }));
        let reason = if panics {
            let payload = catch_unwind(AssertUnwindSafe(|| streams[0].next())).unwrap_err();
            assert_eq!(payload.downcast_ref(), Some(&Delayed::MESSAGE));
            "a thread panicked in a step, which ended all running sequences"
        } else {
            "an injected fault of Submit"
        };
        for (i, stream) in streams[..2].iter_mut().enumerate() {
            let error = stream.find_map(Result::err).expect("the error of the engine").to_string();
            assert!(error.contains(reason), "stream {i} after {steps} steps: {error}");
            assert_eq!((stream.next().is_none(), stream.finish()), (true, Some(FinishReason::Error)));
            assert_eq!(stream.ids().len(), steps, "what was drawn can be read");
            assert_eq!(stream.usage().completion_tokens as usize, stream.ids().len());
            assert!(stream.timings().total >= stream.timings().prefill);
        }
        assert_eq!(rest(&mut streams[2]), alone(engine, &[BOS], &draws(2, 40)), "what waited goes on");
        let mut later = generator.stream_ids(&[BOS, 4], &draws(1, 9)).unwrap();
        assert_eq!(rest(&mut later), alone(engine, &[BOS, 4], &draws(1, 9)), "later requests are served");
        all_pages_are_back(&generator);
    }
}

fn a_model_whose_states_can_not_be_set_anew_is_closed(engine: &str) {
    let model = open(engine, ModelOptions::default());
    let (generator, delayed) = delayed(&model, 2, 1);
    // Without scores, for which the host draws on some engines, and writes.
    let draws = |seed: u64, tokens: u64| Options::default().seed(seed).max_tokens(tokens).ignore_end(true);
    let mut streams: Vec<_> = (0..2).map(|i| generator.stream_ids(&[BOS, 5], &draws(i, 9)).unwrap()).collect();
    streams[0].next().unwrap().unwrap();
    delayed.inject(Some(Fault { call: Call::Write, after: 0, lasts: true, panics: false }));
    generator.stream_ids(&[BOS], &draws(1, 1)).unwrap();
    // The running sequence needs no write, and keeps all its text.
    assert_eq!(streams[0].by_ref().map(|piece| piece.unwrap().ids.len()).sum::<usize>(), 8);
    let closed =
        "the model is closed, because its states can't be set anew after a failure: an injected fault of Write";
    // The one that waited was admitted, so the error of its own write ends it.
    let error = streams[1].find_map(Result::err).expect("an error").to_string();
    assert_eq!(error, "an injected fault of Write");
    assert_eq!(generator.generate_ids(&[BOS], &draws(1, 2)).unwrap_err().to_string(), closed);
    assert_eq!(generator.logits(&[BOS], &[]).unwrap_err().to_string(), closed);
    assert!(matches!(generator.steps(1, 4), Err(inkstone::generate::Error::Busy)));
    all_pages_are_back(&generator);
}

on_engines! {
    ahead:
    g2_more_sequences_than_places_wait_and_have_the_bits_they_have_alone
    g3_only_the_cancelled_one_ends_and_its_pages_are_back_within_a_step
    g3_sequences_that_end_at_any_time_on_many_threads_leave_nothing_behind
    g4_a_reader_that_never_reads_is_passed_over_and_loses_nothing
    g4_a_callback_that_fails_or_panics_ends_its_own_sequence_only
    g4_a_callback_may_generate
    a_reply_that_a_callback_ends_does_not_depend_on_who_steps
    text_that_is_held_back_comes_out_at_every_end_but_a_stop_text
    logits_of_many_windows_and_draws_share_steps
    a_sequence_of_nan_fails_alone_and_leaves_no_nan_in_its_pages
    an_engine_that_fails_or_panics_ends_what_runs_and_nothing_else
    ; not ahead:
    logits_share_steps_with_a_prompt_that_draws
    a_model_whose_states_can_not_be_set_anew_is_closed
}
