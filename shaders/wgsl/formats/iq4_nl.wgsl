// IQ4_NL. Planes: nibbles that index a table, 16 bytes; d.
const HALVES_0: bool = false;
const MINS_0: bool = false;
// Byte i of -127, -104, -83, -65 | -49, -35, -22, -10 | 1, 13, 25, 38 | 53, 69, 89, 113.
fn entry_0(i: u32) -> u32 {
  let low = select(0xbfad9881u, 0xf6eaddcfu, (i & 4u) != 0u);
  let high = select(0x26190d01u, 0x71594535u, (i & 4u) != 0u);
  return (select(low, high, (i & 8u) != 0u) >> (i % 4u * 8u)) & 255u;
}
fn codes_0(base: u32, group: u32, j: u32) -> u32 {
  let q = w_0(base, 0u, group * 4u + j % 4u) >> (j / 4u * 4u);
  return entry_0(q) | (entry_0(q >> 8u) << 8u) | (entry_0(q >> 16u) << 16u) | (entry_0(q >> 24u) << 24u);
}
fn scales_0(base: u32, group: u32) -> Scales {
  return Scales(unpack2x16float(w_0(base, 1u, group / 2u) >> (group % 2u * 16u)).x, 0.0, 0u);
}
