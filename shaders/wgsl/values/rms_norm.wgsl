// x / sqrt(mean(x^2) + eps) * w. Of the squares, thread i adds those of elements i, i + 256, ... in order.
var<workgroup> factors: array<f32, ROWS>;

fn prepare(x: u32, row: u32, t: u32) {
  var sum = 0.0;
  for (var i = t; i < p.k; i += 256u) {
    let y = bitcast<f32>(act[x + row * p.k + i]);
    sum = fma(y, y, sum);
  }
  let factor = 1.0 / sqrt(total(t, sum) / f32(p.k) + p.eps);
  if (t == 0u) { factors[row % ROWS] = factor; }
  workgroupBarrier();
}

fn value(x: u32, w: u32, row: u32, i: u32) -> f32 {
  return bitcast<f32>(act[x + row * p.k + i]) * factors[row % ROWS] * small[w + i];
}
