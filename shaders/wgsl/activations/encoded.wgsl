// Rows of values, which the workgroup encodes in Q8_A.
fn make(rows: u32, t: u32) {
  for (var row = 0u; row < rows; row++) {
    prepare(p.x, row, t);
    encode(row, 0u, p.k / 32u, row * (p.k / 32u) * 10u, t);
  }
}
fn group_at(row: u32, group: u32) -> u32 { return (row * (p.k / 32u) + group) * 10u; }
fn word(at: u32) -> u32 { return encoded[at]; }
