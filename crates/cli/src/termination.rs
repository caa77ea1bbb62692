//! SIGTERM and SIGHUP, which are recorded and then handled like Ctrl-C, and the modes of the terminal, which are
//! restored at the end.
#![allow(unsafe_code)]

#[cfg(all(unix, not(inkstone_portable)))]
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

/// Whether SIGTERM or SIGHUP was received.
static TERMINATED: AtomicBool = AtomicBool::new(false);

/// Whether the system, instead of the user at the terminal, asked the program to end. Such a signal ends a whole
/// conversation, not only an answer.
pub(crate) fn requested() -> bool {
    TERMINATED.load(SeqCst)
}

/// Installs the handlers.
#[cfg(all(unix, not(inkstone_portable)))]
pub(crate) fn install() {
    for signal in [libc::SIGTERM, libc::SIGHUP] {
        // SAFETY: an all-zero `sigaction` is a valid value of this plain C struct: no flags, an empty mask.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        action.sa_sigaction = terminate as extern "C" fn(libc::c_int) as *const () as usize;
        action.sa_flags = libc::SA_RESTART;
        // SAFETY: `action` is initialised, and its handler calls only what POSIX lists as async-signal-safe.
        unsafe { libc::sigaction(signal, &action, std::ptr::null_mut()) };
    }
}

/// Records the signal and raises SIGINT, which the thread that waits for Ctrl-C handles.
#[cfg(all(unix, not(inkstone_portable)))]
extern "C" fn terminate(_signal: libc::c_int) {
    TERMINATED.store(true, SeqCst);
    // SAFETY: `raise` is async-signal-safe, and SIGINT has a handler.
    unsafe { libc::raise(libc::SIGINT) };
}

/// On other systems the default action of the system ends the program.
#[cfg(any(not(unix), inkstone_portable))]
pub(crate) fn install() {}

/// The modes of the terminal at the start. The line editor changes them while it waits for a line, and they must be
/// restored if a signal ends the program at that time.
pub(crate) struct TerminalModes {
    #[cfg(all(unix, not(inkstone_portable)))]
    modes: Option<libc::termios>,
}

#[cfg(all(unix, not(inkstone_portable)))]
impl TerminalModes {
    /// The current modes of standard input, if it is a terminal.
    pub(crate) fn now() -> TerminalModes {
        TerminalModes { modes: current_modes() }
    }

    /// Restores the modes, and leaves the line of the editor if it is active: then the terminal does not edit lines itself.
    pub(crate) fn restore(&self) {
        let Some(modes) = &self.modes else { return };
        if current_modes().is_some_and(|now| now.c_lflag & libc::ICANON == 0) {
            // The editor has asked the terminal to mark pasted text; on a terminal it also has standard error.
            let _ = io::stderr().write_all(b"\x1b[?2004l\n");
        }
        // SAFETY: the modes were returned by `tcgetattr` for the same descriptor.
        unsafe { libc::tcsetattr(libc::STDIN_FILENO, libc::TCSANOW, modes) };
    }
}

#[cfg(all(unix, not(inkstone_portable)))]
fn current_modes() -> Option<libc::termios> {
    // SAFETY: an all-zero `termios` is a valid value of this plain C struct.
    let mut modes: libc::termios = unsafe { std::mem::zeroed() };
    // SAFETY: `modes` is a valid place for the result; a descriptor that is not a terminal is an error value.
    let known = unsafe { libc::tcgetattr(libc::STDIN_FILENO, &mut modes) } == 0;
    known.then_some(modes)
}

#[cfg(any(not(unix), inkstone_portable))]
impl TerminalModes {
    /// On other systems the modes are unknown.
    pub(crate) fn now() -> TerminalModes {
        TerminalModes {}
    }

    /// Does nothing.
    pub(crate) fn restore(&self) {}
}
