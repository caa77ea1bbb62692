//! `chat` and `run` on a terminal: the lines that a person types, and the output.

use crate::common::isolate;
use std::fs::File;
use std::io::ErrorKind;
use std::path::Path;
use std::process::Command;

/// Ctrl-C and Ctrl-D, and the arrow that brings the line before back.
const CTRL_C: &str = "\x03";
const CTRL_D: &str = "\x04";
const UP: &str = "\x1b[A";
/// What stands before each line.
const PROMPT: &str = "> ";

/// Sent by the editor when a line is entered.
const ENTERED: &str = "\x1b[?2004l";
/// The note after the first Ctrl-C at the prompt.
const WARNING: &str = "Ctrl-C again or Ctrl-D ends";

/// Types each text after the text that it waits for; the output of `chat`, and the exit code.
fn typed(arguments: &[&str], steps: &[(&str, &str)]) -> Option<(String, i32)> {
    on_terminal(&[&["chat"], arguments].concat(), steps, &[])
}

/// The same with a folder for state.
fn typed_with_state(state: &Path, arguments: &[&str], steps: &[(&str, &str)]) -> Option<(String, i32)> {
    on_terminal(&[&["chat"], arguments].concat(), steps, &[("XDG_STATE_HOME", state.to_str().unwrap())])
}

/// The same of any command, with variables of the environment.
fn on_terminal(arguments: &[&str], steps: &[(&str, &str)], variables: &[(&str, &str)]) -> Option<(String, i32)> {
    on_terminal_of(env!("CARGO_BIN_EXE_inkstone"), arguments, steps, variables)
}

/// The same of any program.
fn on_terminal_of(
    program: &str,
    arguments: &[&str],
    steps: &[(&str, &str)],
    variables: &[(&str, &str)],
) -> Option<(String, i32)> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/terminal/type.py");
    let mut python = Command::new("python3");
    isolate(&mut python);
    python.arg(script).arg(program).args(arguments);
    // The history of the person who runs the tests stays as it is.
    let home = tempfile::tempdir().unwrap();
    python.env("TERM", "xterm").env("HOME", home.path());
    let file = home.path().join("steps.json");
    std::fs::write(&file, serde_json::to_vec(steps).unwrap()).unwrap();
    python.envs(variables.iter().copied()).stdin(File::open(&file).unwrap());
    let output = match python.output() {
        Err(e) if e.kind() == ErrorKind::NotFound => {
            println!("not present: python3");
            return None;
        }
        output => output.unwrap(),
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    // The terminal itself echoes bytes that are typed while no line is edited, also bytes that are not UTF-8.
    let shown = String::from_utf8_lossy(&output.stdout);
    let (shown, code) = shown.trim_end().rsplit_once("\nexit code ").unwrap();
    Some((shown.to_string(), code.parse().unwrap()))
}

#[test]
fn a_conversation_is_typed_and_its_commands_obeyed() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("said.json");
    let (switched, end) = (folder.path().join("switched.json"), folder.path().join("end.json"));
    let (save, load) = (format!("/save {}\r", file.display()), format!("/load {}\r", file.display()));
    let steps = [
        ("/help lists the commands", ""),
        (PROMPT, "/help\r"),
        ("/undo   ", ""),
        (PROMPT, "/set temperature 0\r"),
        (PROMPT, "Hello\r"),
        ("Shall I tell you a story?", ""),
        // Nothing is said.
        (PROMPT, "\r"),
        (PROMPT, "/system Be kind.\r"),
        (PROMPT, &save),
        (PROMPT, "/undo\r"),
        (PROMPT, "/undo\r"),
        ("there is no message to remove", ""),
        (PROMPT, &load),
        ("messages: 3", ""),
        (PROMPT, "/undo\r"),
        (PROMPT, &load),
        (PROMPT, "/reset\r"),
        (PROMPT, "/undo\r"),
        ("there is no message to remove", ""),
        (PROMPT, "/nope\r"),
        ("error: unknown command \"/nope\"; commands: /help, ", ""),
        (PROMPT, "/set temperature x\r"),
        ("error: temperature \"x\"", ""),
        // Qwen3's switches are no commands.
        (PROMPT, "/set max-tokens 1\r"),
        (PROMPT, "/no_think Hello\r"),
        (PROMPT, &format!("/save {}\r", switched.display())),
        (PROMPT, "/undo\r"),
        // A wrong line ends nothing, and the arrow brings earlier ones back.
        (PROMPT, "/set max-tokens 2\r"),
        (PROMPT, &format!("{}\r", UP.repeat(16))),
        ("\nHello!", ""),
        (PROMPT, &format!("/save {}\r", end.display())),
        (PROMPT, "/quit\r"),
    ];
    let Some((shown, code)) = typed(&[], &steps) else { return };
    assert_eq!(code, 0);
    assert_eq!(shown.matches("there is no message to remove").count(), 2, "{shown}");
    assert_eq!(contents(&file), ["Be kind.", "Hello", "Hello! Shall I tell you a story?"]);
    assert_eq!(contents(&switched)[..2], ["Be kind.", "/no_think Hello"]);
    assert_eq!(contents(&end), ["Be kind.", "Hello", "Hello!"]);
}

