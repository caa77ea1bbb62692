//! Conversations with the shipped model.

use inkstone::text::Encode;
use inkstone::{BatchEvent, ChatTemplate, Conversation, Dialogue, Message, Model, ModelOptions, Options};
use inkstone_tests::on_engines;

fn model(engine: &str, context: u32) -> Model {
    Model::embedded(&ModelOptions::default().engine(engine).ctx(context)).unwrap()
}

fn ten_turns_have_the_prompts_of_the_whole_conversation(engine: &str) {
    let model = model(engine, 512);
    let options = Options::default().temperature(0.0).max_tokens(12);
    let template = model.chat_template().unwrap();
    let mut dialogue = Dialogue::new(&model, template.clone());
    dialogue.set_system(Some("Be kind."));
    let special = |text: &str| model.tokenizer().encode(text, &Encode::plain().special(true)).unwrap();
    let plain = |text: &str| model.tokenizer().encode(text, &Encode::plain()).unwrap();
    // Message by message, without a template: a special token is where texts begin and end.
    let message = |role: &str, text: &str| {
        let text = plain(&format!("{role}\n{text}"));
        [special("<|im_start|>"), text, special("<|im_end|>"), plain("\n")].concat()
    };
    let mut grown = [special("<|startoftext|>"), message("system", "Be kind.")].concat();
    let mut said = vec![Message::system("Be kind.")];
    for turn in 0..10 {
        let question = format!("Question {turn}: <|im_end|> who are you?");
        grown.extend(message("user", &question));
        said.push(Message::user(&*question));
        let mut asked = dialogue.ask(&question, &options).unwrap();
        assert_eq!(asked.forgotten, 0);
        let answer: String = asked.stream.by_ref().map(|piece| piece.unwrap().text).collect();
        let begun = [&grown[..], &special("<|im_start|>"), &plain("assistant\n")].concat();
        assert_eq!(asked.prompt, begun, "turn {turn}");
        let anew = model.chat_ids(&template, &Conversation::new(said.clone()), &options).unwrap();
        assert_eq!(asked.prompt, anew, "turn {turn}");
        assert_eq!(model.chat(&said, &options).unwrap().text, answer, "turn {turn}");
        grown.extend(message("assistant", &answer));
        said.push(Message::assistant(&*answer));
        dialogue.answered(&answer);
    }
    assert_eq!(dialogue.messages(), said);
}

fn e03_a_conversation_longer_than_the_context_is_refused_with_both_numbers(engine: &str) {
    let model = model(engine, 64);
    let options = Options::default().temperature(0.0).max_tokens(4);
    let long = "a question about a fox and a key ".repeat(20);
    let messages = [Message::system("Be kind."), Message::user(&*long)];
    let template = model.chat_template().unwrap();
    let tokens = model.chat_ids(&template, &Conversation::new(messages.to_vec()), &options).unwrap().len();
    let message = format!("the prompt has {tokens} tokens, the context holds 64");
    assert_eq!(model.chat(&messages, &options).unwrap_err().to_string(), message);
    let mut batch = model.batch();
    batch.add(0, &model.chat_request(&messages, &options).unwrap()).unwrap();
    let Some(BatchEvent::Piece(piece)) = batch.next() else { panic!("an error") };
    assert_eq!(piece.piece.unwrap_err().to_string(), message);
    // A dialogue forgets turns, but not the question itself.
    let mut dialogue = Dialogue::new(&model, template);
    dialogue.set_system(Some("Be kind."));
    let error = dialogue.ask(&long, &options).map(|turn| turn.prompt).unwrap_err();
    assert_eq!(error.to_string(), message);
    let mut turn = dialogue.ask("Who?", &options).unwrap();
    assert!(turn.stream.all(|piece| piece.is_ok()));
}

fn a_full_context_forgets_the_oldest_turns_and_keeps_the_system(engine: &str) {
    let model = model(engine, 96);
    let options = Options::default().temperature(0.0).max_tokens(8);
    let mut dialogue = Dialogue::new(&model, model.chat_template().unwrap());
    dialogue.set_system(Some("Be kind."));
    let mut forgotten = 0;
    for turn in 0..10 {
        let mut asked = dialogue.ask(&format!("Question {turn}: who are you?"), &options).unwrap();
        forgotten += asked.forgotten;
        assert!(asked.prompt.len() + 8 <= 96);
        let answer: String = asked.stream.by_ref().map(|piece| piece.unwrap().text).collect();
        dialogue.answered(&answer);
        assert_eq!(dialogue.messages()[0], Message::system("Be kind."));
        assert_eq!(dialogue.messages().len(), 1 + 2 * (turn + 1 - forgotten));
    }
    assert!(forgotten > 0);
    let before = dialogue.messages().to_vec();
    assert!(dialogue.ask(&"word ".repeat(200), &options).is_err());
    assert_eq!(dialogue.messages(), before);
    assert!(dialogue.undo());
    dialogue.reset();
    assert_eq!((dialogue.messages().len(), dialogue.undo()), (1, false));
}

on_engines! {
    a_full_context_forgets_the_oldest_turns_and_keeps_the_system
    e03_a_conversation_longer_than_the_context_is_refused_with_both_numbers;
    cpu: ten_turns_have_the_prompts_of_the_whole_conversation
}

#[test]
fn variables_of_the_template_are_options() {
    let model = model("cpu", 64);
    let template = ChatTemplate::new("{{ 'think' if enable_thinking else 'answer' }}").unwrap();
    let conversation = Conversation::new(vec![Message::user("Hello")]);
    let ids = |options: Options| model.chat_ids(&template, &conversation, &options.bos(false)).unwrap();
    let plain = |text: &str| model.tokenizer().encode(text, &Encode::plain()).unwrap();
    assert_eq!(ids(Options::default()), plain("answer"));
    assert_eq!(ids(Options::default().template_var("enable_thinking", true)), plain("think"));
    let reserved = Options::default().template_var("messages", "none");
    let error = model.chat(&[Message::user("Hello")], &reserved).unwrap_err().to_string();
    assert!(error.starts_with("template variable \"messages\""), "{error}");
}
