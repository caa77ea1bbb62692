//! Sessions in files: the text, the caller's bytes, and the rows of the text in the caches.

use super::fingerprint::Fingerprint;
use super::home::Home;
use super::rows::Paged;
use super::{MAX_EXTRA, Session, SessionError, file, format};
use crate::{Generator, Result};
use std::path::Path;
use std::sync::Arc;

impl Session {
    /// Writes the session to a file: its tokens, their keys and values as far as the cache has them, and `extra`, bytes of
    /// the caller that [`Generator::restore`] returns, for example the messages of a conversation. The file contains the
    /// text of the conversation in plain form; with a long text it is large, because each token has keys and values in
    /// every layer.
    ///
    /// An existing file is replaced when the new one is complete; after an error it is as before. Other requests wait
    /// while the rows are copied from the device, but not while the file is written.
    ///
    /// # Errors
    /// [`SessionError::Extra`] if `extra` is longer than [`MAX_EXTRA`]; [`SessionError::Io`]; the engine or a step fails.
    ///
    /// ```no_run
    /// # fn run(generator: &inkstone_generate::Generator) -> inkstone_generate::Result<()> {
    /// use inkstone_generate::Options;
    ///
    /// let mut session = generator.session();
    /// session.append("Once upon a time")?;
    /// session.generate(&Options::default().max_tokens(20))?;
    /// session.save("story.session", b"first chapter")?;
    ///
    /// // Later, in a process with the same model.
    /// let (mut session, extra) = generator.restore("story.session")?;
    /// assert_eq!(extra, b"first chapter");
    /// session.generate(&Options::default())?; // computes nothing of the text again
    /// # Ok(())
    /// # }
    /// ```
    pub fn save(&self, path: impl AsRef<Path>, extra: &[u8]) -> Result<()> {
        file::write(path.as_ref(), &self.to_bytes(extra)?)
    }

    /// Checks a path before a model is loaded: that it is a file that can be opened, or that nothing is there, and that its
    /// folder takes a file. So a program finds out before a long generation that [`Session::save`] will fail.
    ///
    /// # Errors
    /// [`SessionError`].
    pub fn check_path(path: impl AsRef<Path>) -> Result<()> {
        file::check(path.as_ref())
    }

    /// The bytes that [`Session::save`] writes.
    ///
    /// # Errors
    /// Like [`Session::save`].
    pub fn to_bytes(&self, extra: &[u8]) -> Result<Vec<u8>> {
        if extra.len() > MAX_EXTRA {
            return Err(SessionError::Extra { bytes: extra.len(), most: MAX_EXTRA }.into());
        }
        let model = Fingerprint::of(&self.generator)?;
        let paged = Paged::caches(self.generator.compiled().interface());
        let mut turn = self.generator.shared().turn();
        let mut tables = turn.find_rows(self.salt, &self.ids)?;
        let stored = turn.stored(&tables);
        let mut bytes = format::begin(&model, &self.ids, extra, tables.len());
        format::ranges(&mut bytes, &stored);
        let read = format::reserve_rows(&mut bytes, paged.bytes(&stored))
            .and_then(|rows| turn.read_rows(&paged, &tables, &stored, &mut bytes[rows..]));
        turn.caches.release(&mut tables)?;
        drop(turn);
        read?;
        format::end(&mut bytes);
        Ok(bytes)
    }
}

impl Generator {
    /// Restores a session from a file that [`Session::save`] wrote with the same model, cache formats and engine, on a
    /// generator with any page size and number of sequences. Returns it with the caller's bytes. It continues with the same
    /// bits as the session that was saved. If the cache has no room for all of its rows, the missing ones are computed
    /// again; so are the rows of a model with windows if the pages have another size.
    ///
    /// The file may come from anywhere: a damaged file, or one of another model, is an error. But nothing can tell whether
    /// the rows of a file are those of its text. So only the restored session and its forks use them, and the
    /// [`Options::cache_salt`](crate::Options::cache_salt) of their requests has no effect.
    ///
    /// # Errors
    /// [`SessionError`] with the field that differs, also if a token is not in the vocabulary or the text is longer than
    /// the context; the engine fails.
    pub fn restore(&self, path: impl AsRef<Path>) -> Result<(Session, Vec<u8>)> {
        let path = path.as_ref();
        let (model, paged) = (Fingerprint::of(self)?, Paged::caches(self.compiled().interface()));
        let most = format::most_bytes(&model, self.config().context, paged.token_bytes());
        let bytes = file::read(path, most)?;
        self.restored(&file::name(path), &bytes, &model, &paged)
    }

    /// Restores a session from the bytes of its file.
    ///
    /// # Errors
    /// Like [`Generator::restore`].
    pub fn restore_bytes(&self, bytes: &[u8]) -> Result<(Session, Vec<u8>)> {
        let (model, paged) = (Fingerprint::of(self)?, Paged::caches(self.compiled().interface()));
        self.restored("the bytes of a session", bytes, &model, &paged)
    }

    fn restored(&self, name: &str, bytes: &[u8], model: &Fingerprint, paged: &Paged) -> Result<(Session, Vec<u8>)> {
        let groups = self.graph().config.groups().len();
        let contents = format::parse(name, bytes, model, paged, groups)?;
        check_tokens(self, name, &contents.ids)?;
        let salt = self.private_salt();
        // Without shared pages no request would find the rows.
        if self.config().prefix {
            let mut turn = self.shared().turn();
            turn.write_rows(salt, &contents.ids, paged, contents.tokens, (&contents.stored, contents.rows))?;
        }
        // Forgets the pages when it is dropped.
        let home = Some(Arc::new(Home::new(salt, self.shared().clone())));
        let session = Session { generator: self.clone(), ids: contents.ids, salt, home };
        Ok((session, contents.extra.to_vec()))
    }
}

/// Checks the tokens of a file.
fn check_tokens(generator: &Generator, name: &str, ids: &[u32]) -> Result<()> {
    let (context, vocab) = (generator.config().context, generator.graph().config.vocab);
    let (field, found, expected) = match ids.iter().position(|id| *id as usize >= vocab) {
        _ if ids.len() > context => {
            ("number of tokens", ids.len().to_string(), format!("at most {context}, the context"))
        }
        Some(place) => ("token", format!("{} at place {place}", ids[place]), format!("below {vocab}, the vocabulary")),
        None => return Ok(()),
    };
    Err(SessionError::Unusable { file: name.to_owned(), field, found, expected }.into())
}
