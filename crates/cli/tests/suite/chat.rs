//! `chat`: one answer, conversations, commands.

use crate::common::{run, run_with_input, story, write_story_without_template};

#[test]
fn a_message_gets_one_answer() {
    let ran = run(&["chat", "Hello", "--temp", "0"]).succeeded();
    assert_eq!(ran.text(), "Hello! Shall I tell you a story?\n");
    let story = story();
    let of_file = run(&["chat", story.to_str().unwrap(), "Hello", "--temp", "0"]).succeeded();
    assert_eq!(of_file.stdout, ran.stdout);
}

#[test]
fn lines_of_a_pipe_are_a_conversation_with_commands() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("saved.json");
    let lines = format!(
        "/set temperature 0\nHello\n\n/save {0}\nWho are you?\n/undo\n/undo\n/undo\n/load {0}\n/undo\nHello\n/quit\nnever",
        file.display()
    );
    let ran = run_with_input(&["chat"], lines.as_bytes()).succeeded();
    let answers: Vec<_> = ran.text().lines().collect();
    assert_eq!((answers.len(), answers[0]), (3, "Hello! Shall I tell you a story?"));
    assert_eq!(answers[2], answers[0], "what was taken back is not forgotten");
    assert!(ran.stderr.contains("there is no message to remove"), "{}", ran.stderr);
    let saved: serde_json::Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    assert_eq!(saved[1]["content"], answers[0]);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn what_is_wrong_in_a_conversation_ends_a_pipe_with_its_code() {
    run_with_input(&["chat"], b"/set temperature x\n").refused(2, "temperature \"x\": allowed: 0 or above");
    run_with_input(&["chat"], b"/load no-such.json\n").refused(1, "no-such.json: can't read: ");
    run_with_input(&["chat"], b"a\xFFb\n").refused(1, "standard input: not UTF-8 at byte 1");
    run_with_input(&["chat"], b"\"\"\"a\nb\n").refused(1, "standard input ends within a message");
    run_with_input(&["chat"], b"/regen\n").refused(2, "there is no message to answer again");
    run_with_input(&["chat"], b"/set parameter num_ctx 9\n").refused(2, "num_ctx is fixed during a conversation");
}

#[test]
fn quotes_hold_lines_of_a_pipe_together_and_answers_are_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("saved.json");
    let lines =
        format!("/set num_predict 2\n\"\"\"Hello\r\n/quit\n\"\"\"\n/regen\n/save {}\n/exit\nnever", file.display());
    let ran = run_with_input(&["chat", "--temp", "0"], lines.as_bytes()).succeeded();
    let answers: Vec<_> = ran.text().lines().collect();
    assert_eq!((answers.len(), answers[0]), (2, answers[1]));
    let saved: Vec<serde_json::Value> = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    let said: Vec<_> = saved.iter().map(|message| message["content"].as_str().unwrap()).collect();
    assert_eq!(said, ["Hello\n/quit", answers[1]]);
}

/// What writes into a pipe may know nothing of commands, and Qwen3's switches are none.
#[test]
fn lines_of_a_pipe_with_a_slash_and_no_command_are_messages() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("saved.json");
    let messages = ["/no_think hi", "/think", "/usr/bin is a folder", "Hello"];
    let lines = format!("/set max-tokens 2\n{}\n/save {}\n", messages.join("\n"), file.display());
    let ran = run_with_input(&["chat"], lines.as_bytes()).succeeded();
    let saved: Vec<serde_json::Value> = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    let said = saved.iter().filter(|message| message["role"] == "user").map(|m| m["content"].as_str().unwrap());
    assert_eq!(said.collect::<Vec<_>>(), messages);
    let notes: Vec<_> = ran.stderr.lines().filter(|line| line.contains(" command")).collect();
    assert_eq!(notes, ["note: /usr/bin is not a command: the line is a message"]);
}

#[test]
fn a_full_context_says_what_is_forgotten() {
    let lines = "Tell me a story.\n".repeat(3);
    let ran = run_with_input(&["chat", "-c", "64", "-n", "16", "--temp", "0"], lines.as_bytes()).succeeded();
    let note = "note: the context is full; the oldest turn is forgotten";
    assert!(ran.stderr.lines().any(|line| line == note), "{}", ran.stderr);
}

