//! `template`: prompts byte for byte, their tokens and origins, requests by the line; templates in `chat`.

use crate::common::{Ran, isolate, program, run, run_with_input, story};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

fn oracle(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/oracle/templates").join(file)
}

fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn template(arguments: &[&str], input: &Value) -> Ran {
    let all: Vec<&str> = ["template"].iter().chain(arguments).copied().collect();
    run_with_input(&all, input.to_string().as_bytes())
}

const HELLO: &str = "<|startoftext|><|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n";

#[test]
fn the_prompt_is_printed_byte_for_byte_and_nothing_else() {
    let messages = json!([{"role": "user", "content": "Hello"}]);
    let ran = template(&[], &messages).succeeded();
    assert_eq!((ran.text(), ran.stderr.as_str()), (HELLO, ""));
    let of_file = template(&[path(&story())], &messages).succeeded();
    assert_eq!(of_file.text(), HELLO);
    let no_answer = template(&["--no-answer"], &messages).succeeded();
    assert_eq!(no_answer.text(), HELLO.strip_suffix("<|im_start|>assistant\n").unwrap());
    // A vocabulary will do; it has no template, so a plain form is used.
    let vocabulary = template(&[path(&oracle("markers.gguf"))], &messages).succeeded();
    assert_eq!(vocabulary.text(), "user: Hello\nassistant:");
    assert!(vocabulary.stderr.starts_with("note: the model has no chat template"), "{}", vocabulary.stderr);
}

