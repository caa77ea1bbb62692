/// The kind of an error: how a program reacts to it. Each error type of the workspace has a method `kind`, so that a service
/// maps all errors to its protocol in one match. The HTTP statuses below are suggestions.
///
/// `InvalidRequest`, `NotFound` and `Cancelled` are in the hands of the caller, who should see the message. The other kinds
/// concern the operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The prompt, the conversation or an option is invalid: an empty prompt, a prompt longer than the context, a number out of
    /// range, messages that the chat template refuses. Another request may succeed. HTTP 400.
    InvalidRequest,
    /// The file or the tensor does not exist. HTTP 404.
    NotFound,
    /// This version can't run the file: it is damaged, or it has an unknown format, architecture, tokenizer, tensor type or chat
    /// template. No request to this file can succeed. HTTP 501.
    Unsupported,
    /// There is not enough memory for the model, its context or the request. HTTP 503.
    OutOfMemory,
    /// The model, its cache or the system's threads are in use; a later request may succeed. HTTP 503 with `Retry-After`.
    Busy,
    /// The caller ended the work: through a switch, a deadline or a callback that failed. HTTP 499.
    Cancelled,
    /// A failure that no request causes: a kernel, an engine, input or output of the system. A failure in a step ends the
    /// requests that were running, and later requests are served, unless the message says that the model is closed. HTTP
    /// 500.
    Engine,
}
