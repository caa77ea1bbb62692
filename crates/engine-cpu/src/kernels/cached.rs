//! Rows of a head in a cache, as they lie there and as floats.

use super::attend::BLOCK;
use crate::isa::{Floats, LANES};
use crate::memory::HeadRows;
use crate::tile::Places;
use inkstone_tensor::DType;
use inkstone_tensor::step::StepError;
use std::ops::Range;

/// The encoded rows of one block of positions of a head: keys and values.
#[derive(Clone, Copy)]
pub(super) struct BlockRows<'a> {
    rows: [[&'a [u8]; BLOCK]; 2],
    count: usize,
    /// The keys of 16 positions, where they lie together.
    squares: [Option<&'a [u8]>; BLOCK / LANES],
}

impl<'a> BlockRows<'a> {
    /// None.
    pub(super) fn none() -> BlockRows<'a> {
        BlockRows { rows: [[&[]; BLOCK]; 2], count: 0, squares: [None; BLOCK / LANES] }
    }

    /// Of these positions, as many as a block has.
    pub(super) fn find(
        &mut self,
        caches: [&HeadRows<'a>; 2],
        places: &Places,
        positions: Range<usize>,
    ) -> Result<(), StepError> {
        (self.count, self.squares) = (0, [None; BLOCK / LANES]);
        let mut position = positions.start;
        while position < positions.end {
            let run = places.run(position, positions.end - position)?;
            position += run.len();
            let at = self.count..self.count + run.len();
            let runs = caches.map(|cache| cache.run(run.clone()));
            for (rows, run) in self.rows.iter_mut().zip(&runs) {
                for (row, found) in rows[at.clone()].iter_mut().zip(run.rows()) {
                    *row = found;
                }
            }
            if let Some(keys) = runs[0].together() {
                let bytes = keys.len() / at.len();
                for i in at.start.div_ceil(LANES)..at.end / LANES {
                    self.squares[i] = Some(&keys[(i * LANES - at.start) * bytes..][..LANES * bytes]);
                }
            }
            self.count = at.end;
        }
        Ok(())
    }

    pub(super) fn keys(&self) -> &[&'a [u8]] {
        &self.rows[0][..self.count]
    }

    /// The keys of the positions that fill vector `i`, where they lie together.
    pub(super) fn square(&self, i: usize) -> Option<&'a [u8]> {
        self.squares[i]
    }

    pub(super) fn values(&self) -> &[&'a [u8]] {
        &self.rows[1][..self.count]
    }
}

/// A row of a head as floats. Floats of 16 and of 32 bits are converted by vectors; `room` takes a row of any other dtype, which
/// begins `skip` values before the head.
#[inline(always)]
pub(super) fn decode<I: Floats>(isa: I, dtype: DType, row: &[u8], skip: usize, room: &mut [f32], out: &mut [f32]) {
    match dtype {
        DType::F32 => bytemuck::cast_slice_mut(out).copy_from_slice(row),
        DType::F16 => widen::<I, true>(isa, row, out),
        DType::BF16 => widen::<I, false>(isa, row, out),
        dtype => {
            let info = dtype.info();
            let decode = info.decode.expect("operands that are no words can be decoded, as infer checks");
            decode(row, &mut room[..row.len() / info.block_bytes * info.block]);
            out.copy_from_slice(&room[skip..][..out.len()]);
        }
    }
}

/// Numbers of half precision, or upper halves of floats, as floats.
#[inline(always)]
fn widen<I: Floats, const HALF: bool>(isa: I, bytes: &[u8], out: &mut [f32]) {
    for i in 0..out.len().div_ceil(LANES) {
        let part = words(bytes, i);
        isa.put(out, i, if HALF { isa.halves(&part) } else { isa.upper_halves(&part) });
    }
}

/// 16 words of a row, from vector `i` on; zeros beyond its end.
#[inline(always)]
fn words(row: &[u8], i: usize) -> [u8; 2 * LANES] {
    let row = &row[2 * LANES * i..];
    match row.first_chunk() {
        Some(part) => *part,
        None => {
            let mut padded = [0; 2 * LANES];
            padded[..row.len()].copy_from_slice(row);
            padded
        }
    }
}
