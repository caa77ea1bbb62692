//! The ranges that the last submits of a queue bring back.

use crate::queue::{Back, KEPT, Ticket};
use crate::{Error, Result};
use inkstone_tensor::NoMemory;
use std::collections::VecDeque;

/// The ranges that the last [`KEPT`] submits of a queue bring back: for engines whose work on one buffer overwrites the
/// results of earlier work. A range stays in its buffer until other work may touch it: before each write and submit, the
/// engine calls [`Backs::settle`], which copies the ranges that nobody has fetched. Memory is reused, so that a decode
/// step allocates nothing.
#[derive(Debug, Default)]
pub struct Backs {
    /// The oldest first.
    kept: VecDeque<Kept>,
}

/// The ranges of one submit.
#[derive(Debug)]
struct Kept {
    ticket: Ticket,
    ranges: Vec<(Back, Place)>,
    copies: Vec<u8>,
}

/// Where a range is.
#[derive(Clone, Copy, Debug)]
enum Place {
    /// In its buffer.
    Buffer,
    /// In the copies, from this byte on.
    Copies(usize),
    /// With the caller.
    Fetched,
    /// Nowhere: the submit failed.
    Lost,
}

impl Backs {
    /// Records the ranges of a submit. The oldest submit is forgotten if there are too many.
    pub fn push(&mut self, ticket: Ticket, back: &[Back]) {
        if back.is_empty() {
            return;
        }
        let oldest = if self.kept.len() >= KEPT { self.kept.pop_front() } else { None };
        let mut kept = oldest.unwrap_or(Kept { ticket, ranges: Vec::new(), copies: Vec::new() });
        kept.ticket = ticket;
        kept.ranges.clear();
        kept.ranges.extend(back.iter().map(|b| (b.clone(), Place::Buffer)));
        kept.copies.clear();
        self.kept.push_back(kept);
    }

    /// Copies the ranges that are only in their buffers. `read` copies the bytes of a range, or fails if the submit
    /// failed.
    ///
    /// # Errors
    /// There is no memory for the copies.
    pub fn settle(&mut self, mut read: impl FnMut(Ticket, &Back, &mut [u8]) -> Result<()>) -> Result<()> {
        // Earlier submits were settled before the last one.
        let Some(kept) = self.kept.back_mut() else { return Ok(()) };
        for (back, place) in kept.ranges.iter_mut().filter(|(_, place)| matches!(place, Place::Buffer)) {
            let start = kept.copies.len();
            kept.copies.try_reserve(back.bytes).map_err(|_| Error::NoMemory {
                what: "results of a step",
                source: NoMemory { bytes: back.bytes as u64 },
            })?;
            kept.copies.resize(start + back.bytes, 0);
            let copied = read(kept.ticket, back, &mut kept.copies[start..]);
            *place = if copied.is_ok() { Place::Copies(start) } else { Place::Lost };
        }
        Ok(())
    }

    /// Gives a range to the caller. `read` copies the bytes of a range that is still in its buffer.
    ///
    /// # Errors
    /// [`Error::NotBack`] if there is no such range or it can't be fetched any more; the error of `read`.
    pub fn fetch(
        &mut self,
        ticket: Ticket,
        range: usize,
        into: &mut [u8],
        read: impl FnOnce(&Back, &mut [u8]) -> Result<()>,
    ) -> Result<()> {
        let fault = |reason: String| Err(Error::NotBack { ticket: ticket.0, range, reason });
        let Some(kept) = self.kept.iter_mut().find(|k| k.ticket == ticket) else {
            return fault(format!("it is not one of the last {KEPT} submits of this queue that bring something back"));
        };
        let ranges = kept.ranges.len();
        let Some((back, place)) = kept.ranges.get_mut(range) else {
            return fault(format!("it brings back {ranges} ranges"));
        };
        if back.bytes != into.len() {
            return fault(format!("it has {} bytes, the place for it has {}", back.bytes, into.len()));
        }
        match *place {
            Place::Buffer => read(back, into)?,
            Place::Copies(start) => into.copy_from_slice(&kept.copies[start..start + into.len()]),
            Place::Fetched => return fault("it was fetched before".to_owned()),
            Place::Lost => return fault("the submit failed".to_owned()),
        }
        *place = Place::Fetched;
        Ok(())
    }
}
