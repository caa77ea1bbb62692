//! A block of one KV head as the register tiles want it.

use super::tiles::{Encoding, Half, Next, QUERIES, Rows, Single, Values, scores};
use super::{BLOCK, VECTORS};
use crate::isa::{F16x, Floats, LANES};
use crate::kernels::cached::{decode, part_together, rows, together};
use crate::memory::{HeadRows, Run};
use inkstone_tensor::DType;

/// Queries up to which keys and values are decoded in registers, once for each tile of them, and not into memory.
const FEW: usize = 2 * QUERIES;

/// The converted rows of a block. Columns beyond a head have arbitrary values, which are not read.
pub(super) struct Block<'f> {
    /// By d: the keys of 64 positions, as floats or in half precision.
    keys: &'f mut [f32],
    /// Whether keys are decoded in registers.
    halves: bool,
    /// The values by position, if they are decoded or not contiguous.
    values: &'f mut [f32],
    /// Whether values are decoded in registers.
    direct: bool,
    /// 16 rows of keys: as floats, or with 16 bits per value if they are not contiguous.
    rows: &'f mut [f32],
    /// A row of a cache.
    room: &'f mut [f32],
}

/// The layout of a KV head, and the form in which it is read.
#[derive(Clone, Copy)]
pub(super) struct Format {
    dtype: DType,
    /// Values of a row before the head's.
    skip: usize,
    dim: usize,
}

impl Format {
    pub(super) fn of(cache: &HeadRows, dim: usize) -> Format {
        Format { dtype: cache.dtype, skip: cache.skip, dim }
    }

    /// Its values in whole vectors.
    pub(super) fn padded(self) -> usize {
        self.dim.next_multiple_of(LANES)
    }

    /// Whether values are decoded in registers. Keys of half precision are where values would be.
    fn in_registers(self, queries: usize) -> bool {
        let direct = match self.dtype {
            DType::F32 => true,
            DType::F16 => queries <= FEW,
            _ => false,
        };
        direct && self.dim.is_multiple_of(LANES)
    }
}

impl<'f> Block<'f> {
    /// Floats that [`Block::split`] takes.
    pub(super) fn floats(formats: [Format; 2], room: usize) -> usize {
        let [k, v] = formats;
        (BLOCK + LANES) * k.padded() + BLOCK * v.padded() + room
    }

