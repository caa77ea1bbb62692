//! The table in the README is what the code has: architectures, formats and engines out of their registries.

use inkstone::tensor::{DTYPES, DTypeInfo};
use inkstone::{arch, engines};
use std::fmt::Write;
use std::path::Path;

const BEGIN: &str = "<!-- table: begin -->\n";
const END: &str = "<!-- table: end -->";
/// Set: the README is written, not compared.
const BLESS: &str = "INKSTONE_BLESS";

/// Formats that a file can have and engines compute with, in rows of one kind each.
fn formats() -> Vec<(&'static str, Vec<&'static str>)> {
    let kind = |i: &DTypeInfo| match i.name {
        _ if i.block == 1 => "plain",
        name if name.ends_with("_K") => "K-quants",
        name if name.starts_with("IQ") => "I-quants",
        name if name.starts_with('Q') => "blocks of 32",
        _ => "others",
    };
    let mut rows: Vec<(&str, Vec<&str>)> = Vec::new();
    for info in DTYPES.iter().filter(|i| i.gguf.is_some() && i.decode.is_some()) {
        match rows.iter_mut().find(|(k, _)| *k == kind(info)) {
            Some((_, names)) => names.push(info.name),
            None => rows.push((kind(info), vec![info.name])),
        }
    }
    rows
}

/// One line for each architecture and kind of format, one column for each engine.
fn table() -> String {
    let engines = engines::names();
    let mut text =
        format!("| architecture | weights | {} |\n|---|---|{}\n", engines.join(" | "), "---|".repeat(engines.len()));
    for architecture in arch::architectures() {
        for (kind, names) in formats() {
            let yes = " yes |".repeat(engines.len());
            writeln!(text, "| {architecture} | {kind}: {} |{yes}", names.join(", ")).expect("text takes text");
        }
    }
    text
}

#[test]
fn the_table_of_the_readme_is_what_runs() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../README.md");
    let readme = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = readme.split_once(BEGIN).expect("the README has the begin of the table");
    let (found, after) = rest.split_once(END).expect("the README has the end of the table");
    let wanted = table();
    if found == wanted {
        return;
    }
    assert!(std::env::var_os(BLESS).is_some(), "the table is (write it with {BLESS}=1):\n{wanted}");
    std::fs::write(&path, format!("{before}{BEGIN}{wanted}{END}{after}")).unwrap();
}
