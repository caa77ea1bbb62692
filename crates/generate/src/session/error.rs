//! Errors of session files.

use inkstone_tensor::ErrorKind;
use std::io;

/// An error of a session file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// The operating system reported an error.
    #[error("{file}: can't {action}: {source}")]
    Io {
        /// Path.
        file: String,
        /// The failed operation: "open the file".
        action: &'static str,
        /// The error of the system.
        source: io::Error,
    },
    /// The file is damaged, is no session file, or belongs to another model or engine.
    #[error("{file}: {field} is {found}, expected {expected}")]
    Unusable {
        /// Path, or "the bytes of a session".
        file: String,
        /// The part of the file.
        field: &'static str,
        /// Its value.
        found: String,
        /// The value that this model needs, or the allowed values.
        expected: String,
    },
    /// The caller's bytes are too many to be saved with a session.
    #[error("{bytes} bytes to save with a session, allowed: at most {most}")]
    Extra {
        /// Their number.
        bytes: usize,
        /// The largest number.
        most: usize,
    },
}

impl SessionError {
    /// The kind of the error: how a program reacts to it.
    pub fn kind(&self) -> ErrorKind {
        match self {
            SessionError::Io { source, .. } => match source.kind() {
                io::ErrorKind::NotFound => ErrorKind::NotFound,
                io::ErrorKind::OutOfMemory => ErrorKind::OutOfMemory,
                _ => ErrorKind::Engine,
            },
            SessionError::Unusable { .. } => ErrorKind::Unsupported,
            SessionError::Extra { .. } => ErrorKind::InvalidRequest,
        }
    }
}
