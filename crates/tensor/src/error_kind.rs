/// What a program does about an error, whichever crate it comes from. Each error type of the workspace has a method `kind`,
/// and a service maps errors to its protocol in one match. The statuses below are the usual ones for HTTP.
///
/// A caller's own fault is `InvalidRequest`, `NotFound` or `Cancelled`; the message of such an error is meant for the caller.
/// The other kinds are the concern of the operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A prompt, a conversation or an option that the model can't take: an empty prompt, one that is longer than the context,
    /// a number out of range, a template that refuses the messages. Another request may succeed. HTTP 400.
    InvalidRequest,
    /// The file or the tensor does not exist. HTTP 404.
    NotFound,
    /// The file is not a model that this version runs: it is damaged, or has an unknown format, architecture, tokenizer, tensor
    /// type or chat template. The fault is the file's, whatever the request is. HTTP 501.
    Unsupported,
    /// Memory does not hold the model, its context or the request. HTTP 503.
    OutOfMemory,
    /// Something else has the model, its cache or a thread that is needed; a later try may succeed. HTTP 503 with `Retry-After`.
    Busy,
    /// The caller ended the work: a switch, a deadline, a callback that failed. HTTP 499, if anybody still listens.
    Cancelled,
    /// A failure below the request: a kernel, an engine, the system's input and output. After a failure of its engine a model
    /// has to be opened again. HTTP 500.
    Engine,
}
