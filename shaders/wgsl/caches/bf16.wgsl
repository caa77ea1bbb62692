fn k_at(row: u32, i: u32) -> f32 {
  let at = row * p.k_cols + i;
  return bitcast<f32>((k[at >> 1u] >> ((at & 1u) * 16u)) << 16u);
}
