// The true number of rows of a step.
fn true_rows() -> u32 {
  if (p.rows_from == 0xffffffffu) { return p.rows; }
  return min(step[p.rows_from], p.rows);
}
