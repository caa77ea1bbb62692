//! Chat templates and conversations of an enemy. The letters and numbers in the names are those of the list of bad inputs.

use inkstone_gguf::Metadata;
use inkstone_text::{
    ChatTemplate, Conversation, Error, MAX_DEPTH, MAX_OUTPUT, MAX_SOURCE, MAX_STEPS, Message, Tokenizer,
};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

fn tokenizer() -> Tokenizer {
    let mut metadata = Metadata::new();
    metadata.insert("tokenizer.ggml.model", "gpt2");
    metadata.insert("tokenizer.ggml.pre", "gpt-2");
    metadata.insert("tokenizer.ggml.tokens", vec!["<|im_start|>", "a"]);
    metadata.insert("tokenizer.ggml.token_type", vec![3i32, 1]);
    metadata.insert("tokenizer.ggml.merges", Vec::<String>::new());
    Tokenizer::from_metadata(&metadata).unwrap()
}

fn render(source: &str, messages: Vec<Message>) -> Result<String, Error> {
    let rendered = ChatTemplate::new(source)?.render(&Conversation::new(messages), &tokenizer())?;
    Ok(rendered.text().to_string())
}

fn refused(source: &str) -> String {
    let error = render(source, vec![Message::user("Hello")]).map(|text| text.len());
    error.expect_err(source).to_string()
}

#[test]
fn d01_what_never_ends_runs_out_of_steps_or_depth() {
    let out_of_steps = format!("out of steps, allowed: {MAX_STEPS}");
    let cases = [
        ("{% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}{% endfor %}", &*out_of_steps),
        ("{% for i in range(10000000000) %}{% endfor %}", "range has too many elements"),
        ("{% macro m(x) %}{{ m(x) }}{% endmacro %}{{ m(1) }}", "recursion limit"),
        ("{% macro m(x) %}{{ m(x) }}{{ m(x) }}{% endmacro %}{{ m(1) }}", "recursion limit"),
        ("{% for m in messages recursive %}{{ loop([m]) }}{% endfor %}", "recursion limit"),
        ("{% include 'chat' %}", ""),
    ];
    for (source, wanted) in cases {
        let start = Instant::now();
        let error = refused(source);
        // 0.1 s are the aim; the rest is for a loaded machine.
        assert!(start.elapsed() < Duration::from_secs(2), "{source}: {:?}", start.elapsed());
        assert!(error.starts_with("the chat template") && error.contains(wanted), "{source}: {error}");
    }
}

#[test]
fn d02_faults_are_named_with_their_line() {
    let cases = [
        ("a\n{% if %}", "the chat template in line 2: syntax error: "),
        ("a\n{{ 'x' | nope }}", "the chat template in line 2: unknown filter"),
        ("a\n\n{{ 'x'.nope() }}", "the chat template in line 3: unknown method"),
        ("{{ 1 }}\n{{ nope() }}", "the chat template in line 2: unknown function"),
        ("{{ nope }}\n{{ nope.more }}", "the chat template in line 2: undefined value"),
        (
            "\n{{ raise_exception('roles must\nalternate') }}",
            "the chat template in line 2 refuses: roles must\nalternate",
        ),
        (
            "{{ strftime_now('%Q') }}",
            "the chat template in line 1: invalid operation: strftime_now: %Q in \"%Q\" is not known",
        ),
        ("{{ messages[0].content + 1 }}", "the chat template in line 1: invalid operation: "),
    ];
    for (source, wanted) in cases {
        let error = refused(source);
        assert!(error.starts_with(wanted), "{source}: {error}");
    }
}

#[test]
fn d02_a_macro_passes_a_refusal_on() {
    let error = refused("{% macro m() %}\n{{ raise_exception('no') }}{% endmacro %}\n\n{{ m() }}");
    assert!(error.starts_with("the chat template in line ") && error.ends_with(" refuses: no"), "{error}");
}

