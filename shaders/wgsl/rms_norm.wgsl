// x / sqrt(mean(x^2) + eps) * w, for each head of each row. Grid: heads, rows; a workgroup a head. Of the squares, thread i
// adds those of elements i, i + 256, ... in order; the sums of threads 128 apart are added, then 64, ..., 1 apart.
struct Params {
  rows: u32,
  rows_from: u32,
  x: u32,    // in `act`
  out: u32,  // in `act`
  w: u32,    // in `small`
  cols: u32, // values of a row
  dim: u32,  // values of a head
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

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) g: vec3<u32>, @builtin(local_invocation_index) t: u32) {
  if (g.y >= true_rows()) { return; }
  let at = g.y * p.cols + g.x * p.dim;
  var sum = 0.0;
  for (var i = t; i < p.dim; i += 256u) {
    let x = bitcast<f32>(act[p.x + at + i]);
    sum = fma(x, x, sum);
  }
  sums[t] = sum;
  for (var n = 128u; n > 0u; n >>= 1u) {
    workgroupBarrier();
    if (t < n) { sums[t] += sums[t + n]; }
  }
  workgroupBarrier();
  let scale = 1.0 / sqrt(sums[0] / f32(p.dim) + p.eps);
  for (var i = t; i < p.dim; i += 256u) {
    act[p.out + at + i] = bitcast<u32>(bitcast<f32>(act[p.x + at + i]) * scale * small[p.w + i]);
  }
}
