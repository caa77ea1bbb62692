//! F16: IEEE half precision. Encoding rounds to nearest, ties to even. Values that are too large become infinity, and
//! NaN stays NaN.

use half::f16;
use half::slice::HalfFloatSliceExt;

/// Values converted at once: enough for the machine's conversion instructions.
const LANES: usize = 64;

pub(crate) fn decode(bytes: &[u8], values: &mut [f32]) {
    let pairs = bytes.as_chunks::<2>().0;
    let n = pairs.len().min(values.len());
    let mut halves = [f16::ZERO; LANES];
    for (pairs, values) in pairs[..n].chunks(LANES).zip(values[..n].chunks_mut(LANES)) {
        for (h, &pair) in halves.iter_mut().zip(pairs) {
            *h = f16::from_le_bytes(pair);
        }
        halves[..pairs.len()].convert_to_f32_slice(values);
    }
}

pub(crate) fn encode(values: &[f32], bytes: &mut [u8]) {
    let pairs = bytes.as_chunks_mut::<2>().0;
    let n = pairs.len().min(values.len());
    let mut halves = [f16::ZERO; LANES];
    for (values, pairs) in values[..n].chunks(LANES).zip(pairs[..n].chunks_mut(LANES)) {
        let halves = &mut halves[..values.len()];
        halves.convert_from_f32_slice(values);
        for (pair, h) in pairs.iter_mut().zip(halves) {
            *pair = h.to_le_bytes();
        }
    }
}
