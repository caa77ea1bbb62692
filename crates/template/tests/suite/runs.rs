//! Origins against an oracle: what is rendered again with all letters of the conversation moved to another plane shows where
//! each of them comes out.

use crate::common::{NOW, read, rows, seen};
use inkstone_template::{Error, Given, Limits, Origin, Output, Renderer, Template};
use serde_json::{Value, json};

/// Letters of the conversation become letters that no template has, without case.
const PLANE: u32 = 0x2_A700;

fn moved(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_alphabetic() { char::from_u32(PLANE + c as u32).unwrap() } else { c }).collect()
}

fn moved_back(text: &str) -> String {
    let back = |c: char| (c as u32).checked_sub(PLANE).and_then(char::from_u32).unwrap_or(c);
    text.chars().map(back).collect()
}

/// Roles and types are what templates ask for, so they are the template's here, as keys are.
fn given(renderer: &Renderer, value: &Value, of_input: bool, moves: bool) -> Result<Given, Error> {
    Ok(match value {
        Value::Null => Given::none(),
        Value::Bool(truth) => (*truth).into(),
        Value::Number(n) => n.as_i64().map_or_else(|| n.as_f64().unwrap().into(), Given::from),
        Value::String(text) if of_input && moves => renderer.text(&moved(text), Origin::Input)?,
        Value::String(text) => renderer.text(text, if of_input { Origin::Input } else { Origin::Template })?,
        Value::Array(values) => {
            let values = values.iter().map(|value| given(renderer, value, of_input, moves));
            renderer.list(values.collect::<Result<_, _>>()?)?
        }
        Value::Object(fields) => {
            let mut pairs = Vec::new();
            for (key, value) in fields {
                let value = given(renderer, value, of_input && !matches!(&**key, "role" | "type"), moves)?;
                pairs.push((renderer.text(key, Origin::Template)?, value));
            }
            renderer.dict(pairs.into_iter())?
        }
    })
}

fn rendered(template: &Template, messages: &Value, tools: &Value, moves: bool) -> Result<Output, Error> {
    let limits = Limits { steps: 1 << 40, ..Limits::default() };
    let mut renderer = template.renderer(&limits);
    renderer.now(NOW);
    let messages: Vec<Value> = messages.as_array().into_iter().flatten().map(seen).collect();
    let messages = given(&renderer, &messages.into(), true, moves)?;
    renderer.set("messages", messages);
    let tools = given(&renderer, tools, true, moves)?;
    renderer.set("tools", tools);
    renderer.set("add_generation_prompt", true.into());
    for (name, token) in [("bos_token", "<s>"), ("eos_token", "</s>"), ("unk_token", "<unk>"), ("pad_token", "")] {
        let token = renderer.text(token, Origin::Template)?;
        renderer.set(name, token);
    }
    renderer.render()
}

/// The characters of an output, each with its origin.
fn characters(output: &Output) -> Vec<(char, Origin)> {
    let run = |(range, origin): &(std::ops::Range<usize>, Origin)| {
        output.text[range.clone()].chars().map(|c| (c, *origin)).collect::<Vec<_>>()
    };
    output.runs.iter().flat_map(run).collect()
}

/// Gives whether the template does with moved letters what it does with others, so that they show anything, and shows some.
fn origins_are_right(source: &str, messages: &Value, tools: &Value) -> bool {
    let Ok(template) = Template::new(source) else { return false };
    let plain = rendered(&template, messages, tools, false);
    let (Ok(plain), Ok(other)) = (plain, rendered(&template, messages, tools, true)) else { return false };
    if moved_back(&other.text) != plain.text {
        return false;
    }
    let mut shown = false;
    for (i, (plain, other)) in characters(&plain).iter().zip(characters(&other)).enumerate() {
        if !plain.0.is_ascii_alphabetic() {
            continue;
        }
        let origin = if other.0 == plain.0 { Origin::Template } else { Origin::Input };
        shown |= origin == Origin::Input;
        assert_eq!((plain.1, other.1), (origin, origin), "character {i}, {:?}, of {source:?}", plain.0);
    }
    shown
}

#[test]
fn input_is_what_comes_from_the_conversation() {
    for (file, at_least) in [("small.jsonl", 10), ("random.jsonl", 100), ("found.jsonl", 100)] {
        let rows = rows(file);
        let contexts = &rows[0]["contexts"];
        let mut shown = 0;
        for row in rows.iter().filter(|row| row.get("template").is_some()) {
            let messages = row["on"].as_str().map_or(&row["messages"], |name| &contexts[name]);
            let tools = row.get("tools").cloned().unwrap_or_default();
            shown += usize::from(origins_are_right(row["template"].as_str().unwrap(), messages, &tools));
        }
        assert!(shown >= at_least, "{file}: {shown}");
    }
}

