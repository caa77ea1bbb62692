use inkstone_tensor::ErrorKind;

/// An error of the library.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file can't be read.
    #[error(transparent)]
    File(#[from] inkstone_gguf::Error),
    /// The model of the file can't be run.
    #[error(transparent)]
    Model(#[from] inkstone_model::Error),
    /// The tokenizer or the chat template failed.
    #[error(transparent)]
    Text(#[from] inkstone_text::Error),
    /// A request failed.
    #[error(transparent)]
    Generate(#[from] inkstone_generate::Error),
    /// An engine failed.
    #[error(transparent)]
    Engine(#[from] inkstone_compute::Error),
    /// The value of an option of the model is invalid.
    #[error("option {option} is {value}, allowed: {allowed}")]
    Option {
        /// The name of the option.
        option: &'static str,
        /// Its value.
        value: String,
        /// The values that are allowed.
        allowed: String,
    },
    /// The file of a session has no messages.
    #[error("{file}: the session has no conversation: {reason}")]
    NoConversation {
        /// Path.
        file: String,
        /// The difference between its bytes and a conversation.
        reason: String,
    },
    /// No engine runs the model.
    #[error("no engine runs the model: {}", reasons(engines))]
    Refused {
        /// The engines by name, with their reasons, best engine first.
        engines: Vec<(String, Error)>,
    },
    /// The context does not fit in memory.
    #[error(
        "a context of {context} tokens needs {bytes} bytes of cache, {free} bytes are free; the largest that fits has \
         {largest} tokens"
    )]
    ContextMemory {
        /// The requested context in tokens.
        context: u64,
        /// The bytes of its cache.
        bytes: u64,
        /// The free memory in bytes.
        free: u64,
        /// The largest context that fits, in tokens.
        largest: u64,
    },
}

/// The result type of this crate.
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
            Error::NoConversation { .. } => ErrorKind::Unsupported,
            Error::ContextMemory { .. } => ErrorKind::OutOfMemory,
            // The last engine supports most.
            Error::Refused { engines } => engines.last().map_or(ErrorKind::Engine, |(_, error)| error.kind()),
        }
    }

    /// Whether memory is too small for a copy of the weights.
    /// [`ModelOptions::mmap`](crate::ModelOptions#structfield.mmap) avoids the copy.
    pub fn is_lack_of_memory_for_weights(&self) -> bool {
        use inkstone_compute::{
            Error::{Budget, NoMemory},
            WEIGHTS,
        };
        use inkstone_generate::Error::ModelMemory;
        if let Error::Refused { engines } = self {
            return engines.last().is_some_and(|(_, error)| error.is_lack_of_memory_for_weights());
        }
        if let Error::Generate(ModelMemory { weights, values, cache, memory, .. }) = self {
            return *weights > 0 && values.saturating_add(*cache) <= *memory;
        }
        let (Error::Engine(e) | Error::Generate(inkstone_generate::Error::Engine(e))) = self else { return false };
        matches!(e, Budget { what: WEIGHTS, .. } | NoMemory { what: WEIGHTS, .. })
    }

    /// Whether the value of an option caused the error, instead of a file, the machine or the model.
    pub fn is_usage(&self) -> bool {
        use inkstone_compute::Error::{NoEngine, NoIsa};
        match self {
            Error::Option { .. } | Error::Engine(NoEngine { .. } | NoIsa { .. }) => true,
            Error::Generate(e) => e.is_usage(),
            Error::Refused { engines } => engines.iter().all(|(_, error)| error.is_usage()),
            _ => false,
        }
    }
}

/// A line with the reason of each engine.
fn reasons(engines: &[(String, Error)]) -> String {
    let reasons: Vec<String> = engines.iter().map(|(name, error)| format!("{name}: {error}")).collect();
    reasons.join("; ")
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
