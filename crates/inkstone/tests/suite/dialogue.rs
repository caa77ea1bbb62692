//! A conversation that goes on, and one that goes back.

use inkstone::{ChatTemplate, Dialogue, Message, Model, ModelOptions, Options, Turn};

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