#[test]
fn input_is_what_comes_from_the_conversation_in_published_templates() {
    let data: Value = serde_json::from_str(&read("conversations.json")).unwrap();
    let folder = crate::common::folder().join("templates");
    let mut shown = 0;
    for file in std::fs::read_dir(folder).unwrap() {
        let source = std::fs::read_to_string(file.unwrap().path()).unwrap();
        for messages in data["conversations"].as_object().unwrap().values() {
            for tools in [&Value::Null, &data["tools"]] {
                shown += usize::from(origins_are_right(&source, messages, tools));
            }
        }
    }
    assert!(shown > 500, "{shown}");
}

/// Each operation that makes a text of texts, on texts of both origins.
#[test]
fn operations_keep_origins() {
    let messages = json!([{"role": "user", "content": "abc def, ghi <j> \"k\"\nlmn abc", "list": ["op", "qr", "st"]}]);
    for operation in [
        "c",
        "c ~ 'x'",
        "'x' + c",
        "c * 3",
        "('x' ~ c) * 3",
        "c[1:]",
        "c[::-1]",
        "c[::2]",
        "c[4]",
        "(c ~ 'xy')[5:]",
        "l | join(', x ')",
        "', x '.join(l)",
        "c.join(['x', 'y'])",
        "l | join(c)",
        "c | replace(',', 'x')",
        "c.replace(',', 'xyz')",
        "c.replace('', 'x')",
        "'xbx' | replace('x', c)",
        "'x' | replace('x', c, 1)",
        "c | tojson",
        "l | tojson",
        "messages | tojson",
        "messages | tojson(indent=2)",
        "{'x': c} | tojson",
        "l | string",
        "messages | string",
        "[c, ('x', c)]",
        "{c: 'x'}",
        "'%s x %s' % (c, c)",
        "'%-40sx' % c",
        "'%40sx' % c",
        "'%.5sx' % c",
        "'%r' % l",
        "'{} x {}'.format(c, c)",
        "'{:>40}x'.format(c)",
        "'{:.5}'.format(c)",
        "'{!r}'.format(l)",
        "'x%s' | format(c)",
        "c | center(60)",
        "c.center(60, 'x')",
        "c.ljust(60, 'x')",
        "c.rjust(60, 'x')",
        "c.zfill(60)",
        "c.expandtabs()",
        "c | indent(2, first=true)",
        "c | indent('xx')",
        "c | wordwrap(5, wrapstring='x')",
        "c | truncate(9, end='xx')",
        "c | truncate(9, true)",
        "c | trim",
        "c.strip()",
        "c.strip('xyz ')",
        "c.split() | join('x')",
        "c.split(',') | join('x')",
        "c.rsplit(',', 1) | join('x')",
        "c.splitlines() | join('x')",
        "c.partition(',') | join('x')",
        "c.rpartition(',') | join('x')",
        "c | e",
        "('x' ~ c) | forceescape",
        "c | safe",
        "c | list | join('x')",
        "c | reverse",
        "c | batch(3) | map('join') | join('x')",
        "c | striptags",
        "{'x': c} | xmlattr",
        "{'x': c} | items | list",
        "[c, 'A'] | sort | join",
        "[c, 'x'] | unique | join",
        "[c, 'x'] | map('replace', 'x', 'y') | join",
        "c if c else 'x'",
        "c or 'x'",
        "nothing | default(c)",
        "c.removeprefix('x')",
        "c.removesuffix('x')",
        "cycler(c, 'x').next()",
        "(c, 'x') | first",
        "('x', c) | last",
        "[{'x': c}] | groupby('x')",
        "namespace(x=c)",
        "[c, 'A'] | max",
        "messages[0].items() | list",
        "messages[0].values() | list",
        "dict(x=c)",
        "joiner(c).sep",
    ] {
        let start = "{% set c = messages[0].content %}{% set l = messages[0].list %}";
        for source in [
            format!("{start}{{{{ {operation} }}}}"),
            format!("{start}{{% set x %}}a{{{{ {operation} }}}}b{{% endset %}}{{{{ x }}}}"),
            format!("{start}{{% macro m(a) %}}a{{{{ a }}}}{{% endmacro %}}{{{{ m({operation}) }}}}"),
            format!("{start}{{% filter replace('y', 'z') %}}x{{{{ {operation} }}}}y{{% endfilter %}}"),
            format!("{start}{{% generation %}}a{{{{ {operation} }}}}{{% endgeneration %}}"),
        ] {
            assert!(origins_are_right(&source, &messages, &Value::Null), "nothing is shown by {source}");
        }
    }
}
