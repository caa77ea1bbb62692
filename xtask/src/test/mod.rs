//! `cargo xtask test`: one line per stage with its time, then a summary.

mod context;
mod devices;
mod outcome;
mod package;
mod pages;
mod readme;
mod stages;
mod tools;

use std::io::{self, Write};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use crate::error::Error;
use crate::workspace::Workspace;
use context::Context;
use outcome::{Outcome, Tests, Verdict};
use stages::{STAGES, Stage};

/// Lines of a failed program's output that are shown; all of it is in its log.
const SHOWN_LINES: usize = 80;

#[derive(Debug, Default, PartialEq)]
struct Options {
    setup: bool,
    full: bool,
    list: bool,
    /// Names of stages; empty for all.
    only: Vec<String>,
}

impl Options {
    fn parse(arguments: &[String]) -> Result<Self, Error> {
        let mut options = Self::default();
        for argument in arguments {
            match argument.as_str() {
                "--setup" => options.setup = true,
                "--full" => options.full = true,
                "--list" => options.list = true,
                name if STAGES.iter().any(|s| s.name == name) => options.only.push(name.to_owned()),
                other => {
                    let names: Vec<&str> = STAGES.iter().map(|s| s.name).collect();
                    return Err(Error::Usage {
                        message: format!(
                            "{other} is neither an option of test nor a stage; stages: {}",
                            names.join(", ")
                        ),
                    });
                }
            }
        }
        Ok(options)
    }

    fn chosen(&self) -> Vec<&'static Stage> {
        STAGES.iter().filter(|s| self.only.is_empty() || self.only.iter().any(|name| name == s.name)).collect()
    }
}

/// Runs the chosen stages; the exit code is 1 if something failed.
pub fn run(arguments: &[String]) -> Result<ExitCode, Error> {
    let options = Options::parse(arguments)?;
    if options.list {
        for stage in STAGES {
            println!("{:<12} {}", stage.name, stage.what);
        }
        return Ok(ExitCode::SUCCESS);
    }
    let stages = options.chosen();
    let context = Context::new(Workspace::load()?, options.full)?;
    let strict = std::env::var("CI").is_ok_and(|ci| ci == "true");
    let in_ci = |outcome: Outcome| if strict { outcome.without_skips() } else { outcome };
    let mut summary = Summary::default();

    if options.setup {
        for tool in tools::missing(&context, &stages) {
            let Some(line) = tool.install else { continue };
            let label = format!("setup {}", tool.name);
            summary.line(&label, || {
                let outcome = failed_if_error(context.programs(&label, [tools::installer(&context, line)]));
                let fails = matches!(outcome.verdict, Verdict::Failed(_));
                if fails && tool.may_be_absent { absent(tool) } else { outcome }
            });
        }
    }
    for stage in stages {
        let cases = (stage.cases)(&context)?;
        if cases.is_empty() {
            summary.line(stage.name, || in_ci(Outcome::skipped("there is nothing to run".to_owned())));
        }
        for case in cases {
            let label = format!("{} {case}", stage.name);
            summary.line(label.trim_end(), || {
                in_ci(match tools::first_missing(&context, stage) {
                    Some(tool) if tool.may_be_absent && options.setup => absent(tool),
                    Some(tool) => Outcome::skipped(format!("{} is not installed", tool.name)),
                    None => failed_if_error((stage.run)(&context, &case)),
                })
            });
        }
    }
    let failed = summary.print();
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// The outcome of a stage whose tool could not be installed.
fn absent(tool: &tools::Tool) -> Outcome {
    Outcome { notes: vec![format!("{} could not be installed: its stage did not run", tool.name)], ..Outcome::passed() }
}

fn failed_if_error(outcome: Result<Outcome, Error>) -> Outcome {
    outcome.unwrap_or_else(|error| Outcome::failed(error.to_string()))
}

/// The results of the run so far.
#[derive(Default)]
struct Summary {
    /// Stages and tests together.
    total: Tests,
    stages: Tests,
    failed: Vec<String>,
    skipped: Vec<String>,
    notes: Vec<String>,
    time: Duration,
}

impl Summary {
    /// Runs one stage and prints its line; the name comes first, so that a long stage shows.
    fn line(&mut self, label: &str, run: impl FnOnce() -> Outcome) {
        print!("{label:<28} ");
        // A closed standard output must not stop the tests: the exit code still tells.
        let _ = io::stdout().flush();
        let start = Instant::now();
        let outcome = run();
        let time = start.elapsed();
        println!("{:<5} {:>7.1} s{}", outcome.verdict.word(), time.as_secs_f64(), outcome.detail());
        if let Verdict::Failed(why) = &outcome.verdict {
            let lines: Vec<&str> = why.lines().collect();
            for line in &lines[lines.len().saturating_sub(SHOWN_LINES)..] {
                println!("    {line}");
            }
        }
        self.add(label, outcome, time);
    }

    fn add(&mut self, label: &str, outcome: Outcome, time: Duration) {
        let stage = match &outcome.verdict {
            Verdict::Passed => Tests { passed: 1, ..Tests::default() },
            Verdict::Failed(_) => {
                self.failed.push(label.to_owned());
                Tests { failed: 1, ..Tests::default() }
            }
            Verdict::Skipped(why) => {
                self.skipped.push(format!("{label}: {why}"));
                Tests { skipped: 1, ..Tests::default() }
            }
        };
        self.stages += stage;
        self.total += stage;
        self.total += outcome.tests;
        for note in outcome.notes {
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
        self.time += time;
    }

    /// Prints the summary and returns whether something failed. The last line has only the numbers of tests, for programs that
    /// read it.
    fn print(&self) -> bool {
        println!();
        for (title, lines) in [("failed", &self.failed), ("skipped", &self.skipped), ("noted", &self.notes)] {
            for line in lines {
                println!("{title}: {line}");
            }
        }
        let minutes = self.time.as_secs_f64() / 60.0;
        println!("stages: {} in {minutes:.1} min; stages and tests together:", self.stages);
        println!("{}", self.total);
        self.total.failed > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options, Error> {
        Options::parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn options_and_stages_are_told_apart() {
        let options = parse("--setup fmt docs --full").unwrap();
        assert!(options.setup && options.full && !options.list);
        assert_eq!(options.chosen().iter().map(|s| s.name).collect::<Vec<_>>(), ["fmt", "docs"]);
        assert_eq!(parse("").unwrap().chosen().len(), STAGES.len());
    }

    #[test]
    fn an_unknown_stage_is_named_with_the_known_ones() {
        let message = parse("clipy").unwrap_err().to_string();
        assert!(message.starts_with("clipy is neither") && message.contains("clippy"), "{message}");
    }

    #[test]
    fn stages_and_tests_add_up_and_a_failure_is_one() {
        let mut summary = Summary::default();
        let tests = Tests { passed: 5, failed: 0, skipped: 1 };
        summary.add("a", Outcome { tests, ..Outcome::passed() }, Duration::ZERO);
        summary.add("b", Outcome::skipped("no tool".into()), Duration::ZERO);
        assert_eq!(summary.total, Tests { passed: 6, failed: 0, skipped: 2 });
        assert!(!summary.print());
        summary.add("c", Outcome::failed("broken".into()), Duration::ZERO);
        assert_eq!(summary.total.to_string(), "6 passed, 1 failed, 2 skipped");
        assert!(summary.print());
    }
}
