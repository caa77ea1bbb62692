// Q6_K. Planes: 52 words for 8 groups: nibbles, 32 words; upper pairs of bits, 16 words; scales of 16 values, 4 words.
// d.
const HALVES_0: bool = true;
const MINS_0: bool = false;
fn codes_0(base: u32, group: u32, j: u32) -> u32 {
  let block = group / 8u * 52u;
  let half = group / 4u % 2u;
  let q = (w_0(base, 0u, block + half * 16u + group % 2u * 8u + j) >> (group / 2u % 2u * 4u)) & 0x0f0f0f0fu;
  let upper = (w_0(base, 0u, block + 32u + half * 8u + j) >> (group % 4u * 2u)) & 0x03030303u;
  return ((q | (upper << 4u) | 0x80808080u) - 0x20202020u) ^ 0x80808080u; // each byte less 32
}
fn scales_0(base: u32, group: u32) -> Scales {
  let both = w_0(base, 0u, group / 8u * 52u + 48u + group / 2u % 4u) >> (group % 2u * 16u);
  let d = unpack2x16float(w_0(base, 1u, group / 16u) >> (group / 8u % 2u * 16u)).x;
  return Scales(d, 0.0, both & 0xffffu);
}
