// Slot `noise` of sample.wgsl: random numbers of tokens.

// The upper half of a product.
fn high_product(a: u32, b: u32) -> u32 {
  let a0 = a & 0xffffu;
  let a1 = a >> 16u;
  let b0 = b & 0xffffu;
  let b1 = b >> 16u;
  let middle = a1 * b0 + ((a0 * b0) >> 16u);
  return a1 * b1 + (middle >> 16u) + ((a0 * b1 + (middle & 0xffffu)) >> 16u);
}

// 24 random bits of a token: Philox 4x32-10.
fn random(seed: vec2<u32>, index: u32, id: u32) -> u32 {
  var x = vec4(index, 0u, id, 0u);
  var key = seed;
  for (var round = 0u; round < 10u; round++) {
    let a = 0xd2511f53u * x.x;
    let b = 0xcd9e8d57u * x.z;
    let a_high = high_product(0xd2511f53u, x.x);
    let b_high = high_product(0xcd9e8d57u, x.z);
    x = vec4(b_high ^ x.y ^ key.x, b, a_high ^ x.w ^ key.y, a);
    key += vec2(0x9e3779b9u, 0xbb67ae85u);
  }
  return x.x >> 8u;
}

// -ln(-ln u) of u = (m + 1/2) 2^-24, within 7 units and 4 units of itself.
fn noise(m: u32) -> f32 {
  let numerator = 2u * m + 1u;
  let rest = f32(0x2000000u - numerator) * 2.98023224e-8; // 1 - u, exact from 1/2 on
  var surprise = 0.0;
  if (m >= 0x800000u && rest < 0.29) {
    surprise = -ln_1p_f32(-rest);
  } else {
    surprise = -ln_f32(select(1.0 - rest, f32(numerator) * 2.98023224e-8, m < 0x800000u));
  }
  return -ln_f32(surprise);
}
