// (x - mean(x)) / sqrt(variance(x) + eps) * w + bias. Sums as in rms_norm.wgsl; the mean is found before the variance.
var<workgroup> means: array<f32, ROWS>;
var<workgroup> factors: array<f32, ROWS>;

fn prepare(x: u32, row: u32, t: u32) {
  let at = x + row * p.k;
  var sum = 0.0;
  for (var i = t; i < p.k; i += 256u) { sum += bitcast<f32>(act[at + i]); }
  let mean = total(t, sum) / f32(p.k);
  var squares = 0.0;
  for (var i = t; i < p.k; i += 256u) {
    let d = bitcast<f32>(act[at + i]) - mean;
    squares = fma(d, d, squares);
  }
  let factor = 1.0 / sqrt(total(t, squares) / f32(p.k) + p.eps);
  if (t == 0u) {
    means[row % ROWS] = mean;
    factors[row % ROWS] = factor;
  }
  workgroupBarrier();
}

fn value(x: u32, w: u32, row: u32, i: u32) -> f32 {
  let d = bitcast<f32>(act[x + row * p.k + i]) - means[row % ROWS];
  return d * factors[row % ROWS] * small[w + i] + small[p.bias + i];
}
