//! Ctrl-C and SIGTERM: the first signal ends the text, the second one the program.

use crate::error::{Error, interrupted};
use crate::termination::{self, TerminalModes};
use crate::{output, terminal};
use inkstone::Cancel;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError};

/// The actions of signals in this process.
pub(crate) struct Signals {
    /// A switch can't be reset, so work that continues after a signal gets a new one.
    cancel: Arc<Mutex<Cancel>>,
    /// Whether the current work watches `cancel`, so that a first signal does not end the program.
    watched: Arc<AtomicBool>,
    prompt: PlainPrompt,
    ending: Arc<Mutex<Option<Ending>>>,
}

/// Work before the program ends.
type Ending = Box<dyn FnOnce() -> Result<(), Error> + Send>;

impl Signals {
    /// Starts a thread that waits for Ctrl-C, SIGTERM and SIGHUP.
    pub(crate) fn install() -> Result<Signals, Error> {
        let signals = Signals {
            cancel: Arc::default(),
            watched: Arc::default(),
            prompt: PlainPrompt::default(),
            ending: Arc::default(),
        };
        let (cancel, watched, prompt) = (signals.cancel.clone(), signals.watched.clone(), signals.prompt.clone());
        let ending = signals.ending.clone();
        let modes = TerminalModes::now();
        ctrlc::set_handler(move || {
            if !termination::requested() && prompt.warns() {
                return;
            }
            let cancel = current(&cancel);
            if cancel.is_cancelled() || !watched.load(SeqCst) {
                // Locked until the program has ended, so that the main thread does not do the same work.
                let mut ending = ending.lock().unwrap_or_else(PoisonError::into_inner);
                let ended = ending.take().map_or(Ok(()), |work| work());
                modes.restore();
                let code = ended.map_or_else(
                    |error| {
                        error.tell();
                        error.exit_code()
                    },
                    |()| interrupted(),
                );
                std::process::exit(code.into());
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

    /// The prompt of a terminal without the line editor.
    pub(crate) fn plain_prompt(&self) -> PlainPrompt {
        self.prompt.clone()
    }

    /// Creates a new switch, after a signal that ended an answer but not the program.
    pub(crate) fn renew(&self) {
        *self.cancel.lock().unwrap_or_else(PoisonError::into_inner) = Cancel::new();
    }

    /// Whether a signal was received.
    pub(crate) fn interrupted(&self) -> bool {
        self.cancel().is_cancelled()
    }

    /// Sets the work to do if a signal ends the program, until the guard is dropped.
    pub(crate) fn before_end(&self, work: impl FnOnce() -> Result<(), Error> + Send + 'static) -> BeforeEnd<'_> {
        *self.ending.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(work));
        BeforeEnd(&self.ending)
    }

    /// Declares that the caller ends its work when the switch is turned on, until the guard is dropped. At other times,
    /// when the program waits for input or does work that can't be interrupted, the first signal ends it immediately.
    pub(crate) fn watch(&self) -> Watch<'_> {
        self.watched.store(true, SeqCst);
        Watch(&self.watched)
    }
}

/// See [`Signals::before_end`].
pub(crate) struct BeforeEnd<'s>(&'s Mutex<Option<Ending>>);

impl Drop for BeforeEnd<'_> {
    fn drop(&mut self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

fn current(cancel: &Mutex<Cancel>) -> Cancel {
    cancel.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// The prompt of a terminal without the line editor. There Ctrl-C is a signal, for which the terminal clears the line. The
/// first signal is answered with a note, the second one before the end of a line ends the program.
#[derive(Clone, Default)]
pub(crate) struct PlainPrompt(Arc<AtomicU8>);

/// The states of a prompt: the program does not wait at it, waits, or waits and has warned.
const AWAY: u8 = 0;
const WAITING: u8 = 1;
const WARNED: u8 = 2;

impl PlainPrompt {
    /// Waits for a line, which `read` returns.
    pub(crate) fn wait<T>(&self, read: impl FnOnce() -> T) -> T {
        self.0.store(WAITING, SeqCst);
        let line = read();
        self.0.store(AWAY, SeqCst);
        line
    }

    /// Warns after the first signal. Returns whether it did.
    fn warns(&self) -> bool {
        let first = self.0.compare_exchange(WAITING, WARNED, SeqCst, SeqCst).is_ok();
        if first {
            // The terminal has shown `^C` in the line.
            terminal::note("");
            terminal::note(terminal::ONCE_MORE);
            let _ = output::print(terminal::PROMPT.as_bytes());
        }
        first
    }
}

/// See [`Signals::watch`].
pub(crate) struct Watch<'s>(&'s AtomicBool);

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        self.0.store(false, SeqCst);
    }
}
