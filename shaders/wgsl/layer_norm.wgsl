// (x - mean(x)) / sqrt(variance(x) + eps) * w + bias, for each row. Grid: rows in y; a workgroup a row. Sums as in
// rms_norm.wgsl; the mean is found before the variance.
struct Params {
  rows: u32,
  rows_from: u32,
  x: u32,    // in `act`
  out: u32,  // in `act`
  w: u32,    // in `small`
  bias: u32, // in `small`
  cols: u32, // values of a row
  eps: f32,
}
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> step: array<u32>;
@group(0) @binding(2) var<storage, read_write> act: array<u32>;
@group(0) @binding(3) var<storage, read> small: array<f32>;

var<workgroup> sums: array<f32, 256>;

// slot: rows
fn true_rows() -> u32 { return p.rows; }
// end slot

// The sum of what each thread has.
fn total(t: u32, own: f32) -> f32 {
  workgroupBarrier();
  sums[t] = own;
  for (var n = 128u; n > 0u; n >>= 1u) {
    workgroupBarrier();
    if (t < n) { sums[t] += sums[t + n]; }
  }
  workgroupBarrier();
  return sums[0];
}

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) g: vec3<u32>, @builtin(local_invocation_index) t: u32) {
  if (g.y >= true_rows()) { return; }
  let at = g.y * p.cols;
  var sum = 0.0;
  for (var i = t; i < p.cols; i += 256u) { sum += bitcast<f32>(act[p.x + at + i]); }
  let mean = total(t, sum) / f32(p.cols);
  var squares = 0.0;
  for (var i = t; i < p.cols; i += 256u) {
    let d = bitcast<f32>(act[p.x + at + i]) - mean;
    squares = fma(d, d, squares);
  }
  let scale = 1.0 / sqrt(total(t, squares) / f32(p.cols) + p.eps);
  for (var i = t; i < p.cols; i += 256u) {
    let d = bitcast<f32>(act[p.x + at + i]) - mean;
    act[p.out + at + i] = bitcast<u32>(d * scale * small[p.w + i] + small[p.bias + i]);
  }
}
