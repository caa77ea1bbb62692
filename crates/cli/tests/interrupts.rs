//! Signals while the program works.
#![cfg(unix)]

mod common;

use common::{Ran, program, wait_until};
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

fn send(child: &Child, signal: &str) {
    assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
}

/// Draws until it is told to stop: no end token, no limit but a large context.
fn endless() -> Command {
    let mut command = program();
    command.args(["run", "Once upon a time", "--json", "-c", "500"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

#[test]
fn e08_the_first_signal_in_decode_ends_with_text_summary_and_130() {
    for signal in ["-INT", "-TERM"] {
        let mut child = endless().env("LANG", "C").env_remove("HOME").spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let first = lines.next().unwrap().unwrap();
        assert!(first.starts_with("{\"text\""), "{first}");
        send(&child, signal);
        let start = Instant::now();
        let rest: Vec<String> = lines.map(Result::unwrap).collect();
        let ran = Ran::from(child.wait_with_output().unwrap());
        // 100 ms are the aim; the rest is for a loaded machine.
        assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
        assert_eq!(ran.code, Some(130), "{}", ran.stderr);
        assert_eq!(ran.stderr.lines().filter(|l| !l.starts_with("note: ")).count(), 1, "{}", ran.stderr);
        assert!(ran.stderr.ends_with("finish cancelled\n"), "{}", ran.stderr);
        let end: serde_json::Value = serde_json::from_str(rest.last().unwrap()).unwrap();
        assert_eq!(end["finish"], "cancelled");
    }
}

#[test]
fn e08_a_signal_in_prefill_ends_before_the_first_token() {
    let mut command = program();
    command.args(["run", "-v", "--json", "-p", &"Once upon a time ".repeat(100)]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    stderr.read_line(&mut line).unwrap();
    assert!(line.starts_with("the model inside the program: engine "), "{line}");
    std::thread::sleep(Duration::from_millis(100));
    send(&child, "-INT");
    let output = child.wait_with_output().unwrap();
    let end: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(130));
    assert_eq!((&end["finish"], &end["usage"]["completion_tokens"]), (&"cancelled".into(), &0.into()));
}

#[test]
fn e08_a_signal_while_input_is_awaited_ends_at_once() {
    let mut command = program();
    command.arg("run").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let stdin = child.stdin.take().unwrap();
    // Until the handler is there the signal's default ends the program; it is there when the model is loaded.
    std::thread::sleep(Duration::from_millis(1500));
    send(&child, "-INT");
    let ran = Ran::from(child.wait_with_output().unwrap());
    drop(stdin);
    assert_eq!((ran.code, ran.text(), ran.stderr.as_str()), (Some(130), "", ""));
}

/// User and system time in ticks (proc(5), fields 14 and 15 of `stat`).
fn cpu_time(child: &Child) -> Vec<String> {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
    stat.split(' ').skip(13).take(2).map(String::from).collect()
}

/// Nobody reads the text, so the program waits in a write and can't see the first signal.
#[cfg(target_os = "linux")]
#[test]
fn e08_the_second_signal_ends_at_once() {
    let mut command = endless();
    command.args(["--logprobs", "20", "-n", "-1"]);
    let mut child = command.spawn().unwrap();
    let mut pipe = child.stdout.take().unwrap();
    pipe.read_exact(&mut [0; 10]).unwrap();
    let mut spent = None;
    wait_until("a full pipe", || {
        std::thread::sleep(Duration::from_millis(300));
        let now = cpu_time(&child);
        spent.replace(now.clone()).is_some_and(|before| before == now)
    });
    send(&child, "-INT");
    std::thread::sleep(Duration::from_millis(200));
    assert!(child.try_wait().unwrap().is_none(), "the first signal ended a program that waits to write");
    send(&child, "-INT");
    wait_until("the end", || child.try_wait().unwrap().is_some());
    assert_eq!(child.try_wait().unwrap().unwrap().code(), Some(130));
}
