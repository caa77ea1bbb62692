//! `cargo xtask bench templates`: chat templates over long conversations, Inkstone and minijinja in turns.

use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use serde_json::{Value, json};

use super::machine::Machine;
use super::protocol::Process;
use super::record::Figure;
use super::stamp;
use crate::command::Program;
use crate::error::Error;
use crate::workspace::Workspace;

const USAGE: &str = "\
usage: cargo xtask bench templates [--json] [-r N]

  --json   one JSON object per row instead of a table
  -r N     rounds [25]: a slice of 40 ms of Inkstone, then one of minijinja";

const FOLDER: &str = "bench/peers/templates";
const DATA: &str = "tests/oracle/templates";
const TEMPLATES: [&str; 3] = ["gpt-oss", "gemma-4", "deepseek-v3.2"];
const CONVERSATIONS: [&str; 2] = ["dialog400", "agent400"];
/// Milliseconds of a slice.
const SLICE: u64 = 40;

#[derive(Debug, PartialEq)]
struct Options {
    json: bool,
    rounds: usize,
}

impl Options {
    fn parse(arguments: &[String]) -> Result<Self, Error> {
        let wrong = |what: String| Error::Usage { message: format!("{what}\n{USAGE}") };
        let mut options = Self { json: false, rounds: 25 };
        let mut arguments = arguments.iter();
        while let Some(name) = arguments.next() {
            match name.as_str() {
                "--json" => options.json = true,
                "-r" => {
                    let value = arguments.next().ok_or_else(|| wrong("-r takes a value".to_owned()))?;
                    let rounds = value.parse().ok().filter(|n| *n > 0);
                    options.rounds = rounds.ok_or_else(|| wrong(format!("-r {value}: not a whole number above 0")))?;
                }
                other => return Err(wrong(format!("{other} is not an option of bench templates"))),
            }
        }
        Ok(options)
    }
}

pub fn run(arguments: &[String]) -> Result<(), Error> {
    let options = Options::parse(arguments)?;
    let workspace = Workspace::load()?;
    let program = build(&workspace)?;
    if !options.json {
        println!("{}; {}, medians of {} slices in turns:\n", Machine::this().name, stamp::today(), options.rounds);
        println!(
            "| template | conversation | Inkstone | minijinja | ratio | parse: Inkstone | minijinja | peak: Inkstone | minijinja |"
        );
        println!("|---|---|---|---|---|---|---|---|---|");
    }
    for template in TEMPLATES {
        for conversation in CONVERSATIONS {
            let start = |engine: &str| {
                let mut command = Command::new(&program);
                command.current_dir(workspace.root()).arg(engine);
                command
                    .arg(format!("{DATA}/templates/{template}.jinja"))
                    .arg(format!("{DATA}/long/{conversation}.json"));
                Process::start(engine, command)
            };
            let row = Row::measure(&mut start("ours")?, &mut start("minijinja")?, options.rounds)?;
            if options.json {
                println!("{}", row.json(template, conversation));
            } else {
                println!("{}", row.line(template, conversation));
            }
        }
    }
    Ok(())
}

/// Builds the program that has both engines, and says on standard error how long that takes.
fn build(workspace: &Workspace) -> Result<PathBuf, Error> {
    let target = workspace.target().join("peers/templates");
    let start = Instant::now();
    let manifest = workspace.root().join(FOLDER).join("Cargo.toml");
    let cargo = Program::new("cargo build --release --manifest-path", workspace.root()).arg(manifest);
    cargo.arg("--target-dir").arg(&target).stdout()?;
    eprintln!("bench-templates: built in {:.0} s", start.elapsed().as_secs_f64());
    Ok(target.join("release/bench-templates"))
}

/// The time and memory of an engine.
#[derive(Debug, PartialEq)]
struct Taken {
    /// Milliseconds from the conversation to the prompt.
    render: f64,
    /// Milliseconds from the source to the template.
    parse: f64,
    /// Bytes that the render had at a time at most.
    peak: f64,
}

/// Both engines with one template and conversation.
struct Row {
    ours: Taken,
    /// Why there is nothing to compare: minijinja refuses the template, or writes something else.
    peer: Result<(Taken, f64), String>,
}

impl Row {
    fn measure(ours: &mut Process, peer: &mut Process, rounds: usize) -> Result<Self, Error> {
        let (text, other) = (ours.ask("text")?, peer.ask("text")?);
        let failed = |answer: &Value| answer.get("failed").and_then(Value::as_str).map(str::to_owned);
        if let Some(what) = failed(&text) {
            return Err(Error::Peer { name: ours.name().to_owned(), what });
        }
        let unfit = failed(&other).map(|what| format!("fails: {what}"));
        let unfit = unfit.or_else(|| (text != other).then(|| "writes another prompt".to_owned()));
        let (mut render, mut parse) = (Turns::default(), Turns::default());
        for _ in 0..rounds {
            let mut other = if unfit.is_none() { Some(&mut *peer) } else { None };
            render.add("render", ours, other.as_deref_mut())?;
            parse.add("parse", ours, other)?;
        }
        let peak = |process: &mut Process| {
            let answer = process.ask("peak")?;
            process.number(&answer, "peak_bytes")
        };
        Ok(Self {
            ours: Taken { render: median(&render.ours), parse: median(&parse.ours), peak: peak(ours)? },
            peer: match unfit {
                Some(why) => Err(why),
                None => {
                    let taken = Taken { render: median(&render.peer), parse: median(&parse.peer), peak: peak(peer)? };
                    Ok((taken, median(&render.ratios)))
                }
            },
        })
    }

