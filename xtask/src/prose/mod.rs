//! Plain English in documents, comments and messages: the constructions of a table may occur once per 1,000 words.
//!
//! The rule is that every sentence names its subject with a noun of the field and says with a verb of the field what it does. A
//! regular expression can't see that, but it finds the constructions that sentences have where they don't.

mod expressions;
mod groups;
mod paragraphs;
mod rust;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::error::Error;
use crate::workspace::Workspace;
use expressions::{Checker, EXPRESSIONS, Expression};
use groups::{Group, Limit};

/// Lines of a group that has too many findings that are shown.
const SHOWN: usize = 10;

/// A line with findings.
struct Line {
    path: PathBuf,
    number: usize,
    text: String,
    found: Vec<&'static Expression>,
}

/// Words and findings of some files.
#[derive(Default)]
struct Count {
    words: usize,
    lines: Vec<Line>,
}

impl Count {
    fn add(&mut self, checker: &Checker, path: &Path, text: &str) {
        let first = self.lines.len();
        let shown: Vec<&str> = text.lines().collect();
        for paragraph in paragraphs::of_file(path, text) {
            self.words += paragraph.words();
            for (offset, expression) in checker.find(&paragraph.text) {
                let number = paragraph.line(offset);
                if let Some(line) = self.lines[first..].iter_mut().find(|line| line.number == number) {
                    line.found.push(expression);
                } else {
                    let text = shown.get(number - 1).map_or("", |line| line.trim()).to_owned();
                    self.lines.push(Line { path: path.to_owned(), number, text, found: vec![expression] });
                }
            }
        }
    }

    fn of(checker: &Checker, files: &[PathBuf]) -> Result<Self, Error> {
        let mut count = Self::default();
        for path in files {
            let text = std::fs::read(path).map_err(|source| Error::File { path: path.clone(), source })?;
            count.add(checker, path, &String::from_utf8_lossy(&text));
        }
        Ok(count)
    }

    fn findings(&self) -> usize {
        self.lines.iter().map(|line| line.found.len()).sum()
    }

    /// Findings per 1,000 words.
    fn rate(&self) -> f64 {
        1000.0 * self.findings() as f64 / self.words.max(1) as f64
    }

    /// The lines with the most findings first, at most `most`, as `PATH:NUMBER: NAMES: TEXT`.
    fn worst(&self, root: &Path, most: usize) -> Vec<String> {
        let mut lines: Vec<&Line> = self.lines.iter().collect();
        lines.sort_by_key(|line| std::cmp::Reverse(line.found.len()));
        let shown = |line: &&Line| {
            let names: Vec<&str> = line.found.iter().map(|e| e.name).collect();
            let path = line.path.strip_prefix(root).unwrap_or(&line.path).display();
            format!("{path}:{}: {}: {}", line.number, names.join("; "), line.text)
        };
        lines.iter().take(most).map(shown).collect()
    }
}

/// The groups that break the rule, as faults, and notes about rows of the table that can be lowered.
pub fn check(workspace: &Workspace) -> Result<Vec<String>, Error> {
    let groups = groups::all(workspace)?;
    let checker = Checker::new()?;
    let mut faults: Vec<String> = groups::unknown(&groups)
        .iter()
        .map(|name| format!("{name} has a row in xtask/src/prose/groups.rs but is not in the workspace"))
        .collect();
    let mut notes = Vec::new();
    for group in &groups {
        let count = Count::of(&checker, &group.files)?;
        match verdict(group, &count) {
            Verdict::Kept => {}
            Verdict::Lower(note) => notes.push(note),
            Verdict::Broken(fault) => {
                faults.push(fault);
                faults.extend(count.worst(workspace.root(), SHOWN));
            }
        }
    }
    if !faults.is_empty() {
        faults.push("instead of the one write the other:".to_owned());
        faults.extend(EXPRESSIONS.iter().map(|e| format!("  {:<28} {}  ->  {}", e.name, e.bad, e.good)));
    }
    Error::from_faults(faults).map(|()| notes)
}

