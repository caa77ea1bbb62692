//! A model as a value: cloned, sent to threads, printed.

use inkstone::{Dialogue, Model, ModelOptions, Options, Stream, Turn};
use std::thread;

fn story() -> Model {
    Model::embedded(&ModelOptions::default().ctx(256)).unwrap()
}

#[test]
fn a_clone_is_the_same_model_and_outlives_the_first_handle() {
    fn is_free<T: Send + Sync + 'static>(_: &T) {}
    let model = story();
    is_free(&model);
    let options = Options::default().seed(1).max_tokens(8);
    let wanted = model.generate("Once", &options).unwrap().text;
    let mut dialogue = Dialogue::new(&model, model.chat_template().unwrap());
    let clones = [model.clone(), model.clone()];
    assert!(std::ptr::eq(model.generator(), clones[0].generator()));
    drop(model);
    let threads = clones.map(|model| {
        let options = options.clone();
        thread::spawn(move || model.generate("Once", &options).unwrap().text)
    });
    for thread in threads {
        assert_eq!(thread.join().unwrap(), wanted);
    }
    // The dialogue has a handle of its own; a copy of it goes on from the same messages.
    let answer = |dialogue: &mut Dialogue| {
        dialogue.ask("Hello!", &options).unwrap().stream.map(|piece| piece.unwrap().text).collect::<String>()
    };
    let mut copy = dialogue.clone();
    assert_eq!(answer(&mut dialogue), answer(&mut copy));
    is_free(&dialogue);
}

#[test]
fn what_a_program_keeps_prints_in_a_line() {
    let model = story();
    let printed = format!("{model:?}");
    assert_eq!(
        printed,
        "Model { file: \"the embedded model\", architecture: \"llama\", engine: \"cpu\", context: 256, .. }"
    );
    fn prints<T: std::fmt::Debug>() {}
    let _all: [fn(); 3] = [prints::<Dialogue>, prints::<Turn>, prints::<Stream>];
    let stream = model.stream("Once", &Options::default()).unwrap();
    assert!(format!("{stream:?}").starts_with("Stream { usage: Usage { prompt_tokens: "), "{stream:?}");
}
