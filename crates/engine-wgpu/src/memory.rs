//! Buffers: parts of the device's memory, and the words of step buffers as the host wrote them.

use crate::Wgpu;
use crate::device::Device;
use inkstone_compute::{Budget, Charge, Error, Result, Usage};
use inkstone_tensor::step::carry;
use inkstone_tensor::{NoMemory, Sizes};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use wgpu::{BufferDescriptor, BufferUsages};

/// A part of a buffer of the device.
pub(crate) struct Memory {
    pub(crate) buffer: wgpu::Buffer,
    /// Where it begins, in bytes: a multiple of [`ALIGN`].
    pub(crate) offset: u64,
    /// As many as were asked for.
    pub(crate) bytes: u64,
    /// A step buffer or a carry as the host wrote it.
    words: Option<Mutex<Words>>,
    charge: Charge,
}

/// The words of a step buffer, or of a carry, in which lengths grow with submits.
#[derive(Default)]
pub(crate) struct Words {
    pub(crate) words: Vec<u32>,
    /// Changes with each write.
    pub(crate) version: u64,
}

/// Parts of a buffer begin at multiples of so many bytes, which every adapter allows.
const ALIGN: u64 = 256;

fn no_memory(what: &'static str, bytes: u64) -> Error {
    Error::NoMemory { what, source: NoMemory { bytes } }
}

/// Zeroed memory of the device.
pub(crate) fn buffer(device: &Device, bytes: u64, what: &'static str) -> Result<wgpu::Buffer> {
    device.check()?;
    if device.allocations.fetch_add(1, Ordering::Relaxed) + 1 == device.faults.allocation {
        return Err(no_memory(what, bytes));
    }
    let size = bytes.max(4).checked_next_multiple_of(4).filter(|size| *size <= device.limits.max_buffer_size);
    let size = size.ok_or_else(|| no_memory(what, bytes))?;
    let usage = BufferUsages::STORAGE | BufferUsages::COPY_SRC | BufferUsages::COPY_DST;
    let description = BufferDescriptor { label: Some(what), size, usage, mapped_at_creation: false };
    let made = device.scoped(wgpu::ErrorFilter::OutOfMemory, || device.wgpu.create_buffer(&description));
    made.map_err(|_| no_memory(what, bytes))
}

impl Memory {
    /// Several parts of one buffer, or a buffer.
    pub(crate) fn all(device: &Device, budget: &Arc<Budget>, parts: &[(u64, Usage)]) -> Result<Vec<Memory>> {
        let what = parts.first().map_or("a buffer", |(_, usage)| usage.name());
        let mut end = 0u64;
        let mut places = Vec::with_capacity(parts.len());
        for (bytes, usage) in parts {
            let charge = budget.charge(*bytes, usage.name())?;
            places.push((end, *bytes, *usage, charge));
            let aligned = bytes.max(&4).checked_next_multiple_of(ALIGN).and_then(|bytes| end.checked_add(bytes));
            end = aligned.ok_or_else(|| no_memory(what, *bytes))?;
        }
        let buffer = buffer(device, end, what)?;
        let memory = |(offset, bytes, usage, charge): (u64, u64, Usage, Charge)| {
            let words = match usage {
                Usage::Step | Usage::State if usage == Usage::Step || bytes == carry_bytes() => {
                    let mut words = Vec::new();
                    let length = (bytes / 4) as usize;
                    words.try_reserve_exact(length).map_err(|_| no_memory(usage.name(), bytes))?;
                    words.resize(length, 0);
                    Some(Mutex::new(Words { words, version: 0 }))
                }
                _ => None,
            };
            Ok(Memory { buffer: buffer.clone(), offset, bytes, words, charge })
        };
        places.into_iter().map(memory).collect()
    }

    /// Whether it is of the engine with this budget.
    fn is_of(&self, budget: &Arc<Budget>) -> bool {
        self.charge.is_of(budget)
    }

    /// The words of a step buffer or a carry.
    pub(crate) fn words(&self) -> Option<MutexGuard<'_, Words>> {
        self.words.as_ref().map(|words| words.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Notes what the host writes, if it is a step buffer or a carry.
    pub(crate) fn note(&self, offset: u64, bytes: &[u8]) {
        if let Some(mut words) = self.words() {
            words.version += 1;
            let all: &mut [u8] = bytemuck::cast_slice_mut(&mut words.words);
            if let Some(place) = all.get_mut(offset as usize..).and_then(|rest| rest.get_mut(..bytes.len())) {
                place.copy_from_slice(bytes);
            }
        }
    }
}

/// The bytes of a carry.
fn carry_bytes() -> u64 {
    carry::CARRY.bytes(&Sizes::default())
}

/// The memory of a buffer of this engine.
pub(crate) fn own<'a>(buffer: &'a inkstone_compute::Buffer, budget: &Arc<Budget>) -> Result<&'a Memory> {
    let memory: &Memory = buffer.get(Wgpu::NAME)?;
    if memory.is_of(budget) {
        return Ok(memory);
    }
    Err(Error::Foreign { what: "buffer", engine: Wgpu::NAME.to_owned() })
}
