//! The errors of commands, and the exit codes.

use crate::terminal;
use std::io;

/// The command succeeded.
pub(crate) const SUCCESS: u8 = 0;
/// A file, a text or the machine caused an error.
pub(crate) const INPUT: u8 = 1;
/// The command line is invalid.
pub(crate) const USAGE: u8 = 2;
/// Ended by Ctrl-C.
const INTERRUPTED: u8 = 130;
/// Ended by SIGTERM or SIGHUP.
const TERMINATED: u8 = 143;

/// The exit code after a signal.
pub(crate) fn interrupted() -> u8 {
    if crate::termination::requested() { TERMINATED } else { INTERRUPTED }
}

/// An error that ends a command. Each message is one line.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The arguments conflict, or the command found an invalid value.
    #[error("{0}")]
    Usage(String),
    /// A model or a generation failed.
    #[error(transparent)]
    Model(#[from] inkstone::Error),
    /// The weights do not fit in memory.
    #[error("{0}; --mmap reads them from the file when they are needed")]
    TooLarge(inkstone::Error),
    /// A model file is invalid.
    #[error(transparent)]
    Gguf(#[from] inkstone::gguf::Error),
    /// A tokenizer or a text is invalid.
    #[error("{name}: {source}")]
    Text {
        /// The file, or the role of the text: "the prompt".
        name: String,
        /// The reason.
        source: inkstone::text::Error,
    },
    /// There is no model at the path.
    #[error("{path}: no such file; {hint}")]
    NoModel {
        /// The path.
        path: String,
        /// A suggestion.
        hint: String,
    },
    /// A text can't be read.
    #[error("{name}: can't read: {source}")]
    Read {
        /// The file, or "standard input".
        name: String,
        /// The error of the system.
        source: io::Error,
    },
    /// Standard input ended without a message.
    #[error("standard input is empty; a prompt is an argument, -p TEXT, -f FILE or standard input")]
    NoMessage,
    /// A text is longer than allowed.
    #[error("{name}: more than {limit} bytes, allowed: at most {limit} ({rule})")]
    TextTooLong {
        /// The file, or "standard input".
        name: String,
        /// The limit in bytes.
        limit: u64,
        /// The reason for the limit.
        rule: &'static str,
    },
    /// A file can't be written.
    #[error("{file}: can't write: {source}")]
    Write {
        /// Its path.
        file: String,
        /// The error of the system.
        source: io::Error,
    },
    /// A chat template failed or exceeded a limit.
    #[error("{source}; {help}")]
    Template {
        /// The reason.
        source: inkstone::text::Error,
        /// The option that may help.
        help: String,
    },
    /// A line is not a valid request of `template --lines`.
    #[error("standard input, line {line}: {message}")]
    Request {
        /// The number of the line, from 1.
        line: u64,
        /// The reason.
        message: String,
    },
    /// Lines of `batch` have an error in place of replies.
    #[error("{failed} of {all} requests failed; their results have the field error")]
    Requests {
        /// The number of failed requests.
        failed: usize,
        /// The number of all of them.
        all: usize,
    },
    /// A saved conversation can't be read.
    #[error("{file}: {message}")]
    Saved {
        /// Its path.
        file: String,
        /// The reason.
        message: String,
    },
    /// The input ended within a text in quotes.
    #[error("standard input ends within a message; \"\"\" at the end of a line ends the message")]
    OpenQuotes,
    /// The line editor failed.
    #[error("the terminal: {0}")]
    Terminal(#[from] rustyline::error::ReadlineError),
    /// Standard output can't be written. (Other I/O has its own errors.)
    #[error("standard output: can't write: {0}")]
    Output(#[from] io::Error),
    /// `show --check` found faulty tensors.
    #[error("{file}: {tensors} of {all} tensors have NaN or infinite values or could not be read")]
    Unsound {
        /// The file.
        file: String,
        /// The number of faulty tensors.
        tensors: usize,
        /// The number of all of them.
        all: usize,
    },
    /// A kernel failed while it was timed.
    #[error("{0}")]
    Kernel(String),
    /// `bench --kernels --assert` found faster kernels than the chosen ones.
    #[error("{slow} of {all} chosen kernels take over 5% more than the fastest")]
    SlowKernels {
        /// The number of slow kernels.
        slow: usize,
        /// The number of all of them.
        all: usize,
    },
    /// `bench --scheduler --assert` found ratios that miss their floors.
    #[error("the scheduler misses floors: {tests}")]
    SlowScheduler {
        /// The tests with their ratios.
        tests: String,
    },
    /// The signal handler can't be installed.
    #[error("can't listen for Ctrl-C: {0}")]
    Signals(#[from] ctrlc::Error),
    /// Ctrl-C or SIGTERM.
    #[error("interrupted")]
    Interrupted,
}

/// The option of the program for the limit that a chat template exceeded.
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

    /// The error of a chat template, with the option that may help. An invalid variable name is an error of the command
    /// line.
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

    /// Writes the error to standard error: one line, and for a chat template also the source line with its place.
    pub(crate) fn tell(&self) {
        terminal::error(&self.to_string());
        if let Error::Template { source, .. } = self
            && let Some(template) = source.template()
        {
            template.context().lines().for_each(terminal::note);
        }
    }

    /// Whether no message is needed, because the user or the reader of the output ended the program.
    pub(crate) fn is_quiet(&self) -> bool {
        matches!(self, Error::Interrupted) || self.is_closed_pipe()
    }

    /// Whether the reader of the output has closed the pipe.
    fn is_closed_pipe(&self) -> bool {
        matches!(self, Error::Output(e) if e.kind() == io::ErrorKind::BrokenPipe)
    }
}
