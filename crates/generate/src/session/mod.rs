//! Conversations with a model that continue from call to call.

mod checksum;
mod error;
mod file;
mod fingerprint;
mod format;
mod home;
mod rows;
mod save;

use crate::{Flow, Generator, Options, Piece, Reply, Result, Stream};
use home::Home;
use inkstone_kvcache::Salt;
use std::fmt;
use std::sync::Arc;

pub use error::SessionError;
pub use format::MAX_EXTRA;

/// A text that grows by appended text and by generated text. The beginning that it has in common with texts that
/// are in the cache is not computed again. Sessions are independent of each other: many of them may generate at the same
/// time, on any threads. [`Session::save`] and [`Generator::restore`] keep a session in a file.
///
/// ```no_run
/// # fn run(generator: &inkstone_generate::Generator) -> inkstone_generate::Result<()> {
/// use inkstone_generate::Options;
///
/// let mut session = generator.session();
/// session.append("Once upon a time")?;
/// let first = session.generate(&Options::default().max_tokens(20))?;
/// session.append(" The end came soon:")?;
/// let second = session.generate(&Options::default())?; // computes only what is new
/// assert!(second.usage.cached_tokens >= first.usage.prompt_tokens);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Session {
    generator: Generator,
    ids: Vec<u32>,
    /// The salt of its last request, with which its pages are found.
    salt: Salt,
    /// The salt of all its requests, if it was restored from a file.
    home: Option<Arc<Home>>,
}

impl Generator {
    /// A session without text.
    pub fn session(&self) -> Session {
        let salt = self.salt(&Options::default(), None);
        Session { generator: self.clone(), ids: Vec::new(), salt, home: None }
    }
}

impl Session {
    /// Appends a text. The beginning-of-text token, and the space that some tokenizers put before a text, are added only at
    /// the beginning of the session.
    ///
    /// # Errors
    /// The tokenizer reports an error.
    pub fn append(&mut self, text: &str) -> Result<()> {
        self.append_with(text, &Options::default())
    }

    /// Appends a text that is encoded with these options ([`Options::bos`], [`Options::special`]).
    ///
    /// # Errors
    /// The tokenizer reports an error.
    pub fn append_with(&mut self, text: &str, options: &Options) -> Result<()> {
        let ids = match self.ids.is_empty() {
            true => self.generator.encode(text, options)?,
            false => self.generator.encode_more(text, options)?,
        };
        self.append_ids(&ids)
    }

    /// Appends tokens.
    ///
    /// # Errors
    /// A token is not in the vocabulary, or the text is longer than the context. Nothing is appended then.
    pub fn append_ids(&mut self, ids: &[u32]) -> Result<()> {
        let whole = [&self.ids, ids].concat();
        if !ids.is_empty() {
            self.generator.check_prompt(&whole)?;
        }
        self.ids = whole;
        Ok(())
    }

    /// The tokens so far.
    pub fn ids(&self) -> &[u32] {
        &self.ids
    }

    /// Takes back all tokens behind the first `len`.
    pub fn truncate(&mut self, len: usize) {
        self.ids.truncate(len);
    }

    /// Makes `text` the text behind the first `len` tokens, where `text` is what a generation gave out there. So it takes
    /// back an end token and the tokens of a stop text, which are a part of the session but not of the text.
    ///
    /// # Errors
    /// The tokenizer reports an error.
    pub fn keep_text(&mut self, len: usize, text: &str) -> Result<()> {
        let tokenizer = self.generator.tokenizer();
        let (mut seen, mut kept, mut given) = (0, len, 0);
        for (place, id) in self.ids.iter().enumerate().skip(len) {
            let piece = tokenizer.piece(*id).unwrap_or_default();
            if !text.as_bytes()[seen..].starts_with(piece) {
                break;
            }
            seen += piece.len();
            if !piece.is_empty() && text.is_char_boundary(seen) {
                (kept, given) = (place + 1, seen);
            }
        }
        self.truncate(kept);
        // The text may end within a token.
        let rest = &text[given..];
        if rest.is_empty() { Ok(()) } else { self.append(rest) }
    }

    /// Takes back everything.
    pub fn reset(&mut self) {
        self.ids.clear();
    }

    /// A second session with the same text, which costs no memory in the cache until the texts part.
    pub fn fork(&self) -> Session {
        self.clone()
    }

    /// Generates a continuation, which becomes a part of the session.
    ///
    /// # Errors
    /// The session is empty, an option is invalid, or the generation fails. What was given out by then is a part of the
    /// session.
    pub fn generate(&mut self, options: &Options) -> Result<Reply> {
        self.generate_with(options, |_| Flow::Continue)
    }

    /// Generates a continuation and calls a function with each piece.
    ///
    /// # Errors
    /// Like [`Session::generate`], or the error that the function returned.
    pub fn generate_with(&mut self, options: &Options, mut f: impl FnMut(&Piece) -> Flow) -> Result<Reply> {
        let stream = self.start(options)?;
        let ids = &mut self.ids;
        stream.finish_up(|piece| {
            ids.extend_from_slice(&piece.ids);
            f(piece)
        })
    }

    /// Starts a generation; the pieces that are taken from it become a part of the session.
    ///
    /// # Errors
    /// The session is empty, or an option is invalid.
    pub fn stream(&mut self, options: &Options) -> Result<SessionStream<'_>> {
        let stream = self.start(options)?;
        Ok(SessionStream { stream, ids: &mut self.ids })
    }

    /// Starts a generation whose pieces do not become a part of the session, for a caller that keeps the text in another
    /// form, such as the messages of a conversation.
    ///
    /// # Errors
    /// Like [`Session::stream`].
    pub fn draft(&mut self, options: &Options) -> Result<Stream> {
        self.start(options)
    }

    fn start(&mut self, options: &Options) -> Result<Stream> {
        let salt = self.generator.salt(options, self.home.as_ref().map(|home| home.salt));
        let stream = self.generator.stream_with_salt(&self.ids, options, salt)?;
        self.salt = salt;
        Ok(stream)
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("ids", &self.ids).finish_non_exhaustive()
    }
}

/// A running generation of a session: an iterator over its pieces. Dropping it ends the generation.
pub struct SessionStream<'s> {
    stream: Stream,
    ids: &'s mut Vec<u32>,
}

impl SessionStream<'_> {
    /// The generation, with its counts, times and finish reason.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }
}

impl Iterator for SessionStream<'_> {
    type Item = Result<Piece>;

    fn next(&mut self) -> Option<Result<Piece>> {
        let piece = self.stream.next()?;
        if let Ok(piece) = &piece {
            self.ids.extend_from_slice(&piece.ids);
        }
        Some(piece)
    }
}
