//! Reports the results: the tables of README.md and docs/performance.md, the plot, and bench/results/README.md with all
//! rows and the floors.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use super::record::{self, Record, What};
use super::targets::{Against, COLUMNS, Column, TARGETS, Verdict};
use super::{headline, plot};
use crate::block::{self, Page};
use crate::error::Error;

/// The name of the block of a page.
const BLOCK: &str = "bench";

/// Writes the pages. Returns the summary of the floors.
pub fn write(root: &Path) -> Result<String, Error> {
    let records = record::read(root)?;
    for (path, text) in pages(root, &records)? {
        fs::write(&path, text).map_err(|source| Error::File { path, source })?;
    }
    Ok(floors(&records))
}

/// All pages that are made of the results.
fn pages(root: &Path, records: &[Record]) -> Result<Vec<Page>, Error> {
    let folder = record::folder(root);
    let all = format!(
        "# Results\n\n`cargo xtask bench --report` makes this page of the records in this folder. The figures of decode and prefill are \
         medians in tokens per second, for all sequences together. *Of bandwidth* is the share of the memory bandwidth, which was \
         measured in the same second. *Of int8* is the share of the speed of the fastest integer dot product. In a row marked \
         *aside* the peer had help that it does not have by default.\n\n{}\n{}",
        table(&latest(records)),
        floors(records)
    );
    Ok(vec![
        block::replaced(root.join("README.md"), BLOCK, &headline::of_one_machine(records)?)?,
        block::replaced(root.join("docs/performance.md"), BLOCK, &headline::of_all_machines(records))?,
        (folder.join("README.md"), all),
        (folder.join("depth.svg"), plot::decode_by_depth(records)),
    ])
}

/// The latest record of each test, machine, peer and state, in the order of the first ones.
fn latest(records: &[Record]) -> Vec<&Record> {
    let mut rows: Vec<&Record> = Vec::new();
    for record in records {
        match rows.iter_mut().find(|row| is_same(row, record)) {
            Some(row) => *row = record,
            None => rows.push(record),
        }
    }
    rows.sort_by(|a, b| (&a.machine, &a.isa, &a.model).cmp(&(&b.machine, &b.isa, &b.model)));
    rows
}

fn is_same(a: &Record, b: &Record) -> bool {
    // Of fresh processes each program has a row; else the best variant is the row.
    let by_variant = matches!(a.test.what, What::First | What::Peak);
    let key = |r: &Record| (r.machine.clone(), r.set(), r.model.clone(), r.state.clone(), r.peer.clone());
    key(a) == key(b) && a.test == b.test && a.aside == b.aside && (!by_variant || a.variant == b.variant)
}

/// A heading for each machine and one line per record.
fn table(rows: &[&Record]) -> String {
    let mut text = String::new();
    let mut machine = "";
    for row in rows {
        if row.machine != machine {
            machine = &row.machine;
            let dates: Vec<&str> = rows.iter().filter(|r| r.machine == machine).map(|r| r.date.as_str()).collect();
            let (first, last) = (dates.iter().min().unwrap_or(&""), dates.iter().max().unwrap_or(&""));
            let dates = if first == last { (*last).to_owned() } else { format!("{first} to {last}") };
            let _ = writeln!(text, "{}{machine}; {dates}:\n", if text.is_empty() { "" } else { "\n" });
            let _ = writeln!(
                text,
                "| model | test | set, memory | Inkstone | peer | ratio | of bandwidth | of int8 | name of the peer: options; commit |"
            );
            let _ = writeln!(text, "|---|---|---|---|---|---|---|---|---|");
        }
        let share = |share: Option<f64>| share.map_or_else(String::new, |s| format!("{:.0}%", s * 100.0));
        let memory = if row.state == "any" { row.set() } else { format!("{}, {}", row.set(), row.state) };
        let (ours, theirs) = (row.show(row.ours.median), row.show(row.theirs.median));
        let [read, dot] = [row.share, row.dot].map(share);
        let _ = write!(text, "| {} | {} | {memory} | {ours} | {theirs} | **{:.2}** |", row.model, row.test, row.ratio);
        let aside = if row.aside { ", aside" } else { "" };
        let _ = writeln!(text, " {read} | {dot} | {}: {}{aside}; {} |", row.peer, row.variant, row.commit);
    }
    text
}

/// Each floor on each machine: met, not met, not measured.
fn floors(records: &[Record]) -> String {
    let machines: BTreeSet<&str> = records.iter().map(|r| r.machine.as_str()).collect();
    let mut text = String::new();
    for machine in machines {
        let here: Vec<Record> = records.iter().filter(|r| r.machine == machine).cloned().collect();
        if !text.is_empty() {
            text.push('\n');
        }
        floors_of(machine, &here, &mut text);
    }
    text
}

fn floors_of(machine: &str, records: &[Record], text: &mut String) {
    let columns: Vec<Column> = COLUMNS.into_iter().filter(|column| column.is_of(machine)).collect();
    let _ = write!(text, "Floors and latest results on {machine}:\n\n| model | test | compared with |");
    for column in &columns {
        let _ = write!(text, " {} |", column.name());
    }
    let _ = writeln!(text, "\n|---|---|---|{}", "---|".repeat(columns.len()));
    for target in TARGETS {
        let against = match target.against {
            Against::LlamaCpp(None) => "llama.cpp".to_owned(),
            Against::LlamaCpp(Some(variant)) => variant.to_owned(),
            Against::Own(other) => format!("Inkstone: {other}"),
            Against::Read => "memory bandwidth".to_owned(),
            Against::Dot => "integer dot product".to_owned(),
            Against::Allowed => "file, cache and 10% more".to_owned(),
        };
        let _ = write!(text, "| {} | {} | {against} |", target.model, target.test);
        let sign = if target.is_most() { "<=" } else { ">=" };
        for &column in &columns {
            let _ = match (target.floor(column), target.verdict(column, records)) {
                (None, _) => write!(text, " |"),
                (Some(floor), Verdict::NotMeasured) => write!(text, " {sign} {floor}: not measured |"),
                (Some(floor), Verdict::Met(value)) => write!(text, " {sign} {floor}: met, {value:.2} |"),
                (Some(floor), Verdict::NotMet(value)) => write!(text, " {sign} {floor}: **not met**, {value:.2} |"),
            };
        }
        text.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pages_are_what_the_results_come_to() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let records = record::read(&root).unwrap();
        for (path, text) in pages(&root, &records).unwrap() {
            let found = fs::read_to_string(&path).unwrap_or_default();
            assert_eq!(found, text, "{}: write it with cargo xtask bench --report", path.display());
        }
    }
}
