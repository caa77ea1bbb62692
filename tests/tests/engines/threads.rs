//! Many threads on one model.

use inkstone::{Cancel, FinishReason, Model, ModelOptions, Options};
use inkstone_tests::{assets, on_engines};
use std::thread;

fn model(engine: &str) -> Model {
    Model::open_with(assets("story-draft-q8_0.gguf"), &ModelOptions::default().engine(engine)).unwrap()
}

fn options(i: u64) -> Options {
    Options::default().seed(i).max_tokens(8 + 5 * i)
}

fn several_threads_give_what_they_give_alone(engine: &str) {
    let model = model(engine);
    let prompt = |i: u64| ["Once upon a time", "The dog", "One day, Lily", "A small bird"][i as usize % 4];
    let alone: Vec<_> = (0..6).map(|i| model.generate(prompt(i), &options(i)).unwrap()).collect();
    let together: Vec<_> = thread::scope(|scope| {
        let start = |i| {
            let model = &model;
            scope.spawn(move || model.generate(prompt(i), &options(i)).unwrap())
        };
        let threads: Vec<_> = (0..6).map(start).collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    for (a, b) in alone.iter().zip(&together) {
        assert_eq!((&a.ids, &a.text, a.finish), (&b.ids, &b.text, b.finish));
    }
    let (free, all) = model.generator().pages();
    assert_eq!(free, all);
}

fn a_cancel_from_another_thread_ends_one_and_keeps_its_text(engine: &str) {
    let model = model(engine);
    let cancel = Cancel::new();
    let (cancelled, other) = thread::scope(|scope| {
        let one = scope.spawn(|| {
            let options = Options::default().seed(3).unlimited().ignore_end(true).cancel(cancel.clone());
            let mut tokens = 0;
            let reply = model.generate_with("Once upon a time", &options, |piece| {
                tokens += piece.ids.len();
                if tokens == 5 {
                    cancel.cancel();
                }
                inkstone::Flow::Continue
            });
            reply.unwrap()
        });
        let other = scope.spawn(|| model.generate("The dog", &options(2)).unwrap());
        (one.join().unwrap(), other.join().unwrap())
    });
    assert_eq!(cancelled.finish, FinishReason::Cancelled);
    assert!(cancelled.ids.len() >= 5 && !cancelled.text.is_empty());
    assert_eq!(cancelled.usage.completion_tokens as usize, cancelled.ids.len());
    assert_eq!(other.ids, model.generate("The dog", &options(2)).unwrap().ids);
    assert_eq!(model.generator().pages().0, model.generator().pages().1);
}

fn more_sequences_than_places_wait_for_their_turn(engine: &str) {
    let path = assets("story-draft-q8_0.gguf");
    let few = Model::open_with(path, &ModelOptions::default().engine(engine).sequences(2)).unwrap();
    let alone: Vec<_> = (0..5).map(|i| few.generate("Once", &options(i)).unwrap().ids).collect();
    // All are open at once; the last is read first, while nobody reads those that hold the places.
    let mut streams: Vec<_> = (0..5).map(|i| few.stream("Once", &options(i)).unwrap()).collect();
    for (i, stream) in streams.iter_mut().enumerate().rev() {
        stream.by_ref().for_each(|piece| drop(piece.unwrap()));
        assert_eq!(stream.ids(), alone[i], "stream {i}");
    }
}

on_engines! {
    several_threads_give_what_they_give_alone
    a_cancel_from_another_thread_ends_one_and_keeps_its_text
    more_sequences_than_places_wait_for_their_turn
}