#[test]
fn e08_ctrl_c_ends_an_answer_and_then_the_conversation() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("said.json");
    let save = format!("/save {}\r", file.display());
    let steps = [
        (PROMPT, "Tell me a story.\r"),
        // Within the answer, which the definitions compute slowly enough.
        ("upon", CTRL_C),
        (PROMPT, &save),
        (PROMPT, "/nope\r"),
        ("unknown command", ""),
        // The next answer is a whole one.
        (PROMPT, "Hello\r"),
        ("Shall I tell you a story?", ""),
        (PROMPT, CTRL_C),
        (PROMPT, CTRL_C),
    ];
    let Some((shown, code)) = typed(&["--engine", "reference", "--temp", "0"], &steps) else { return };
    assert_eq!(code, 130, "{shown}");
    let said: serde_json::Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    let answer = said[1]["content"].as_str().unwrap();
    assert!(answer.contains("upon") && answer.split_whitespace().count() < 40, "{answer}");
}

#[cfg(unix)]
#[test]
fn e08_sigterm_ends_the_conversation() {
    let steps = [(PROMPT, "Tell me a story.\r"), ("upon", "\0signal 15")];
    let Some((shown, code)) = typed(&["--engine", "reference", "--temp", "0"], &steps) else { return };
    assert_eq!((code, shown.matches(PROMPT).count()), (143, 1), "{shown}");
    let (shown, code) = typed(&[], &[(PROMPT, "Hello"), ("Hello", "\0signal 15")]).unwrap();
    // The terminal reads lines as before (type.py looks), and marks no pastes.
    assert!(code == 143 && shown.ends_with("\x1b[?2004l\r\n"), "{code}: {shown:?}");
}

#[test]
fn ctrl_d_ends_a_conversation() {
    let Some((shown, code)) = typed(&[], &[(PROMPT, CTRL_D)]) else { return };
    assert_eq!(code, 0, "{shown}");
}

/// The messages of a saved conversation.
fn contents(file: &Path) -> Vec<String> {
    let said: Vec<serde_json::Value> = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    said.iter().map(|message| message["content"].as_str().unwrap().to_string()).collect()
}

#[test]
fn commands_of_other_programs_are_known() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("said.json");
    let save = format!("/save {}\r", file.display());
    let steps = [
        (PROMPT, "/regen\r"),
        ("error: there is no message to answer again", ""),
        (PROMPT, "/?\r"),
        ("/quit, /bye, /exit ", ""),
        (PROMPT, "/set parameter num_ctx 4096\r"),
        ("error: num_ctx is fixed during a conversation", ""),
        (PROMPT, "/set parameter num_predict 4\r"),
        (PROMPT, "/set top_k 3\r"),
        (PROMPT, "/set system Be kind.\r"),
        (PROMPT, "/set verbose\r"),
        (PROMPT, "Tell me a story.\r"),
        ("tokens: prompt ", ""),
        (", total ", ""),
        (PROMPT, "/set quiet\r"),
        (PROMPT, "/show\r"),
        ("architecture llama, context ", ""),
        ("top-k 3, ", ""),
        ("max-tokens 4", ""),
        ("system message: \"Be kind.\"", ""),
        ("messages: 3, ", ""),
        (PROMPT, "/regen\r"),
        (PROMPT, &save),
        (PROMPT, "/clear\r"),
        (PROMPT, "/undo\r"),
        ("there is no message to remove", ""),
        (PROMPT, "/bye\r"),
    ];
    let Some((shown, code)) = typed(&[], &steps) else { return };
    assert_eq!(code, 0, "{shown}");
    // The answer that is made again comes after /set quiet.
    assert_eq!(shown.matches("tokens: prompt ").count(), 1, "{shown}");
    assert_eq!(contents(&file)[..2], ["Be kind.", "Tell me a story."]);
    assert_eq!(contents(&file).len(), 3, "the old answer is dropped");
}

