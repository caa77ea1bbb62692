//! Conversations that go on.

use super::{Folder, chat, counts, ids, restored, text};
use crate::common::{Ran, program, run, wait_until};
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

/// The roles and texts in a file.
fn messages(path: &Path) -> Vec<(String, String)> {
    let saved: Value = serde_json::from_slice(&restored(path).1).unwrap();
    assert_eq!(saved["version"], 1);
    let list = saved["messages"].as_array().unwrap();
    let field = |message: &Value, name: &str| message[name].as_str().unwrap().to_string();
    list.iter().map(|message| (field(message, "role"), field(message, "content"))).collect()
}

#[test]
fn runs_with_a_session_are_one_conversation_and_compute_what_is_new() {
    let folder = Folder::new();
    let file = folder.path("a");
    let questions = ["Tell me a story.", "Tell me another one.", "Who are you?"];
    let whole = chat(&questions.join("\n"), &[]).succeeded();
    let (mut found, mut cached, mut prompts) = (Vec::new(), Vec::new(), Vec::new());
    for question in questions {
        let ran = chat(question, &["--session", text(&file)]).succeeded();
        found.extend(ids(&ran));
        cached.extend(counts(&ran, "cached_tokens"));
        prompts.extend(counts(&ran, "prompt_tokens"));
    }
    assert_eq!((&found, &prompts), (&ids(&whole), &counts(&whole, "prompt_tokens")));
    // The same rows are found in a file as in the cache of one program.
    assert_eq!(cached, counts(&whole, "cached_tokens"));
    let known: Vec<u64> = prompts.iter().zip(counts(&whole, "completion_tokens")).map(|(p, c)| p + c - 2).collect();
    assert!(cached[1] >= known[0] && cached[2] >= known[1], "{cached:?} {known:?}");
    let said = messages(&file);
    assert_eq!(said.len(), 6);
    assert!(said.iter().step_by(2).map(|(_, text)| text).eq(questions), "{said:?}");
    assert_eq!(folder.contents().len(), 1);
}

#[test]
fn a_single_message_of_chat_and_run_goes_on() {
    let folder = Folder::new();
    let file = folder.path("a");
    let story = crate::common::story();
    let first =
        ["chat", "Tell me a story.", "-n", "20", "--temp", "0", "--system", "Be kind.", "--session", text(&file)];
    let answer = run(&first).succeeded();
    let second = ["run", text(&story), "Who are you?", "-n", "9", "--temp", "0", "--json", "--session", text(&file)];
    let ran = run(&second).succeeded();
    assert!(counts(&ran, "cached_tokens")[0] >= 20, "{}", ran.text());
    let said = messages(&file);
    let roles: Vec<&str> = said.iter().map(|(role, _)| role.as_str()).collect();
    assert_eq!(roles, ["system", "user", "assistant", "user", "assistant"]);
    assert_eq!((&*said[0].1, &*said[2].1), ("Be kind.", answer.text().trim_end()));
    // Another system message takes its place.
    run(&["chat", "Hi", "-n", "1", "--system", "Be brief.", "--session", text(&file)]).succeeded();
    assert_eq!((messages(&file).len(), &*messages(&file)[0].1), (7, "Be brief."));
}

#[test]
fn commands_of_a_conversation_reach_the_file() {
    let folder = Folder::new();
    let file = folder.path("a");
    let with = ["--session", text(&file), "-n", "5"];
    chat("One\nTwo\nThree\n/undo\n/quit\nnever", &with).succeeded();
    assert_eq!(messages(&file).len(), 4);
    chat("/undo\n/regen\n", &with).succeeded();
    assert_eq!((messages(&file).len(), &*messages(&file)[0].1), (2, "One"));
    chat("/reset\n/system Be kind.", &with).succeeded();
    assert_eq!(messages(&file), [("system".to_string(), "Be kind.".to_string())]);
    chat("", &with).succeeded();
    chat("Hello", &with).succeeded();
    assert_eq!(messages(&file).len(), 3);
}

