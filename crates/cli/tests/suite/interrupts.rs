//! Signals while the program works.
#![cfg(unix)]

use crate::common::{Ran, program, wait_until};
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

fn send(child: &Child, signal: &str) {
    assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
}

/// A story that writes several times what a pipe holds: it can't end before its reader wants it to.
fn endless() -> Command {
    let mut command = program();
    command.args(["complete", "Once upon a time", "--json", "-c", "500", "--seed", "3", "--logprobs", "20"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

#[test]
fn e08_the_first_signal_in_decode_ends_with_text_summary_and_its_code() {
    for (signal, code) in [("-INT", 130), ("-TERM", 143), ("-HUP", 143)] {
        let mut child = endless().env("LANG", "C").env_remove("HOME").spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let first = lines.next().unwrap().unwrap();
        assert!(first.starts_with("{\"text\""), "{first}");
        send(&child, signal);
        let start = Instant::now();
        let rest: Vec<String> = lines.map(Result::unwrap).collect();
        let ran = Ran::from(child.wait_with_output().unwrap());
        // 100 ms are the aim; the rest is for a loaded machine.
        assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
        assert_eq!(ran.code, Some(code), "{signal}: {}", ran.stderr);
        assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
        assert!(ran.stderr.ends_with("finish cancelled\n"), "{}", ran.stderr);
        let end: serde_json::Value = serde_json::from_str(rest.last().unwrap()).unwrap();
        assert_eq!(end["finish"], "cancelled");
    }
}

#[test]
fn e08_a_signal_in_prefill_ends_before_the_first_token() {
    let mut command = program();
    // Many steps of the slow engine, so that a signal that comes late on a loaded machine still comes in time.
    command.args(["complete", "-v", "--json", "--engine", "reference", "-c", "2000"]);
    command.args(["-p", &"Once upon a time ".repeat(400)]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.any(|line| line.starts_with("the built-in story model: engine ")));
    std::thread::sleep(Duration::from_millis(50));
    send(&child, "-INT");
    let output = child.wait_with_output().unwrap();
    let end: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(130));
    assert_eq!((&end["finish"], &end["usage"]["completion_tokens"]), (&"cancelled".into(), &0.into()));
}

#[test]
fn e08_a_signal_while_input_is_awaited_ends_at_once() {
    let mut command = program();
    command.arg("complete").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let stdin = child.stdin.take().unwrap();
    // Until the handler is there the signal's default ends the program; it is there when the model is loaded.
    std::thread::sleep(Duration::from_millis(1500));
    send(&child, "-INT");
    let ran = Ran::from(child.wait_with_output().unwrap());
    drop(stdin);
    assert_eq!((ran.code, ran.text()), (Some(130), ""));
    assert!(ran.stderr.lines().all(|line| line.starts_with("note: waiting for standard input")), "{}", ran.stderr);
}

/// User and system time in ticks (proc(5), fields 14 and 15 of `stat`) of a program that sleeps (field 3), not of one
/// that waits for a processor.
#[cfg(target_os = "linux")]
fn asleep_after(child: &Child) -> Option<Vec<String>> {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
    let fields: Vec<String> = stat.split(' ').map(String::from).collect();
    (fields[2] == "S").then(|| fields[13..15].to_vec())
}

/// Nobody reads the text, so the program waits in a write and can't see the first signal.
#[cfg(target_os = "linux")]
#[test]
fn e08_the_second_signal_ends_at_once() {
    let mut child = endless().spawn().unwrap();
    let mut pipe = child.stdout.take().unwrap();
    pipe.read_exact(&mut [0; 10]).unwrap();
    let mut spent = None;
    wait_until("a full pipe", || {
        std::thread::sleep(Duration::from_millis(300));
        let now = asleep_after(&child);
        std::mem::replace(&mut spent, now.clone()).is_some_and(|before| Some(before) == now)
    });
    send(&child, "-INT");
    std::thread::sleep(Duration::from_millis(200));
    assert!(child.try_wait().unwrap().is_none(), "the first signal ended a program that waits to write");
    send(&child, "-INT");
    wait_until("the end", || child.try_wait().unwrap().is_some());
    assert_eq!(child.try_wait().unwrap().unwrap().code(), Some(130));
}
