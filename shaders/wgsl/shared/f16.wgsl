// The half-precision number nearest to a single, ties to even, by integers: drivers may round as they like.
fn f16_bits(x: u32) -> u32 {
  let sign = (x >> 16u) & 0x8000u;
  let a = x & 0x7fffffffu;
  if (a > 0x7f800000u) { return sign | 0x7e00u | ((a >> 13u) & 0x3ffu); }
  if (a >= 0x47800000u) { return sign | 0x7c00u; }
  if (a < 0x33000000u) { return sign; }
  let e = a >> 23u;
  // The bits below the last one that stays: 13 of normal numbers, more of subnormal ones.
  let drop = select(126u - e, 13u, e >= 113u);
  let m = select((a & 0x7fffffu) | 0x800000u, a - (112u << 23u), e >= 113u);
  let half = 1u << (drop - 1u);
  let rest = m & ((1u << drop) - 1u);
  let up = rest > half || (rest == half && ((m >> drop) & 1u) == 1u);
  return sign | ((m >> drop) + select(0u, 1u, up));
}