    fn json(&self, template: &str, conversation: &str) -> Value {
        let taken = self.peer.as_ref().ok();
        let number = |of: fn(&Taken) -> f64| taken.map(|(taken, _)| of(taken));
        let mut row = json!({
            "template": template,
            "conversation": conversation,
            "ours_ms": self.ours.render,
            "minijinja_ms": number(|taken| taken.render),
            "ratio": taken.map(|(_, ratio)| ratio),
            "ours_parse_ms": self.ours.parse,
            "minijinja_parse_ms": number(|taken| taken.parse),
            "ours_peak_bytes": self.ours.peak as u64,
            "minijinja_peak_bytes": taken.map(|(taken, _)| taken.peak as u64),
        });
        if let Err(why) = &self.peer {
            row["minijinja"] = json!(why);
        }
        row
    }

    fn line(&self, template: &str, conversation: &str) -> String {
        let Taken { render, parse, peak } = &self.ours;
        let ours = format!("| {template} | {conversation} | {render:.2} ms");
        let (parse, peak) = (format!("{parse:.2} ms"), format!("{:.0} kB", peak / 1e3));
        match &self.peer {
            Ok((peer, ratio)) => format!(
                "{ours} | {:.2} ms | **{ratio:.2}** | {parse} | {:.2} ms | {peak} | {:.0} kB |",
                peer.render,
                peer.parse,
                peer.peak / 1e3
            ),
            Err(why) => format!("{ours} | {} | | {parse} | | {peak} | |", why.replace('|', "\\|")),
        }
    }
}

/// Milliseconds of slices in turns, and their ratios.
#[derive(Default)]
struct Turns {
    ours: Vec<f64>,
    peer: Vec<f64>,
    ratios: Vec<f64>,
}

impl Turns {
    fn add(&mut self, what: &str, ours: &mut Process, peer: Option<&mut Process>) -> Result<(), Error> {
        let time = slice(ours, what)?;
        self.ours.push(time);
        if let Some(peer) = peer {
            let other = slice(peer, what)?;
            self.peer.push(other);
            self.ratios.push(time / other);
        }
        Ok(())
    }
}

fn median(times: &[f64]) -> f64 {
    Figure::of(times).map_or(f64::NAN, |figure| figure.median)
}

/// The milliseconds of one repetition in a slice of a process.
fn slice(process: &mut Process, what: &str) -> Result<f64, Error> {
    let answer = process.ask(&format!("{what} {SLICE}"))?;
    Ok(process.number(&answer, "ns")? / process.number(&answer, "times")? / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options, String> {
        let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        Options::parse(&arguments).map_err(|error| error.to_string())
    }

    #[test]
    fn options_are_rounds_and_the_form() {
        assert_eq!(parse(""), Ok(Options { json: false, rounds: 25 }));
        assert_eq!(parse("-r 3 --json"), Ok(Options { json: true, rounds: 3 }));
    }

    #[test]
    fn wrong_options_are_named_with_what_is_allowed() {
        for (line, message) in [
            ("-r", "-r takes a value"),
            ("-r 0", "-r 0: not a whole number above 0"),
            ("-r x", "-r x: not a whole number above 0"),
            ("gpt-oss", "gpt-oss is not an option of bench templates\nusage: "),
        ] {
            let error = parse(line).unwrap_err();
            assert!(error.starts_with(message), "{line}: {error}");
        }
    }

    /// A process that says these lines, one at the start and one for each that it reads.
    fn process(lines: &[&str]) -> Process {
        let script = lines.iter().map(|line| format!("echo '{line}'; read x || exit; ")).collect::<String>();
        let mut command = Command::new("sh");
        command.args(["-c", &script]);
        Process::start("it", command).unwrap()
    }

    const OURS: [&str; 5] = [
        "{}",
        r#"{"text": "a"}"#,
        r#"{"times": 2, "ns": 4e6}"#,
        r#"{"times": 1, "ns": 5e5}"#,
        r#"{"peak_bytes": 7000}"#,
    ];

    #[test]
    fn a_row_has_the_ratio_of_slices_in_turns() {
        let mut peer = OURS;
        peer[2] = r#"{"times": 1, "ns": 8e6}"#;
        let row = Row::measure(&mut process(&OURS), &mut process(&peer), 1).unwrap();
        let line = "| t | c | 2.00 ms | 8.00 ms | **0.25** | 0.50 ms | 0.50 ms | 7 kB | 7 kB |";
        assert_eq!(row.line("t", "c"), line);
        let json = row.json("t", "c");
        assert_eq!((&json["ours_ms"], &json["minijinja_ms"], &json["ratio"]), (&json!(2.0), &json!(8.0), &json!(0.25)));
    }

    #[test]
    fn what_minijinja_fails_at_or_writes_otherwise_has_no_ratio() {
        for (text, why) in [(r#"{"failed": "no"}"#, "fails: no"), (r#"{"text": "b"}"#, "writes another prompt")] {
            let row = Row::measure(&mut process(&OURS), &mut process(&["{}", text]), 1).unwrap();
            assert_eq!(row.line("t", "c"), format!("| t | c | 2.00 ms | {why} | | 0.50 ms | | 7 kB | |"));
            assert_eq!((&row.json("t", "c")["minijinja"], &row.json("t", "c")["ratio"]), (&json!(why), &Value::Null));
        }
        let failing = Row::measure(&mut process(&["{}", r#"{"failed": "oh"}"#]), &mut process(&OURS), 1);
        assert_eq!(failing.err().map(|error| error.to_string()), Some("it: oh".to_owned()));
    }
}
