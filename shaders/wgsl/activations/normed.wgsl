// Rows of values, which the workgroup normalises.
var<workgroup> normed: array<f32, WORDS>;

fn make(first: u32, rows: u32, t: u32) {
  for (var row = first; row < first + rows; row++) {
    prepare(p.x, row, t);
    for (var i = t; i < p.k; i += 256u) { normed[row % ROWS * p.k + i] = value(p.x, p.w, row, i); }
  }
  workgroupBarrier();
}
fn x_at(row: u32, i: u32) -> f32 { return normed[row % ROWS * p.k + i]; }
