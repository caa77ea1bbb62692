//! Each program runs with the story model, and its output is checked.

use inkstone::text::Encode;
use inkstone::{Message, Model, ModelOptions, Options};
use std::io::Write;
use std::process::{Command, Stdio};

/// The standard output and the standard error of a program with an input.
fn run(program: &str, input: &str) -> [String; 2] {
    let mut command = Command::new(program);
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{program}: {output:?}");
    [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap())
}

fn story_model() -> Model {
    Model::embedded(&ModelOptions::default()).unwrap()
}

/// The options of the programs.
fn draws(tokens: u64) -> Options {
    Options::default().temperature(0.7).seed(7).max_tokens(tokens)
}

#[test]
fn a_stream_tells_a_story_and_its_counts() {
    let [story, counts] = run(env!("CARGO_BIN_EXE_stream"), "");
    assert_eq!(story, story_model().generate("Once upon a time", &draws(60)).unwrap().text + "\n");
    assert!(counts.starts_with("60 tokens, ") && counts.ends_with("finish: Some(Length)\n"), "{counts}");
}

#[test]
fn a_chat_remembers_what_was_said() {
    let [answers, memory] = run(env!("CARGO_BIN_EXE_chat"), "Tell me of a cat.\nAnd of a dog.\n");
    let (model, mut wanted) = (story_model(), String::new());
    let mut messages = vec![Message::system("You are a friendly storyteller.")];
    for question in ["Tell me of a cat.", "And of a dog."] {
        messages.push(Message::user(question));
        let answer = model.chat(&messages, &draws(60)).unwrap().text;
        wanted += &format!("{answer}\n");
        messages.push(Message::assistant(answer.trim()));
    }
    assert_eq!(answers, wanted);
    assert_eq!(memory, "5 messages in memory\n", "the system's, two questions, two answers");
}

#[test]
fn a_batch_answers_in_order_and_a_bad_prompt_ends_no_other() {
    let long = "word ".repeat(5000);
    let [answers, _] = run(env!("CARGO_BIN_EXE_batch"), &format!("One day\n{long}\nThe sun\n"));
    let lines: Vec<&str> = answers.lines().collect();
    let wanted = ["One day", "The sun"].map(|prompt| {
        let text = story_model().generate(prompt, &draws(30)).unwrap().text;
        format!("{prompt}{}", text.replace('\n', " "))
    });
    assert_eq!([lines[0], lines[2]], wanted);
    assert!(lines.len() == 3 && lines[1].contains("the context holds"), "{answers}");
}

#[test]
fn a_score_tells_language_from_noise() {
    let texts = ["Once upon a time there was a little girl.", "girl a was upon Once time"];
    let [scores, _] = run(env!("CARGO_BIN_EXE_score"), &texts.join("\n"));
    let model = story_model();
    let perplexities: Vec<f64> = texts
        .iter()
        .zip(scores.lines())
        .map(|(text, line)| {
            let words: Vec<&str> = line.split([' ', ',', ':']).filter(|word| !word.is_empty()).collect();
            let ["log-probability", total, "perplexity", perplexity, ..] = words[..] else { panic!("{line}") };
            let [total, perplexity] = [total, perplexity].map(|number| number.parse::<f64>().unwrap());
            let tokens = model.tokenizer().encode(text, &Encode::new().eos(false)).unwrap().len() - 1;
            assert!((total + perplexity.ln() * tokens as f64).abs() < 0.1 && line.ends_with(text), "{line}");
            perplexity
        })
        .collect();
    assert!(perplexities[0] > 1.0 && perplexities[0] * 10.0 < perplexities[1], "{scores}");
}

#[test]
fn json_lines_are_replies_and_errors() {
    let requests = [
        r#"{"prompt": "Once", "options": {"seed": 7, "max_tokens": 5}}"#,
        r#"{"messages": [{"role": "user", "content": "Hello!"}], "options": {"seed": 7, "max_tokens": 5}}"#,
        r#"{"prompt": "Once", "options": {"top_p": 2}}"#,
        r#"{"prompt": "Once", "options": {"top_q": 2}}"#,
        r#"{"prompt": "Once", "option": {"top_p": 2}}"#,
    ];
    let [replies, _] = run(env!("CARGO_BIN_EXE_json_lines"), &requests.join("\n"));
    let replies: Vec<serde_json::Value> = replies.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(replies.len(), requests.len());
    let (model, options) = (story_model(), Options::default().seed(7).max_tokens(5));
    assert_eq!(replies[0]["text"], model.generate("Once", &options).unwrap().text);
    assert_eq!(replies[1]["text"], model.chat(&[Message::user("Hello!")], &options).unwrap().text);
    for reply in &replies[..2] {
        assert_eq!((&reply["finish"], &reply["seed"]), (&"length".into(), &7.into()), "{reply}");
        assert_eq!(reply["ids"].as_array().unwrap().len(), 5);
    }
    for reply in &replies[2..] {
        assert_eq!(reply["status"], 400, "{reply}");
    }
    assert!(replies[2]["error"].as_str().unwrap().contains("top-p is 2"), "{}", replies[2]);
}
