//! Conditions for any chat template and any conversation. The fuzz targets and the test that replays their corpus share
//! them.

use inkstone_template::{Error, Given, Limits, Origin, Output, Renderer, Template};

/// Small, so that many inputs are tried.
fn limits() -> Limits {
    Limits { steps: 30_000, memory: 1 << 20, output: 1 << 18, ..Limits::default() }
}

/// Parses any text. Returns whether it is a template.
pub fn check_parse(bytes: &[u8]) -> bool {
    let source = String::from_utf8_lossy(bytes);
    match Template::new(&source) {
        Ok(_) => true,
        Err(error) => {
            has_a_place(&error, &source);
            false
        }
    }
}

/// Renders a template with a conversation. The bytes are the source, then the role and the content of each message, with NUL
/// between them. Returns whether the template wrote something.
pub fn check(bytes: &[u8]) -> bool {
    let whole = String::from_utf8_lossy(bytes);
    let mut parts = whole.split('\0');
    let source = parts.next().unwrap_or_default();
    let texts: Vec<&str> = parts.collect();
    let template = match Template::new(source) {
        Ok(template) => template,
        Err(error) => {
            has_a_place(&error, source);
            return false;
        }
    };
    let (first, second) = (render(&template, &texts), render(&template, &texts));
    assert_eq!(first, second, "twice the same gives the same");
    match first {
        Ok(output) => {
            is_whole(&output);
            true
        }
        Err(error) => {
            has_a_place(&error, source);
            false
        }
    }
}

fn render(template: &Template, texts: &[&str]) -> Result<Output, Error> {
    let mut renderer = template.renderer(&limits());
    renderer.now(1_785_542_400);
    let messages = texts.chunks(2).enumerate().map(|(i, texts)| message(&renderer, i, texts));
    let messages = messages.collect::<Result<_, _>>()?;
    let messages = renderer.list(messages)?;
    renderer.set("messages", messages);
    renderer.set("add_generation_prompt", true.into());
    for (name, token) in [("bos_token", "<s>"), ("eos_token", "</s>")] {
        let token = renderer.text(token, Origin::Template)?;
        renderer.set(name, token);
    }
    renderer.render()
}

fn dict(renderer: &Renderer, pairs: Vec<(&str, Given)>) -> Result<Given, Error> {
    let key = |(key, value)| Ok((renderer.text(key, Origin::Template)?, value));
    let pairs = pairs.into_iter().map(key).collect::<Result<Vec<_>, Error>>()?;
    renderer.dict(pairs.into_iter())
}

/// A message; each third message also has a call of a tool.
fn message(renderer: &Renderer, i: usize, texts: &[&str]) -> Result<Given, Error> {
    let text = |i: usize| renderer.text(texts.get(i).copied().unwrap_or_default(), Origin::Input);
    let mut pairs = vec![("role", text(0)?), ("content", text(1)?)];
    if i % 3 == 1 {
        let values = renderer.list(vec![Given::none(), true.into(), 1.5.into(), (-7_i64).into()])?;
        let arguments = dict(renderer, vec![("text", text(1)?), ("values", values)])?;
        let function = dict(renderer, vec![("name", text(0)?), ("arguments", arguments)])?;
        let call = dict(renderer, vec![("type", text(0)?), ("function", function)])?;
        pairs.push(("tool_calls", renderer.list(vec![call])?));
    }
    dict(renderer, pairs)
}

/// The place is in the source, and the text of the error is bounded.
fn has_a_place(error: &Error, source: &str) {
    // CR LF and CR are also line ends.
    let lines = source.replace("\r\n", "\n").replace('\r', "\n");
    let line = lines.split('\n').nth(error.line() - 1).expect("the line is there");
    assert!((1..=line.chars().count() + 1).contains(&error.column()), "{error}");
    assert!(error.to_string().len() < 16_384);
    assert!(!error.summary().is_empty());
}

/// Runs cover the text in turns, and all is within the limits.
fn is_whole(output: &Output) {
    let Output { text, runs, generated, .. } = output;
    let mut end = 0;
    for (i, (run, origin)) in runs.iter().enumerate() {
        assert!(run.start == end && run.end > end, "{runs:?}");
        assert!(text.is_char_boundary(run.start) && text.is_char_boundary(run.end), "{runs:?}");
        assert!(i == 0 || runs[i - 1].1 != *origin, "{runs:?}");
        end = run.end;
    }
    assert_eq!(end, text.len());
    let mut last = 0;
    for range in generated {
        assert!(last <= range.start && range.start <= range.end && range.end <= text.len(), "{generated:?}");
        assert!(text.get(range.clone()).is_some());
        last = range.start;
    }
    let limits = limits();
    assert!(output.steps <= limits.steps && output.peak_bytes <= limits.memory && text.len() <= limits.output);
    assert_eq!(output.charged_bytes, 0, "all is given back");
}
