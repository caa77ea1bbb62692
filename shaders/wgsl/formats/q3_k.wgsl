// Q3_K. Planes: 27 words for 8 groups: third bits, 8 words; pairs of bits, 16 words; scales of 16 values, 3 words. d.
const HALVES_0: bool = true;
const MINS_0: bool = false;
fn codes_0(base: u32, group: u32, j: u32) -> u32 {
  let block = group / 8u * 27u;
  let q = (w_0(base, 0u, block + 8u + group / 4u % 2u * 8u + j) >> (group % 4u * 2u)) & 0x03030303u;
  let thirds = (w_0(base, 0u, block + j) >> (group % 8u)) & 0x01010101u;
  return ((q | (thirds << 2u) | 0x80808080u) - 0x04040404u) ^ 0x80808080u; // each byte less 4
}
fn scales_0(base: u32, group: u32) -> Scales {
  let block = group / 8u * 27u;
  let g = group % 8u;
  let side = group % 2u * 16u;
  let low = (w_0(base, 0u, block + 24u + g / 2u % 2u) >> (side + g / 4u * 4u)) & 0x0f0fu;
  let upper = (w_0(base, 0u, block + 26u) >> (side + g / 2u * 2u)) & 0x0303u;
  let d = unpack2x16float(w_0(base, 1u, group / 16u) >> (group / 8u % 2u * 16u)).x;
  return Scales(d, 0.0, ((low | (upper << 4u) | 0x8080u) - 0x2020u) ^ 0x8080u); // each byte less 32
}
