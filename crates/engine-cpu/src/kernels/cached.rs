//! Heads of cached keys and values as floats.

use super::decoded::decode_row;
use crate::isa::{Floats, LANES};
use crate::memory::View;
use inkstone_tensor::DType;
use std::ops::Range;

/// Columns `cols` of a row of a cache. Floats of 16 and of 32 bits are converted by vectors; `room` takes a row of any other
/// dtype.
#[inline(always)]
pub(super) fn head<I: Floats>(
    isa: I,
    cache: &View,
    place: usize,
    cols: Range<usize>,
    room: &mut [f32],
    out: &mut [f32],
) {
    let two_bytes = || &cache.row_bytes(place)[2 * cols.start..2 * cols.end];
    match cache.ty.dtype {
        DType::F32 => out.copy_from_slice(&cache.row::<f32>(place)[cols]),
        DType::F16 => widen::<I, true>(isa, two_bytes(), out),
        DType::BF16 => widen::<I, false>(isa, two_bytes(), out),
        dtype => {
            let first = cols.start / dtype.block() * dtype.block();
            let decoded = &mut room[..cols.end.next_multiple_of(dtype.block()) - first];
            decode_row(cache, place, first, decoded);
            out.copy_from_slice(&decoded[cols.start - first..][..out.len()]);
        }
    }
}

/// Numbers of half precision, or upper halves of floats, as floats.
#[inline(always)]
fn widen<I: Floats, const HALF: bool>(isa: I, bytes: &[u8], out: &mut [f32]) {
    for i in 0..out.len().div_ceil(LANES) {
        let bytes = &bytes[2 * LANES * i..];
        let mut padded = [0; 2 * LANES];
        let part = match bytes.first_chunk() {
            Some(part) => part,
            None => {
                padded[..bytes.len()].copy_from_slice(bytes);
                &padded
            }
        };
        isa.put(out, i, if HALF { isa.halves(part) } else { isa.upper_halves(part) });
    }
}
