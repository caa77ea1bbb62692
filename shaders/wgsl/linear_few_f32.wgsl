// x w^T + bias for few rows of activations in f32, for a piece of w. Grid: a workgroup per panel in x and per ROWS
// rows in y. A thread has a segment of k of one column, for all these rows; 32 neighbours have the columns of a panel.
struct Params {
  rows: u32,      // most rows
  rows_from: u32, // word of the step that has their number, or NONE
  x: u32,         // word offset of the activations
  out: u32,       // word offset of the result
  cols: u32,      // columns of the result: words from row to row
  first: u32,     // the column that the piece begins with
  n: u32,         // columns that the piece has
  k: u32,         // values in a row
  panel: u32,     // words of a panel
  plane: u32,     // words of a row in the first plane
  bias: u32,      // offset of the bias in `small`, or NONE
  begin: u32,     // first word of the piece
}
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> step: array<u32>;
@group(0) @binding(2) var<storage, read_write> act: array<u32>;
@group(0) @binding(3) var<storage, read> small: array<f32>;
@group(0) @binding(4) var<storage, read> w0: array<u32>;
const NONE: u32 = 0xffffffffu;
override STRIDE: u32 = 32u; // between words of a row; 1 for a weight of one row
override ROWS: u32 = 8u; // up to 8

// slot: rows
fn true_rows() -> u32 { return p.rows; }
// end slot
fn w_0(base: u32, plane: u32, word: u32) -> u32 { return w0[base + (plane * p.plane + word) * STRIDE]; }
// slot: floats
fn values_0(base: u32, i4: u32) -> vec4<f32> { return vec4(f32(w_0(base, 0u, i4))); }
// end slot

var<workgroup> part: array<f32, 2048>; // rows x segments x columns

// Values i up to i + 3 of the row of activations at word `at`; zeros after its end.
fn x4(at: u32, i: u32) -> vec4<f32> {
  var x = vec4<u32>();
  if (i + 4u <= p.k) {
    x = vec4(act[at + i], act[at + i + 1u], act[at + i + 2u], act[at + i + 3u]);
  } else {
    x.x = act[at + i];
    if (i + 1u < p.k) { x.y = act[at + i + 1u]; }
    if (i + 2u < p.k) { x.z = act[at + i + 2u]; }
  }
  return bitcast<vec4<f32>>(x);
}

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) id: vec3<u32>, @builtin(local_invocation_index) t: u32) {
  let first = id.y * ROWS;
  let all = true_rows();
  if (first >= all) { return; }
  let rows = min(all - first, ROWS);
  let lane = t % 32u;
  let segment = t / 32u;
  let base = p.begin + id.x * p.panel + lane % STRIDE;
  let quads = (p.k + 3u) / 4u;
  let blocks = (p.k + 31u) / 32u;
  let end = min((segment + 1u) * blocks / 8u * 8u, quads);
  var acc: array<f32, 8>;
  for (var i = segment * blocks / 8u * 8u; i < end; i++) {
    let w = values_0(base, i);
    for (var r = 0u; r < ROWS; r++) {
      if (r < rows) {
        let x = x4(p.x + (first + r) * p.k, i * 4u);
        acc[r] = fma(w.w, x.w, fma(w.z, x.z, fma(w.y, x.y, fma(w.x, x.x, acc[r]))));
      }
    }
  }
  for (var r = 0u; r < ROWS; r++) { part[r * 256u + t] = acc[r]; }
  workgroupBarrier();
  let row = segment;
  let col = id.x * 32u + lane;
  if (row >= rows || col >= p.n) { return; }
  var sum = 0.0;
  for (var i = 0u; i < 8u; i++) { sum += part[row * 256u + i * 32u + lane]; }
  if (p.bias != NONE) { sum += small[p.bias + p.first + col]; }
  act[p.out + (first + row) * p.cols + p.first + col] = bitcast<u32>(sum);
}
