//! The few results that README.md and docs/performance.md show.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::record::{Record, Test, What};
use super::targets::{DECODE, DEEP, EIGHT, FIRST, LLAMA_F16, LLAMA_Q4, LLAMA_Q8, PROMPT};
use crate::error::Error;

/// The machine of README's table, its instruction set and the state of its memory.
const MACHINE: &str = "AMD EPYC (family 26, model 2), AVX-512 VNNI BF16, 2 cores, 23 GB";
const SET: &str = "avx512";
const STATE: &str = "fast";

/// A row of the table in the README: the name of the model, its file, the name of the row, the test.
type Row = (&'static str, &'static str, &'static str, Test);

const ROWS: [Row; 8] = [
    ("Llama 3.2 1B, Q4_K_M", LLAMA_Q4, "decoding, tokens/s", DECODE),
    ("", LLAMA_Q4, "decoding after 4,096 tokens, tokens/s", DEEP),
    ("", LLAMA_Q4, "8 sequences together, tokens/s", EIGHT),
    ("", LLAMA_Q4, "prompt of 512 tokens, tokens/s", PROMPT),
    ("", LLAMA_Q4, "start to first token (less is better)", FIRST),
    ("", LLAMA_Q4, "peak memory (less is better)", Test::peak(2)),
    ("Llama 3.2 1B, Q8_0", LLAMA_Q8, "decoding, tokens/s", DECODE),
    ("Llama 3.2 1B, F16", LLAMA_F16, "decoding, tokens/s", DECODE),
];

/// README's table.
pub fn of_one_machine(records: &[Record]) -> Result<String, Error> {
    let mut lines = String::new();
    let mut dates = BTreeSet::new();
    for (name, model, label, test) in ROWS {
        let record = latest(records, MACHINE, SET, STATE, model, test)
            .ok_or_else(|| Error::Faults(vec![format!("no result of {model}, {test} on {MACHINE}, {SET}, {STATE}")]))?;
        dates.insert(record.date.as_str());
        let [ours, theirs] = [&record.ours, &record.theirs].map(|figure| record.show(figure.median));
        let _ = writeln!(lines, "| {name} | {label} | {ours} | {theirs} | **{:.2}** |", record.ratio);
    }
    let days = match (dates.first(), dates.last()) {
        (Some(first), Some(last)) if first != last => format!("{first} to {last}"),
        (Some(day), _) => (*day).to_owned(),
        _ => String::new(),
    };
    Ok(format!(
        "{MACHINE}; 2 threads, memory in its fast state; {days}:\n\n\
         | model | test | Inkstone | llama.cpp | ratio |\n|---|---|---:|---:|---:|\n{lines}"
    ))
}

/// One line for each machine, instruction set and state of the memory: Inkstone's figure, and in brackets its ratio to
/// llama.cpp's.
pub fn of_all_machines(records: &[Record]) -> String {
    let kinds: BTreeSet<(&str, &str, &str)> = records
        .iter()
        .filter(|r| r.test == DECODE && r.model == LLAMA_Q4)
        .map(|r| (r.machine.as_str(), r.isa.as_str(), r.state.as_str()))
        .collect();
    let mut text =
        "| machine | set, memory | decoding | after 4,096 tokens | 8 sequences | prompt of 512 | first token |\n\
         |---|---|---:|---:|---:|---:|---:|\n"
            .to_owned();
    for (machine, isa, state) in kinds {
        let memory = if state == "any" { String::new() } else { format!(", {state}") };
        let _ = write!(text, "| {machine} | {isa}{memory} |");
        for test in [DECODE, DEEP, EIGHT, PROMPT, FIRST] {
            let found = latest(records, machine, isa, state, LLAMA_Q4, test);
            let cell = found.map(|r| format!(" {} ({:.2})", r.show(r.ours.median), r.ratio)).unwrap_or_default();
            let _ = write!(text, "{cell} |");
        }
        text.push('\n');
    }
    text
}

/// The latest result against llama.cpp in this state of the memory, or where the state does not matter. Fresh processes
/// are held against llama.cpp's library, which starts faster than its program.
fn latest<'r>(
    records: &'r [Record],
    machine: &str,
    isa: &str,
    state: &str,
    model: &str,
    test: Test,
) -> Option<&'r Record> {
    let fits = |r: &&Record| {
        let fresh = matches!(test.what, What::First | What::Peak);
        let alike = r.machine == machine && r.isa == isa && r.model == model && r.test == test && r.numerics.is_none();
        let same_memory = r.state == state || r.state == "any";
        alike && same_memory && !r.aside && r.peer.starts_with("llama.cpp") && (!fresh || r.variant == "the library")
    };
    records.iter().rev().find(fits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::record;

    fn results() -> Vec<Record> {
        record::read(&std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..")).unwrap()
    }

    #[test]
    fn the_table_of_the_readme_has_at_most_eight_rows() {
        let table = of_one_machine(&results()).unwrap();
        let rows = table.lines().filter(|l| l.starts_with("| ")).count() - 1;
        assert_eq!(rows, ROWS.len());
        assert!(rows <= 8);
    }

    #[test]
    fn a_result_that_is_gone_is_an_error_that_names_it() {
        let mut records = results();
        records.retain(|r| !(r.machine == MACHINE && r.test == DEEP));
        let error = of_one_machine(&records).unwrap_err().to_string();
        assert!(error.contains("depth 4096") && error.contains(MACHINE), "{error}");
    }
}
