//! Queues of work: plans to run and bytes to write, in an order, and the ranges that a run brings back to the host.

use crate::Result;
use crate::engine::{Buffer, Executable};
use std::sync::Arc;

/// Ordered work. `submit` may return before the work is done, and keeps alive what it needs. A queue accepts any number
/// of submits. Offsets are in bytes.
pub trait Queue: Send {
    /// Runs a plan on what the step buffer holds now. `back` names the ranges of buffers that [`Queue::fetch`] can give
    /// to the host.
    ///
    /// # Errors
    /// The executable or a buffer belongs to another engine, a range is not inside its buffer (nothing runs in both
    /// cases), or the step can't run.
    fn submit(&mut self, executable: &Arc<dyn Executable>, back: &[Back]) -> Result<Ticket>;

    /// Waits for this submit only and gives the range `back[range]` of it, as the submit left it. Each range can be
    /// fetched once. The last [`KEPT`] submits that bring something back keep their ranges.
    ///
    /// # Errors
    /// The work failed, also if later work did not. The submit has no such range, the range has another length than
    /// `into`, or it was fetched before or is too old.
    fn fetch(&mut self, ticket: Ticket, range: usize, into: &mut [u8]) -> Result<()>;

    /// Writes, after all that was submitted before and ahead of all that is submitted later. The bytes are copied: the
    /// caller may change them at once.
    ///
    /// # Errors
    /// If the bytes are not in the buffer.
    fn write(&mut self, dst: &Buffer, offset: u64, bytes: &[u8]) -> Result<()>;

    /// Reads bytes of a buffer after all work before it is done: for tools and tests. A loop fetches.
    ///
    /// # Errors
    /// If the bytes are not in the buffer.
    fn read(&mut self, src: &Buffer, offset: u64, into: &mut [u8]) -> Result<()>;

    /// Waits until the work of a submit is done.
    ///
    /// # Errors
    /// If the work failed, also if later work did not.
    fn wait(&mut self, ticket: Ticket) -> Result<()>;
}

/// The number of submits that keep the ranges that they bring back.
pub const KEPT: usize = 8;

/// A place in the order of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket(pub u64);

/// A range of a buffer that a submit brings back to the host.
#[derive(Clone, Debug)]
pub struct Back {
    /// The buffer.
    pub buffer: Buffer,
    /// The first byte.
    pub offset: u64,
    /// The number of bytes.
    pub bytes: usize,
}

impl Back {
    /// A range.
    pub fn new(buffer: &Buffer, offset: u64, bytes: usize) -> Back {
        Back { buffer: buffer.clone(), offset, bytes }
    }

    /// Checks that the range is inside its buffer.
    ///
    /// # Errors
    /// [`Error::OutOfBuffer`](crate::Error::OutOfBuffer) if it is not.
    pub fn check(&self) -> Result<()> {
        self.buffer.check(self.offset, self.bytes)
    }
}