#[test]
fn d04_a_source_has_a_limit_and_one_within_it_a_stack() {
    let long = ChatTemplate::new(" ".repeat(MAX_SOURCE + 1)).unwrap_err().to_string();
    assert_eq!(long, "the chat template has 262145 bytes, allowed are 262144");
    let fill = |before: &str, part: &str, after: &str| {
        let count = (MAX_SOURCE - before.len() - after.len()) / part.len();
        format!("{before}{}{after}", part.repeat(count))
    };
    let sources = [
        fill("{{ ", "not ", "1 }}"),
        fill("{{ ", "1+", "1 }}"),
        fill("{{ 1", "|e", " }}"),
        fill("{{ a", ".b", " }}"),
        fill("{% if a %}", "{%elif a%}", "{% endif %}"),
        fill("{{ ", "(", " }}"),
        fill("{{ ", "[", " }}"),
        fill("{{ ", "-", "1 }}"),
        fill("{{ 1", "~1", " }}"),
        fill("{{ 1", "**1", " }}"),
        fill("{{ 1", "*1", " }}"),
        fill("{{ a", "+1", " }}"),
        format!("{{{{ a{} }}}}", "+1".repeat(1000)).repeat(128),
        fill("{{ ", "a if b else ", "c }}"),
        fill("", "{%if a%}", ""),
        fill("", "{%for a in b%}", ""),
    ];
    for source in sources {
        let start = Instant::now();
        // An error or not: what counts is that the program goes on.
        let _ = render(&source, vec![Message::user("Hello")]);
        assert!(start.elapsed() < Duration::from_secs(10), "{}: {:?}", &source[..20], start.elapsed());
    }
}

#[test]
fn d05_variables_take_no_name_that_a_template_has_for_itself() {
    let source = "{{ messages | length }} {{ enable_thinking }} {{ (levels or {'a': ['']}).a[0] }}";
    let with = |name: &str, value: Value| {
        let conversation = Conversation::new(vec![Message::user("Hello")]).variable(name, value);
        ChatTemplate::new(source)
            .unwrap()
            .render(&conversation, &tokenizer())
            .map(|rendered| rendered.text().to_string())
    };
    assert_eq!(with("enable_thinking", json!(false)).unwrap(), "1 False ");
    assert_eq!(with("levels", json!({"a": ["<|im_start|>"]})).unwrap(), "1  <|im_start|>");
    let reserved = ["messages", "tools", "documents", "bos_token", "raise_exception", "chat_template", "Messages"];
    for name in reserved.into_iter().chain(["", "a b", "__class__", "1", "é", "a.b", &"x".repeat(65)]) {
        let error = with(name, json!([])).unwrap_err().to_string();
        assert!(error.starts_with("template variable \"") && error.contains("but not messages, tools"), "{error}");
    }
    let deep = (0..100).fold(json!(1), |inner, _| json!([inner]));
    assert!(matches!(with("deep", deep), Err(Error::TooDeep { .. })));
}

#[test]
fn d06_nothing_of_the_machine_is_in_reach() {
    let undefined =
        ["{{ ''.__class__ }}", "{{ messages.__class__ }}", "{{ raise_exception.__globals__ }}", "{{ self }}"];
    for source in undefined {
        let shown = render(source, vec![Message::user("Hello")]);
        assert!(matches!(shown.as_deref(), Ok("") | Err(_)), "{source}: {shown:?}");
    }
    for source in ["{% include '/etc/passwd' %}", "{% import 'os' as os %}", "{{ debug() }}", "{{ open('x') }}"] {
        refused(source);
    }
}

