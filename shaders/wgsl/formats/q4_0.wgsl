// Q4_0. Planes: nibbles, 16 bytes; d.
const HALVES_0: bool = false;
const MINS_0: bool = false;
fn codes_0(base: u32, group: u32, j: u32) -> u32 {
  let q = (w_0(base, 0u, group * 4u + j % 4u) >> (j / 4u * 4u)) & 0x0f0f0f0fu;
  return ((q | 0x80808080u) - 0x08080808u) ^ 0x80808080u; // each byte less 8
}
fn scales_0(base: u32, group: u32) -> Scales {
  return Scales(unpack2x16float(w_0(base, 1u, group / 2u) >> (group % 2u * 16u)).x, 0.0, 0u);
}
