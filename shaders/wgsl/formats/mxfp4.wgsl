// MXFP4. Planes: nibbles, 16 bytes; exponent e. Codes are twice the E2M1 numbers: 0, 1, 2, 3, 4, 6, 8, 12 and the same
// with the other sign.
const HALVES_0: bool = false;
const MINS_0: bool = false;
fn codes_0(base: u32, group: u32, j: u32) -> u32 {
  let q = w_0(base, 0u, group * 4u + j % 4u) >> (j / 4u * 4u);
  let large = (q >> 2u) & 0x01010101u;
  // In each byte: the lower bits as a number; 4 and above have their lower bits added, 7 also 2.
  let size = (q & 0x07070707u) + (q & (large * 3u)) + ((q & (q >> 1u) & large) << 1u);
  let negative = size & (((q >> 3u) & 0x01010101u) * 255u);
  return (0x80808080u + (size ^ negative) - negative) ^ 0x80808080u;
}
fn scales_0(base: u32, group: u32) -> Scales {
  let e = (w_0(base, 1u, group / 4u) >> (group % 4u * 8u)) & 255u;
  return Scales(bitcast<f32>(select((e - 1u) << 23u, 0x00200000u << e, e < 2u)), 0.0, 0u); // 2^(e - 128)
}
