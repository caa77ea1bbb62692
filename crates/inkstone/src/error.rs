use inkstone_tensor::ErrorKind;

/// What can go wrong, on top of all.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file.
    #[error(transparent)]
    File(#[from] inkstone_gguf::Error),
    /// What the file says of its model.
    #[error(transparent)]
    Model(#[from] inkstone_model::Error),
    /// Its tokenizer.
    #[error(transparent)]
    Text(#[from] inkstone_text::Error),
    /// A request.
    #[error(transparent)]
    Generate(#[from] inkstone_generate::Error),
    /// An engine.
    #[error(transparent)]
    Engine(#[from] inkstone_compute::Error),
    /// An option of the model with a value that can't be.
    #[error("option {option} is {value}, allowed: {allowed}")]
    Option {
        /// Its name.
        option: &'static str,
        /// Its value.
        value: String,
        /// The rule.
        allowed: String,
    },
    /// The context does not fit into memory.
    #[error(
        "a context of {context} tokens needs {bytes} bytes of cache, {free} bytes are free; the largest that fits has \
         {largest} tokens"
    )]
    ContextMemory {
        /// What was asked for.
        context: u64,
        /// What its cache needs.
        bytes: u64,
        /// What there is.
        free: u64,
        /// What would fit.
        largest: u64,
    },
}

/// Result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// The kind of the error: how a program reacts to it.
    ///
    /// ```
    /// # use inkstone::{ErrorKind, Model};
    /// let error = Model::open("no-such-model.gguf").unwrap_err();
    /// let status = match error.kind() {
    ///     ErrorKind::InvalidRequest => 400,
    ///     ErrorKind::NotFound => 404,
    ///     ErrorKind::Cancelled => 499,
    ///     ErrorKind::Unsupported => 501,
    ///     ErrorKind::OutOfMemory | ErrorKind::Busy => 503,
    ///     _ => 500,
    /// };
    /// assert_eq!(status, 404);
    /// ```
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::File(error) => error.kind(),
            Error::Model(error) => error.kind(),
            Error::Text(error) => error.kind(),
            Error::Generate(error) => error.kind(),
            Error::Engine(error) => error.kind(),
            Error::Option { .. } => ErrorKind::InvalidRequest,
            Error::ContextMemory { .. } => ErrorKind::OutOfMemory,
        }
    }

    /// Whether memory does not hold a copy of the weights: with [`ModelOptions::mmap`](crate::ModelOptions#structfield.mmap) there
    /// is none.
    pub fn is_lack_of_memory_for_weights(&self) -> bool {
        use inkstone_compute::{
            Error::{Budget, NoMemory},
            WEIGHTS,
        };
        let (Error::Engine(e) | Error::Generate(inkstone_generate::Error::Engine(e))) = self else { return false };
        matches!(e, Budget { what: WEIGHTS, .. } | NoMemory { what: WEIGHTS, .. })
    }

    /// Whether an option's value is at fault, rather than a file, the machine or the model.
    pub fn is_usage(&self) -> bool {
        use inkstone_compute::Error::{NoEngine, NoIsa};
        match self {
            Error::Option { .. } | Error::Engine(NoEngine { .. } | NoIsa { .. }) => true,
            Error::Generate(e) => e.is_usage(),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inkstone_compute::{Budget, WEIGHTS};
    use inkstone_tensor::NoMemory;

    #[test]
    fn a_lack_of_memory_for_weights_is_told_from_others() {
        let budget = |what| Budget::new("cpu", 100).charge(500, what).unwrap_err();
        let memory = |what| inkstone_compute::Error::NoMemory { what, source: NoMemory { bytes: 500 } };
        for (what, wanted) in [(WEIGHTS, true), ("a state", false)] {
            for error in [budget(what), memory(what)] {
                let text = error.to_string();
                assert_eq!(Error::Engine(error).is_lack_of_memory_for_weights(), wanted, "{text}");
            }
        }
    }
}
