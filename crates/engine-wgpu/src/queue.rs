//! The queue: one submission per step, and buffers in which the host finds the ranges that it asked for.

use crate::device::{Device, lost};
use crate::faults::Mistake;
use crate::memory::{Memory, own};
use crate::program::Program;
use inkstone_compute::{Back, Budget, Buffer, Error, Executable, KEPT, Queue, Result, Ticket};
use std::any::Any;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use wgpu::{BufferDescriptor, BufferUsages, MapMode, SubmissionIndex};

/// Submissions whose index is known; earlier ones are waited for by the oldest of these.
const KNOWN: usize = 64;

pub(crate) struct WgpuQueue {
    device: Arc<Device>,
    budget: Arc<Budget>,
    last: u64,
    /// The oldest first.
    known: VecDeque<(u64, SubmissionIndex)>,
    /// The ranges of the last submits that bring something back, the oldest first.
    kept: VecDeque<Kept>,
}

/// The ranges that a submit brings back.
struct Kept {
    ticket: u64,
    /// Where each range begins in the staging buffer, and whether it was fetched.
    ranges: Vec<(Back, u64, bool)>,
    staging: wgpu::Buffer,
    mapped: Arc<AtomicU8>,
}

/// States of [`Kept::mapped`].
const PENDING: u8 = 0;
const MAPPED: u8 = 1;
const FAILED: u8 = 2;

/// The whole words that contain bytes: the first byte and the size. Only whole words can be copied.
fn words(offset: u64, bytes: usize) -> (u64, u64) {
    let start = offset / 4 * 4;
    (start, (offset + bytes as u64).next_multiple_of(4) - start)
}

fn foreign(what: &'static str) -> Error {
    Error::Foreign { what, engine: crate::Wgpu::NAME.to_owned() }
}

impl WgpuQueue {
    pub(crate) fn new(device: Arc<Device>, budget: Arc<Budget>) -> WgpuQueue {
        WgpuQueue { device, budget, last: 0, known: VecDeque::with_capacity(KNOWN), kept: VecDeque::new() }
    }

    /// A staging buffer of at least so many bytes: the one of the oldest submit, if it is large enough.
    fn staging(&mut self, bytes: u64) -> Kept {
        let most = if self.device.faults.has(Mistake::Staging) { 2 } else { KEPT };
        let oldest = if self.kept.len() >= most { self.kept.pop_front() } else { None };
        let mapped = Arc::new(AtomicU8::new(PENDING));
        match oldest {
            Some(mut kept) => {
                kept.staging.unmap();
                kept.ranges.clear();
                if kept.staging.size() < bytes {
                    kept.staging = staging(&self.device, bytes);
                }
                Kept { mapped, ..kept }
            }
            None => Kept { ticket: 0, ranges: Vec::new(), staging: staging(&self.device, bytes), mapped },
        }
    }

    fn index(&self, ticket: Ticket) -> Result<Option<SubmissionIndex>> {
        if ticket.0 > self.last {
            return Err(foreign("ticket"));
        }
        Ok(self.known.iter().find(|(known, _)| *known >= ticket.0).map(|(_, index)| index.clone()))
    }
}

fn staging(device: &Device, bytes: u64) -> wgpu::Buffer {
    let usage = BufferUsages::MAP_READ | BufferUsages::COPY_DST;
    let size = bytes.max(256);
    device.wgpu.create_buffer(&BufferDescriptor { label: Some("results"), size, usage, mapped_at_creation: false })
}

impl Queue for WgpuQueue {
    fn submit(&mut self, executable: &Arc<dyn Executable>, back: &[Back]) -> Result<Ticket> {
        let executable: &dyn Any = executable.as_ref();
        let program: &Program = executable.downcast_ref().ok_or_else(|| foreign("executable"))?;
        if !program.is_of(&self.budget) {
            return Err(foreign("executable"));
        }
        let mut bytes = 0;
        for range in back {
            range.check()?;
            own(&range.buffer, &self.budget)?;
            bytes += words(range.offset, range.bytes).1;
        }
        self.device.check()?;
        let device = self.device.clone();
        let _line = device.line();
        program.check_step()?;
        let early = self.device.faults.has(Mistake::EarlyCopy);
        let mut encoder = match early {
            true => self.device.wgpu.create_command_encoder(&Default::default()),
            false => program.encode(&self.device)?,
        };
        let kept = if back.is_empty() { None } else { Some(self.staging(bytes)) };
        let kept = kept.map(|mut kept| -> Result<Kept> {
            let mut at = 0;
            for range in back {
                let memory = own(&range.buffer, &self.budget)?;
                let (start, bytes) = words(range.offset, range.bytes);
                if bytes > 0 {
                    encoder.copy_buffer_to_buffer(&memory.buffer, memory.offset + start, &kept.staging, at, bytes);
                }
                kept.ranges.push((range.clone(), at + range.offset % 4, false));
                at += bytes;
            }
            Ok(kept)
        });
        let kept = kept.transpose()?;
        let mut index = self.device.queue.submit([encoder.finish()]);
        if early {
            index = self.device.queue.submit([program.encode(&self.device)?.finish()]);
        }
        program.keep_times(&self.device, &index)?;
        program.advance()?;
        self.last += 1;
        if let Some(mut kept) = kept {
            kept.ticket = self.last;
            let mapped = kept.mapped.clone();
            kept.staging.map_async(MapMode::Read, .., move |result| {
                mapped.store(if result.is_ok() { MAPPED } else { FAILED }, Ordering::Release);
            });
            self.kept.push_back(kept);
        }
        if self.known.len() >= KNOWN {
            self.known.pop_front();
        }
        self.known.push_back((self.last, index));
        Ok(Ticket(self.last))
    }

