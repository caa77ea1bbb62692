//! Tables of the documentation are what the code has: architectures and formats out of their registries.

use inkstone::arch;
use inkstone::tensor::{DTYPES, DTypeInfo};
use inkstone_tests::page_holds;
use std::fmt::Write;

/// Published models of each architecture, for people who know a model by its name.
const MODELS: &[(&str, &str)] = &[
    ("llama", "Llama 2, 3, 3.1 and 3.2, Mistral 7B, TinyLlama, SmolLM2"),
    ("qwen2", "Qwen2, Qwen2.5, DeepSeek-R1-Distill-Qwen"),
    ("qwen3", "Qwen3 without experts"),
    ("gpt2", "GPT-2"),
    ("gemma3", "Gemma 3 (text), 270M to 27B"),
];

/// Formats that a file can have and engines compute with, by kind.
fn formats() -> Vec<(&'static str, Vec<&'static DTypeInfo>)> {
    let kind = |i: &DTypeInfo| match i.name {
        _ if i.block == 1 => "floats",
        name if name.ends_with("_K") => "K-quants",
        name if name.starts_with("IQ") => "I-quants",
        name if name.starts_with('Q') => "blocks of 32",
        _ => "others",
    };
    let mut rows: Vec<(&str, Vec<&DTypeInfo>)> = Vec::new();
    for info in DTYPES.iter().filter(|i| i.gguf.is_some() && i.decode.is_some()) {
        match rows.iter_mut().find(|(k, _)| *k == kind(info)) {
            Some((_, formats)) => formats.push(info),
            None => rows.push((kind(info), vec![info])),
        }
    }
    rows
}

/// One line for each architecture, one column for each kind of format. Engines compute with every format of every architecture.
fn architectures() -> String {
    let kinds = formats();
    let names = |formats: &[&DTypeInfo]| formats.iter().map(|i| i.name).collect::<Vec<_>>().join(", ");
    let heads: Vec<String> = kinds.iter().map(|(_, formats)| names(formats)).collect();
    let mut text = format!("| architecture | {} |\n|---|{}\n", heads.join(" | "), "---|".repeat(kinds.len()));
    for name in arch::architectures() {
        let models = MODELS.iter().find(|(known, _)| *known == name).expect("models of each architecture are named").1;
        writeln!(text, "| `{name}`: {models} |{}", " yes |".repeat(kinds.len())).expect("text takes text");
    }
    text
}

/// Bits per weight, scales included.
fn bits() -> String {
    let mut text = "| kind | bits per weight |\n|---|---|\n".to_owned();
    for (kind, formats) in formats() {
        let bits = |i: &&DTypeInfo| format!("{} {:.4}", i.name, i.block_bytes as f64 * 8.0 / i.block as f64);
        let bits: Vec<String> =
            formats.iter().map(|i| bits(i).trim_end_matches('0').trim_end_matches('.').to_owned()).collect();
        writeln!(text, "| {kind} | {} |", bits.join(", ")).expect("text takes text");
    }
    text
}

#[test]
fn the_table_of_the_readme_is_what_runs() {
    page_holds("README.md", "table", &architectures());
}

#[test]
fn the_formats_of_the_page_on_models_are_what_runs() {
    page_holds("docs/models.md", "formats", &bits());
}
