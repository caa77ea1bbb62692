// Q4_K. Plane: 36 words for 8 groups: d and m; scales and minima of 6 bits, 3 words; nibbles, 32 words.
const HALVES_0: bool = false;
const MINS_0: bool = true;
fn codes_0(base: u32, group: u32, j: u32) -> u32 {
  return (w_0(base, 0u, group / 8u * 36u + 4u + group / 2u % 4u * 8u + j) >> (group % 2u * 4u)) & 0x0f0f0f0fu;
}
fn scales_0(base: u32, group: u32) -> Scales {
  let block = group / 8u * 36u;
  return six_bits(
    vec4(w_0(base, 0u, block), w_0(base, 0u, block + 1u), w_0(base, 0u, block + 2u), w_0(base, 0u, block + 3u)),
    group % 8u,
  );
}
