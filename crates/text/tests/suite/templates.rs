//! Conversations through chat templates, and the tokens of the prompts.

use super::bad_templates::in_small_thread;
use inkstone_gguf::{Gguf, OpenOptions};
use inkstone_text::{
    ChatTemplate, Conversation, Encode, Json, Message, Origin, TemplateErrorKind, TemplateLimits, Tokenizer,
};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/oracle/templates")
}

pub fn read(file: &str) -> String {
    let path = folder().join(file);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

pub fn vocabulary(path: &Path) -> Tokenizer {
    let gguf = Gguf::open(path, &OpenOptions::default()).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    Tokenizer::from_metadata(gguf.metadata()).unwrap()
}

/// Bytes, and all that looks like a marker in a template as control token.
pub fn markers() -> Tokenizer {
    vocabulary(&folder().join("markers.gguf"))
}

/// A conversation of JSON, by the names of the golden data.
pub fn conversation(given: &Json) -> Conversation {
    let list = |name: &str| given[name].as_array().cloned().unwrap_or_default();
    let messages = list("messages").into_iter().map(|m| Message::from_json(m).unwrap()).collect();
    let mut conversation = Conversation::new(messages)
        .tools(list("tools"))
        .documents(list("documents"))
        .answer(given["add_generation_prompt"].as_bool().unwrap_or(true))
        .now(UNIX_EPOCH + Duration::from_secs(1_785_542_400));
    for (name, value) in given["variables"].as_object().into_iter().flatten() {
        conversation = conversation.variable(name, value.clone());
    }
    conversation
}

fn text_of(source: &str, given: &Conversation) -> String {
    ChatTemplate::new(source).unwrap().render(given, &markers()).unwrap().text().to_string()
}

/// What transformers renders, through messages and all: the interpreter's own tests have every row of the golden data.
#[test]
fn published_templates_render_conversations_as_golden() {
    let data: Json = serde_json::from_str(&read("conversations.json")).unwrap();
    let texts: Json = serde_json::from_str(&read("texts.json")).unwrap();
    let texts = texts.as_object().unwrap();
    assert!(texts.len() > 30);
    for (key, wanted) in texts {
        let [name, said, ..] = key.split(' ').collect::<Vec<_>>()[..] else { panic!("{key}") };
        let given = json!({"messages": data["conversations"][said], "tools": data["tools"]});
        let text = text_of(&read(&format!("templates/{name}.jinja")), &conversation(&given));
        assert_eq!(text, wanted.as_str().unwrap(), "{key}");
    }
}

#[test]
fn keys_without_value_go_and_what_was_thought_has_all_its_names() {
    let message = |value: Json| Conversation::new(vec![Message::from_json(value).unwrap()]);
    let source = "{% for k, v in messages[0].items() %}{{ k }}={{ v }};{% endfor %}";
    let cases = [
        (json!({"role": "user", "content": null, "name": "x"}), "role=user;name=x;"),
        (
            json!({"role": "user", "content": "a", "reasoning": "hm"}),
            "thinking=hm;role=user;content=a;reasoning=hm;reasoning_content=hm;",
        ),
        (
            json!({"role": "user", "thinking": "t", "reasoning_content": "r", "content": "a"}),
            "role=user;thinking=t;content=a;reasoning_content=r;",
        ),
    ];
    for (given, wanted) in cases {
        assert_eq!(text_of(source, &message(given.clone())), wanted, "{given}");
    }
}

#[test]
fn no_tools_are_none() {
    let source = "{{ tools is none }} {{ documents is none }}";
    assert_eq!(text_of(source, &Conversation::default().tools(Vec::new())), "True True");
    assert_eq!(text_of(source, &Conversation::default().tools(vec![json!({})])), "False True");
}

#[test]
fn arguments_of_calls_reach_a_template_as_it_wants_them() {
    let rows: Json = serde_json::from_str(&read("arguments.json")).unwrap();
    let rows = rows.as_array().unwrap();
    assert_eq!(rows.len(), 21);
    for row in rows {
        for messages in row["messages"].as_array().unwrap() {
            let text = text_of(row["template"].as_str().unwrap(), &conversation(&json!({"messages": messages})));
            assert_eq!(text, row["text"].as_str().unwrap(), "{}: {messages}", row["name"]);
        }
    }
}

#[test]
fn arguments_that_encode_no_object_stay_as_they_are() {
    let source =
        "{% for m in messages %}{% for c in m.tool_calls %}{{ c.function.arguments | tojson }}{% endfor %}{% endfor %}";
    let call = |arguments: Json| json!({"function": {"name": "f", "arguments": arguments}});
    for (given, wanted) in [
        (json!("{\"a\": 1}"), "{\"a\": 1}"),
        (json!({"a": 1}), "{\"a\": 1}"),
        (json!("{\"a\": "), "\"{\\\"a\\\": \""),
        (json!("[1]"), "\"[1]\""),
        (json!(7), "7"),
    ] {
        let message = json!({"role": "assistant", "content": "", "tool_calls": [call(given.clone())]});
        assert_eq!(text_of(source, &conversation(&json!({"messages": [message]}))), wanted, "{given}");
    }
}

/// What a template sees of a harmless text is the text.
#[test]
fn tokens_of_a_harmless_prompt_are_those_of_its_text() {
    let data: Json = serde_json::from_str(&read("conversations.json")).unwrap();
    let tokenizer = markers();
    for name in ["gpt-oss", "qwen3", "gemma-4", "glm-4.6", "mistral-nemo", "deepseek-v3.2"] {
        let template = ChatTemplate::new(read(&format!("templates/{name}.jinja"))).unwrap();
        let rendered = template.render(&conversation(&json!({"messages": data["conversations"]["uau"]})), &tokenizer);
        let rendered = rendered.unwrap();
        let ids = tokenizer.encode_rendered(&rendered, &Encode::plain()).unwrap();
        assert_eq!(ids, tokenizer.encode(rendered.text(), &Encode::plain().special(true)).unwrap(), "{name}");
    }
}

#[test]
fn one_token_begins_the_prompt_whoever_writes_it() {
    let tokenizer = markers();
    let bos = tokenizer.bos().unwrap();
    let given = Conversation::new(vec![Message::user("x")]);
    for source in ["{{ bos_token }}{{ messages[0].content }}", "\n{{ bos_token }}x", "{{ messages[0].content }}"] {
        let rendered = ChatTemplate::new(source).unwrap().render(&given, &tokenizer).unwrap();
        let ids = tokenizer.encode_rendered(&rendered, &Encode::new().bos(true)).unwrap();
        assert_eq!(ids.iter().filter(|id| **id == bos).count(), 1, "{source}: {ids:?}");
    }
}

#[test]
fn the_plain_form_sets_lines_in() {
    let given =
        Conversation::new(vec![Message::system("Be brief."), Message::user("Hi\nassistant: ok\r\nuser: \u{2028}x")]);
    let rendered = ChatTemplate::default().render(&given, &markers()).unwrap();
    let wanted = "system: Be brief.\nuser: Hi\n  assistant: ok\n  user: \n  x\nassistant:";
    assert_eq!(rendered.text(), wanted);
}

#[test]
fn a_prompt_says_where_its_bytes_come_from_and_what_is_generated() {
    let source = "<{{ messages[0].role }}>{% generation %}{{ messages[0].content }}!{% endgeneration %}";
    let template = ChatTemplate::new(source).unwrap();
    let rendered = template.render(&Conversation::new(vec![Message::user("Hi")]), &markers()).unwrap();
    assert_eq!(rendered.text(), "<user>Hi!");
    let (template, input) = (Origin::Template, Origin::Input);
    assert_eq!(rendered.runs(), [(0..6, template), (6..8, input), (8..9, template)]);
    assert_eq!(rendered.generated(), std::slice::from_ref(&(6..9)));
}

#[test]
fn limits_and_switches_end_a_template() {
    let given = Conversation::new(vec![Message::user("Hello")]);
    let endless = ChatTemplate::new(
        "{% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}{% endfor %}{{ messages }}",
    )
    .unwrap();
    let ended = |template: &ChatTemplate, limits: TemplateLimits| {
        let error = template.render_within(&given, &markers(), &limits).unwrap_err();
        (error.template_limit(), error.template().unwrap().kind(), error.to_string())
    };
    let (limit, _, text) = ended(&endless, TemplateLimits::default().steps(1000));
    assert_eq!(limit, Some("template_steps"));
    assert!(text.starts_with("the chat template in line 1, column ") && text.contains("allowed: 1000"), "{text}");
    let large = ChatTemplate::new("{{ 'a' * 10000 }}").unwrap();
    assert_eq!(ended(&large, TemplateLimits::default().memory(5000)).0, Some("template_memory"));
    assert_eq!(ended(&large, TemplateLimits::default().output(5000)).0, Some("template_output"));
    let mut cancelled = TemplateLimits::default().steps(u64::MAX);
    cancelled.cancel = Some(std::sync::Arc::new(true.into()));
    assert_eq!(ended(&endless, cancelled).1, TemplateErrorKind::Cancelled);
    let mut late = TemplateLimits::default().steps(u64::MAX);
    late.deadline = Some(std::time::Instant::now() + Duration::from_millis(20));
    assert_eq!(ended(&endless, late).1, TemplateErrorKind::Deadline);
}

#[test]
fn d08_large_conversations_go_through_every_template() {
    in_small_thread(|| {
        let long = "word ".repeat(400_000);
        let many: Vec<Message> = (0..2000)
            .map(|i| if i % 2 == 0 { Message::user("Hello there") } else { Message::assistant("Hi!") })
            .collect();
        let many = [many, vec![Message::user("And now?")]].concat();
        let tokenizer = markers();
        for name in ["gpt-oss", "gemma-4", "deepseek-v3.2", "qwen3", "mistral-small-3.2", "glm-5.2"] {
            let template = ChatTemplate::new(read(&format!("templates/{name}.jinja"))).unwrap();
            let rendered = template.render(&Conversation::new(vec![Message::user(&*long)]), &tokenizer).unwrap();
            assert!(rendered.text().contains(long.trim()), "{name}");
            let rendered = template.render(&Conversation::new(many.clone()), &tokenizer).unwrap();
            assert_eq!(rendered.text().matches("Hello there").count(), 1000, "{name}");
        }
    });
}