#[test]
fn an_answer_that_is_made_again_has_another_seed() {
    let seeds = |arguments: &[&str]| {
        let steps = [(PROMPT, "Hello\r"), ("seed ", ""), (PROMPT, "/regen\r"), ("seed ", ""), (PROMPT, "/exit\r")];
        let (shown, code) = typed(&[&["-v", "-n", "4"], arguments].concat(), &steps)?;
        assert_eq!(code, 0, "{shown}");
        let seed = |after: &str| after.split(',').next().unwrap().to_string();
        Some(shown.split("tokens/s, seed ").skip(1).map(seed).collect::<Vec<_>>())
    };
    let Some(drawn) = seeds(&[]) else { return };
    assert!(drawn.len() == 2 && drawn[0] != drawn[1], "{drawn:?}");
    assert_eq!(seeds(&["--seed", "7"]).unwrap(), ["7", "7"]);
}

#[test]
fn quotes_and_pastes_make_messages_of_several_lines() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("said.json");
    let save = format!("/save {}\r", file.display());
    let steps = [
        (PROMPT, "/set max-tokens 1\r"),
        (PROMPT, "\"\"\"One\r"),
        ("One", "  two\r"),
        ("two", "\r/quit\"\"\"\r"),
        (ENTERED, ""),
        // Brackets around a paste (xterm's control sequences, "Bracketed Paste Mode").
        (PROMPT, "\x1b[200~three\rfour\nfive\x1b[201~"),
        ("five", "\r"),
        (ENTERED, ""),
        // The arrow brings all of it back.
        (PROMPT, UP),
        ("five", "!\r"),
        (ENTERED, ""),
        (PROMPT, "/system \"\"\"\rBe\rkind.\r\"\"\"\r"),
        (ENTERED, ""),
        (PROMPT, &save),
        (PROMPT, "\"\"\"One\r"),
        // It clears the message, and does not end the program, after it was typed.
        ("One", CTRL_C),
        (WARNING, ""),
        (PROMPT, CTRL_D),
    ];
    let Some((shown, code)) = typed(&[], &steps) else { return };
    assert_eq!(code, 0, "{shown}");
    let said = contents(&file);
    let wanted = ["Be\nkind.", "One\n  two\n\n/quit", "three\nfour\nfive", "three\nfour\nfive!"];
    assert_eq!([&said[0], &said[1], &said[3], &said[5]], wanted);
}

#[test]
fn ctrl_c_at_the_prompt_clears_the_line_and_twice_ends() {
    let steps = [
        (PROMPT, "abc"),
        ("abc", CTRL_C),
        (WARNING, ""),
        // A text was typed in between.
        (PROMPT, "def"),
        ("def", CTRL_C),
        (WARNING, ""),
        (PROMPT, "/nope\r"),
        ("unknown command \"/nope\"", ""),
        // A line was entered in between.
        (PROMPT, CTRL_C),
        (WARNING, ""),
        (PROMPT, CTRL_C),
    ];
    let Some((shown, code)) = typed(&[], &steps) else { return };
    assert_eq!(code, 130, "{shown}");
    assert!(!shown.contains("defabc") && !shown.contains("abcdef"), "{shown}");
}

/// Without the line editor Ctrl-C is a signal.
#[cfg(unix)]
#[test]
fn ctrl_c_at_a_plain_prompt_clears_the_line_and_twice_ends() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("said.json");
    let save = format!("/save {}\r", file.display());
    let steps = [
        (PROMPT, "/set max-tokens 1\r"),
        (PROMPT, "abc"),
        ("abc", CTRL_C),
        (WARNING, ""),
        (PROMPT, "def\r"),
        (PROMPT, &save),
        // Lines were entered in between.
        (PROMPT, CTRL_C),
        (WARNING, ""),
        (PROMPT, CTRL_C),
    ];
    let dumb = [("TERM", "dumb")];
    let Some((shown, code)) = on_terminal(&["chat"], &steps, &dumb) else { return };
    assert_eq!((code, shown.matches(WARNING).count()), (130, 2), "{shown}");
    assert_eq!(contents(&file)[0], "def");
    // The end of the input ends the conversation after a warning, and SIGTERM needs none.
    let steps = [(PROMPT, CTRL_C), (WARNING, ""), (PROMPT, CTRL_D)];
    let (shown, code) = on_terminal(&["chat"], &steps, &dumb).unwrap();
    assert_eq!(code, 0, "{shown}");
    let (shown, code) = on_terminal(&["chat"], &[(PROMPT, "\0signal 15")], &dumb).unwrap();
    assert_eq!((code, shown.contains(WARNING)), (143, false), "{shown}");
}

