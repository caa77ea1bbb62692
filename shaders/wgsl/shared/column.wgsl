// Of a panel of matrix 0: the result of this thread's row and column.
fn column_0(panel: u32, rows: u32, t: u32) -> f32 {
  let acc = products_0(panel, rows, t);
  workgroupBarrier();
  for (var r = 0u; r < ROWS; r++) { part[r * 256u + t] = acc[r]; }
  workgroupBarrier();
  let row = t / 32u;
  let col = t % 32u;
  if (row >= rows || panel * 32u + col >= p.m_0.n) { return 0.0; }
  var sum = 0.0;
  for (var i = 0u; i < 8u; i++) { sum += part[row * 256u + i * 32u + col]; }
  if (p.m_0.bias != NONE) { sum += small[p.m_0.bias + p.m_0.first + panel * 32u + col]; }
  return sum;
}
