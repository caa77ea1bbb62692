//! Reads lines on a thread of its own, because a pipe may keep the next line back while requests run.

use crate::Error;
use crate::input::Input;
use std::io::{self, BufRead, BufReader, Read};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError, sync_channel};
use std::thread::Builder;
use std::time::Duration;

/// The most bytes of a line.
const LONGEST: usize = 10_000_000;
/// The lines that are read ahead.
const AHEAD: usize = 2;
/// The time after which a caller that waits for a line looks for signals.
const PATIENCE: Duration = Duration::from_millis(50);
/// The stack in bytes of the thread.
const STACK: usize = 256 << 10;

/// A line of the input.
pub(super) struct Line {
    /// Its bytes with its end; `None` if it is too long.
    pub bytes: Option<Vec<u8>>,
    /// The bytes of the input up to its end.
    pub end: u64,
}

/// The error of a line that is too long.
pub(super) fn too_long() -> String {
    format!("the line has more than {LONGEST} bytes, allowed: at most {LONGEST}")
}

/// The lines of an input.
pub(super) struct Lines {
    name: String,
    lines: Receiver<io::Result<Line>>,
    failure: Option<io::Error>,
}

/// The next line, if it is there.
pub(super) enum Next {
    Line(Line),
    Later,
    End,
}

impl Lines {
    /// Starts to read.
    pub(super) fn read(input: Input) -> Result<Lines, Error> {
        let (name, reader) = input.into_reader();
        let (sender, lines) = sync_channel(AHEAD);
        let thread = Builder::new().stack_size(STACK).spawn(move || send_all(BufReader::new(reader), &sender));
        thread.map_err(|source| Error::Read { name: name.clone(), source })?;
        Ok(Lines { name, lines, failure: None })
    }

    /// The next line. Waits for it a short time if the caller has nothing else to do. An error of the system ends the
    /// lines.
    pub(super) fn next(&mut self, wait: bool) -> Next {
        let next = match wait {
            true => self.lines.recv_timeout(PATIENCE),
            false => self.lines.try_recv().map_err(|error| match error {
                TryRecvError::Empty => RecvTimeoutError::Timeout,
                TryRecvError::Disconnected => RecvTimeoutError::Disconnected,
            }),
        };
        match next {
            Ok(Ok(line)) => Next::Line(line),
            Ok(Err(error)) => {
                self.failure = Some(error);
                Next::End
            }
            Err(RecvTimeoutError::Timeout) => Next::Later,
            Err(RecvTimeoutError::Disconnected) => Next::End,
        }
    }

    /// The error that ended the lines, if there was one.
    pub(super) fn finish(self) -> Result<(), Error> {
        self.failure.map_or(Ok(()), |source| Err(Error::Read { name: self.name, source }))
    }
}

/// Sends all lines until the receiver is gone.
fn send_all(mut reader: impl BufRead, sender: &SyncSender<io::Result<Line>>) {
    let mut end = 0;
    while let Some(line) = read_line(&mut reader, &mut end).transpose() {
        let failed = line.is_err();
        if sender.send(line).is_err() || failed {
            return;
        }
    }
}

/// Reads a line. The rest of a line that is too long is read without being kept.
fn read_line(reader: &mut impl BufRead, end: &mut u64) -> io::Result<Option<Line>> {
    let mut bytes = Vec::new();
    let read = reader.by_ref().take(LONGEST as u64 + 1).read_until(b'\n', &mut bytes)?;
    *end += read as u64;
    if read == 0 {
        return Ok(None);
    }
    let whole = read <= LONGEST || bytes.ends_with(b"\n");
    if !whole {
        drop(std::mem::take(&mut bytes));
        *end += reader.skip_until(b'\n')? as u64;
    }
    Ok(Some(Line { bytes: whole.then_some(bytes), end: *end }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_is_not_kept_and_the_next_one_is_read() {
        let long = [&vec![b'a'; LONGEST][..], b"\n"].concat();
        let longer = [&vec![b'b'; LONGEST + 1][..], b"\n"].concat();
        let text = [b"x\n", &long[..], &longer[..], b"\ny"].concat();
        let (mut reader, mut end) = (&text[..], 0);
        let mut lines = Vec::new();
        while let Some(line) = read_line(&mut reader, &mut end).unwrap() {
            lines.push((line.bytes.map(|bytes| bytes.len()), line.end));
        }
        let most = LONGEST as u64;
        let wanted = [(Some(2), 2), (Some(LONGEST + 1), most + 3), (None, 2 * most + 5), (Some(1), 2 * most + 6)];
        assert_eq!(lines[..4], wanted);
        assert_eq!(lines[4..], [(Some(1), 2 * most + 7)]);
    }
}