#[cfg(unix)]
#[test]
fn lines_of_an_earlier_conversation_come_back_and_only_their_user_reads_them() {
    use std::os::unix::fs::PermissionsExt;
    let state = tempfile::tempdir().unwrap();
    let (folder, file) = (state.path().join("inkstone"), state.path().join("inkstone/history"));
    let say = |arguments: &[&str]| {
        let steps = [(PROMPT, "/set max-tokens 1\r"), ("/set", ""), (PROMPT, CTRL_D)];
        typed_with_state(state.path(), arguments, &steps)
    };
    let Some((shown, code)) = say(&["--no-history"]) else { return };
    assert_eq!((code, file.exists(), folder.exists()), (0, false, false), "{shown}");
    let (shown, _) = say(&[]).unwrap();
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "\"/set max-tokens 1\"\n", "{shown}");
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&file), mode(&folder)), (0o600, 0o700));
    // The arrow brings it back, with one letter more.
    let (shown, code) = typed_with_state(
        state.path(),
        &[],
        &[
            (PROMPT, UP),
            ("/set max-tokens 1", "0\r"),
            (PROMPT, UP),
            ("/set max-tokens 10", ""),
            ("", CTRL_C),
            (PROMPT, CTRL_D),
        ],
    )
    .unwrap();
    assert_eq!(code, 0, "{shown}");
    let kept = "\"/set max-tokens 1\"\n\"/set max-tokens 10\"\n";
    assert_eq!(std::fs::read_to_string(&file).unwrap(), kept);
    // Neither read nor written.
    let steps =
        [(PROMPT, "a"), ("a", UP), ("", CTRL_C), (PROMPT, "/nope\r"), ("unknown command", ""), (PROMPT, CTRL_D)];
    let (shown, _) = typed_with_state(state.path(), &["--no-history"], &steps).unwrap();
    assert!(!shown.contains("/set max"), "{shown}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), kept);
}

#[test]
fn a_history_that_fails_is_told_once() {
    let state = tempfile::tempdir().unwrap();
    // A folder can't be made here.
    std::fs::write(state.path().join("inkstone"), "").unwrap();
    let steps = [
        (PROMPT, "/nope\r"),
        ("unknown command", ""),
        (PROMPT, "/nope 2\r"),
        ("unknown command", ""),
        // Within the conversation lines come back all the same.
        (PROMPT, UP),
        ("/nope 2", "\r"),
        (PROMPT, CTRL_D),
    ];
    let Some((shown, code)) = typed_with_state(state.path(), &[], &steps) else { return };
    assert_eq!((code, shown.matches("note: no history: ").count()), (0, 1), "{shown}");
}

#[cfg(unix)]
#[test]
fn answers_in_a_file_have_no_prompts() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("answers");
    let script = format!("exec {} chat --temp 0 > {}", env!("CARGO_BIN_EXE_inkstone"), file.display());
    let steps = [(PROMPT, "Hello\r"), (ENTERED, ""), (PROMPT, CTRL_D)];
    let Some((shown, code)) = on_terminal_of("/bin/sh", &["-c", &script], &steps, &[]) else { return };
    assert_eq!(code, 0, "{shown}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "Hello! Shall I tell you a story?\n");
}

#[test]
fn lines_typed_ahead_of_the_prompt_are_not_lost() {
    let steps = [
        (PROMPT, "/set max-tokens 1\r/set top-k 3\rHello\r/show\r"),
        ("top-k 3, ", ""),
        ("messages: 2, ", ""),
        (PROMPT, CTRL_D),
    ];
    let Some((shown, code)) = typed(&[], &steps) else { return };
    assert_eq!(code, 0, "{shown}");
}

#[test]
fn odd_input_and_a_resized_window_do_not_end_a_conversation() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("said.json");
    let save = format!("/save {}\r", file.display());
    let long = "word ".repeat(3000);
    let paste = format!("\x1b[200~{}\x1b[201~\r", "日本 ".repeat(30_000));
    let steps = [
        (PROMPT, "/set max-tokens 1\r"),
        (PROMPT, "Grüße, 日本 👩‍👩‍👧"),
        ("👧", "\0resize 10 20"),
        ("", "!\r"),
        (PROMPT, "\0bytes 61ff620d"),
        ("the line is dropped: it is not UTF-8", ""),
        (PROMPT, "\0resize 40 120"),
        // More than the context takes.
        ("", &format!("{long}\r")),
        ("error: ", ""),
        (PROMPT, &paste),
        ("error: ", ""),
        (PROMPT, &save),
        (PROMPT, CTRL_D),
    ];
    let Some((shown, code)) = typed(&["-c", "256"], &steps) else { return };
    assert_eq!(code, 0, "{shown}");
    assert_eq!(contents(&file)[0], "Grüße, 日本 👩‍👩‍👧!");
}

