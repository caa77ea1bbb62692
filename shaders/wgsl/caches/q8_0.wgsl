// Blocks of a half-precision scale and 32 signed bytes: 17 halves of words.
fn k_at(row: u32, i: u32) -> f32 {
  let block = (row * (p.k_cols / 32u) + i / 32u) * 17u;
  let scale = unpack2x16float(k[block >> 1u] >> ((block & 1u) * 16u)).x;
  let at = block + 1u + (i % 32u) / 2u;
  let shift = (at & 1u) * 16u + (i & 1u) * 8u;
  return scale * f32(i32(k[at >> 1u] << (24u - shift)) >> 24u);
}
