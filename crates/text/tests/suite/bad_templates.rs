//! Hostile chat templates and conversations. The letters and numbers in the names refer to the list of bad inputs.

use inkstone_gguf::Metadata;
use inkstone_text::{ChatTemplate, Conversation, Error, MAX_DEPTH, MAX_SOURCE, Message, Tokenizer};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// Of a thread; the main thread of a program has 8 MiB, others 2.
const STACK: usize = 256 << 10;

/// Runs in a thread with a small stack: neither a template nor a conversation needs more.
pub fn in_small_thread(run: impl FnOnce() + Send + 'static) {
    if let Err(panic) = std::thread::Builder::new().stack_size(STACK).spawn(run).unwrap().join() {
        std::panic::resume_unwind(panic);
    }
}

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
fn d02_faults_are_named_with_their_line() {
    in_small_thread(|| {
        let cases = [
            ("a\n{% if %}", "the chat template in line 2, column 7: expected an expression, found '%}'"),
            ("a\n{{ 'x' | nope }}", "the chat template in line 2, column 10: no filter named 'nope'"),
            ("a\n\n{{ 'x'.nope() }}", "the chat template in line 3, column 12: 'str object' has no attribute 'nope'"),
            ("{{ 1 }}\n{{ nope() }}", "the chat template in line 2, column 8: 'nope' is undefined"),
            ("{{ nope }}\n{{ nope.more }}", "the chat template in line 2, column 8: 'nope' is undefined"),
            (
                "\n{{ raise_exception('roles must\nalternate') }}",
                "the chat template in line 2, column 19, refuses: roles must\nalternate",
            ),
            (
                "{{ messages[0].content + 1 }}",
                "the chat template in line 1, column 24: unsupported operand types for +",
            ),
            ("{% include 'chat' %}", "the chat template in line 1, column 4: tag 'include' is not available"),
        ];
        for (source, wanted) in cases {
            let error = refused(source);
            assert!(error.starts_with(wanted), "{source}: {error}");
        }
    });
}

#[test]
fn d02_a_macro_passes_a_refusal_on() {
    in_small_thread(|| {
        let error = refused("{% macro m() %}\n{{ raise_exception('no') }}{% endmacro %}\n\n{{ m() }}");
        assert_eq!(error, "the chat template in line 2, column 19, refuses: no");
    });
}

#[test]
fn d04_a_source_has_a_limit() {
    in_small_thread(|| {
        let long = ChatTemplate::new(" ".repeat(MAX_SOURCE + 1)).unwrap_err().to_string();
        assert!(long.contains("262145 bytes, allowed are 262144"), "{long}");
    });
}

#[test]
fn d05_variables_take_no_name_that_a_template_has_for_itself() {
    in_small_thread(|| {
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
        let reserved = [
            "messages",
            "tools",
            "documents",
            "bos_token",
            "raise_exception",
            "chat_template",
            "Messages",
            "range",
            "joiner",
            "loop",
            "self",
            "caller",
            "not",
        ];
        for name in reserved.into_iter().chain(["", "a b", "__class__", "_a", "1", "é", "a.b", &"x".repeat(65)]) {
            let error = with(name, json!([])).unwrap_err().to_string();
            assert!(error.starts_with("template variable \"") && error.contains("but not messages, tools"), "{error}");
        }
        let deep = (0..100).fold(json!(1), |inner, _| json!([inner]));
        assert!(matches!(with("deep", deep), Err(Error::TooDeep { .. })));
    });
}

#[test]
fn d07_messages_of_any_form_are_rendered_or_refused() {
    in_small_thread(|| {
        let role =
            |role: Value| Message::from_json(json!({"role": role, "content": "x"})).map(|m| m.role().to_string());
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
            (json!(null), "user=;"),
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
    });
}

/// A message, a tool and a document of so many levels are refused.
fn refuses_levels(levels: usize) {
    let source = "{{ messages | tojson }}{{ messages[0].content }}{{ tools }}";
    let conversations = [
        Conversation::new(vec![with_content(nested(levels))]),
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

fn nested(levels: usize) -> Value {
    (0..levels).fold(json!("x"), |inner, _| json!([inner]))
}

fn with_content(content: Value) -> Message {
    Message::from_json(json!({"role": "user", "content": content})).unwrap()
}

#[test]
fn d07_what_is_nested_too_deep_is_refused() {
    in_small_thread(|| {
        let source = "{{ messages | tojson }}{{ messages[0].content }}{{ tools }}";
        assert!(render(source, vec![with_content(nested(MAX_DEPTH))]).is_ok());
        refuses_levels(MAX_DEPTH + 1);
        refuses_levels(300);
    });
    // Values of serde_json drop by recursion, and these are made here.
    refuses_levels(1000);
}

#[test]
fn d07_many_messages_and_large_tools_end_in_time() {
    in_small_thread(|| {
        let start = Instant::now();
        let source = "{% for m in messages %}{{ m.role }}={{ m.content }};{% endfor %}";
        let many = render(source, vec![Message::user("<x"); 100_000]);
        assert!(matches!(many, Ok(_) | Err(Error::Template { .. })), "{many:?}");
        let tool = json!({"type": "function", "function": {"name": "f", "description": "<|".repeat(500_000)}});
        let template = ChatTemplate::new("{% for t in tools %}{{ t | tojson }}{% endfor %}").unwrap();
        let conversation = Conversation::new(vec![Message::user("x")]).tools(vec![tool]);
        assert!(template.render(&conversation, &tokenizer()).unwrap().text().len() > 1_000_000);
        assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    });
}
