//! A conversation that goes on, and one that goes back.

use inkstone::{Cancel, ChatTemplate, Dialogue, Message, Model, ModelOptions, Options, Turn, Usage};

fn said(turn: &mut Turn) -> String {
    turn.stream.by_ref().map(|piece| piece.unwrap().text).collect()
}

#[test]
fn the_last_question_is_asked_again_and_its_answer_dropped() {
    let model = Model::embedded(&ModelOptions::default().ctx(256)).unwrap();
    let mut dialogue = Dialogue::new(&model, model.chat_template().unwrap());
    let options = |seed| Options::default().temperature(1.0).seed(seed).max_tokens(8);
    assert!(dialogue.ask_again(&options(1)).unwrap().is_none());
    dialogue.set_system(Some("Be kind."));
    assert!(dialogue.ask_again(&options(1)).unwrap().is_none());

    let mut first = dialogue.ask("Tell me a story.", &options(1)).unwrap();
    let answer = said(&mut first);
    dialogue.answered(&answer);
    let whole = dialogue.tokens(&options(1)).unwrap();
    assert!(whole > first.prompt.len() && whole <= first.prompt.len() + 12, "{whole}");

    let mut again = dialogue.ask_again(&options(2)).unwrap().unwrap();
    assert_eq!(again.prompt, first.prompt);
    let other = said(&mut again);
    dialogue.answered(&other);
    assert_ne!(other, answer);
    let wanted = [Message::system("Be kind."), Message::user("Tell me a story."), Message::assistant(other)];
    assert_eq!(dialogue.messages(), wanted);

    // A failure changes nothing.
    let refuses = ChatTemplate::new("{{ raise_exception('no') }}").unwrap();
    let mut refused = Dialogue::new(&model, refuses);
    refused.set_messages(wanted.to_vec());
    assert!(refused.ask_again(&options(3)).is_err());
    assert_eq!(refused.messages(), wanted);
}

/// A model that remembers nothing of the others.
fn opened(context: u32) -> Model {
    Model::embedded(&ModelOptions::default().ctx(context)).unwrap()
}

fn begun(model: &Model) -> Dialogue {
    Dialogue::new(model, model.chat_template().unwrap())
}

/// Asks, and returns the answer with its usage.
fn asked(dialogue: &mut Dialogue, question: &str, options: &Options) -> (String, Usage) {
    let mut turn = dialogue.ask(question, options).unwrap();
    let answer = said(&mut turn);
    dialogue.answered(&answer);
    (answer, turn.stream.usage())
}

#[test]
fn a_restored_conversation_computes_only_the_new_question() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.session");
    let options = Options::default().temperature(0.0).max_tokens(30);
    let questions = ["Tell me a story.", "Tell me another one.", "What is your name?"];

    let mut whole = begun(&opened(512));
    let wanted = questions.map(|question| asked(&mut whole, question, &options));

    let mut dialogue = begun(&opened(512));
    asked(&mut dialogue, questions[0], &options);
    for (turn, question) in questions.iter().enumerate().skip(1) {
        dialogue.save(&path, &options).unwrap();
        let model = opened(512);
        dialogue = Dialogue::restore(&model, model.chat_template().unwrap(), &path).unwrap();
        assert_eq!(dialogue.messages(), &whole.messages()[..2 * turn]);
        let (answer, usage) = asked(&mut dialogue, question, &options);
        // As if the program had gone on.
        assert_eq!((&answer, usage), (&wanted[turn].0, wanted[turn].1), "turn {turn}");
        let before = wanted[turn - 1].1;
        let known = before.prompt_tokens + before.completion_tokens;
        assert!(usage.cached_tokens + 2 >= known && usage.cached_tokens < usage.prompt_tokens, "{usage:?}, {known}");
    }
}

#[test]
fn what_was_taken_back_is_not_saved() {
    let folder = tempfile::tempdir().unwrap();
    let [path, other] = ["a.session", "b.session"].map(|name| folder.path().join(name));
    let options = Options::default().temperature(0.0).max_tokens(20);
    let model = opened(512);
    let mut dialogue = begun(&model);
    asked(&mut dialogue, "Tell me a story.", &options);
    dialogue.save(&path, &options).unwrap();
    asked(&mut dialogue, "Tell me another one.", &options);
    assert!(dialogue.undo());
    dialogue.save(&other, &options).unwrap();
    let saved = [path.clone(), other].map(|path| model.restore(path).unwrap());
    assert_eq!((saved[0].0.ids(), &saved[0].1), (saved[1].0.ids(), &saved[1].1));
    // A template may refuse a conversation without messages.
    dialogue.reset();
    dialogue.save(&path, &options).unwrap();
    let mut empty = Dialogue::restore(&model, model.chat_template().unwrap(), &path).unwrap();
    assert_eq!(empty.messages(), []);
    asked(&mut empty, "Hello", &options);
}

/// The options that ended an answer do not end the save.
#[test]
fn a_cancelled_conversation_is_saved_with_its_rows() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.session");
    let cancel = Cancel::new();
    let options = Options::default().temperature(0.0).cancel(cancel.clone());
    let mut dialogue = begun(&opened(512));
    let mut turn = dialogue.ask("Tell me a story.", &options).unwrap();
    let mut answer: String = turn.stream.by_ref().take(10).map(|piece| piece.unwrap().text).collect();
    cancel.cancel();
    answer.extend(turn.stream.by_ref().map(|piece| piece.unwrap().text));
    dialogue.answered(&answer);
    dialogue.save(&path, &options).unwrap();
    let model = opened(512);
    let mut restored = Dialogue::restore(&model, model.chat_template().unwrap(), &path).unwrap();
    assert_eq!(restored.messages(), [Message::user("Tell me a story."), Message::assistant(answer.trim_end())]);
    let (_, usage) = asked(&mut restored, "Go on.", &Options::default().max_tokens(1));
    assert!(usage.cached_tokens >= turn.prompt.len() as u64 + 8, "{usage:?}");
}

#[test]
fn old_turns_of_a_restored_conversation_are_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.session");
    let options = Options::default().temperature(0.0).max_tokens(16);
    let mut whole = begun(&opened(96));
    let mut dialogue = begun(&opened(96));
    for turn in 0..6 {
        let question = format!("Tell me story number {turn}.");
        let wanted = asked(&mut whole, &question, &options);
        let model = opened(96);
        if turn > 0 {
            dialogue = Dialogue::restore(&model, model.chat_template().unwrap(), &path).unwrap();
        }
        assert_eq!(asked(&mut dialogue, &question, &options).0, wanted.0);
        assert_eq!(dialogue.messages(), whole.messages());
        dialogue.save(&path, &options).unwrap();
    }
    assert!(whole.messages().len() < 12, "nothing was dropped");
}

#[test]
fn g5_a_file_without_a_conversation_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.session");
    let model = opened(96);
    let mut session = model.session();
    session.append("Once upon a time").unwrap();
    for (bytes, wanted) in
        [(&b""[..], "its text is raw"), (b"x", "its bytes are not JSON: expected value at line 1 column 1")]
    {
        session.save(&path, bytes).unwrap();
        let error = Dialogue::restore(&model, model.chat_template().unwrap(), &path).unwrap_err();
        assert_eq!(error.to_string(), format!("{}: the session has no conversation: {wanted}", path.display()));
        assert_eq!(error.kind(), inkstone::ErrorKind::Unsupported);
    }
}
