// F16. Plane: a word for two values.
fn values_0(base: u32, i4: u32) -> vec4<f32> {
  return vec4(unpack2x16float(w_0(base, 0u, i4 * 2u)), unpack2x16float(w_0(base, 0u, i4 * 2u + 1u)));
}
