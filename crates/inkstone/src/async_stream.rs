//! Streams for tasks of an executor.

use crate::{Error, Message, Model};
use inkstone_generate::Options;

/// A running generation as a stream of pieces, for tasks of any executor: see [`inkstone_generate::AsyncStream`].
pub type AsyncStream = inkstone_generate::AsyncStream<Error>;

impl Model {
    /// The pieces of [`Model::stream`] for a task. The call returns at once; an invalid prompt or option is the first item of the
    /// stream. Neither this call nor a poll waits for the model. Dropping the stream ends the generation.
    ///
    /// ```no_run
    /// # use inkstone::{Model, Options};
    /// # async fn tell(model: Model) -> inkstone::Result<()> {
    /// use futures_util::StreamExt;
    ///
    /// let mut stream = model.stream_async("Once upon a time", &Options::default());
    /// while let Some(piece) = stream.next().await {
    ///     print!("{}", piece?.text);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn stream_async(&self, prompt: impl Into<String>, options: &Options) -> AsyncStream {
        let (model, prompt, options) = (self.clone(), prompt.into(), options.clone());
        AsyncStream::spawn(move || model.stream(&prompt, &options))
    }

    /// The pieces of [`Model::chat_stream`] for a task, as in [`Model::stream_async`]. The thread of the stream renders the
    /// template.
    pub fn chat_stream_async(&self, messages: &[Message], options: &Options) -> AsyncStream {
        let (model, messages, options) = (self.clone(), messages.to_vec(), options.clone());
        AsyncStream::spawn(move || model.chat_stream(&messages, &options))
    }
}