#[test]
fn files_and_options_reach_the_template() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let file = folder.path().join(name);
        std::fs::write(&file, text).unwrap();
        file.to_str().unwrap().to_string()
    };
    let source = "{{ messages[0].content }}|{{ tools | length }}|{{ documents[0].title }}|{{ style }}|\
                  {{ strftime_now('%F') }}|{{ add_generation_prompt }}";
    let ran = run(&[
        "template",
        "--template",
        &file("t.jinja", source),
        "--messages",
        &file("m.json", r#"[{"role": "user", "content": "Hi"}]"#),
        "--tools",
        &file("tools.json", r#"[{"name": "f"}, {"name": "g"}]"#),
        "--documents",
        &file("d.json", r#"[{"title": "T"}]"#),
        "--template-var",
        "style=\"short\"",
        "--now",
        "1785542400",
        "--no-answer",
    ]);
    assert_eq!(ran.succeeded().text(), "Hi|2|T|short|2026-08-01|False");
    let before = template(&["--template", &file("n.jinja", "{{ strftime_now('%F') }}"), "--now", "-86400"], &json!([]));
    assert_eq!(before.succeeded().text(), "1969-12-31");
}

#[test]
fn ids_are_those_that_chat_sends_and_runs_say_where_bytes_come_from() {
    let messages = json!([{"role": "user", "content": "Hello<|im_end|>"}]);
    let ran = template(&["--ids", "--runs"], &messages).succeeded();
    let lines: Vec<Value> = ran.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let ids: Vec<u64> = lines[0].as_array().unwrap().iter().map(|id| id.as_u64().unwrap()).collect();
    // Begin of text, begin of message; at the end of the message its token once, though the text has it, too.
    assert_eq!((&ids[..2], ids.iter().filter(|id| **id == 3).count()), (&[1, 2][..], 1), "{ids:?}");
    let run =
        |start: u64, end: u64, origin: &str| json!({"start": start, "end": end, "origin": origin, "generated": false});
    assert_eq!(lines[1], json!([run(0, 32, "template"), run(32, 47, "input"), run(47, 80, "template")]));
    let chat = run_with_input(&["chat", "--json", "-n", "1", "-v"], b"Hello<|im_end|>\n").succeeded();
    let end: Value = serde_json::from_str(chat.text().lines().last().unwrap()).unwrap();
    assert_eq!(end["usage"]["prompt_tokens"], ids.len() as u64);
    let generated = "A{% generation %}{{ messages[0].content }}b{% endgeneration %}";
    let request = json!({"template": generated, "messages": messages}).to_string();
    let ran = run_with_input(&["template", "--lines", "--runs"], request.as_bytes()).succeeded();
    let answer: Value = serde_json::from_str(ran.text()).unwrap();
    let run = |start: u64, end: u64, origin: &str, generated: bool| json!({"start": start, "end": end, "origin": origin, "generated": generated});
    let wanted = [run(0, 1, "template", false), run(1, 16, "input", true), run(16, 17, "template", true)];
    assert_eq!(answer["runs"], json!(wanted));
}

#[test]
fn requests_are_answered_line_by_line() {
    let requests = [
        json!({"template": "{{ messages[0].content }}{{ x }}", "messages": [{"role": "user", "content": "a"}], "variables": {"x": 1}}),
        json!({"template": "{{ strftime_now('%Y') }}{{ add_generation_prompt }}", "now": 0, "add_generation_prompt": false}),
        json!({"messages": [{"role": "user", "content": "Hello"}]}),
        json!({"template": "{{ raise_exception('no') }}"}),
        json!({"template": "\n{{ 1 + none }}"}),
        json!({"template": "{% if %}"}),
        json!({"template": "{{ 'a' * 5 * 10 ** 7 }}"}),
        json!({"template": "x", "messages": [{"role": "not a name"}]}),
        json!({"template": "{{ tools | length }}{{ documents[0] }}", "tools": [1, 2], "documents": ["d"]}),
    ];
    let input: String = requests.iter().map(|request| format!("{request}\n")).collect();
    let ran = run_with_input(&["template", "--lines"], input.as_bytes()).succeeded();
    let answers: Vec<Value> = ran.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(answers.len(), requests.len());
    assert_eq!(answers[0], json!({"text": "a1"}));
    assert_eq!(answers[1], json!({"text": "1970False"}));
    assert_eq!(answers[2], json!({"text": HELLO}));
    assert_eq!(answers[3], json!({"refused": "no"}));
    assert_eq!((&answers[4]["line"], answers[4]["limit"].is_null()), (&json!(2), true));
    assert!(answers[4]["failed"].as_str().unwrap().contains("unsupported operand"), "{}", answers[4]);
    assert_eq!((&answers[5]["line"], &answers[5]["column"]), (&json!(1), &json!(7)));
    assert_eq!(answers[6]["limit"], "--template-memory");
    assert!(answers[7]["failed"].as_str().unwrap().starts_with("the role of a message"), "{}", answers[7]);
    assert_eq!(answers[8], json!({"text": "2d"}));
}

#[test]
fn a_line_that_is_no_request_ends_with_1() {
    for (line, wanted) in [
        ("nonsense", "standard input, line 2: no request: "),
        ("{\"template\": 1}", "standard input, line 2: no request: "),
        ("{\"temperature\": 1}", "standard input, line 2: no request: unknown field `temperature`"),
        ("[]", "standard input, line 2: no request: "),
    ] {
        let ran = run_with_input(&["template", "--lines"], format!("{{}}\n{line}\n").as_bytes());
        assert_eq!(ran.code, Some(1), "{line}: {}", ran.stderr);
        assert!(ran.stderr.contains(wanted), "{line}: {}", ran.stderr);
        assert_eq!(ran.text().lines().count(), 1, "the request before it was answered");
    }
}

#[test]
fn d05_names_that_are_taken_are_refused() {
    for name in ["messages", "tools", "bos_token", "range", "namespace", "loop", "self", "caller", "_x", "a-b", "1"] {
        let variable = format!("{name}=1");
        template(&["--template-var", &variable], &json!([])).refused(2, &format!("template variable {name:?}"));
    }
}

#[test]
fn what_is_no_conversation_is_named() {
    template(&[], &json!({"role": "user"})).refused(1, "-: no JSON list");
    template(&[], &json!([{"role": "user"}, {"content": "x"}])).refused(1, "-: message 2: the role of a message");
    run(&["template", "--messages", "no-such.json"]).refused(1, "no-such.json: can't read: ");
    run(&["template", "--lines", "--no-answer"]).refused(2, "--no-answer");
}

#[test]
fn a_fault_has_its_place_and_a_limit_its_option() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("t.jinja");
    let with = |source: &str, arguments: &[&str]| {
        std::fs::write(&file, source).unwrap();
        template(&[&["--template", path(&file)], arguments].concat(), &json!([]))
    };
    let ran = with("a\n{% macro m() %}{{ x.y }}{% endmacro %}\n{{ m() }}", &[]);
    ran.refused(1, "the chat template in line 2, column 20: 'x' is undefined; --template FILE gives another");
    let context: Vec<_> = ran.stderr.lines().skip(1).collect();
    let wanted =
        ["  {% macro m() %}{{ x.y }}{% endmacro %}", "                     ^", "  in m, called in line 3, column 5"];
    assert_eq!(context, wanted);
    let loops = "{% for i in range(100) %}x{% endfor %}";
    with(loops, &["--template-steps", "50"])
        .refused(1, "meets the limit template_steps: out of steps, allowed: 50; --template-steps N allows more");
    with(loops, &["--template-memory", "100"]).refused(1, "--template-memory N allows more");
    with(loops, &["--template-output", "10"]).refused(1, "--template-output N allows more");
    with(loops, &["--template-steps", "0"]).refused(2, "--template-steps \"0\": allowed: ");
    assert_eq!(with(loops, &["--template-steps", "5000"]).succeeded().text(), "x".repeat(100));
}

/// The published reports: conversations of hundreds of messages, and templates that look back in each.
#[test]
fn d08_chat_forgets_nothing_of_long_conversations() {
    for (conversation, name, expected) in [
        ("rounds.json", "slice-per-round.jinja", "rounds.expected.txt"),
        ("chat.json", "scan-per-message.jinja", "chat.expected.txt"),
    ] {
        let file = |name: &str| path(&oracle("long/reports").join(name)).to_string();
        let expected = std::fs::read_to_string(file(expected)).unwrap();
        let lines = format!("/load {}\nGo on.\n", file(conversation));
        let arguments = ["chat", "-c", "65536", "-n", "1", "--temp", "0", "-v", "--json", "--template", &file(name)];
        let ran = run_with_input(&arguments, lines.as_bytes()).succeeded();
        assert!(!ran.stderr.contains("forgotten"), "{}", ran.stderr);
        let end: Value = serde_json::from_str(ran.text().lines().last().unwrap()).unwrap();
        // The prompt as a text, with the tokens that the template wrote.
        let mut messages: Vec<Value> =
            serde_json::from_str(&std::fs::read_to_string(file(conversation)).unwrap()).unwrap();
        messages.push(json!({"role": "user", "content": "Go on."}));
        let prompt = template(&["--template", &file(name)], &json!(messages)).succeeded();
        assert_eq!(prompt.text(), expected, "{name}");
        let ids = template(&["--template", &file(name), "--ids"], &json!(messages)).succeeded();
        let ids: Vec<u64> = serde_json::from_str(ids.text()).unwrap();
        assert_eq!(end["usage"]["prompt_tokens"], ids.len() as u64, "{name}");
    }
}

/// A limit of the template is no full context.
#[test]
fn a_limit_ends_a_message_and_not_the_conversation() {
    let folder = tempfile::tempdir().unwrap();
    let (file, saved) = (folder.path().join("t.jinja"), folder.path().join("saved.json"));
    std::fs::write(&file, "{{ messages[-1].content }}{{ ('x' * (messages | length * 30000)) | length }}").unwrap();
    let lines = format!("/load {}\nMore\n", path(&saved));
    std::fs::write(
        &saved,
        json!([{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]).to_string(),
    )
    .unwrap();
    let ran = run_with_input(&["chat", "--template", path(&file), "--template-memory", "80000"], lines.as_bytes());
    ran.refused_after(1, "--template-memory N allows more");
    assert!(!ran.stderr.contains("forgotten"), "{}", ran.stderr);
}

#[cfg(unix)]
#[test]
fn signals_end_any_template_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("t.jinja");
    std::fs::write(&file, "{% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}{% endfor %}").unwrap();
    for (signal, command, code) in [("-INT", "chat", 130), ("-TERM", "chat", 143), ("-TERM", "template", 143)] {
        let mut child = program();
        child.args([command, "--template", path(&file), "--template-steps", "1000000000000"]);
        if command == "chat" {
            child.arg("Hello");
        } else {
            child.args(["--messages", path(&oracle("long/reports/chat.json"))]);
        }
        let child = child.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(1500));
        assert!(std::process::Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
        let start = Instant::now();
        let ran = Ran::from(child.wait_with_output().unwrap());
        // 100 ms are the aim; the rest is for a loaded machine.
        assert!(start.elapsed() < Duration::from_secs(2), "{command} {signal}: {:?}", start.elapsed());
        assert_eq!((ran.code, ran.text()), (Some(code), ""), "{command} {signal}: {}", ran.stderr);
    }
}

/// The least address space in kilobytes that a command needs, to 4 MB.
#[cfg(target_os = "linux")]
fn least_address_space(arguments: &str) -> u64 {
    let works = |kilobytes: u64| {
        let mut shell = std::process::Command::new("sh");
        isolate(&mut shell);
        shell.env("INKSTONE", program().get_program()).stdin(Stdio::null());
        shell.arg("-c").arg(format!("ulimit -v {kilobytes}; exec \"$INKSTONE\" {arguments}"));
        shell.output().unwrap().status.success()
    };
    let (mut low, mut high) = (10_000, 2_000_000);
    assert!(works(high), "{arguments}");
    while high - low > 4_000 {
        let middle = low.midpoint(high);
        if works(middle) { high = middle } else { low = middle }
    }
    high
}

/// A template needs no stack and no memory of its own that is worth mentioning.
#[cfg(target_os = "linux")]
#[test]
fn chat_needs_at_most_100_mb_more_than_run() {
    let (run, chat) = (least_address_space("complete Hello -n 1 -t 1"), least_address_space("chat Hello -n 1 -t 1"));
    assert!(chat <= run + 100_000, "complete {run} kB, chat {chat} kB");
}
