// Rows of values, which the workgroup encodes in Q8_A.
fn make(first: u32, rows: u32, t: u32) {
  for (var row = first; row < first + rows; row++) {
    prepare(p.x, row, t);
    encode(row, 0u, p.k / 32u, group_at(row, 0u), t);
  }
}
fn group_at(row: u32, group: u32) -> u32 { return (row % ROWS * (p.k / 32u) + group) * 10u; }
fn word(at: u32) -> u32 { return encoded[at]; }
