//! Why a command ends early, and the exit code that says so.

use crate::terminal;
use std::io;

/// All went well.
pub(crate) const SUCCESS: u8 = 0;
/// A file, a text or the machine is at fault.
pub(crate) const INPUT: u8 = 1;
/// The command line is at fault.
pub(crate) const USAGE: u8 = 2;
/// Ended by Ctrl-C.
const INTERRUPTED: u8 = 130;
/// Ended by SIGTERM or SIGHUP.
const TERMINATED: u8 = 143;

/// The exit code after a signal.
pub(crate) fn interrupted() -> u8 {
    if crate::termination::requested() { TERMINATED } else { INTERRUPTED }
}

/// Why a command ends before its end. Each message is one line.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// Arguments that don't go together, or a value that only the command could check.
    #[error("{0}")]
    Usage(String),
    /// A model or its generation.
    #[error(transparent)]
    Model(#[from] inkstone::Error),
    /// Weights that memory does not hold.
    #[error("{0}; --mmap reads them from the file when they are needed")]
    TooLarge(inkstone::Error),
    /// A model file.
    #[error(transparent)]
    Gguf(#[from] inkstone::gguf::Error),
    /// A tokenizer or a text.
    #[error("{name}: {source}")]
    Text {
        /// The file, or what the text is: "the prompt".
        name: String,
        /// What is wrong.
        source: inkstone::text::Error,
    },
    /// There is no model at the path.
    #[error("{path}: no such file; {hint}")]
    NoModel {
        /// The path.
        path: String,
        /// What may have been meant.
        hint: String,
    },
    /// A text that can't be read.
    #[error("{name}: can't read: {source}")]
    Read {
        /// The file, or "standard input".
        name: String,
        /// The system's answer.
        source: io::Error,
    },
    /// Standard input ended without a message.
    #[error("standard input is empty; a prompt is an argument, -p TEXT, -f FILE or standard input")]
    NoMessage,
    /// More text than is allowed.
    #[error("{name}: more than {limit} bytes, allowed: at most {limit} ({rule})")]
    TextTooLong {
        /// The file, or "standard input".
        name: String,
        /// The limit in bytes.
        limit: u64,
        /// Where it comes from.
        rule: &'static str,
    },
    /// A file that can't be written.
    #[error("{file}: can't write: {source}")]
    Write {
        /// Its path.
        file: String,
        /// The system's answer.
        source: io::Error,
    },
    /// A chat template, or its limits.
    #[error("{source}; {help}")]
    Template {
        /// What is wrong.
        source: inkstone::text::Error,
        /// What helps.
        help: String,
    },
    /// A line that is no request of `template --lines`.
    #[error("standard input, line {line}: {message}")]
    Request {
        /// From 1.
        line: u64,
        /// What is wrong.
        message: String,
    },
    /// A saved conversation that can't be read.
    #[error("{file}: {message}")]
    Saved {
        /// Its path.
        file: String,
        /// What is wrong.
        message: String,
    },
    /// A text in quotes whose end did not come.
    #[error("standard input ends within a message; \"\"\" at the end of a line ends the message")]
    OpenQuotes,
    /// The terminal's lines can't be edited.
    #[error("the terminal: {0}")]
    Terminal(#[from] rustyline::error::ReadlineError),
    /// Standard output does not take what is written. (Other I/O has an error of its own.)
    #[error("standard output: can't write: {0}")]
    Output(#[from] io::Error),
    /// `show --check` found tensors that no model should have.
    #[error("{file}: {tensors} of {all} tensors have NaN or infinite values or could not be read")]
    Unsound {
        /// The file.
        file: String,
        /// How many.
        tensors: usize,
        /// Of how many.
        all: usize,
    },
    /// A kernel that failed when it was timed.
    #[error("{0}")]
    Kernel(String),
    /// `bench --kernels --assert` found better kernels than the chosen ones.
    #[error("{slow} of {all} chosen kernels take over 5% more than the fastest")]
    SlowKernels {
        /// How many.
        slow: usize,
        /// Of how many.
        all: usize,
    },
    /// The signal handler can't be set.
    #[error("can't listen for Ctrl-C: {0}")]
    Signals(#[from] ctrlc::Error),
    /// Ctrl-C or SIGTERM.
    #[error("interrupted")]
    Interrupted,
}

/// The option of the program for the limit that a chat template met.
pub(crate) fn limit_option(error: &inkstone::text::Error) -> Option<String> {
    error.template_limit().map(|option| format!("--{}", option.replace('_', "-")))
}

impl Error {
    /// The exit code of the program.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Error::Usage(_) => USAGE,
            Error::Model(e) if e.is_usage() => USAGE,
            Error::Interrupted | Error::Terminal(rustyline::error::ReadlineError::Interrupted) => interrupted(),
            _ if self.is_closed_pipe() => SUCCESS,
            _ => INPUT,
        }
    }

    /// The error of a chat template, with what helps; one of a variable's name is the command line's.
    pub(crate) fn of_template(error: inkstone::text::Error) -> Error {
        use inkstone::text::Error as Text;
        let help = match (&error, limit_option(&error)) {
            (Text::TemplateVariable { .. }, _) => return Error::Usage(format!("--template-var: {error}")),
            (_, Some(option)) => format!("{option} N allows more"),
            (Text::Template(_), None) => "--template FILE gives another".to_string(),
            _ => return Error::Model(error.into()),
        };
        if error.is_cancelled() { Error::Interrupted } else { Error::Template { source: error, help } }
    }

    /// Writes the error to standard error: a line, and for a chat template the source line with its place.
    pub(crate) fn tell(&self) {
        terminal::error(&self.to_string());
        if let Error::Template { source, .. } = self
            && let Some(template) = source.template()
        {
            template.context().lines().for_each(terminal::note);
        }
    }

    /// True if no message is wanted: the user ended the program, or the reader of its output did.
    pub(crate) fn is_quiet(&self) -> bool {
        matches!(self, Error::Interrupted) || self.is_closed_pipe()
    }

    /// `| head` has seen enough.
    fn is_closed_pipe(&self) -> bool {
        matches!(self, Error::Output(e) if e.kind() == io::ErrorKind::BrokenPipe)
    }
}
