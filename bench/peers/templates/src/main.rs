//! A template engine behind a line protocol of `cargo xtask bench templates` (bench/README.md): Inkstone's or minijinja. One thread.

mod memory;
mod ours;
mod peer;

use std::error::Error;
use std::fs;
use std::io::{BufRead, Write, stdin, stdout};
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// The clock that templates see: 2026-08-01, midnight in UTC, as in the golden data.
const NOW: i64 = 1_785_542_400;

/// Tokens that templates may write, as in the golden data.
const TOKENS: [(&str, &str); 4] =
    [("bos_token", "<s>"), ("eos_token", "</s>"), ("unk_token", "<unk>"), ("pad_token", "")];

/// An engine with one template, parsed.
trait Engine {
    /// Parses the source once more.
    fn parse(&self) -> Result<()>;

    /// The prompt of these messages, whose answer comes next.
    fn render(&self, messages: &[Value]) -> Result<String>;
}

/// A message as transformers hands it to a template: without nulls, its reasoning under all three names.
fn seen(message: Map<String, Value>) -> Map<String, Value> {
    let mut fields: Map<String, Value> = message.into_iter().filter(|(_, value)| !value.is_null()).collect();
    let names = ["reasoning_content", "thinking", "reasoning"];
    let Some(reasoning) = names.iter().find_map(|name| fields.get(*name)).cloned() else { return fields };
    fields.entry("thinking").or_insert_with(|| reasoning.clone());
    fields.insert("reasoning_content".into(), reasoning);
    fields
}

/// Does it as often as fits into so many milliseconds, once at least.
fn timed<T>(milliseconds: u64, mut once: impl FnMut() -> Result<T>) -> Result<Value> {
    let (start, limit) = (Instant::now(), Duration::from_millis(milliseconds));
    let mut times = 0;
    while times == 0 || start.elapsed() < limit {
        once()?;
        times += 1;
    }
    Ok(json!({"times": times, "ns": start.elapsed().as_nanos() as u64}))
}

fn answer(engine: &dyn Engine, messages: &[Value], line: &str) -> Result<Value> {
    let (name, number) = line.split_once(' ').unwrap_or((line, "0"));
    let milliseconds = number.trim().parse()?;
    match name {
        "text" => Ok(match engine.render(messages) {
            Ok(text) => json!({"text": text}),
            Err(error) => json!({"failed": error.to_string()}),
        }),
        "render" => timed(milliseconds, || engine.render(messages)),
        "parse" => timed(milliseconds, || engine.parse()),
        "peak" => Ok(json!({"peak_bytes": memory::most_of(|| engine.render(messages))?})),
        _ => Err("unknown".into()),
    }
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [engine, template, messages] = &arguments[..] else {
        return Err("usage: bench-templates ours|minijinja TEMPLATE.jinja MESSAGES.json".into());
    };
    let source = fs::read_to_string(template)?;
    let messages: Vec<Map<String, Value>> = serde_json::from_str(&fs::read_to_string(messages)?)?;
    let messages: Vec<Value> = messages.into_iter().map(seen).map(Value::Object).collect();
    let engine: Box<dyn Engine + '_> = match engine.as_str() {
        "ours" => Box::new(ours::Ours::new(&source)?),
        "minijinja" => Box::new(peer::Minijinja::new(&source)?),
        other => return Err(format!("{other}: neither ours nor minijinja").into()),
    };
    println!("{{}}");
    stdout().flush()?;
    for line in stdin().lock().lines() {
        let line = line?;
        if line == "quit" {
            break;
        }
        let answer = answer(&*engine, &messages, &line).unwrap_or_else(|e| json!({"error": format!("{line}: {e}")}));
        println!("{answer}");
        stdout().flush()?;
    }
    Ok(())
}
