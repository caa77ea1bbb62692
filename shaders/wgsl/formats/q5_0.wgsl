// Q5_0. Planes: 5 words a group: fifth bits; nibbles, 4 words. d.
const HALVES_0: bool = false;
const MINS_0: bool = false;
fn codes_0(base: u32, group: u32, j: u32) -> u32 {
  let q = (w_0(base, 0u, group * 5u + 1u + j % 4u) >> (j / 4u * 4u)) & 0x0f0f0f0fu;
  let fifths = (w_0(base, 0u, group * 5u) >> (4u * j)) & 15u;
  // Bit i goes to bit 4 of byte i, then each byte less 16.
  return ((q | ((fifths * 0x02040810u) & 0x10101010u) | 0x80808080u) - 0x10101010u) ^ 0x80808080u;
}
fn scales_0(base: u32, group: u32) -> Scales {
  return Scales(unpack2x16float(w_0(base, 1u, group / 2u) >> (group % 2u * 16u)).x, 0.0, 0u);
}
