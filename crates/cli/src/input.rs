//! Texts that the program reads: standard input or a file, bounded and checked to be UTF-8.

use crate::error::Error;
use crate::terminal;
use inkstone::text::check_utf8;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// How long a pipe may take before the program says what it waits for.
const PATIENCE: Duration = Duration::from_secs(1);

/// Bytes of stack of the thread that waits: it writes a line.
const STACK: usize = 64 << 10;

/// Where a text is read from. It is opened before anything slow is done, and read when its limit is known.
pub(crate) struct Input {
    name: String,
    reader: Box<dyn Read>,
    is_stdin: bool,
}

impl Input {
    /// Standard input, whatever it is.
    pub(crate) fn stdin() -> Input {
        Input { name: "standard input".to_string(), reader: Box::new(io::stdin().lock()), is_stdin: true }
    }

    /// Standard input if it is a pipe or a file. Neither a terminal nor a device such as `/dev/null` has a text for a
    /// command that has a prompt already.
    pub(crate) fn piped() -> Option<Input> {
        stdin_is_piped().then(Input::stdin)
    }

    /// A file, or anything else that can be read, such as what `<(command)` gives.
    pub(crate) fn open(path: &Path) -> Result<Input, Error> {
        let name = path.display().to_string();
        let file = File::open(path).map_err(|source| Error::Read { name: name.clone(), source })?;
        Ok(Input { name, reader: Box::new(file), is_stdin: false })
    }

    /// Whether it is standard input.
    pub(crate) fn is_stdin(&self) -> bool {
        self.is_stdin
    }

    /// All of it. `rule` says where the limit comes from.
    pub(crate) fn read(self, limit: u64, rule: &'static str) -> Result<String, Error> {
        let Input { name, reader, is_stdin } = self;
        let mut bytes = Vec::new();
        let _waiting = is_stdin.then(Waiting::begin);
        // `read_to_end` reserves with `try_reserve`: no memory is an error value.
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

/// Whether a person types the standard input.
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

/// Elsewhere a device can't be told from a pipe without calls of the system's own.
#[cfg(any(not(unix), inkstone_portable))]
fn stdin_is_piped() -> bool {
    !stdin_is_terminal()
}

/// Says what the program waits for, unless it is dropped in time. On a terminal it says at once how a text ends.
struct Waiting {
    /// Dropped, it ends the thread that waits.
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
        // Without a thread there is no note.
        let _ = std::thread::Builder::new().stack_size(STACK).spawn(wait);
        Waiting { _done: Some(sender) }
    }
}

/// An argument as text. `name` stands for it in the error.
pub(crate) fn argument<'a>(name: &str, text_argument: &'a OsStr) -> Result<&'a str, Error> {
    text(name, text_argument.as_encoded_bytes())
}

pub(crate) fn text<'a>(name: &str, bytes: &'a [u8]) -> Result<&'a str, Error> {
    check_utf8(bytes).map_err(|source| Error::Text { name: name.to_string(), source })
}
