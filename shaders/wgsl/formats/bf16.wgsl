// BF16. Plane: a word for two values, each the upper half of an f32.
fn values_0(base: u32, i4: u32) -> vec4<f32> {
  let a = w_0(base, 0u, i4 * 2u);
  let b = w_0(base, 0u, i4 * 2u + 1u);
  return bitcast<vec4<f32>>(vec4(a << 16u, a & 0xffff0000u, b << 16u, b & 0xffff0000u));
}
