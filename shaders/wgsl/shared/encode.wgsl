// The encoding of values in Q8_A: of each 32 values, 32 signed bytes, their scale and their sum.

const INFINITY: u32 = 0x7f800000u; // bits; a NaN is above
// Bits of the least value by which 127 can be divided; a driver may assume that there is no infinity.
const LEAST: u32 = 0x02fe0001u;

// The largest magnitude of 4 values. All are bits of floats.
fn largest4(bits: vec4<u32>) -> u32 {
  let size = bits & vec4(0x7fffffffu);
  return max(max(size.x, size.y), max(size.z, size.w));
}

// The scale of a group whose largest magnitude is `most`.
fn scale_of(most: u32) -> u32 {
  if (most >= INFINITY) { return 0x7fc00000u; }
  if (most < LEAST) { return 0u; }
  return bitcast<u32>(bitcast<f32>(most) / 127.0);
}

// The bytes of 4 values of this group.
fn codes4(bits: vec4<u32>, most: u32) -> u32 {
  if (most >= INFINITY || most < LEAST) { return 0u; }
  let scaled = round(bitcast<vec4<f32>>(bits) * (127.0 / bitcast<f32>(most)));
  let b = bitcast<vec4<u32>>(clamp(vec4<i32>(scaled), vec4(-127), vec4(127))) & vec4(255u);
  return b.x | (b.y << 8u) | (b.z << 16u) | (b.w << 24u);
}

// The sum of 4 bytes.
fn sum4(codes: u32) -> i32 { return dot4I8Packed(codes, 0x01010101u); }
