// The product of 32 weights and 32 activations, the same expressions in all kernels.

// The factors of a group of weights: value = s q - m. If they are of 16 values, `factors` has integers as bytes: s of
// the two halves is multiplied by the first two, m by the last two.
struct Scales { s: f32, m: f32, factors: u32 }

// The factors of group `group` of a block of Q4_K or Q5_K, from its first words: d and m; scales and minima of 6 bits.
fn six_bits(words: vec4<u32>, group: u32) -> Scales {
  let d = unpack2x16float(words.x);
  let packed = words >> vec4(group % 4u * 8u);
  // The last four have their upper two bits above the first four.
  let last = group >= 4u;
  let scale = select(packed.y & 63u, (packed.w & 15u) | ((packed.y >> 2u) & 48u), last);
  let least = select(packed.z & 63u, ((packed.w >> 4u) & 15u) | ((packed.z >> 2u) & 48u), last);
  return Scales(d.x * f32(scale), d.y * f32(least), 0u);
}

// Byte `i` of a word, with its sign.
fn byte(word: u32, i: u32) -> i32 { return bitcast<i32>(word << (24u - 8u * i)) >> 24u; }

// The sum of 16 products of bytes.
fn dot16(a: vec4<u32>, b: vec4<u32>) -> i32 {
  return dot4I8Packed(a.x, b.x) + dot4I8Packed(a.y, b.y) + dot4I8Packed(a.z, b.z) + dot4I8Packed(a.w, b.w);
}

// The sum of 16 bytes.
fn sum16(a: vec4<u32>) -> i32 { return dot16(a, vec4(0x01010101u)); }

// `acc` plus a group: the integer sums of products and of activations of its halves, the scale `d` of the activations.
// Without factors only the sum of both halves counts; without minima the sums of activations don't count.
fn add_group(halves: bool, mins: bool, acc: f32, s: Scales, products: vec2<i32>, sums: vec2<i32>, d: f32) -> f32 {
  var product = products.x + products.y;
  var sum = sums.x + sums.y;
  if (halves) {
    product = products.x * byte(s.factors, 0u) + products.y * byte(s.factors, 1u);
    sum = sums.x * byte(s.factors, 2u) + sums.y * byte(s.factors, 3u);
  }
  var u = s.s * f32(product);
  if (mins) { u = fma(-s.m, f32(sum), u); }
  return fma(u, d, acc);
}
