//! The errors of a chain and of a row.

use crate::NoMemory;

/// Why a row has no token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SampleError {
    /// The model gave a value that is not a number.
    #[error("logits are NaN")]
    NanLogits,
    /// No token is left.
    #[error("no token is left after {stage}")]
    Empty {
        /// The stage that took the last one; `logits` if there was none from the start.
        stage: &'static str,
    },
    /// A token whose score was asked for is not in the vocabulary.
    #[error("token {token} is not in the vocabulary of {vocab} tokens")]
    Token {
        /// The token.
        token: u32,
        /// Tokens of the vocabulary.
        vocab: usize,
    },
    /// Working memory could not be had.
    #[error("no memory for {bytes} bytes of sampling")]
    NoMemory {
        /// The requested size.
        bytes: usize,
    },
}

impl From<NoMemory> for SampleError {
    fn from(error: NoMemory) -> SampleError {
        SampleError::NoMemory { bytes: usize::try_from(error.bytes).unwrap_or(usize::MAX) }
    }
}

/// Why a chain can't be used.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ChainError {
    /// A number is out of its range.
    #[error("{stage} is {value}, allowed is {allowed}")]
    Value {
        /// The stage that has it.
        stage: &'static str,
        /// The number.
        value: f64,
        /// Its range.
        allowed: &'static str,
    },
    /// A stage names a token that is not there.
    #[error("{stage} names token {token}, but the vocabulary has {vocab} tokens")]
    Token {
        /// The stage.
        stage: &'static str,
        /// The token.
        token: u32,
        /// Tokens of the vocabulary.
        vocab: usize,
    },
    /// The encoded form is not one.
    #[error("sampling chain: word {at} {reason}")]
    Words {
        /// Index of the word, counted from the first of the chain.
        at: usize,
        /// The reason.
        reason: &'static str,
    },
}