    pub(super) fn split(floats: &'f mut [f32], formats: [Format; 2], queries: usize) -> Block<'f> {
        let [k, v] = formats;
        let (keys, floats) = floats.split_at_mut(BLOCK * k.padded());
        let (rows, floats) = floats.split_at_mut(LANES * k.padded());
        let (values, room) = floats.split_at_mut(BLOCK * v.padded());
        let halves = k.dtype == DType::F16 && k.in_registers(queries);
        Block { keys, halves, values, direct: v.in_registers(queries), rows, room }
    }

    /// Turns the keys, 16 positions at a time. Positions beyond the block have any keys.
    #[inline(always)]
    pub(super) fn load_keys<I: Floats>(&mut self, isa: I, format: Format, runs: &[Run]) {
        match format.dtype {
            DType::F16 if self.halves => self.turn_words::<I, true, true>(isa, format, runs),
            DType::F16 => self.turn_words::<I, true, false>(isa, format, runs),
            DType::BF16 => self.turn_words::<I, false, false>(isa, format, runs),
            _ => self.turn_floats(isa, format, runs),
        }
    }

    /// From rows with 16 bits per value, which keep this form if they are stored.
    #[inline(always)]
    fn turn_words<I: Floats, const HALF: bool, const KEEP: bool>(&mut self, isa: I, format: Format, runs: &[Run]) {
        let stride = 2 * format.padded();
        let count = runs.iter().map(Run::len).sum::<usize>();
        for at in 0..count.div_ceil(LANES) {
            let rows = match part_together(runs, at * LANES..(at + 1) * LANES) {
                Some(rows) if rows.len() == LANES * stride => rows,
                _ => {
                    let aside: &mut [u8] = bytemuck::cast_slice_mut(self.rows);
                    for (row, out) in rows(runs).skip(at * LANES).zip(aside.chunks_exact_mut(stride)) {
                        out[..row.len()].copy_from_slice(row);
                    }
                    &*aside
                }
            };
            for i in 0..stride / 16 {
                let turned = isa.transpose_words(&rows[16 * i..], stride);
                if KEEP {
                    let keys: &mut [u8] = bytemuck::cast_slice_mut(self.keys);
                    let keys = keys.as_chunks_mut::<{ 2 * LANES }>().0.as_chunks_mut::<VECTORS>().0;
                    let keys = &mut keys.as_chunks_mut::<8>().0[i];
                    for d in 0..8 {
                        keys[d][at] = turned[d];
                    }
                } else {
                    let keys = &mut by_d(self.keys).as_chunks_mut::<8>().0[i];
                    for d in 0..8 {
                        let lanes = if HALF { isa.halves(&turned[d]) } else { isa.upper_halves(&turned[d]) };
                        keys[d][at] = isa.lanes(lanes);
                    }
                }
            }
        }
    }

    #[inline(always)]
    fn turn_floats<I: Floats>(&mut self, isa: I, format: Format, runs: &[Run]) {
        let stride = format.padded();
        let mut keys = rows(runs);
        for at in 0..VECTORS {
            let mut found = 0;
            for (out, row) in self.rows.chunks_exact_mut(stride).take(LANES).zip(keys.by_ref()) {
                decode(isa, format.dtype, row, format.skip, self.room, &mut out[..format.dim]);
                found += 1;
            }
            if found == 0 {
                break;
            }
            for (i, keys) in by_d(self.keys).chunks_exact_mut(LANES).enumerate() {
                let mut square = [isa.splat_float(0.0); LANES];
                for (t, lanes) in square.iter_mut().enumerate() {
                    *lanes = isa.take(&self.rows[t * stride..], i, 0.0);
                }
                for (keys, lanes) in keys.iter_mut().zip(isa.transpose(square)) {
                    keys[at] = isa.lanes(lanes);
                }
            }
        }
    }

    /// Scores of queries of so many values with the positions of the block.
    #[inline(always)]
    pub(super) fn scores<I: Floats, const Q: usize>(
        &self,
        isa: I,
        queries: [&[f32]; Q],
        dim: usize,
        next: Next,
        out: &mut [[F16x; VECTORS]; Q],
    ) {
        let keys: &[u8] = bytemuck::cast_slice(self.keys);
        match self.halves {
            true => scores::<I, Half, Q>(isa, queries, &keys[..dim * BLOCK * Half::BYTES / LANES], next, out),
            false => scores::<I, Single, Q>(isa, queries, &keys[..dim * BLOCK * Single::BYTES / LANES], next, out),
        }
    }

    /// Decodes values into memory, where they are not decoded in registers, or puts them together there.
    #[inline(always)]
    pub(super) fn load_values<I: Floats>(&mut self, isa: I, format: Format, runs: &[Run]) {
        if !self.direct {
            for (row, out) in rows(runs).zip(self.values.chunks_exact_mut(format.padded())) {
                decode(isa, format.dtype, row, format.skip, self.room, &mut out[..format.dim]);
            }
        } else if together(runs).is_none() {
            put_together(runs, bytemuck::cast_slice_mut(self.values));
        }
    }

    /// The rows of the values, in the cache or in separate memory.
    pub(super) fn values<'c>(&'c self, format: Format, runs: &'c [Run]) -> Rows<'c> {
        let own = bytemuck::cast_slice(self.values);
        match self.direct {
            true => Rows { bytes: together(runs).unwrap_or(own), stride: bytes_of(runs) },
            false => Rows { bytes: own, stride: size_of::<f32>() * format.padded() },
        }
    }

    /// Adds values to what queries have seen.
    #[inline(always)]
    pub(super) fn add<I: Floats, const Q: usize>(&self, isa: I, format: Format, values: Values<Q>) {
        match format.dtype {
            DType::F16 if self.direct => values.add::<I, Half>(isa),
            _ => values.add::<I, Single>(isa),
        }
    }
}

/// Bytes of a row.
fn bytes_of(runs: &[Run]) -> usize {
    runs.first().map_or(1, Run::row_bytes)
}

/// The rows of runs, one after the other, a run at once where it can be.
fn put_together(runs: &[Run], mut out: &mut [u8]) {
    for run in runs {
        let (own, others) = out.split_at_mut(run.len() * run.row_bytes());
        if let Some(rows) = run.together() {
            own.copy_from_slice(rows);
        } else {
            for (row, own) in run.rows().zip(own.chunks_exact_mut(run.row_bytes())) {
                own.copy_from_slice(row);
            }
        }
        out = others;
    }
}

/// Vectors of keys by d.
fn by_d(keys: &mut [f32]) -> &mut [[F16x; VECTORS]] {
    keys.as_chunks_mut::<LANES>().0.as_chunks_mut::<VECTORS>().0
}
