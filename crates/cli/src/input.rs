//! Reads texts from standard input or a file, with a limit on their length, and checks that they are UTF-8.

use crate::error::Error;
use crate::terminal;
use inkstone::text::check_utf8;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// The time after which a note says that the program waits for a pipe.
const PATIENCE: Duration = Duration::from_secs(1);

/// The stack in bytes of the thread that prints this note.
const STACK: usize = 64 << 10;

/// The source of a text. It is opened before any slow work, and read when its limit is known.
pub(crate) struct Input {
    name: String,
    reader: Box<dyn Read + Send>,
    is_stdin: bool,
}

impl Input {
    /// Standard input of any kind. It is locked only while it is read: on a terminal without an editor (`TERM=dumb`), the lines
    /// of a conversation are read from it while this input is still open.
    pub(crate) fn stdin() -> Input {
        Input { name: "standard input".to_string(), reader: Box::new(io::stdin()), is_stdin: true }
    }

    /// Standard input if it is a pipe or a file. A terminal, or a device such as `/dev/null`, is not read by a command
    /// that already has a prompt.
    pub(crate) fn piped() -> Option<Input> {
        stdin_is_piped().then(Input::stdin)
    }

    /// A file, or another readable path such as the result of `<(command)`.
    pub(crate) fn open(path: &Path) -> Result<Input, Error> {
        let name = path.display().to_string();
        let file = File::open(path).map_err(|source| Error::Read { name: name.clone(), source })?;
        Ok(Input { name, reader: Box::new(file), is_stdin: false })
    }

    /// Whether it is standard input.
    pub(crate) fn is_stdin(&self) -> bool {
        self.is_stdin
    }

    /// Its name, and a reader of its bytes for a command that reads it by the line.
    pub(crate) fn into_reader(self) -> (String, Box<dyn Read + Send>) {
        (self.name, self.reader)
    }

    /// Reads the whole text. `rule` is the reason for the limit, for the error.
    pub(crate) fn read(self, limit: u64, rule: &'static str) -> Result<String, Error> {
        let Input { name, reader, is_stdin } = self;
        let mut bytes = Vec::new();
        let _waiting = is_stdin.then(Waiting::begin);
        // `read_to_end` reserves with `try_reserve`: a failed allocation is an error value.
        reader
            .take(limit.saturating_add(1))
            .read_to_end(&mut bytes)
            .map_err(|source| Error::Read { name: name.clone(), source })?;
        if bytes.len() as u64 > limit {
            return Err(Error::TextTooLong { name, limit, rule });
        }
        String::from_utf8(bytes).or_else(|e| text(&name, e.as_bytes()).map(str::to_string))
    }
}

/// Whether standard input is a terminal.
pub(crate) fn stdin_is_terminal() -> bool {
    io::stdin().is_terminal()
}

/// Whether standard input is a pipe, a socket or a file.
#[cfg(all(unix, not(inkstone_portable)))]
fn stdin_is_piped() -> bool {
    use std::os::fd::AsFd;
    use std::os::unix::fs::FileTypeExt;
    let file = io::stdin().as_fd().try_clone_to_owned().map(File::from);
    file.and_then(|file| file.metadata()).is_ok_and(|metadata| {
        let kind = metadata.file_type();
        kind.is_fifo() || kind.is_socket() || kind.is_file()
    })
}

/// On other systems, devices can't be distinguished from pipes without system calls.
#[cfg(any(not(unix), inkstone_portable))]
fn stdin_is_piped() -> bool {
    !stdin_is_terminal()
}

/// Prints a note that the program waits for input, unless it is dropped in time. On a terminal it immediately prints
/// how to end a text.
struct Waiting {
    /// Its drop ends the waiting thread.
    _done: Option<Sender<()>>,
}

impl Waiting {
    fn begin() -> Waiting {
        if stdin_is_terminal() {
            terminal::note("note: reading the text from the terminal; Ctrl-D on a line of its own ends it");
            return Waiting { _done: None };
        }
        let (sender, receiver) = channel();
        let wait = move || {
            if receiver.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                terminal::note("note: waiting for standard input to end; `< /dev/null` leaves it out");
            }
        };
        // If no thread can be started, there is no note.
        let _ = std::thread::Builder::new().stack_size(STACK).spawn(wait);
        Waiting { _done: Some(sender) }
    }
}

/// An argument as text. `name` is its name in the error.
pub(crate) fn argument<'a>(name: &str, text_argument: &'a OsStr) -> Result<&'a str, Error> {
    text(name, text_argument.as_encoded_bytes())
}

pub(crate) fn text<'a>(name: &str, bytes: &'a [u8]) -> Result<&'a str, Error> {
    check_utf8(bytes).map_err(|source| Error::Text { name: name.to_string(), source })
}
