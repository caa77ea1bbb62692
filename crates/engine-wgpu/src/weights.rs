//! Weights on the device: matrices in pieces that a binding reaches, and all weights of one row together, in f32.

use crate::call::PLANES32;
use crate::device::Device;
use crate::memory;
use crate::planes::{self, PANEL};
use inkstone_compute::{Budget, Charge, Error, Layout, Plan, Result, WEIGHTS, WeightSlot, Weights};
use inkstone_tensor::{DType, Dim, NoMemory, Progress, WeightSource};
use std::fmt;
use std::sync::Arc;

/// Bytes that are read, packed and copied at once, about.
const PIECE: usize = 4 << 20;

/// A weight of each slot, in order.
pub(crate) struct Loaded {
    slots: Vec<WeightSlot>,
    held: Vec<Held>,
    pub(crate) vectors: wgpu::Buffer,
    _charge: Charge,
}

/// Where a weight is.
pub(crate) enum Held {
    /// Among the vectors, from this word on.
    Vector(u32),
    Matrix(Arc<Matrix>),
}

/// A weight of several rows, in layout [`PLANES32`].
pub struct Matrix {
    /// Its encoding.
    pub dtype: DType,
    /// Its rows: columns of the results of a product.
    pub rows: usize,
    /// Values in a row.
    pub cols: usize,
    /// The pieces, in the order of their rows.
    pub pieces: Vec<Piece>,
}

/// Rows of a matrix that are stored in one buffer.
pub struct Piece {
    /// The first of them.
    pub first: usize,
    /// How many; the last panel is filled up.
    pub rows: usize,
    pub(crate) buffer: wgpu::Buffer,
}

impl fmt::Debug for Matrix {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}[{}, {}] in {} pieces", self.dtype, self.rows, self.cols, self.pieces.len())
    }
}

/// How weights are loaded.
pub(crate) struct Loading<'a> {
    pub(crate) device: &'a Device,
    pub(crate) budget: &'a Arc<Budget>,
    /// The most bytes of a piece.
    pub(crate) piece: u64,
}

/// Rows and columns of a weight.
fn shape(slot: &WeightSlot) -> (usize, usize) {
    (if let Dim::N(rows) = slot.ty.rows { rows } else { 0 }, slot.ty.cols)
}

fn none(bytes: u64) -> Error {
    Error::NoMemory { what: WEIGHTS, source: NoMemory { bytes } }
}

fn wrong(slot: &WeightSlot, expected: &str) -> Error {
    let found = format!("{} in layout {}", slot.ty, slot.layout);
    Error::WeightType { tensor: slot.name.to_string(), found, expected: expected.to_owned() }
}

/// The bytes of a panel of a matrix.
fn panel_bytes(slot: &WeightSlot) -> Result<u64> {
    let (_, cols) = shape(slot);
    if slot.layout != PLANES32 {
        return Err(wrong(slot, "layout planes32"));
    }
    let planes = planes::planes(slot.ty.dtype, cols).ok_or_else(|| wrong(slot, "a format that layout planes32 has"))?;
    (planes.panel_words as u64).checked_mul(4).ok_or_else(|| none(u64::MAX))
}

impl Loaded {
    /// The weight with this id.
    pub(crate) fn get(&self, id: u32) -> Option<&Held> {
        self.held.get(id as usize)
    }

    /// That a plan expects these weights.
    pub(crate) fn check(&self, plan: &Plan) -> Result<()> {
        for (slot, found) in plan.interface.weights.iter().zip(&self.slots) {
            if (slot.ty, slot.layout) != (found.ty, found.layout) {
                let (tensor, expected) = (found.name.to_string(), slot.ty.to_string());
                return Err(Error::WeightType { tensor, found: found.ty.to_string(), expected });
            }
        }
        Ok(())
    }
}

