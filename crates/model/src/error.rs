use inkstone_tensor::ErrorKind;

/// The reason why Inkstone can't run the model of a file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The architecture is unknown.
    #[error("architecture {name} is not known; known are: {known}")]
    UnknownArchitecture {
        /// The name in the file, or "(none)".
        name: String,
        /// The known architectures.
        known: String,
    },
    /// The model has a feature that is not supported yet.
    #[error("{what} not yet: {key} is {value}")]
    NotYet {
        /// The feature with its verb: "experts are".
        what: &'static str,
        /// The metadata key that requires it.
        key: String,
        /// Its value.
        value: String,
    },
    /// A required metadata key is missing.
    #[error("metadata key {key} is missing; it is {what}")]
    MissingKey {
        /// The key.
        key: String,
        /// The meaning of its value.
        what: &'static str,
    },
    /// A metadata value is invalid.
    #[error("metadata key {key} is {value}, allowed: {allowed}")]
    BadValue {
        /// The key.
        key: String,
        /// Its value.
        value: String,
        /// The values that are allowed.
        allowed: String,
    },
    /// The tensor of rope factors is invalid.
    #[error("tensor {tensor} is {found}, expected F32 [{pairs}] of finite factors above 0")]
    Factors {
        /// The name of the tensor.
        tensor: String,
        /// Its type and shape, or the invalid factor.
        found: String,
        /// The number of rotated pairs, which is the required number of factors.
        pairs: usize,
    },
    /// The file contains only metadata.
    #[error("the file has no tensors: it can be shown and can tokenize, but not run")]
    NoTensors,
    /// Its layers have too many different windows.
    #[error("layers with {groups} kinds of windows, one of them none: {most} are supported")]
    Groups {
        /// Kinds of layers, by what their caches keep.
        groups: usize,
        /// The supported number.
        most: usize,
    },
    /// Attention over caches that keep less than it sees.
    #[error("attention ({op}) sees more than layer group {group} keeps")]
    Sees {
        /// Its attributes.
        op: String,
        /// The group.
        group: usize,
    },
    /// A metadata value has the wrong type.
    #[error(transparent)]
    Metadata(#[from] inkstone_gguf::Error),
    /// A tensor is missing or has the wrong shape.
    #[error(transparent)]
    Graph(#[from] inkstone_graph::Error),
    /// A tensor that is needed while the model is traced can't be read.
    #[error(transparent)]
    Source(#[from] inkstone_tensor::SourceError),
}

impl Error {
    /// The kind of the error: how a program reacts to it.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::UnknownArchitecture { .. }
            | Error::NotYet { .. }
            | Error::MissingKey { .. }
            | Error::BadValue { .. }
            | Error::Factors { .. }
            | Error::Groups { .. }
            | Error::Sees { .. }
            | Error::NoTensors => ErrorKind::Unsupported,
            Error::Metadata(error) => error.kind(),
            Error::Graph(error) => error.kind(),
            Error::Source(_) => ErrorKind::Engine,
        }
    }
}
