// Q5_1. Plane: 6 words a group: d and m; fifth bits; nibbles, 4 words.
const HALVES_0: bool = false;
const MINS_0: bool = true;
fn codes_0(base: u32, group: u32, j: u32) -> u32 {
  let q = (w_0(base, 0u, group * 6u + 2u + j % 4u) >> (j / 4u * 4u)) & 0x0f0f0f0fu;
  let fifths = (w_0(base, 0u, group * 6u + 1u) >> (4u * j)) & 15u;
  return q | ((fifths * 0x02040810u) & 0x10101010u); // bit i goes to bit 4 of byte i
}
fn scales_0(base: u32, group: u32) -> Scales {
  let d = unpack2x16float(w_0(base, 0u, group * 6u));
  return Scales(d.x, -d.y, 0u);
}