enum Verdict {
    Kept,
    /// The count fell below its row.
    Lower(String),
    Broken(String),
}

fn verdict(group: &Group, count: &Count) -> Verdict {
    let (name, findings, words, rate) = (&group.name, count.findings(), count.words, count.rate());
    match group.limit {
        Limit::Rule if rate > 1.0 => {
            Verdict::Broken(format!("{name}: {findings} findings in {words} words, at most 1 per 1,000 is allowed:"))
        }
        Limit::Before(most) if findings > most => {
            Verdict::Broken(format!("{name}: {findings} findings, {most} before; they may only become fewer:"))
        }
        Limit::Before(most) if findings < most => Verdict::Lower(format!(
            "{name}: {findings} findings, {most} before: lower its row in xtask/src/prose/groups.rs"
        )),
        Limit::Rule | Limit::Before(_) => Verdict::Kept,
    }
}

/// `cargo xtask prose`: the counts of all groups, or of the Rust sources and the Markdown below a folder.
pub fn run(arguments: &[String]) -> Result<ExitCode, Error> {
    let checker = Checker::new()?;
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        [] => {
            for group in groups::all(&Workspace::load()?)? {
                print(&group.name, &Count::of(&checker, &group.files)?);
            }
        }
        ["--path", path] => {
            let path = Path::new(path);
            let files = if path.is_dir() { groups::below(path, &["md", "rs"])? } else { vec![path.to_owned()] };
            let count = Count::of(&checker, &files)?;
            for line in count.worst(path, usize::MAX) {
                println!("{line}");
            }
            for expression in EXPRESSIONS {
                let found =
                    count.lines.iter().flat_map(|line| &line.found).filter(|e| e.name == expression.name).count();
                println!("{found:>6}  {}", expression.name);
            }
            print(&path.display().to_string(), &count);
        }
        _ => {
            return Err(Error::Usage { message: "prose takes no argument, or --path FILE_OR_FOLDER".to_owned() });
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn print(name: &str, count: &Count) {
    println!("{name:<20} {:>7} words {:>5} findings {:>6.2} per 1,000", count.words, count.findings(), count.rate());
}

#[cfg(test)]
mod tests {
    use super::*;

    const BAD: &str = "What fails is no error, too.\nPlain words.\n\nIt lies here.\n";

    fn count(text: &str) -> Count {
        let mut count = Count::default();
        count.add(&Checker::new().unwrap(), Path::new("top/a.md"), text);
        count
    }

    fn group(limit: Limit) -> Group {
        Group { name: "a".to_owned(), limit, files: Vec::new() }
    }

    #[test]
    fn the_worst_lines_come_first_with_their_numbers() {
        let count = count(BAD);
        assert_eq!((count.findings(), count.words), (4, 11));
        let worst = count.worst(Path::new("top"), 1);
        let expected = "a.md:1: what begins a sentence; is no; too at the end: What fails is no error, too.";
        assert_eq!(worst, [expected]);
        assert!(count.worst(Path::new("top"), 9)[1].starts_with("a.md:4: lies: "));
    }

    #[test]
    fn the_rule_is_one_finding_per_thousand_words() {
        let good = "word ".repeat(999);
        assert!(matches!(verdict(&group(Limit::Rule), &count(&format!("{good} shall"))), Verdict::Kept));
        assert!(matches!(verdict(&group(Limit::Rule), &count(&format!("{good} shall shall"))), Verdict::Broken(_)));
    }

    #[test]
    fn a_count_may_fall_with_a_note_and_not_rise() {
        let of = |most| verdict(&group(Limit::Before(most)), &count(BAD));
        assert!(matches!(of(4), Verdict::Kept));
        assert!(matches!(of(3), Verdict::Broken(_)));
        assert!(matches!(of(5), Verdict::Lower(_)));
    }
}
