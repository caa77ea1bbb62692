// Q8_0. Planes: 32 bytes; d.
const HALVES_0: bool = false;
const MINS_0: bool = false;
fn codes_0(base: u32, group: u32, j: u32) -> u32 { return w_0(base, 0u, group * 8u + j); }
fn scales_0(base: u32, group: u32) -> Scales {
  return Scales(unpack2x16float(w_0(base, 1u, group / 2u) >> (group % 2u * 16u)).x, 0.0, 0u);
}
