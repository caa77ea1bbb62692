use inkstone_tensor::{ErrorKind, sampling};
use std::sync::Arc;

/// What can go wrong with a request.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An option with a value that can't be.
    #[error("option {option} is {value}, allowed: {allowed}")]
    Option {
        /// Its name.
        option: &'static str,
        /// Its value.
        value: String,
        /// The rule.
        allowed: String,
    },
    /// An option of the sampling chain with a value that can't be.
    #[error(transparent)]
    Chain(#[from] sampling::ChainError),
    /// Nothing to go on from.
    #[error("the prompt has no tokens")]
    EmptyPrompt,
    /// More prompt than context.
    #[error("the prompt has {tokens} tokens, the context holds {context}")]
    PromptTooLong {
        /// Tokens of the prompt.
        tokens: usize,
        /// Tokens that fit.
        context: usize,
    },
    /// A token that the model does not have.
    #[error("token {id} at place {place} of the prompt, the vocabulary has {vocab}")]
    NoSuchToken {
        /// The id.
        id: u32,
        /// Its place.
        place: usize,
        /// Size of the vocabulary.
        vocab: usize,
    },
    /// The model gave something that is no number.
    #[error("logits are NaN at token {token}")]
    NanLogits {
        /// Index of the token that was to be drawn, from 0.
        token: u64,
    },
    /// The chain left no token.
    #[error("no token is left at token {token}: {stage} took the last one")]
    NoTokenLeft {
        /// Index of the token that was to be drawn, from 0.
        token: u64,
        /// The stage of the chain.
        stage: &'static str,
    },
    /// The engine has nothing to say of a row that should be drawn.
    #[error("nothing was drawn at token {token}: {status}")]
    NoRecord {
        /// Index of the token that was to be drawn, from 0.
        token: u64,
        /// What the record says.
        status: String,
    },
    /// A model whose graphs keep nothing between steps.
    #[error("the graphs of the model have no carry")]
    NoCarry,
    /// A model whose graphs don't give what was asked for.
    #[error("the graphs of the model have no port {port:?}")]
    NoPort {
        /// Which.
        port: inkstone_compute::Port,
    },
    /// An engine that can't execute anything.
    #[error("the engine has no executor")]
    NoExecutor,
    /// Sequences of others are under way, or an engine has failed.
    #[error("the model is busy with other sequences, or its engine has failed")]
    Busy,
    /// The system gives no thread for a stream.
    #[error("no thread for a stream: {0}")]
    NoThread(std::io::Error),
    /// The caller's function failed.
    #[error("the callback failed: {0}")]
    Callback(Box<dyn std::error::Error + Send + Sync>),
    /// Memory could not be had.
    #[error("{what}: {source}")]
    NoMemory {
        /// What the memory is for.
        what: &'static str,
        /// How much.
        source: inkstone_tensor::NoMemory,
    },
    /// What the file recommends can't be.
    #[error("what the file recommends (general.sampling): {0}")]
    Recommended(sampling::ChainError),
    /// The tokenizer refused.
    #[error(transparent)]
    Text(#[from] inkstone_text::Error),
    /// Metadata of another type.
    #[error(transparent)]
    Metadata(#[from] inkstone_gguf::Error),
    /// The model can't be compiled.
    #[error(transparent)]
    Graph(#[from] inkstone_graph::Error),
    /// Pages of the cache.
    #[error(transparent)]
    Cache(#[from] inkstone_kvcache::Error),
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] inkstone_compute::Error),
    /// The state of the device is not known.
    #[error("a thread panicked in a step, the model has to be opened again")]
    Panicked,
    /// The engine failed in a step that several callers had a part in.
    #[error("{0}")]
    Shared(Arc<Error>),
}

/// Result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// The kind of the error: how a program reacts to it.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::Option { .. }
            | Error::Chain(_)
            | Error::EmptyPrompt
            | Error::PromptTooLong { .. }
            | Error::NoSuchToken { .. }
            | Error::NoTokenLeft { .. } => ErrorKind::InvalidRequest,
            Error::Recommended(_) => ErrorKind::Unsupported,
            Error::NoMemory { .. } => ErrorKind::OutOfMemory,
            Error::Busy | Error::NoThread(_) => ErrorKind::Busy,
            Error::Callback(_) => ErrorKind::Cancelled,
            Error::NanLogits { .. }
            | Error::NoRecord { .. }
            | Error::NoCarry
            | Error::NoPort { .. }
            | Error::NoExecutor
            | Error::Panicked => ErrorKind::Engine,
            Error::Text(error) => error.kind(),
            Error::Metadata(error) => error.kind(),
            Error::Graph(error) => error.kind(),
            Error::Cache(error) => error.kind(),
            Error::Engine(error) => error.kind(),
            Error::Shared(error) => error.kind(),
        }
    }

    /// Whether an option's value is at fault, rather than a file, the machine or the model.
    pub fn is_usage(&self) -> bool {
        use inkstone_graph::Error::UnknownFusion;
        matches!(self, Error::Option { .. } | Error::Chain(_) | Error::Graph(UnknownFusion { .. }))
    }
}