    fn fetch(&mut self, ticket: Ticket, range: usize, into: &mut [u8]) -> Result<()> {
        let index = self.index(ticket)?;
        let fault = |reason: String| Err(Error::NotBack { ticket: ticket.0, range, reason });
        let Some(kept) = self.kept.iter_mut().find(|kept| kept.ticket == ticket.0) else {
            return fault(format!("it is not one of the last {KEPT} submits of this queue that bring something back"));
        };
        let count = kept.ranges.len();
        let Some((back, at, fetched)) = kept.ranges.get_mut(range) else {
            return fault(format!("it brings back {count} ranges"));
        };
        if back.bytes != into.len() {
            return fault(format!("it has {} bytes, the place for it has {}", back.bytes, into.len()));
        }
        if *fetched {
            return fault("it was fetched before".to_owned());
        }
        if kept.mapped.load(Ordering::Acquire) == PENDING {
            self.device.wait(index)?;
        }
        if kept.mapped.load(Ordering::Acquire) != MAPPED {
            self.device.check()?;
            return Err(lost("the results of a step did not come back".to_owned()));
        }
        let mapped = kept.staging.get_mapped_range(..).map_err(|error| lost(error.to_string()))?;
        let bytes = mapped.get(*at as usize..).and_then(|rest| rest.get(..into.len()));
        let Some(bytes) = bytes else { return fault("its bytes are missing".to_owned()) };
        into.copy_from_slice(bytes);
        *fetched = true;
        Ok(())
    }

    fn write(&mut self, dst: &Buffer, offset: u64, bytes: &[u8]) -> Result<()> {
        dst.check(offset, bytes.len())?;
        let memory = own(dst, &self.budget)?;
        self.device.check()?;
        let _line = self.device.line();
        memory.note(offset, bytes);
        let (start, length) = words(offset, bytes.len());
        if (start, length) == (offset, bytes.len() as u64) {
            self.device.queue.write_buffer(&memory.buffer, memory.offset + offset, bytes);
            return Ok(());
        }
        // The words at the edges keep their other bytes.
        let mut whole = vec![0; length as usize];
        read(&self.device, memory, start, &mut whole)?;
        whole[(offset - start) as usize..][..bytes.len()].copy_from_slice(bytes);
        self.device.queue.write_buffer(&memory.buffer, memory.offset + start, &whole);
        Ok(())
    }

    fn read(&mut self, src: &Buffer, offset: u64, into: &mut [u8]) -> Result<()> {
        src.check(offset, into.len())?;
        read(&self.device, own(src, &self.budget)?, offset, into)
    }

    fn wait(&mut self, ticket: Ticket) -> Result<()> {
        let index = self.index(ticket)?;
        self.device.wait(index)
    }
}

/// Reads a part of a buffer behind all work.
fn read(device: &Device, memory: &Memory, offset: u64, into: &mut [u8]) -> Result<()> {
    device.check()?;
    let (start, length) = words(offset, into.len());
    if length == 0 {
        return Ok(());
    }
    let staging = staging(device, length);
    let mut encoder = device.wgpu.create_command_encoder(&Default::default());
    encoder.copy_buffer_to_buffer(&memory.buffer, memory.offset + start, &staging, 0, length);
    let index = device.queue.submit([encoder.finish()]);
    staging.map_async(MapMode::Read, .., |_| {});
    device.wait(Some(index))?;
    let mapped = staging.get_mapped_range(..).map_err(|error| lost(error.to_string()))?;
    let bytes = mapped.get((offset - start) as usize..).and_then(|rest| rest.get(..into.len()));
    into.copy_from_slice(bytes.ok_or_else(|| lost("bytes that were read did not come".to_owned()))?);
    Ok(())
}
