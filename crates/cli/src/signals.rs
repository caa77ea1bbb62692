//! Ctrl-C and SIGTERM: the first ends the text, the second the program.

use crate::error::{Error, interrupted};
use crate::termination::{self, TerminalModes};
use inkstone::Cancel;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError};

/// What the signals of this process do.
pub(crate) struct Signals {
    /// A switch is thrown once: each work that goes on after a signal has one of its own.
    cancel: Arc<Mutex<Cancel>>,
    /// Somebody watches `cancel`, so a first signal need not end the program.
    watched: Arc<AtomicBool>,
}

impl Signals {
    /// Listens for Ctrl-C, SIGTERM and SIGHUP on a thread of its own.
    pub(crate) fn install() -> Result<Signals, Error> {
        let signals = Signals { cancel: Arc::default(), watched: Arc::default() };
        let (cancel, watched) = (signals.cancel.clone(), signals.watched.clone());
        let modes = TerminalModes::now();
        ctrlc::set_handler(move || {
            let cancel = current(&cancel);
            if cancel.is_cancelled() || !watched.load(SeqCst) {
                modes.restore();
                std::process::exit(interrupted().into());
            }
            cancel.cancel();
        })?;
        termination::install();
        Ok(signals)
    }

    /// The switch that the first signal throws.
    pub(crate) fn cancel(&self) -> Cancel {
        current(&self.cancel)
    }

    /// A new switch, for what comes after a signal ended an answer but not the program.
    pub(crate) fn renew(&self) {
        *self.cancel.lock().unwrap_or_else(PoisonError::into_inner) = Cancel::new();
    }

    /// Whether the system asked the program to end: then a signal means more than the answer of a conversation.
    pub(crate) fn terminated(&self) -> bool {
        termination::requested()
    }

    /// Whether a signal came.
    pub(crate) fn interrupted(&self) -> bool {
        self.cancel().is_cancelled()
    }

    /// From now until the guard is dropped the caller ends its work when the switch is thrown. Outside, where the
    /// program waits for input or works on what can't be divided, the first signal ends it at once.
    pub(crate) fn watch(&self) -> Watch<'_> {
        self.watched.store(true, SeqCst);
        Watch(&self.watched)
    }
}

fn current(cancel: &Mutex<Cancel>) -> Cancel {
    cancel.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// See [`Signals::watch`].
pub(crate) struct Watch<'s>(&'s AtomicBool);

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        self.0.store(false, SeqCst);
    }
}
