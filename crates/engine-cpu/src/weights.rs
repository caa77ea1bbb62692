//! Weights: all of them in one arena, each in the layout of its slot, read a piece at a time by all threads; or the
//! bytes of their source where they are.

use crate::lines::{self, LINES4};
use crate::pages::Pages;
use crate::panel::{self, PANEL16};
use crate::stream::{Streamed, stream};
use inkstone_compute::{Budget, Charge, Error, Layout, Result, WEIGHTS, WeightSlot, Weights, available_memory};
use inkstone_tensor::{Dim, NoMemory, Progress, WeightBytes, WeightSource};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes that are read at once, about: they stay in the second cache until they are packed.
const PIECE: usize = 256 << 10;
/// Weights begin at multiples of this many bytes: a cache line.
const ALIGN: usize = 64;

/// A weight of each slot, in order.
pub(crate) struct Loaded {
    pub(crate) slots: Vec<WeightSlot>,
    held: Vec<Held>,
    arena: Option<Pages>,
    _charge: Charge,
}

pub(crate) enum Held {
    /// In the arena.
    Here(Range<usize>),
    /// Where its source has it.
    There(WeightBytes),
}

impl Held {
    /// Its place in the file of its source.
    fn in_file(&self) -> Option<Range<usize>> {
        if let Held::There(bytes) = self { Some(bytes.offset..bytes.offset + bytes.len) } else { None }
    }
}

impl Loaded {
    /// The bytes of weight `id`, and the layout that they are in.
    pub(crate) fn get(&self, id: usize) -> Option<(&[u8], Layout)> {
        let bytes = match self.held.get(id)? {
            Held::Here(range) => self.arena.as_ref()?.bytes().get(range.clone())?,
            Held::There(bytes) => bytes.as_slice(),
        };
        Some((bytes, self.slots.get(id)?.layout))
    }
}

/// How weights are loaded.
pub(crate) struct Loading<'a> {
    pub(crate) budget: &'a Arc<Budget>,
    pub(crate) threads: usize,
    /// Whether weights in the layout of the file are used in place.
    pub(crate) in_place: bool,
}

/// A part of a weight that is still to be read.
struct Piece<'a> {
    slot: &'a WeightSlot,
    /// Its first row.
    row: usize,
    /// How many rows there are in the file; the last group is filled up.
    rows: usize,
    to: &'a mut [u8],
}

impl Loading<'_> {
    pub(crate) fn load(
        &self,
        source: &dyn WeightSource,
        slots: &[WeightSlot],
        progress: &dyn Progress,
    ) -> Result<Weights> {
        let (places, total) = self.places(slots)?;
        let mut held = Vec::with_capacity(slots.len());
        for (slot, place) in slots.iter().zip(places) {
            held.push(match place {
                Some(range) => {
                    slot.check(source)?;
                    Held::Here(range)
                }
                None => Held::There(slot.read(source)?),
            });
        }
        let charge = self.budget.charge(total as u64, WEIGHTS)?;
        let none = || Error::NoMemory { what: WEIGHTS, source: NoMemory { bytes: total as u64 } };
        let mut arena = if total == 0 { None } else { Some(Pages::new(total).ok_or_else(none)?) };
        if let Some(arena) = &mut arena {
            self.fill(source, pieces(slots, &held, arena.bytes_mut()), progress)?;
        }
        let Streamed { locked, streamed } = match source.resident() {
            Some(file) => {
                let weights: Vec<_> = held.iter().filter_map(Held::in_file).collect();
                stream(&*file, &weights, available_memory(), progress)?
            }
            None => Streamed::default(),
        };
        let loaded = Loaded { slots: slots.to_vec(), held, arena, _charge: charge };
        Ok(Weights::new(Arc::new(loaded), total as u64).in_file(locked, streamed))
    }

    /// The bytes of the arena for these weights.
    pub(crate) fn bytes(&self, slots: &[WeightSlot]) -> u64 {
        match self.places(slots) {
            Ok((_, total)) => total as u64,
            Err(Error::NoMemory { .. }) => u64::MAX,
            // `load` gives the error.
            Err(_) => 0,
        }
    }

    /// The place of each weight in the arena, none for a weight that is used in its file, and the bytes of the arena.
    fn places(&self, slots: &[WeightSlot]) -> Result<(Vec<Option<Range<usize>>>, usize)> {
        let (mut places, mut total) = (Vec::with_capacity(slots.len()), 0usize);
        for slot in slots {
            if self.in_place && slot.layout == Layout::FILE {
                places.push(None);
                continue;
            }
            let end = size(slot)?.and_then(|bytes| total.checked_add(bytes));
            let end = end.ok_or(Error::NoMemory { what: WEIGHTS, source: NoMemory { bytes: u64::MAX } })?;
            places.push(Some(total..end));
            total = end.checked_next_multiple_of(ALIGN).unwrap_or(usize::MAX);
        }
        Ok((places, total))
    }

    /// Reads all pieces on all threads.
    fn fill(&self, source: &dyn WeightSource, pieces: Vec<Piece>, progress: &dyn Progress) -> Result<()> {
        let total = pieces.iter().map(Piece::file_bytes).fold(0, u64::saturating_add);
        let (done, stop, failure) = (AtomicU64::new(0), AtomicBool::new(false), Mutex::new(None));
        let line = Mutex::new(pieces.into_iter());
        let next = || line.lock().unwrap_or_else(PoisonError::into_inner).next();
        let work = || {
            let mut buffer = Vec::new();
            while let Some(piece) = next().filter(|_| !stop.load(Ordering::Relaxed)) {
                let bytes = piece.file_bytes();
                let result = if progress.cancelled() { Err(Error::Cancelled) } else { piece.read(source, &mut buffer) };
                if let Err(error) = result {
                    stop.store(true, Ordering::Relaxed);
                    failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                }
                progress.update(done.fetch_add(bytes, Ordering::Relaxed) + bytes, total);
            }
        };
        std::thread::scope(|scope| {
            // Fewer threads, if the system gives fewer.
            for _ in 1..self.threads {
                let _thread = std::thread::Builder::new().spawn_scoped(scope, work);
            }
            work();
        });
        failure.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
    }
}

