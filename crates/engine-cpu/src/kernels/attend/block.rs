//! A block of one KV head as the register tiles want it.

use super::tiles::{Encoding, Half, Next, QUERIES, Single, Values, scores};
use super::{BLOCK, VECTORS};
use crate::isa::{F16x, Floats, LANES};
use crate::kernels::cached::{BlockRows, decode};
use crate::memory::HeadRows;
use inkstone_tensor::DType;

/// Queries up to which keys and values are decoded in registers, once for each tile of them, and not into memory.
const FEW: usize = 2 * QUERIES;

/// What is made of a block; columns beyond a head are zeros.
pub(super) struct Block<'f> {
    /// By d: the keys of 64 positions, as floats or in half precision.
    keys: &'f mut [f32],
    /// Whether keys are decoded in registers.
    halves: bool,
    /// By position; none where they are decoded in registers.
    values: &'f mut [f32],
    /// 16 rows of keys: as floats, or of 16 bits a value where they do not lie together.
    rows: &'f mut [f32],
    /// A row of a cache.
    room: &'f mut [f32],
}

/// Keys of 16 positions.
#[derive(Clone, Copy)]
struct Square<'c, 'a> {
    rows: &'c [&'a [u8]],
    /// Where they lie together.
    together: Option<&'a [u8]>,
}

/// How the head of a KV head lies, and how it is read.
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
    pub(super) fn floats(formats: [Format; 2], queries: usize, room: usize) -> usize {
        let [k, v] = formats;
        let values = if v.in_registers(queries) { 0 } else { BLOCK * v.padded() };
        (BLOCK + LANES) * k.padded() + values + room
    }

    pub(super) fn split(floats: &'f mut [f32], formats: [Format; 2], queries: usize) -> Block<'f> {
        let [k, v] = formats;
        let (keys, floats) = floats.split_at_mut(BLOCK * k.padded());
        let (rows, floats) = floats.split_at_mut(LANES * k.padded());
        let values = if v.in_registers(queries) { 0 } else { BLOCK * v.padded() };
        let (values, room) = floats.split_at_mut(values);
        rows.fill(0.0);
        values.fill(0.0);
        let halves = k.dtype == DType::F16 && k.in_registers(queries);
        Block { keys, halves, values, rows, room }
    }

    /// Turns the keys, 16 positions at a time. Positions beyond the block have any keys.
    #[inline(always)]
    pub(super) fn load_keys<I: Floats>(&mut self, isa: I, format: Format, rows: &BlockRows) {
        for (at, keys) in rows.keys().chunks(LANES).enumerate() {
            let keys = Square { rows: keys, together: rows.square(at) };
            match format.dtype {
                DType::F16 if self.halves => self.turn_words::<I, true, true>(isa, format, keys, at),
                DType::F16 => self.turn_words::<I, true, false>(isa, format, keys, at),
                DType::BF16 => self.turn_words::<I, false, false>(isa, format, keys, at),
                _ => self.turn_floats(isa, format, keys.rows, at),
            }
        }
    }

    /// Vector `at` of the positions of each d, from rows of 16 bits a value, which stay so if they are kept.
    #[inline(always)]
    fn turn_words<I: Floats, const HALF: bool, const KEEP: bool>(
        &mut self,
        isa: I,
        format: Format,
        square: Square,
        at: usize,
    ) {
        let stride = 2 * format.padded();
        let rows = match square.together {
            Some(rows) if rows.len() == LANES * stride => rows,
            _ => {
                let room: &mut [u8] = bytemuck::cast_slice_mut(self.rows);
                for (row, room) in square.rows.iter().zip(room.chunks_exact_mut(stride)) {
                    room[..row.len()].copy_from_slice(row);
                }
                &room[..LANES * stride]
            }
        };
        let squares = format.padded() / LANES;
        for i in 0..squares {
            let mut square = [&[0; 2 * LANES]; LANES];
            for t in 0..LANES {
                square[t] = rows[t * stride + 2 * i * LANES..].first_chunk().expect("rows of whole vectors");
            }
            let square = isa.transpose_words(square);
            if KEEP {
                let keys: &mut [u8] = bytemuck::cast_slice_mut(self.keys);
                let keys = keys.as_chunks_mut::<{ 2 * LANES }>().0.as_chunks_mut::<VECTORS>().0;
                let keys = &mut keys.as_chunks_mut::<LANES>().0[i];
                for d in 0..LANES {
                    keys[d][at] = square[d];
                }
            } else {
                let keys = &mut by_d(self.keys).as_chunks_mut::<LANES>().0[i];
                for d in 0..LANES {
                    keys[d][at] = isa.lanes(if HALF { isa.halves(&square[d]) } else { isa.upper_halves(&square[d]) });
                }
            }
        }
    }

    #[inline(always)]
    fn turn_floats<I: Floats>(&mut self, isa: I, format: Format, rows: &[&[u8]], at: usize) {
        let stride = format.padded();
        for (row, out) in rows.iter().zip(self.rows.chunks_exact_mut(stride)) {
            decode(isa, format.dtype, row, format.skip, self.room, &mut out[..format.dim]);
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

    /// Decodes values into memory, where they are not decoded in registers.
    #[inline(always)]
    pub(super) fn load_values<I: Floats>(&mut self, isa: I, format: Format, rows: &BlockRows) {
        for (row, out) in rows.values().iter().zip(self.values.chunks_exact_mut(format.padded())) {
            decode(isa, format.dtype, row, format.skip, self.room, &mut out[..format.dim]);
        }
    }

    /// The rows of the values: as they lie in the cache, or as they were decoded.
    pub(super) fn values<'a>(
        &'a self,
        format: Format,
        rows: &'a BlockRows,
        decoded: &'a mut [&'a [u8]; BLOCK],
    ) -> &'a [&'a [u8]] {
        if self.values.is_empty() {
            return rows.values();
        }
        for (row, floats) in decoded.iter_mut().zip(self.values.chunks_exact(format.padded())) {
            *row = bytemuck::cast_slice(floats);
        }
        decoded
    }

    /// Adds values to what queries have seen.
    #[inline(always)]
    pub(super) fn add<I: Floats, const Q: usize>(&self, isa: I, format: Format, values: Values<Q>) {
        match format.dtype {
            DType::F16 if self.values.is_empty() => values.add::<I, Half>(isa),
            _ => values.add::<I, Single>(isa),
        }
    }
}

/// Vectors of keys by d.
fn by_d(keys: &mut [f32]) -> &mut [[F16x; VECTORS]] {
    keys.as_chunks_mut::<LANES>().0.as_chunks_mut::<VECTORS>().0
}
