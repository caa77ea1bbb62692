//! The model of commands without a prompt: the first argument, or `-m`.

use crate::Error;
use clap::Args;
use std::path::{Path, PathBuf};

/// A model file, given in one of two ways.
#[derive(Args, Clone, Debug)]
pub(crate) struct FileArgs {
    /// GGUF file, or a name that `list` shows
    model: Option<PathBuf>,
    /// GGUF file, or a name that `list` shows
    #[arg(short = 'm', long = "model", value_name = "MODEL", conflicts_with = "model")]
    file: Option<PathBuf>,
}

impl FileArgs {
    /// The file, if one is given.
    pub(crate) fn given(&self) -> Option<&Path> {
        self.model.as_deref().or(self.file.as_deref())
    }

    /// The file that there must be.
    pub(crate) fn required(&self) -> Result<&Path, Error> {
        self.given().ok_or_else(missing)
    }
}

/// What is said without a model.
pub(super) fn missing() -> Error {
    Error::Usage("missing: MODEL; see --help".to_string())
}
