// Rows of values.
fn make(rows: u32, t: u32) {
  for (var row = 0u; row < rows; row++) { prepare(p.x, row, t); }
}

// Values i up to i + 3 of a row; zeros after its end.
fn x4(row: u32, i: u32) -> vec4<f32> {
  var x = vec4(value(p.x, p.w, row, i), 0.0, 0.0, 0.0);
  if (i + 1u < p.k) { x.y = value(p.x, p.w, row, i + 1u); }
  if (i + 2u < p.k) { x.z = value(p.x, p.w, row, i + 2u); }
  if (i + 3u < p.k) { x.w = value(p.x, p.w, row, i + 3u); }
  return x;
}
