// Q2_K. Plane: 21 words for 8 groups: scales and minima of 16 values as nibbles, 4 words; pairs of bits, 16 words;
// d and m.
const HALVES_0: bool = true;
const MINS_0: bool = true;
fn codes_0(base: u32, group: u32, j: u32) -> u32 {
  return (w_0(base, 0u, group / 8u * 21u + 4u + group / 4u % 2u * 8u + j) >> (group % 4u * 2u)) & 0x03030303u;
}
fn scales_0(base: u32, group: u32) -> Scales {
  let block = group / 8u * 21u;
  let d = unpack2x16float(w_0(base, 0u, block + 20u));
  let both = w_0(base, 0u, block + group / 2u % 4u) >> (group % 2u * 16u);
  return Scales(d.x, d.y, (both & 0x0f0fu) | ((both & 0xf0f0u) << 12u));
}
