//! Each program runs with the story model, and its output is checked.

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

#[test]
fn a_stream_tells_a_story_and_its_counts() {
    let [story, counts] = run(env!("CARGO_BIN_EXE_stream"), "");
    assert!(story.split_whitespace().count() > 20, "{story}");
    assert!(counts.starts_with("60 tokens, ") && counts.ends_with("finish: Some(Length)\n"), "{counts}");
}

#[test]
fn a_chat_remembers_what_was_said() {
    let [answers, memory] = run(env!("CARGO_BIN_EXE_chat"), "Tell me of a cat.\nAnd of a dog.\n");
    assert!(answers.split_whitespace().count() > 4, "{answers}");
    assert_eq!(memory, "5 messages in memory\n", "the system's, two questions, two answers");
    // The answer to the second question depends on the first.
    let [first, _] = run(env!("CARGO_BIN_EXE_chat"), "And of a dog.\n");
    assert!(!answers.ends_with(&first), "{answers}");
}

#[test]
fn a_batch_answers_in_order_and_a_bad_prompt_ends_no_other() {
    let long = "word ".repeat(5000);
    let [answers, _] = run(env!("CARGO_BIN_EXE_batch"), &format!("One day\n{long}\nThe sun\n"));
    let lines: Vec<&str> = answers.lines().collect();
    assert_eq!(lines.len(), 3, "{answers}");
    assert!(lines[0].starts_with("One day") && lines[0].len() > 40, "{answers}");
    assert!(lines[1].contains("the context holds"), "{answers}");
    assert!(lines[2].starts_with("The sun") && lines[2].len() > 40, "{answers}");
}

#[test]
fn a_score_tells_language_from_noise() {
    let [scores, _] =
        run(env!("CARGO_BIN_EXE_score"), "Once upon a time there was a little girl.\ngirl a was upon Once time\n");
    let perplexity = |line: &str| {
        let number = line.split("perplexity ").nth(1).and_then(|rest| rest.split(':').next()).unwrap();
        number.parse::<f64>().unwrap()
    };
    let lines: Vec<f64> = scores.lines().map(perplexity).collect();
    assert!(lines.len() == 2 && 1.0 < lines[0] && lines[0] * 10.0 < lines[1], "{scores}");
}

#[test]
fn json_lines_are_replies_and_errors() {
    let requests = [
        r#"{"prompt": "Once", "options": {"seed": 7, "max_tokens": 5}}"#,
        r#"{"messages": [{"role": "user", "content": "Hello!"}], "options": {"seed": 7, "max_tokens": 5}}"#,
        r#"{"prompt": "Once", "options": {"top_p": 2}}"#,
        r#"{"prompt": "Once", "options": {"top_q": 2}}"#,
    ];
    let [replies, _] = run(env!("CARGO_BIN_EXE_json_lines"), &requests.join("\n"));
    let replies: Vec<serde_json::Value> = replies.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(replies.len(), requests.len());
    for reply in &replies[..2] {
        assert_eq!((&reply["finish"], &reply["seed"]), (&"length".into(), &7.into()), "{reply}");
        assert_eq!(reply["ids"].as_array().unwrap().len(), 5);
    }
    for reply in &replies[2..] {
        assert_eq!(reply["status"], 400, "{reply}");
    }
    assert!(replies[2]["error"].as_str().unwrap().contains("top-p is 2"), "{}", replies[2]);
}
