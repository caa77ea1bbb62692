//! A process that is measured, of Inkstone or of a peer. It answers lines on its standard input with one JSON object each,
//! so that processes can be measured in slices that alternate.
//!
//! bench/README.md has the protocol.

use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::error::Error;

/// Until the threads of a process that has answered sleep: runtimes spin for some milliseconds first.
const SETTLE: Duration = Duration::from_millis(8);

/// A process of the protocol, ended when this is dropped.
pub struct Process {
    name: String,
    child: Child,
    input: ChildStdin,
    answers: Lines<BufReader<ChildStdout>>,
    /// The object that it printed at its start.
    about: Value,
}

/// Tokens and the time that they took.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Took {
    pub tokens: f64,
    pub seconds: f64,
    /// That were read from memory, where the process says it.
    pub bytes: Option<f64>,
    /// Products of weights that were added, where the process says it.
    pub macs: Option<f64>,
}

/// The current speed of memory.
#[derive(Debug, Clone, PartialEq)]
pub struct Sweep {
    /// The read rate of all threads in bytes per second.
    pub read: f64,
    /// The state that the process says this is.
    pub state: String,
}

impl Took {
    /// Tokens per second.
    pub fn rate(self) -> f64 {
        self.tokens / self.seconds
    }
}

impl Process {
    /// Starts `command` and waits until it has loaded its model. Its standard error is the caller's.
    pub fn start(name: &str, mut command: Command) -> Result<Self, Error> {
        let failed = |source| Error::Start { program: name.to_owned(), source };
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(failed)?;
        let missing = || Error::Peer { name: name.to_owned(), what: "has no pipes".to_owned() };
        let input = child.stdin.take().ok_or_else(missing)?;
        let answers = BufReader::new(child.stdout.take().ok_or_else(missing)?).lines();
        let mut process = Self { name: name.to_owned(), child, input, answers, about: Value::Null };
        process.about = process.answer("its start")?;
        Ok(process)
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn about(&self) -> &Value {
        &self.about
    }

    pub fn fill(&mut self, depth: usize) -> Result<(), Error> {
        self.ask(&format!("fill {depth}")).map(drop)
    }

    pub fn decode(&mut self, milliseconds: u64) -> Result<Took, Error> {
        self.took(&format!("decode {milliseconds}"))
    }

    pub fn prompt(&mut self, tokens: usize) -> Result<Took, Error> {
        self.took(&format!("prompt {tokens}"))
    }

    pub fn sweep(&mut self) -> Result<Sweep, Error> {
        let answer = self.ask("sweep")?;
        let state = answer.get("state").and_then(Value::as_str).unwrap_or_default().to_owned();
        Ok(Sweep { read: self.number(&answer, "gb_per_s")? * 1e9, state })
    }

    /// Products a second of the fastest integer dot loop of the instruction set, on as many threads.
    pub fn products(&mut self) -> Result<Option<f64>, Error> {
        Ok(self.ask("products")?.get("gmac_per_s").and_then(Value::as_f64).map(|g| g * 1e9))
    }

    /// Sends a line; the answer.
    pub fn ask(&mut self, line: &str) -> Result<Value, Error> {
        let sent = writeln!(self.input, "{line}").and_then(|()| self.input.flush());
        sent.map_err(|source| Error::Start { program: format!("{}: {line}", self.name), source })?;
        let answer = self.answer(line)?;
        thread::sleep(SETTLE);
        Ok(answer)
    }

    fn took(&mut self, line: &str) -> Result<Took, Error> {
        let answer = self.ask(line)?;
        Ok(Took {
            tokens: self.number(&answer, "tokens")?,
            seconds: self.number(&answer, "ns")? / 1e9,
            bytes: answer.get("bytes").and_then(Value::as_f64),
            macs: answer.get("macs").and_then(Value::as_f64),
        })
    }

    fn answer(&mut self, line: &str) -> Result<Value, Error> {
        let wrong = |what: String| Error::Peer { name: self.name.clone(), what: format!("{line}: {what}") };
        let text = match self.answers.next() {
            Some(Ok(text)) => text,
            Some(Err(error)) => return Err(wrong(error.to_string())),
            None => return Err(wrong("it ended without an answer".to_owned())),
        };
        let answer: Value = serde_json::from_str(&text).map_err(|error| wrong(format!("{error} in {text}")))?;
        match answer.get("error") {
            Some(error) => Err(wrong(error.to_string())),
            None => Ok(answer),
        }
    }

    /// A number above 0 of an answer.
    pub fn number(&self, answer: &Value, key: &str) -> Result<f64, Error> {
        let number = answer.get(key).and_then(Value::as_f64).filter(|n| *n > 0.0 && n.is_finite());
        number.ok_or_else(|| Error::Peer {
            name: self.name.clone(),
            what: format!("{answer} has no number {key} above 0"),
        })
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // A process that has already ended is not an error.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A process that says these lines, one at the start and one for each that it reads.
    fn process(lines: &[&str]) -> Result<Process, Error> {
        let script = lines.iter().map(|line| format!("echo '{line}'; read x || exit; ")).collect::<String>();
        let mut command = Command::new("sh");
        command.args(["-c", &script]);
        Process::start("it", command)
    }

    #[test]
    fn answers_belong_to_their_lines() {
        let lines =
            [r#"{"load_ns": 5}"#, r#"{"tokens": 4, "ns": 2e9, "bytes": 8}"#, r#"{"gb_per_s": 35.5, "state": "slow"}"#];
        let mut process = process(&lines).unwrap();
        assert_eq!(process.about()["load_ns"], 5);
        let took = process.decode(100).unwrap();
        assert_eq!((took.rate(), took.bytes, took.macs), (2.0, Some(8.0), None));
        assert_eq!(process.sweep().unwrap(), Sweep { read: 35.5e9, state: "slow".to_owned() });
    }

    #[test]
    fn what_goes_wrong_names_the_process_and_the_line() {
        let wrong = |line: &str| process(&["{}", line]).unwrap().prompt(8).unwrap_err().to_string();
        assert_eq!(wrong(r#"{"error": "no memory"}"#), "it: prompt 8: \"no memory\"");
        assert!(wrong("oh").starts_with("it: prompt 8: expected value"));
        assert!(wrong(r#"{"tokens": 0, "ns": 1}"#).ends_with("has no number tokens above 0"));
        assert!(process(&["{}"]).unwrap().prompt(8).unwrap_err().to_string().contains("prompt 8"));
        assert!(process(&[]).err().is_some_and(|e| e.to_string().contains("ended without an answer")));
    }
}
