//! The 12 bytes of Q4_K and Q5_K, from byte 4 of a block on, that hold eight scales and eight minima of 6 bits.

/// Scale and minimum of group `j` of 8.
///
/// Groups 0 to 3 have the low 6 bits of byte j and of byte j + 4. Groups 4 to 7 have the two nibbles of byte j + 4, and
/// their upper two bits are the upper bits of the bytes j - 4 and j.
#[inline(always)]
pub(super) fn scale_and_minimum<const B: usize>(block: &[u8; B], j: usize) -> (f32, f32) {
    let byte = |i: usize| block[4 + i];
    let (scale, minimum) = if j < 4 {
        (byte(j) & 63, byte(j + 4) & 63)
    } else {
        (byte(j + 4) & 15 | byte(j - 4) >> 6 << 4, byte(j + 4) >> 4 | byte(j) >> 6 << 4)
    };
    (f32::from(scale), f32::from(minimum))
}
