// Q5_K. Plane: 44 words for 8 groups: d and m; scales and minima of 6 bits, 3 words; fifth bits, 8 words; nibbles,
// 32 words.
const HALVES_0: bool = false;
const MINS_0: bool = true;
fn codes_0(base: u32, group: u32, j: u32) -> u32 {
  let block = group / 8u * 44u;
  let q = (w_0(base, 0u, block + 12u + group / 2u % 4u * 8u + j) >> (group % 2u * 4u)) & 0x0f0f0f0fu;
  let fifths = (w_0(base, 0u, block + 4u + j) >> (group % 8u)) & 0x01010101u;
  return q | (fifths << 4u);
}
fn scales_0(base: u32, group: u32) -> Scales {
  let block = group / 8u * 44u;
  return six_bits(
    vec4(w_0(base, 0u, block), w_0(base, 0u, block + 1u), w_0(base, 0u, block + 2u), w_0(base, 0u, block + 3u)),
    group % 8u,
  );
}
