use std::io;
use std::path::PathBuf;

/// An error that ends a command of xtask.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{message}")]
    Usage { message: String },
    #[error("{program}: {source}")]
    Start { program: String, source: io::Error },
    #[error("{program} ended with {status}:\n{output}")]
    Failed { program: String, status: String, output: String },
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("JSON: {0}")]
    Json(#[from] serde_json::Error),
    #[error(transparent)]
    Gguf(#[from] inkstone_gguf::Error),
    #[error("{name}: {what}")]
    Peer { name: String, what: String },
    #[error("{}:{number}: not a result: {error}", path.display())]
    Result { path: PathBuf, number: usize, error: serde_json::Error },
    #[error("the expression of {name}: {error}")]
    Expression { name: &'static str, error: Box<regex_automata::meta::BuildError> },
    /// One line per fault: every fault is reported, not only the first.
    #[error("{}", .0.join("\n"))]
    Faults(Vec<String>),
}

impl Error {
    /// `Ok` without faults, else all of them.
    pub fn from_faults(faults: Vec<String>) -> Result<(), Self> {
        if faults.is_empty() { Ok(()) } else { Err(Self::Faults(faults)) }
    }
}
