use crate::SessionError;
use crate::memory::sum;
use inkstone_tensor::{ErrorKind, sampling};
use std::sync::Arc;

/// An error of a request, or of loading a model.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The value of an option is invalid.
    #[error("option {option} is {value}, allowed: {allowed}")]
    Option {
        /// The name of the option.
        option: &'static str,
        /// Its value.
        value: String,
        /// The values that are allowed.
        allowed: String,
    },
    /// The value of a sampling option is invalid.
    #[error(transparent)]
    Chain(#[from] sampling::ChainError),
    /// The prompt is empty.
    #[error("the prompt has no tokens")]
    EmptyPrompt,
    /// The prompt is longer than the context.
    #[error("the prompt has {tokens} tokens, the context holds {context}")]
    PromptTooLong {
        /// Tokens of the prompt.
        tokens: usize,
        /// Tokens of the context.
        context: usize,
    },
    /// A token of the prompt is outside the vocabulary.
    #[error("token {id} at place {place} of the prompt, the vocabulary has {vocab}")]
    NoSuchToken {
        /// The id.
        id: u32,
        /// Its position in the prompt.
        place: usize,
        /// Size of the vocabulary.
        vocab: usize,
    },
    /// The model computed a logit that is NaN.
    #[error("logits are NaN at token {token}")]
    NanLogits {
        /// Index of the token to be drawn, from 0.
        token: u64,
    },
    /// The sampling chain removed all tokens.
    #[error("no token is left at token {token}: {stage} took the last one")]
    NoTokenLeft {
        /// Index of the token to be drawn, from 0.
        token: u64,
        /// The stage that removed the last one.
        stage: &'static str,
    },
    /// The engine drew no token for a row.
    #[error("nothing was drawn at token {token}: {status}")]
    NoRecord {
        /// Index of the token to be drawn, from 0.
        token: u64,
        /// The status in its record.
        status: String,
    },
    /// The graphs of the model have no carry, which keeps state between steps.
    #[error("the graphs of the model have no carry")]
    NoCarry,
    /// The graphs of the model do not have a requested port.
    #[error("the graphs of the model have no port {port}")]
    NoPort {
        /// The port.
        port: inkstone_compute::Port,
    },
    /// The engine allocated no arena.
    #[error("the engine allocated no arena")]
    NoArena,
    /// The model and its cache do not fit in the memory of the engine.
    #[error(
        "the model needs {} bytes of engine {engine}, which has {memory}: {weights} for weights, {values} for values of a \
         step, {cache} for the cache",
        sum([*weights, *values, *cache])
    )]
    ModelMemory {
        /// Name of the engine.
        engine: String,
        /// Bytes of the weights.
        weights: u64,
        /// Bytes of values between steps, and of the step itself.
        values: u64,
        /// Bytes of the cache.
        cache: u64,
        /// The bytes that the engine has.
        memory: u64,
    },
    /// A kernel of the engine does not reach all of a buffer.
    #[error("the {what} needs {needs} {unit}, a kernel of engine {engine} reaches {most}")]
    Binding {
        /// Name of the engine.
        engine: String,
        /// The purpose of the buffer.
        what: &'static str,
        /// The unit of the numbers.
        unit: &'static str,
        /// The size of the buffer.
        needs: u64,
        /// The most that a kernel reaches.
        most: u64,
    },
    /// The engine has no executor.
    #[error("the engine has no executor")]
    NoExecutor,
    /// Other sequences are running, or the engine has failed.
    #[error("the model is busy with other sequences, or its engine has failed")]
    Busy,
    /// Too many requests wait.
    #[error("{limit} requests wait already, which is the limit")]
    QueueFull {
        /// The largest number of waiting requests.
        limit: usize,
    },
    /// The system can't start a thread for a stream.
    #[error("no thread for a stream: {0}")]
    NoThread(std::io::Error),
    /// The callback returned an error.
    #[error("the callback failed: {0}")]
    Callback(Box<dyn std::error::Error + Send + Sync>),
    /// An allocation failed.
    #[error("{what}: {source}")]
    NoMemory {
        /// The purpose of the memory.
        what: &'static str,
        /// The error with the number of bytes.
        source: inkstone_tensor::NoMemory,
    },
    /// A sampling option recommended by the file is invalid.
    #[error("general.sampling in the file: {0}")]
    Recommended(sampling::ChainError),
    /// The tokenizer reported an error.
    #[error(transparent)]
    Text(#[from] inkstone_text::Error),
    /// A metadata value has the wrong type.
    #[error(transparent)]
    Metadata(#[from] inkstone_gguf::Error),
    /// The model can't be compiled.
    #[error(transparent)]
    Graph(#[from] inkstone_graph::Error),
    /// The pages of the cache could not be allocated.
    #[error(transparent)]
    Cache(#[from] inkstone_kvcache::Error),
    /// The engine reported an error.
    #[error(transparent)]
    Engine(#[from] inkstone_compute::Error),
    /// A session could not be saved or restored.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// A thread panicked in a step, so the states of all sequences that were running are unknown.
    #[error("a thread panicked in a step, which ended all running sequences")]
    Panicked,
    /// The engine failed, and the states of the device could not be set anew: no step runs any more.
    #[error("the model is closed, because its states can't be set anew after a failure: {0}")]
    Closed(Box<Error>),
    /// The error of a step with sequences of several callers.
    #[error("{0}")]
    Shared(Arc<Error>),
}

/// The result type of this crate.
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
            Error::NoMemory { .. } | Error::ModelMemory { .. } | Error::Binding { .. } => ErrorKind::OutOfMemory,
            Error::Busy | Error::QueueFull { .. } | Error::NoThread(_) => ErrorKind::Busy,
            Error::Callback(_) => ErrorKind::Cancelled,
            Error::NanLogits { .. }
            | Error::NoRecord { .. }
            | Error::NoCarry
            | Error::NoPort { .. }
            | Error::NoArena
            | Error::NoExecutor
            | Error::Panicked
            | Error::Closed(_) => ErrorKind::Engine,
            Error::Text(error) => error.kind(),
            Error::Metadata(error) => error.kind(),
            Error::Graph(error) => error.kind(),
            Error::Cache(error) => error.kind(),
            Error::Engine(error) => error.kind(),
            Error::Session(error) => error.kind(),
            Error::Shared(error) => error.kind(),
        }
    }

    /// Whether the value of an option caused the error, instead of a file, the machine or the model.
    pub fn is_usage(&self) -> bool {
        use inkstone_graph::Error::UnknownFusion;
        matches!(self, Error::Option { .. } | Error::Chain(_) | Error::Graph(UnknownFusion { .. }))
    }
}