#[test]
fn what_a_template_wrote_is_dim() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("chat.json");
    std::fs::write(&file, r#"[{"role": "user", "content": "Hello\u001b[2J"}]"#).unwrap();
    let arguments = ["template", "--no-answer", "--messages", file.to_str().unwrap()];
    let Some((shown, code)) = on_terminal(&arguments, &[], &[]) else { return };
    let wanted = "\x1b[2m<|startoftext|><|im_start|>user\r\n\x1b[0mHello\\u{1b}[2J\x1b[2m<|im_end|>\r\n\x1b[0m";
    assert_eq!((shown.as_str(), code), (wanted, 0));
    let Some((plain, _)) = on_terminal(&arguments, &[], &[("NO_COLOR", "1")]) else { return };
    assert_eq!(plain, "<|startoftext|><|im_start|>user\r\nHello\\u{1b}[2J<|im_end|>\r\n");
}

#[test]
fn run_on_a_terminal_is_a_conversation_for_a_model_with_a_template() {
    let story = crate::common::story();
    let story = story.to_str().unwrap();
    let steps =
        [(PROMPT, "/set temperature 0\r"), (PROMPT, "Hello\r"), ("Shall I tell you a story?", ""), (PROMPT, "/bye\r")];
    let Some((shown, code)) = on_terminal(&["run", story], &steps, &[]) else { return };
    assert_eq!(code, 0);
    assert!(shown.contains("note: run uses the chat template of the model"), "{shown}");
    // Without an editor the lines are read from standard input, which nothing else may hold.
    let Some((_, code)) = on_terminal(&["run", story], &steps, &[("TERM", "dumb")]) else { return };
    assert_eq!(code, 0);
    // Without a template the text is typed, and Ctrl-D ends it.
    let folder = tempfile::tempdir().unwrap();
    let plain = folder.path().join("plain.gguf");
    crate::common::write_story_without_template(&plain);
    let steps = [("Ctrl-D on a line of its own", "Once upon a time\r"), ("a time", CTRL_D), ("finish length", "")];
    let arguments = ["run", plain.to_str().unwrap(), "-n", "3", "--seed", "1"];
    let Some((shown, code)) = on_terminal(&arguments, &steps, &[]) else { return };
    assert_eq!(code, 0);
    assert!(shown.contains("(the file has no chat template)"), "{shown}");
}

/// Each way to end a conversation on a terminal, with the editor and without it.
#[cfg(unix)]
#[test]
fn the_end_of_a_conversation_saves_its_session() {
    let folder = tempfile::tempdir().unwrap();
    let answer = [(PROMPT, "/set temperature 0\r"), (PROMPT, "Hello\r"), ("Shall I tell you a story?", "")];
    type Step = (&'static str, &'static str);
    let ends: [(&str, &[Step], i32); 6] = [
        ("exit", &[(PROMPT, "/exit\r")], 0),
        ("eof", &[(PROMPT, CTRL_D)], 0),
        ("ctrl-c", &[(PROMPT, CTRL_C), (WARNING, ""), (PROMPT, CTRL_C)], 130),
        ("term", &[(PROMPT, "\0signal 15")], 143),
        ("hup", &[(PROMPT, "\0signal 1")], 143),
        ("second", &[(PROMPT, "Tell me a story.\r"), ("upon", CTRL_C), (PROMPT, CTRL_D)], 0),
    ];
    for term in ["xterm", "dumb"] {
        for (name, end, wanted) in ends {
            let file = folder.path().join(format!("{term}-{name}"));
            let chat = ["chat", "--engine", "reference", "--session", file.to_str().unwrap()];
            let steps = [&answer[..], end].concat();
            let Some((shown, code)) = on_terminal(&chat, &steps, &[("TERM", term)]) else { return };
            assert_eq!(code, wanted, "{term} {name}: {shown}");
            let messages = if name == "second" { 4 } else { 2 };
            let steps = [(format!("messages: {messages}"), ""), (PROMPT.to_string(), CTRL_D)];
            let steps: Vec<(&str, &str)> = steps.iter().map(|(wanted, typed)| (wanted.as_str(), *typed)).collect();
            let (shown, code) = on_terminal(&chat, &steps, &[("TERM", term)]).unwrap();
            assert_eq!(code, 0, "{term} {name}: {shown}");
        }
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 12, "a temporary file is left");
}
