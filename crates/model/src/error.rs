/// Why a file is no model that Inkstone can run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No architecture of that name.
    #[error("architecture {name} is not known; known are: {known}")]
    UnknownArchitecture {
        /// What the file says, or "(none)".
        name: String,
        /// What there is.
        known: String,
    },
    /// A variant that is not there yet.
    #[error("{what} not yet: {key} is {value}")]
    NotYet {
        /// What it is: "experts are".
        what: &'static str,
        /// The metadata key that asks for it.
        key: String,
        /// Its value.
        value: String,
    },
    /// A metadata key that must be there.
    #[error("metadata key {key} is missing; it is {what}")]
    MissingKey {
        /// The key.
        key: String,
        /// What it would say.
        what: &'static str,
    },
    /// A metadata value that can't be.
    #[error("metadata key {key} is {value}, allowed: {allowed}")]
    BadValue {
        /// The key.
        key: String,
        /// Its value.
        value: String,
        /// The rule.
        allowed: String,
    },
    /// Rope factors that can't be.
    #[error("tensor {tensor} is {found}, expected F32 [{pairs}] of finite factors above 0")]
    Factors {
        /// Its name.
        tensor: String,
        /// What it is.
        found: String,
        /// Pairs that rotate: the factors that are needed.
        pairs: usize,
    },
    /// A file with metadata only.
    #[error("the file has no tensors: it can be shown and can tokenize, but not run")]
    NoTensors,
    /// Metadata of another type.
    #[error(transparent)]
    Metadata(#[from] inkstone_gguf::Error),
    /// A tensor is missing or has another shape.
    #[error(transparent)]
    Graph(#[from] inkstone_graph::Error),
    /// A tensor that is read while the model is traced can't be read.
    #[error(transparent)]
    Source(#[from] inkstone_tensor::SourceError),
}
