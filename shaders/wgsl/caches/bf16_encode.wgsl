const UNIT: u32 = 1u;
fn encode(row: u32, unit: u32, x: u32) {
  let a = act[x];
  let even = (a + 0x7fffu + ((a >> 16u) & 1u)) >> 16u;
  put16(row * p.dim + unit, select(even, (a >> 16u) | 0x40u, (a & 0x7fffffffu) > 0x7f800000u));
}
