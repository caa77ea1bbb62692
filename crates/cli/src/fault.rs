//! Handlers for faults that reach the program as signals and must end it with one line and exit code 1.
//!
//! SIGBUS: a mapped model file was truncated by another program, or the disk can't be read. SIGABRT: the standard
//! library has printed that an allocation failed.
#![allow(unsafe_code)]

use std::sync::OnceLock;

/// The message of SIGBUS, prepared in advance because a handler can't allocate.
static MESSAGE: OnceLock<Vec<u8>> = OnceLock::new();

/// Prepares the message for a file that will be mapped.
pub(crate) fn name_mapped_file(name: &str) {
    let name = crate::terminal::one_line(name);
    let line = format!("error: {name}: changed or could not be read while it was in use (SIGBUS)\n");
    let _ = MESSAGE.set(line.into_bytes());
}

/// Installs the handlers.
#[cfg(all(unix, not(inkstone_portable)))]
pub(crate) fn install() {
    for (signal, handler) in [(libc::SIGBUS, bus as extern "C" fn(libc::c_int)), (libc::SIGABRT, abort)] {
        // SAFETY: an all-zero `sigaction` is a valid value of this plain C struct: no flags, an empty mask.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        action.sa_sigaction = handler as *const () as usize;
        action.sa_flags = libc::SA_ONSTACK;
        // SAFETY: `action` is initialised, and its handler calls only what POSIX lists as async-signal-safe.
        unsafe { libc::sigaction(signal, &action, std::ptr::null_mut()) };
    }
}

/// On other systems the default action of the system ends the program.
#[cfg(any(not(unix), inkstone_portable))]
pub(crate) fn install() {}

#[cfg(all(unix, not(inkstone_portable)))]
extern "C" fn bus(_signal: libc::c_int) {
    let unnamed: &[u8] = b"error: a mapped file changed or could not be read while it was in use (SIGBUS)\n";
    end(MESSAGE.get().map_or(unnamed, Vec::as_slice))
}

#[cfg(all(unix, not(inkstone_portable)))]
extern "C" fn abort(_signal: libc::c_int) {
    end(b"")
}

/// Writes a line and ends the program, without destructors, locks or allocations. If several threads end the program, the first
/// one writes its line.
#[cfg(all(unix, not(inkstone_portable)))]
pub(crate) fn end(line: &[u8]) -> ! {
    use std::sync::atomic::{AtomicBool, Ordering};
    static ENDING: AtomicBool = AtomicBool::new(false);
    let other_ends = !line.is_empty() && ENDING.swap(true, Ordering::Relaxed);
    // SAFETY: `pause`, `write` and `_exit` are async-signal-safe; the bytes are valid for the length given.
    unsafe {
        if other_ends {
            loop {
                libc::pause();
            }
        }
        libc::write(libc::STDERR_FILENO, line.as_ptr().cast(), line.len());
        libc::_exit(crate::error::INPUT.into())
    }
}

/// Writes a line and ends the program, with the standard library.
#[cfg(any(not(unix), inkstone_portable))]
pub(crate) fn end(line: &[u8]) -> ! {
    use std::io::Write;
    let _ = std::io::stderr().write_all(line);
    std::process::exit(crate::error::INPUT.into())
}