/// Ollama's names: `/set verbose` and `/set quiet`.
#[test]
fn counts_and_times_follow_answers_while_they_are_asked_for() {
    let lines = b"Hello\n/set verbose\nHello\nHello\n/set quiet\nHello\n";
    let ran = run_with_input(&["chat", "-n", "3", "--seed", "1"], lines).succeeded();
    let starts = |start: &str| ran.stderr.lines().filter(|line| line.starts_with(start)).count();
    assert_eq!((starts("tokens: prompt "), starts("prefill ")), (2, 2), "{}", ran.stderr);
    assert_eq!(ran.text().lines().count(), 4, "{}", ran.text());
    // `-v` is the same switch.
    let ran = run_with_input(&["chat", "-v", "-n", "3"], b"Hello\n/set quiet\nHello\n").succeeded();
    assert_eq!(ran.stderr.lines().filter(|line| line.starts_with("tokens: prompt ")).count(), 1, "{}", ran.stderr);
    run_with_input(&["chat"], b"/set verbose on\n").refused(2, "/set verbose takes no value, found \"on\"");
}

#[test]
fn json_is_an_object_a_piece_and_an_end_an_answer() {
    let ran = run_with_input(&["chat", "--json", "-n", "3"], b"Hello\nHello\n").succeeded();
    let objects: Vec<serde_json::Value> = ran.text().lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!(objects.iter().filter(|o| o["finish"].is_string()).count(), 2);
    assert!(objects.iter().all(|o| o["finish"].is_string() || o["ids"].is_array()));
}

#[test]
fn d02_a_template_with_a_fault_is_named_with_its_line_and_what_helps() {
    let folder = tempfile::tempdir().unwrap();
    let template = folder.path().join("t.jinja");
    std::fs::write(&template, "\n{% if %}").unwrap();
    run(&["chat", "Hello", "--template", template.to_str().unwrap()])
        .refused(1, "the chat template in line 2, column 7: expected an expression, found '%}'");
    std::fs::write(&template, "{{ raise_exception('no') }}").unwrap();
    run(&["chat", "Hello", "--template", template.to_str().unwrap()])
        .refused(1, "the chat template in line 1, column 19, refuses: no; --template FILE gives another");
    std::fs::write(&template, "<|startoftext|>Once upon a time").unwrap();
    run(&["chat", "Hello", "-n", "2", "--template", template.to_str().unwrap()]).succeeded();
}

#[test]
fn variables_reach_the_template_and_d05_none_takes_the_place_of_what_it_has() {
    let folder = tempfile::tempdir().unwrap();
    let template = folder.path().join("t.jinja");
    std::fs::write(&template, "{{ raise_exception('thinking ' ~ enable_thinking ~ ', ' ~ style) }}").unwrap();
    let with = |variables: &[&str]| {
        let variables = variables.iter().flat_map(|variable| ["--template-var", variable]);
        run(&["chat", "Hello", "--template", template.to_str().unwrap()]
            .into_iter()
            .chain(variables)
            .collect::<Vec<_>>())
    };
    with(&["enable_thinking=false", "style=\"short\""]).refused(1, "refuses: thinking False, short");
    with(&["messages=[]"]).refused(2, "--template-var: template variable \"messages\": allowed are ");
    with(&["style=short"]).refused(2, "--template-var \"style=short\": allowed: NAME=JSON");
}

#[test]
fn a_model_without_a_template_says_once_that_a_plain_form_is_used() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("plain.gguf");
    write_story_without_template(&file);
    let ran = run_with_input(&["chat", file.to_str().unwrap(), "-n", "3"], b"Hello\nHello\n").succeeded();
    let note = "note: the model has no chat template; a plain form is used, with a line `role: content` per message";
    assert_eq!(ran.stderr.lines().filter(|line| *line == note).count(), 1, "{}", ran.stderr);
    assert!(!run(&["chat", "Hello", "-n", "1"]).succeeded().stderr.contains("plain form"));
}
