const UNIT_0: u32 = 1u;
fn encode_0(unit: u32, x: u32) {
  let a = source(x);
  let even = (a + 0x7fffu + ((a >> 16u) & 1u)) >> 16u;
  put16_0(unit, select(even, (a >> 16u) | 0x40u, (a & 0x7fffffffu) > 0x7f800000u));
}
