//! Ctrl-C and SIGTERM: the first signal ends the text, the second one the program.

use crate::error::{Error, interrupted};
use crate::termination::{self, TerminalModes};
use inkstone::Cancel;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError};

/// The actions of signals in this process.
pub(crate) struct Signals {
    /// A switch can't be reset, so work that continues after a signal gets a new one.
    cancel: Arc<Mutex<Cancel>>,
    /// Whether the current work watches `cancel`, so that a first signal does not end the program.
    watched: Arc<AtomicBool>,
}

impl Signals {
    /// Starts a thread that waits for Ctrl-C, SIGTERM and SIGHUP.
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

    /// The switch that the first signal turns on.
    pub(crate) fn cancel(&self) -> Cancel {
        current(&self.cancel)
    }

    /// Creates a new switch, after a signal that ended an answer but not the program.
    pub(crate) fn renew(&self) {
        *self.cancel.lock().unwrap_or_else(PoisonError::into_inner) = Cancel::new();
    }

    /// Whether a signal was received.
    pub(crate) fn interrupted(&self) -> bool {
        self.cancel().is_cancelled()
    }

    /// Declares that the caller ends its work when the switch is turned on, until the guard is dropped. At other times,
    /// when the program waits for input or does work that can't be interrupted, the first signal ends it immediately.
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
