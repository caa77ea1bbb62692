//! Chat templates that make much of little. One test, in a binary of its own, because it looks at what the process has
//! taken at most.

use inkstone_gguf::Metadata;
use inkstone_text::{ChatTemplate, Conversation, Error, MAX_MEMORY, Message, Tokenizer};
use std::time::{Duration, Instant};

fn render(source: &str, text: &str) -> Result<String, Error> {
    let mut metadata = Metadata::new();
    metadata.insert("tokenizer.ggml.model", "gpt2");
    metadata.insert("tokenizer.ggml.pre", "gpt-2");
    metadata.insert("tokenizer.ggml.tokens", vec!["a"]);
    metadata.insert("tokenizer.ggml.merges", Vec::<String>::new());
    let conversation = Conversation::new(vec![Message::user(text)]);
    let rendered = ChatTemplate::new(source)?.render(&conversation, &Tokenizer::from_metadata(&metadata).unwrap())?;
    Ok(rendered.text().to_string())
}

/// Bytes of memory that this process has had at most; `None` where the system does not tell.
fn peak() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<usize>().ok()? << 10)
}

/// Each would take gigabytes, or all there is.
const BOMBS: &[&str] = &[
    "{% set ns = namespace(x='ab') %}{% for i in range(40) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}{{ ns.x | length }}",
    "{% set ns = namespace(x='ab') %}{% for i in range(40) %}{% set ns.x = ns.x + ns.x %}{% endfor %}{{ ns.x | length }}",
    "{% set ns = namespace(x=[1]) %}{% for i in range(40) %}{% set ns.x = ns.x + ns.x %}{% endfor %}{{ ns.x | join }}",
    "{% set ns = namespace(x=[1]) %}{% for i in range(40) %}{% set ns.x = ns.x[0:] + ns.x[0:] %}{% endfor %}{{ ns.x | list }}",
    "{% set ns = namespace(x=[1]) %}{% for i in range(40) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ ns.x | string }}",
    "{% set ns = namespace(x=[1]) %}{% for i in range(40) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ ns.x ~ '' }}",
    "{% set ns = namespace(x={}) %}{% for i in range(40) %}{% set ns.x = {'a': ns.x, 'b': ns.x} %}{% endfor %}{{ ns.x }}",
    "{% set ns = namespace(x={}) %}{% for i in range(40) %}{% set ns.x = dict(a=ns.x, b=ns.x) %}{% endfor %}{{ ns.x }}",
    "{% set ns = namespace(x='') %}{% for i in range(40) %}{% set ns.x %}{{ ns.x }}a{{ ns.x }}{% endset %}{% endfor %}",
    "{% set x %}{% for i in range(99999) %}RAW{% endfor %}{% endset %}",
    "{% set a = [1] %}LISTS{{ a | string }}",
    "{% set a = [1] %}MAPS{{ a ~ '' }}",
    "{% set a = 'a' %}TEXTS{{ a | length }}",
    "{% macro m(x) %}{{ x }}{{ x }}{% endmacro %}{% set ns = namespace(x='a') %}{% for i in range(40) %}{% set ns.x = m(ns.x) %}{% endfor %}",
    "{% set x %}{% for i in range(99999) %}{{ messages[0].content }}{% endfor %}{% endset %}",
    "{{ 'a' * 10 ** 8 }}",
    "{{ ('a' * 10 ** 8) | length }}",
    "{{ ([1] * 10 ** 8) | length }}",
    "{{ ([1] * 10 ** 8) | join }}",
    "{{ 'a\\nb' | indent(10 ** 9) }}",
    "{{ 'a\\nb' | indent(width=10 ** 9) }}",
    "{{ ('\\n' * 10 ** 6) | indent(10 ** 6) }}",
    "{{ '%0999999999d' | format(1) }}",
    "{{ '%*d' | format(999999999, 1) }}",
    "{{ '%.999999999f' | format(1.5) }}",
    "{{ '{:0999999999d}'.format(1) }}",
    "{{ ('{0}' * 10 ** 6).format(messages[0].content) }}",
    "{{ ('a' * 10 ** 6).replace('', 'b' * 10 ** 6) }}",
    "{{ ('a' * 10 ** 6) | replace('', 'b' * 10 ** 6) }}",
    "{{ ('a' * 10 ** 6).replace('a', 'b' * 10 ** 6) }}",
    "{{ ([''] * 10 ** 5) | join('b' * 10 ** 6) }}",
    "{{ ('b' * 10 ** 6).join([''] * 10 ** 5) }}",
    "{{ ['a'] | map('replace', '', 'b' * 10 ** 7) | map('replace', '', 'b' * 10 ** 7) | list }}",
    "{{ [1] | batch(10 ** 9, 'x') }}",
    "{{ [1] | slice(10 ** 9, 'x') }}",
    "{{ ([1] * 10 ** 5) | tojson(separators=['b' * 10 ** 6, ':']) }}",
    "{% set ns = namespace() %}{% set l = [ns] %}{% set ns.x = 'b' * 10 ** 6 %}{{ l * 1000 }}",
    "{% set ns = namespace(a=namespace()) %}{{ ns }}",
    "{% set ns = namespace() %}{% set ns.x = ns %}{{ ns }}",
    "{% set ns = namespace() %}{% set ns.x = [ns] %}{{ ns }}",
    "{% set f = namespace %}{% set ns = f() %}{{ f(a=ns) }}",
    "{{ [*range(99999), *range(99999)] }}",
    "{{ dict(*[1]) }}",
    "{% set ns = namespace(x=messages) %}{% for i in range(40) %}{% set ns.x = ns.x | list + ns.x | list %}{% endfor %}",
    "{% for i in range(100000) %}{% set x = messages[0].content | upper %}{% endfor %}",
    "{% for i in range(100000) %}{{ messages[0].content }}{% endfor %}",
    "{% set f = '%B' * 10 ** 6 %}{% for i in range(999) %}{% set x = strftime_now(f) %}{% endfor %}",
    "{{ strftime_now('%c' * 10 ** 6) }}",
    "{% set ns = namespace() %}{% set ns.x = ns %}{{ ns ~ '' }}",
    "{{ ('x ' * 10 ** 7) | split | length }}",
    "{{ ('x ' * 10 ** 7).split() | length }}",
    "{{ ('x ' * 10 ** 7).split('x') | length }}",
    "{{ ('x\n' * 10 ** 7).splitlines() | length }}",
    "{{ ('x\n' * 10 ** 7) | lines | length }}",
    "{{ ('x' * 10 ** 7) | list | length }}",
    "{{ ('x' * 10 ** 7) | sort | length }}",
    "{{ ('x' * 10 ** 7) | unique | length }}",
    "{{ ('x' * 10 ** 7) | map('upper') | list | length }}",
    "{{ ('x' * 10 ** 7) | select | list | length }}",
    "{{ ('x' * 10 ** 7) | batch(1) | list | length }}",
    "{{ ('x' * 10 ** 7) | slice(1) | list | length }}",
    "{{ ('x' * 10 ** 7) | zip(['x' * 10 ** 7]) | list | length }}",
    "{{ [1] | chain('x' * 10 ** 7) | list | length }}",
    "{{ ('x' * 10 ** 7) | groupby('a') | list | length }}",
    "{{ ('x' * 3 * 10 ** 7) | reverse | tojson | length }}",
    "{{ ('\x01' * 10 ** 7) | tojson | length }}",
    "{{ ['\x01' * 10 ** 7] | string | length }}",
    "{{ ['x' * 10 ** 7] | pprint | pprint | pprint | length }}",
    "{% autoescape true %}{% set x %}{{ '<' * 10 ** 7 }}{% endset %}{{ x ~ x }}{% endautoescape %}",
    "{{ ('x' * 10 ** 7) - 1 }}",
    "{{ ('x' * 10 ** 7) | join('é' * 10 ** 6) }}",
];

/// What stands for a part that is repeated.
const PARTS: &[(&str, &str, usize)] = &[
    ("RAW", "raw ", 1000),
    ("LISTS", "{% set a = [a, a] %}", 40),
    ("MAPS", "{% set a = {'x': a, 'y': a} %}", 40),
    ("TEXTS", "{% set a = a ~ a %}", 40),
];

#[test]
fn d03_what_would_take_all_memory_is_refused() {
    let text = "x".repeat(1 << 20);
    let Some(before) = peak() else {
        println!("not present: the peak of memory of a process");
        return;
    };
    for source in BOMBS {
        let start = Instant::now();
        let source = PARTS.iter().fold((*source).to_string(), |s, (name, part, n)| s.replace(name, &part.repeat(*n)));
        let result = render(&source, &text);
        let taken = peak().unwrap_or_default() - before;
        let error = match result {
            Ok(text) => panic!("{source}: {} bytes", text.len()),
            Err(error) => error.to_string(),
        };
        assert!(error.len() < 2000, "{source}: {} bytes of message", error.len());
        assert!(taken < 8 * MAX_MEMORY, "{source}: {taken} bytes");
        assert!(start.elapsed() < Duration::from_secs(30), "{source}: {:?}", start.elapsed());
    }
}