/// Bytes of a weight in the layout of its slot; `None` if that is too large for this machine.
fn size(slot: &WeightSlot) -> Result<Option<usize>> {
    let wrong = |found: String, expected: &str| {
        Err(Error::WeightType { tensor: slot.name.to_string(), found, expected: expected.to_owned() })
    };
    let rows = rows(slot);
    let (layout, dtype) = (slot.layout, slot.ty.dtype);
    let has = match layout {
        Layout::FILE => true,
        PANEL16 => panel::packs(dtype),
        LINES4 => lines::packs(dtype),
        other => return wrong(format!("to be in layout {other}"), "layout panel16, lines4 or file"),
    };
    if !has {
        return wrong(slot.ty.to_string(), &format!("a format that layout {layout} has"));
    }
    let rows = rows.checked_next_multiple_of(together(layout));
    let row = usize::try_from(slot.ty.row_bytes()).ok();
    Ok(rows.zip(row).and_then(|(rows, row)| rows.checked_mul(row)))
}

/// The number of rows that are stored together.
fn together(layout: Layout) -> usize {
    match layout {
        PANEL16 => panel::ROWS,
        LINES4 => lines::ROWS,
        _ => 1,
    }
}

/// Rows of a weight.
fn rows(slot: &WeightSlot) -> usize {
    if let Dim::N(rows) = slot.ty.rows { rows } else { 0 }
}

/// All that goes into the arena, in its order.
fn pieces<'a>(slots: &'a [WeightSlot], held: &[Held], arena: &'a mut [u8]) -> Vec<Piece<'a>> {
    let (mut pieces, mut rest, mut at) = (Vec::new(), arena, 0);
    for (slot, held) in slots.iter().zip(held) {
        let Held::Here(range) = held else { continue };
        let (weight, after) = std::mem::take(&mut rest).split_at_mut(range.end - at);
        let weight = &mut weight[range.start - at..];
        (rest, at) = (after, range.end);

        let (rows, row) = (rows(slot), (slot.ty.row_bytes() as usize).max(1));
        let group = together(slot.layout);
        let step = (PIECE / (group * row)).max(1) * group;
        pieces.extend(weight.chunks_mut(step * row).enumerate().map(|(i, to)| {
            let row = i * step;
            Piece { slot, row, rows: step.min(rows - row), to }
        }));
    }
    pieces
}

impl Piece<'_> {
    /// Bytes that are read for it.
    fn file_bytes(&self) -> u64 {
        (self.rows as u64).saturating_mul(self.slot.ty.row_bytes())
    }

    /// Reads it, by way of a buffer if it is to be packed.
    fn read(self, source: &dyn WeightSource, buffer: &mut Vec<u8>) -> Result<()> {
        let Piece { slot, row: first, rows, to } = self;
        let row = slot.ty.row_bytes();
        let offset = (first as u64).saturating_mul(row);
        if slot.layout == Layout::FILE {
            return Ok(source.read(&slot.name, offset, to)?);
        }
        let row = row as usize;
        let bytes = rows * row;
        let none = |_| Error::NoMemory { what: "a piece of a weight", source: NoMemory { bytes: bytes as u64 } };
        if buffer.len() < bytes {
            buffer.try_reserve(bytes - buffer.len()).map_err(none)?;
            buffer.resize(bytes, 0);
        }
        let buffer = &mut buffer[..bytes];
        source.read(&slot.name, offset, buffer)?;
        let group = together(slot.layout) * row;
        for (rows, to) in buffer.chunks(group).zip(to.chunks_mut(group)) {
            match slot.layout {
                LINES4 => lines::pack(rows, row, to),
                _ => panel::pack(slot.ty.dtype, rows, row, to),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