impl Loading<'_> {
    /// The bytes that these weights take on the device.
    pub(crate) fn bytes(&self, slots: &[WeightSlot]) -> Result<u64> {
        let bytes = slots.iter().map(|slot| match shape(slot) {
            (1, cols) => Ok((cols as u64).saturating_add(3).saturating_mul(4)),
            (rows, _) => Ok(panel_bytes(slot)?.saturating_mul(rows.div_ceil(PANEL) as u64)),
        });
        bytes.sum::<Result<u64>>()
    }

    /// The same weights without their values and their memory, for who wants to know how they are used.
    pub(crate) fn outline(&self, slots: &[WeightSlot]) -> Result<Loaded> {
        let buffer = memory::buffer(self.device, 4, WEIGHTS)?;
        let held = slots.iter().map(|slot| match shape(slot) {
            (1, _) => Ok(Held::Vector(0)),
            (rows, cols) => {
                let most = self.piece_rows(slot)?;
                let piece = |first| Piece { first, rows: most.min(rows - first), buffer: buffer.clone() };
                let pieces = (0..rows).step_by(most).map(piece).collect();
                Ok(Held::Matrix(Arc::new(Matrix { dtype: slot.ty.dtype, rows, cols, pieces })))
            }
        });
        let held = held.collect::<Result<_>>()?;
        Ok(Loaded { slots: slots.to_vec(), held, vectors: buffer, _charge: self.budget.charge(0, WEIGHTS)? })
    }

    /// The rows of a piece: as many panels as a binding reaches.
    fn piece_rows(&self, slot: &WeightSlot) -> Result<usize> {
        match usize::try_from(self.piece / panel_bytes(slot)?.max(1)) {
            Ok(0) => Err(wrong(slot, &format!("32 rows of at most {} bytes", self.piece))),
            panels => Ok(panels.unwrap_or(usize::MAX).saturating_mul(PANEL)),
        }
    }

    pub(crate) fn load(
        &self,
        source: &dyn WeightSource,
        slots: &[WeightSlot],
        progress: &dyn Progress,
    ) -> Result<Weights> {
        slots.iter().try_for_each(|slot| slot.check(source))?;
        let total = self.bytes(slots)?;
        let charge = self.budget.charge(total, WEIGHTS)?;
        let file_bytes = |slot: &WeightSlot| slot.ty.bytes(&Default::default());
        let (mut done, all) = (0u64, slots.iter().map(file_bytes).fold(0, u64::saturating_add));
        let (mut held, mut vectors) = (Vec::with_capacity(slots.len()), Vec::new());
        for slot in slots {
            held.push(match shape(slot) {
                (1, _) => Held::Vector(vector(slot, source, &mut vectors)?),
                _ => Held::Matrix(Arc::new(self.matrix(slot, source, progress, done, all)?)),
            });
            done = done.saturating_add(file_bytes(slot));
            progress.update(done, all);
        }
        let buffer = memory::buffer(self.device, 4 * vectors.len() as u64, WEIGHTS)?;
        self.device.queue.write_buffer(&buffer, 0, bytemuck::cast_slice(&vectors));
        self.device.queue.submit([]);
        self.device.wait(None)?;
        let loaded = Loaded { slots: slots.to_vec(), held, vectors: buffer, _charge: charge };
        Ok(Weights::new(Arc::new(loaded), total))
    }

    /// Reads, packs and copies a matrix, some panels at a time.
    fn matrix(
        &self,
        slot: &WeightSlot,
        source: &dyn WeightSource,
        progress: &dyn Progress,
        done: u64,
        all: u64,
    ) -> Result<Matrix> {
        let ((rows, cols), panel) = (shape(slot), panel_bytes(slot)?);
        let most = self.piece_rows(slot)?;
        let row = slot.ty.row_bytes() as usize;
        let at_once = (PIECE / (PANEL * row).max(1)).max(1) * PANEL;
        let mut bytes: Vec<u8> = Vec::new();
        let mut words: Vec<u32> = Vec::new();
        let room = at_once.min(rows);
        bytes.try_reserve_exact(room * row).map_err(|_| none((room * row) as u64))?;
        words.try_reserve_exact(room.div_ceil(PANEL) * (panel / 4) as usize).map_err(|_| none(panel))?;
        let mut pieces = Vec::new();
        for first in (0..rows).step_by(most) {
            let count = most.min(rows - first);
            let buffer = memory::buffer(self.device, panel * count.div_ceil(PANEL) as u64, WEIGHTS)?;
            for start in (0..count).step_by(at_once) {
                if progress.cancelled() {
                    return Err(Error::Cancelled);
                }
                let part = at_once.min(count - start);
                bytes.resize(part * row, 0);
                source.read(&slot.name, ((first + start) * row) as u64, &mut bytes)?;
                words.clear();
                words.resize(part.div_ceil(PANEL) * (panel / 4) as usize, 0);
                for (rows, to) in bytes.chunks(PANEL * row).zip(words.chunks_mut((panel / 4) as usize)) {
                    planes::pack(slot.ty.dtype, rows, row, to);
                }
                let at = panel * (start / PANEL) as u64;
                self.device.queue.write_buffer(&buffer, at, bytemuck::cast_slice(&words));
                // Waits, so that the copies under way take no more memory than a few parts.
                let index = self.device.queue.submit([]);
                self.device.wait(Some(index))?;
                progress.update(done + ((first + start) * row) as u64, all);
            }
            pieces.push(Piece { first, rows: count, buffer });
        }
        Ok(Matrix { dtype: slot.ty.dtype, rows, cols, pieces })
    }
}

/// Appends the values of a weight of one row.
fn vector(slot: &WeightSlot, source: &dyn WeightSource, vectors: &mut Vec<f32>) -> Result<u32> {
    if slot.layout != Layout::FILE && slot.layout != PLANES32 {
        return Err(wrong(slot, "layout file"));
    }
    let decode = slot.ty.dtype.info().decode.ok_or_else(|| wrong(slot, "a format that can be decoded"))?;
    let (start, cols) = (vectors.len(), slot.ty.cols);
    let end = start.checked_add(cols).filter(|end| u32::try_from(*end).is_ok()).ok_or_else(|| none(u64::MAX))?;
    let bytes = slot.read(source)?;
    vectors.try_reserve(cols.saturating_add(3)).map_err(|_| none(4 * cols as u64))?;
    // Kernels read four values at once.
    vectors.resize(end.next_multiple_of(4), 0.0);
    decode(bytes.as_slice(), &mut vectors[start..end]);
    Ok(start as u32)
}
