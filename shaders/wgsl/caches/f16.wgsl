fn k_at(row: u32, i: u32) -> f32 {
  let at = row * p.k_cols + i;
  let pair = unpack2x16float(k[at >> 1u]);
  return select(pair.x, pair.y, (at & 1u) == 1u);
}