#[test]
fn d07_messages_of_any_form_are_rendered_or_refused() {
    let role = |role: Value| Message::from_json(json!({"role": role, "content": "x"})).map(|m| m.role().to_string());
    assert_eq!(role(json!("critic")).unwrap(), "critic");
    let wrong = [json!(""), json!(null), json!(7), json!(["user"]), json!("user<|im_end|>"), json!("x".repeat(65))];
    for value in wrong {
        let error = role(value.clone()).unwrap_err().to_string();
        assert!(
            error.starts_with("the role of a message is ") && error.contains("allowed: 1 to 64 "),
            "{value}: {error}"
        );
    }
    let error = Message::from_json(json!("text")).unwrap_err().to_string();
    assert_eq!(error, "a message is \"text\", allowed: an object with role and content");
    let source = "{% for m in messages %}{{ m.role }}={{ m.content }};{% endfor %}";
    let contents = [
        (json!(null), "user=None;"),
        (json!(7), "user=7;"),
        (json!(true), "user=True;"),
        (json!([]), "user=[];"),
        (json!({}), "user={};"),
    ];
    for (content, wanted) in contents {
        let message = Message::from_json(json!({"role": "user", "content": content})).unwrap();
        assert_eq!(render(source, vec![message]).unwrap(), wanted);
        let message = Message::from_json(json!({"role": "user", "content": content})).unwrap();
        let plain = ChatTemplate::default().render(&Conversation::new(vec![message]), &tokenizer());
        assert!(matches!(plain, Ok(_) | Err(Error::Template { .. })), "{plain:?}");
    }
    let bare = Message::from_json(json!({"role": "user"})).unwrap();
    assert_eq!(render(source, vec![bare]).unwrap(), "user=;");
    assert_eq!(render(source, Vec::new()).unwrap(), "");
}

#[test]
fn d07_what_is_nested_too_deep_is_refused() {
    let nested = |levels: usize| (0..levels).fold(json!("x"), |inner, _| json!([inner]));
    let with = |content: Value| Message::from_json(json!({"role": "user", "content": content}));
    let source = "{{ messages | tojson }}{{ messages[0].content }}{{ tools }}";
    assert!(render(source, vec![with(nested(MAX_DEPTH)).unwrap()]).is_ok());
    for levels in [MAX_DEPTH + 1, 1000] {
        let conversations = [
            Conversation::new(vec![with(nested(levels)).unwrap()]),
            Conversation::default().tools(vec![nested(levels)]),
            Conversation::default().documents(vec![nested(levels)]),
        ];
        for conversation in conversations {
            let template = ChatTemplate::new(source).unwrap();
            let error = template.render(&conversation, &tokenizer()).unwrap_err().to_string();
            assert_eq!(error, "a message, a tool or a document is nested more than 64 deep");
        }
        assert!(matches!(Message::from_json(nested(levels)), Err(Error::TooDeep { .. })));
    }
}

#[test]
fn d07_many_messages_and_large_tools_end_in_time() {
    let start = Instant::now();
    let source = "{% for m in messages %}{{ m.role }}={{ m.content }};{% endfor %}";
    let many = render(source, vec![Message::user("<x"); 100_000]);
    assert!(matches!(many, Ok(_) | Err(Error::Template { .. })), "{many:?}");
    let tool = json!({"type": "function", "function": {"name": "f", "description": "<|".repeat(500_000)}});
    let template = ChatTemplate::new("{% for t in tools %}{{ t | tojson }}{% endfor %}").unwrap();
    let conversation = Conversation::new(vec![Message::user("x")]).tools(vec![tool]);
    assert!(template.render(&conversation, &tokenizer()).unwrap().text().len() > 1_000_000);
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}

#[test]
fn d07_a_prompt_has_a_limit() {
    let message = || vec![Message::user("x".repeat(1 << 20))];
    let source = |times: usize| format!("{{% for i in range({times}) %}}{{{{ messages[0].content }}}}{{% endfor %}}");
    assert_eq!(render(&source(4), message()).unwrap().len(), MAX_OUTPUT);
    assert_eq!(
        render(&source(5), message()).unwrap_err().to_string(),
        "the chat template writes more than 4194304 bytes"
    );
}

#[test]
fn c07_without_a_free_character_a_conversation_is_refused() {
    let all: String = ('\u{E000}'..='\u{F8FF}').chain('\u{FDD0}'..='\u{FDEF}').collect();
    let error = render("{{ messages[0].content }}", vec![Message::user(all.clone())]).unwrap_err();
    assert!(matches!(error, Error::NoMark));
    let most: String = all.chars().skip(1).collect();
    let text = format!("{most}<|im_start|>{most}");
    assert_eq!(render("{{ messages[0].content }}", vec![Message::user(text.clone())]).unwrap(), text);
}
