//! The model of commands without a prompt, given as the first argument or with `-m`.

use crate::Error;
use clap::Args;
use std::path::{Path, PathBuf};

/// A model file, given as an argument or an option.
#[derive(Args, Clone, Debug)]
pub(crate) struct FileArgs {
    /// GGUF file, or a name that `list` shows
    model: Option<PathBuf>,
    /// GGUF file, or a name that `list` shows
    #[arg(short = 'm', long = "model", value_name = "MODEL", conflicts_with = "model")]
    file: Option<PathBuf>,
}

impl FileArgs {
    /// The given file, if there is one.
    pub(crate) fn given(&self) -> Option<&Path> {
        self.model.as_deref().or(self.file.as_deref())
    }

    /// The given file, or an error if there is none.
    pub(crate) fn required(&self) -> Result<&Path, Error> {
        self.given().ok_or_else(missing)
    }
}

/// The error for a missing model.
pub(super) fn missing() -> Error {
    Error::Usage("missing: MODEL; see --help".to_string())
}