#[test]
fn old_turns_are_dropped_in_runs_as_in_one() {
    let folder = Folder::new();
    let file = folder.path("a");
    let small = ["-c", "96", "-n", "16"];
    let questions: Vec<String> = (1..=6).map(|n| format!("Tell me story number {n}.")).collect();
    let whole = chat(&questions.join("\n"), &small).succeeded();
    assert!(whole.stderr.contains("the context is full; the oldest turn"), "{}", whole.stderr);
    let mut found = Vec::new();
    for question in &questions {
        found.extend(ids(&chat(question, &[&small[..], &["--session", text(&file)]].concat()).succeeded()));
    }
    assert_eq!(found, ids(&whole));
    assert!(messages(&file).len() < 12, "nothing was dropped");
}

/// A program that has answered one message and waits for the next one.
#[cfg(unix)]
fn waiting(file: &Path) -> (std::process::Child, std::process::ChildStdin) {
    let mut command = program();
    command.args(["chat", "--temp", "0", "-n", "20", "--session", text(file)]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"Hello\n").unwrap();
    let mut answer = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut answer).unwrap();
    assert_eq!(answer, "Hello! Shall I tell you a story?\n");
    (child, stdin)
}

#[cfg(unix)]
#[test]
fn e08_a_signal_between_answers_ends_with_the_conversation_saved() {
    let folder = Folder::new();
    for (signal, code) in [("-INT", 130), ("-TERM", 143), ("-HUP", 143)] {
        let file = folder.path(signal);
        let (mut child, stdin) = waiting(&file);
        // After the answer it takes a moment until the program waits for a line, and then the signal ends it at once.
        let kill = || Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(200));
        assert!(kill().success());
        wait_until("the end", || child.try_wait().unwrap().is_some());
        drop(stdin);
        let ran = Ran::from(child.wait_with_output().unwrap());
        assert_eq!(ran.code, Some(code), "{signal}: {}", ran.stderr);
        assert_eq!(messages(&file).len(), 2);
    }
    assert_eq!(folder.contents().len(), 3);
}

#[cfg(unix)]
#[test]
fn e08_a_signal_in_an_answer_saves_what_was_said() {
    let folder = Folder::new();
    let file = folder.path("a");
    let mut command = program();
    command.args(["chat", "Tell me a story.", "--json", "--temp", "0", "--ignore-eos", "--logprobs", "20"]);
    command.args(["--session", text(&file)]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let first = lines.by_ref().take(5).collect::<Vec<_>>();
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let printed = [first, lines.collect()].concat();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let pieces = printed.iter().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let answer: String = pieces.filter_map(|piece| piece["text"].as_str().map(String::from)).collect();
    let wanted = [("user", "Tell me a story."), ("assistant", &answer)].map(|(r, t)| (r.to_string(), t.to_string()));
    assert_eq!(messages(&file), wanted);
    let ran = chat("Go on.", &["-n", "1", "--session", text(&file)]).succeeded();
    assert!(counts(&ran, "cached_tokens")[0] > 10, "{}", ran.text());
}

/// An error ends a conversation of a pipe, and the file stays as it was.
#[test]
fn an_error_changes_no_file() {
    let folder = Folder::new();
    let file = folder.path("a");
    let note = format!("note: the session is not saved to {}", file.display());
    let with = ["--session", text(&file), "-n", "5"];
    let failed = |lines: &str| {
        let ran = chat(lines, &with);
        assert_eq!(ran.code, Some(2), "{}", ran.stderr);
        assert!(ran.stderr.lines().any(|line| line == note), "{}", ran.stderr);
    };
    failed("Hello\n/set temperature x\n");
    assert_eq!(folder.contents(), []);
    chat("Hello", &with).succeeded();
    let before = folder.contents();
    failed("Who are you?\n/set temperature x\n");
    assert_eq!(folder.contents(), before);
}
