// A half-precision scale, the largest magnitude / 127, and 32 signed bytes, rounded to nearest, ties away from zero.
const UNIT_0: u32 = 32u;
fn encode_0(unit: u32, x: u32) {
  // By bits, because a driver may assume that there is no NaN and no infinity. A NaN is ignored.
  var largest = 0u;
  for (var i = 0u; i < 32u; i++) {
    let a = source(x + i) & 0x7fffffffu;
    if (a <= 0x7f800000u) { largest = max(largest, a); }
  }
  let at = unit * 17u;
  let infinite = largest == 0x7f800000u;
  let d = bitcast<f32>(largest) / 127.0;
  var inverse = 0.0;
  if (!infinite && d != 0.0) { inverse = 1.0 / d; }
  put16_0(at, select(f16_bits(bitcast<u32>(d)), 0x7c00u, infinite));
  for (var i = 0u; i < 32u; i += 2u) {
    put16_0(at + 1u + i / 2u, quant_0(source(x + i), inverse) | (quant_0(source(x + i + 1u), inverse) << 8u));
  }
}

fn quant_0(bits: u32, inverse: f32) -> u32 {
  if ((bits & 0x7fffffffu) >= 0x7f800000u) { return 0u; }
  let y = bitcast<f32>(bits) * inverse;
  return u32(clamp(i32(y + select(-0.49999997, 0.49999997, y >= 0.0)), -128, 127)) & 0xffu;
}
