//! Programs with a deadline: one that hangs costs its time, and no more.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

/// How long a program may take to end after it was told to: one that waits for a driver may never end.
const GRACE: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(5);

/// Runs a program until the deadline. `told` gets each line of its standard output when it comes; standard error is kept in `log`.
///
/// # Errors
/// Why it failed, in one line: it took too long, it ended with an error, or `told` refused a line.
pub fn run(
    mut command: Command,
    deadline: Duration,
    log: &Path,
    mut told: impl FnMut(&str) -> Result<(), String>,
) -> Result<(), String> {
    let begun = Instant::now();
    let name = command.get_program().to_string_lossy().into_owned();
    let errors = File::create(log).map_err(|error| format!("{}: {error}", log.display()))?;
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(errors).spawn();
    let mut child = child.map_err(|error| format!("{name}: {error}"))?;
    let (sender, lines) = mpsc::channel();
    if let Some(output) = child.stdout.take() {
        // It ends with the program's output. No one waits for it, because that may be never.
        std::thread::spawn(move || {
            let lines = BufReader::new(output).lines().map_while(Result::ok);
            lines.map(|line| sender.send(line)).take_while(Result::is_ok).for_each(drop);
        });
    }
    let late = || format!("took more than {:.1} s", deadline.as_secs_f64());
    loop {
        let refused = match lines.recv_timeout(deadline.saturating_sub(begun.elapsed())) {
            Ok(line) => told(&line).err(),
            Err(RecvTimeoutError::Timeout) => Some(late()),
            Err(RecvTimeoutError::Disconnected) => break,
        };
        if let Some(reason) = refused {
            stop(&mut child);
            return Err(reason);
        }
    }
    let status = ended(&mut child, deadline.saturating_sub(begun.elapsed()));
    match status {
        Some(status) if status.success() => Ok(()),
        Some(status) => Err(format!("{status}: {}", last_line(log))),
        None => {
            stop(&mut child);
            Err(late())
        }
    }
}

fn ended(child: &mut Child, within: Duration) -> Option<ExitStatus> {
    let begun = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) if begun.elapsed() < within => std::thread::sleep(PAUSE),
            _ => return None,
        }
    }
}

fn stop(child: &mut Child) {
    // One that ended by itself can't be stopped, and need not be.
    let _ = child.kill();
    let _ = ended(child, GRACE);
}

fn last_line(log: &Path) -> String {
    let mut text = Vec::new();
    let _ = File::open(log).and_then(|mut file| file.read_to_end(&mut text));
    let text = String::from_utf8_lossy(&text);
    text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("no message").to_owned()
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn shell(text: &str, deadline: u64) -> (Result<(), String>, Vec<String>, Duration) {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", text]);
        let (mut lines, begun) = (Vec::new(), Instant::now());
        let told = |line: &str| {
            lines.push(line.to_owned());
            if line == "bad" { Err("a bad line".to_owned()) } else { Ok(()) }
        };
        let result = run(command, Duration::from_millis(deadline), &folder.path().join("log"), told);
        (result, lines, begun.elapsed())
    }

    #[test]
    fn lines_come_and_errors_have_the_last_message() {
        assert_eq!(shell("echo a; echo b >&2; echo c", 60_000).0, Ok(()));
        assert_eq!(shell("echo a; echo c", 60_000).1, ["a", "c"]);
        let failed = shell("echo first >&2; echo no device >&2; exit 3", 60_000).0.unwrap_err();
        assert!(failed.contains('3') && failed.ends_with("no device"), "{failed}");
        assert_eq!(shell("echo bad; sleep 100", 60_000).0, Err("a bad line".to_owned()));
    }

    #[test]
    fn a_program_that_hangs_ends_at_its_deadline_and_its_lines_are_kept() {
        // One with and one without open output.
        for text in ["echo a; exec sleep 100", "echo a; exec sleep 100 >&-"] {
            let (result, lines, time) = shell(text, 500);
            assert_eq!((result, lines), (Err("took more than 0.5 s".to_owned()), vec!["a".to_owned()]), "{text}");
            assert!(time < Duration::from_secs(20), "{time:?}");
        }
    }
}
