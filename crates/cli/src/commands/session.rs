//! `--session FILE`: a text or a conversation in a file, from which later runs of the program go on.

use crate::{Error, terminal};
use inkstone::{ChatTemplate, Dialogue, ErrorKind, Model, Session};
use std::path::{Path, PathBuf};

/// The file of a session.
#[derive(Clone)]
pub(super) struct SessionFile(PathBuf);

impl SessionFile {
    /// Checks the file and its folder, before any slow work.
    pub(super) fn check(path: Option<&Path>) -> Result<Option<SessionFile>, Error> {
        let Some(path) = path else { return Ok(None) };
        Session::check_path(path).map_err(inkstone::Error::from)?;
        Ok(Some(SessionFile(path.to_path_buf())))
    }

    /// The text of the file, or an empty one if there is no file.
    pub(super) fn text(&self, model: &Model) -> Result<Session, Error> {
        match self.begun(|path| model.restore(path))? {
            None => Ok(model.session()),
            Some((session, extra)) if extra.is_empty() => Ok(session),
            Some(_) => Err(Error::Saved {
                file: self.name(),
                message: "the session has messages, which are not raw text; `inkstone chat` goes on from it".to_owned(),
            }),
        }
    }

    /// The conversation of the file, or an empty one if there is no file.
    pub(super) fn dialogue(&self, model: &Model, template: ChatTemplate) -> Result<Dialogue, Error> {
        let begun = self.begun(|path| Dialogue::restore(model, template.clone(), path))?;
        Ok(begun.unwrap_or_else(|| Dialogue::new(model, template)))
    }

    /// What the file has; `None` if there is no file.
    fn begun<T>(&self, restore: impl FnOnce(&Path) -> inkstone::Result<T>) -> Result<Option<T>, Error> {
        match restore(&self.0) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            restored => Ok(Some(restored?)),
        }
    }

    /// Saves at the end of a command, also after a signal. After an error the file stays as it was.
    pub(super) fn keep(
        &self,
        result: Result<(), Error>,
        save: impl FnOnce(&Path) -> inkstone::Result<()>,
    ) -> Result<(), Error> {
        match result {
            Ok(()) | Err(Error::Interrupted) => save(&self.0)?,
            Err(_) => terminal::note(&format!("note: the session is not saved to {}", self.name())),
        }
        result
    }

    /// Its path.
    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    fn name(&self) -> String {
        self.0.display().to_string()
    }
}
