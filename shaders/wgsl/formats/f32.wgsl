// F32. Plane: a word a value.
fn values_0(base: u32, i4: u32) -> vec4<f32> {
  let i = i4 * 4u;
  let bits = vec4(w_0(base, 0u, i), w_0(base, 0u, i + 1u), w_0(base, 0u, i + 2u), w_0(base, 0u, i + 3u));
  return bitcast<vec4<f32>>(bits);
}
