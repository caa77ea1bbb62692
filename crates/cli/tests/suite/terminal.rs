//! `chat` on a terminal: what a person types, and what is shown.

use std::path::Path;
use std::process::Command;

/// Ctrl-C and Ctrl-D, and the arrow that brings the line before back.
const CTRL_C: &str = "\x03";
const CTRL_D: &str = "\x04";
const UP: &str = "\x1b[A";
/// What stands before each line.
const PROMPT: &str = "> ";

/// Types each text when what it waits for is shown; all that `chat` has shown, and the exit code.
fn typed(arguments: &[&str], steps: &[(&str, &str)]) -> Option<(String, i32)> {
    on_terminal(&[&["chat"], arguments].concat(), steps, &[])
}

/// The same of any command, with variables of the environment.
fn on_terminal(arguments: &[&str], steps: &[(&str, &str)], variables: &[(&str, &str)]) -> Option<(String, i32)> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/terminal/type.py");
    let steps = serde_json::to_string(steps).unwrap();
    let mut python = Command::new("python3");
    python.arg(script).arg(steps).arg(env!("CARGO_BIN_EXE_inkstone")).args(arguments);
    let Ok(output) = python.env("TERM", "xterm").envs(variables.iter().copied()).output() else {
        println!("not present: python3");
        return None;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let shown = String::from_utf8(output.stdout).unwrap();
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
        ("there is nothing to take back", ""),
        (PROMPT, &load),
        ("messages: 3", ""),
        (PROMPT, "/undo\r"),
        (PROMPT, &load),
        (PROMPT, "/reset\r"),
        (PROMPT, "/undo\r"),
        ("there is nothing to take back", ""),
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
    assert_eq!(shown.matches("there is nothing to take back").count(), 2, "{shown}");
    let contents = |file: &Path| {
        let said: Vec<serde_json::Value> = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
        said.iter().map(|message| message["content"].as_str().unwrap().to_string()).collect::<Vec<_>>()
    };
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
    ];
    let Some((shown, code)) = typed(&["--engine", "reference", "--temp", "0"], &steps) else { return };
    assert_eq!(code, 130, "{shown}");
    let said: serde_json::Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    let answer = said[1]["content"].as_str().unwrap();
    assert!(answer.contains("upon") && answer.split_whitespace().count() < 40, "{answer}");
}

#[test]
fn ctrl_d_ends_a_conversation() {
    let Some((shown, code)) = typed(&[], &[(PROMPT, CTRL_D)]) else { return };
    assert_eq!(code, 0, "{shown}");
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
