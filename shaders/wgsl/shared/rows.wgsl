// The number of rows in this step: a word of its header, but at most as many as the plan has room for.
fn true_rows() -> u32 {
  if (p.rows_from == 0xffffffffu) { return p.rows; }
  return min(step[p.rows_from], p.rows);
}
