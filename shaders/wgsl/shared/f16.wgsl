// The bits of an f32 rounded to half precision, to nearest, ties to even. By integers, because `pack2x16float` may
// round in another way, and drivers may flush subnormal numbers and assume that there is no NaN.
fn f16_bits(value: u32) -> u32 {
  let sign = (value >> 16u) & 0x8000u;
  let size = value & 0x7fffffffu;
  if (size > 0x7f800000u) { return sign | 0x7e00u | ((size >> 13u) & 0x3ffu); } // a NaN becomes quiet
  if (size >= 0x38800000u) {
    // Another bias of the exponent, and half of the last place, a little less where that place is even. Numbers that
    // are too large become infinity.
    let biased = size - 0x38000000u;
    return sign | min((biased + 0xfffu + ((biased >> 13u) & 1u)) >> 13u, 0x7c00u);
  }
  // Subnormal: a multiple of 2^-24. Below 2^-25 it is zero.
  if (size < 0x33000000u) { return sign; }
  let shift = 126u - (size >> 23u);
  let mantissa = (size & 0x7fffffu) | 0x800000u;
  return sign | ((mantissa + (1u << (shift - 1u)) - 1u + ((mantissa >> shift) & 1u)) >> shift);
}
