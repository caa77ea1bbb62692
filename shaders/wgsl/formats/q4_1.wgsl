// Q4_1. Plane: 5 words a group: d and m; nibbles, 4 words.
const HALVES_0: bool = false;
const MINS_0: bool = true;
fn codes_0(base: u32, group: u32, j: u32) -> u32 {
  return (w_0(base, 0u, group * 5u + 1u + j % 4u) >> (j / 4u * 4u)) & 0x0f0f0f0fu;
}
fn scales_0(base: u32, group: u32) -> Scales {
  let d = unpack2x16float(w_0(base, 0u, group * 5u));
  return Scales(d.x, -d.y, 0u);
}
