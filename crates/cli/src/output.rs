//! Standard output, buffered.

use std::io::{self, BufWriter, StdoutLock, Write};

/// The size of the buffer in bytes.
const BUFFER: usize = 64 << 10;

/// Standard output, locked: only the main thread writes results.
pub(crate) fn stdout() -> BufWriter<StdoutLock<'static>> {
    BufWriter::with_capacity(BUFFER, io::stdout().lock())
}

/// Writes a whole result.
pub(crate) fn print(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()
}
