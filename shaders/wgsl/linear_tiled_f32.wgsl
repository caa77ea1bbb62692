// x w^T + bias for many rows of activations in f32, for a piece of w. Grid: a workgroup per panel in x and per 32 rows
// in y. A thread has one column and 4 rows; blocks of 32 values come through workgroup memory.
struct Matrix {
  out: u32,   // word offset of the result
  cols: u32,  // columns of the result
  first: u32, // the column that the piece begins with
  n: u32,     // columns that the piece has
  panel: u32, // words of a panel
  plane: u32, // words of a row in the first plane
  bias: u32,  // offset of the bias in `small`, or NONE
  begin: u32, // first word of the piece
}
struct Params {
  rows: u32,      // most rows
  rows_from: u32, // word of the step that has their number, or NONE
  k: u32,         // values of a row of activations
  x: u32,         // word offset of the activations
  pad: array<vec4<u32>, 2>,
  inputs: array<vec4<u32>, 4>, // other operands of the map after the products, in `act`
  m_0: Matrix,
}
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> step: array<u32>;
@group(0) @binding(2) var<storage, read_write> act: array<u32>;
@group(0) @binding(3) var<storage, read> small: array<f32>;
@group(0) @binding(4) var<storage, read> w0: array<u32>;
const NONE: u32 = 0xffffffffu;
override STRIDE: u32 = 32u; // between words of a row; 1 for a weight of one row
const LINE: u32 = 36u; // words from line to line of the rows' activations, so that fewer writes go to the same bank

// slot: rows
fn true_rows() -> u32 { return p.rows; }
// end slot
// slot: math
// end slot

// slot: result
fn result(y: vec2<f32>, at: u32) -> f32 { return y.x; }
// end slot

fn w_0(base: u32, plane: u32, word: u32) -> u32 { return w0[base + (plane * p.m_0.plane + word) * STRIDE]; }
// slot: floats
fn values_0(base: u32, i4: u32) -> vec4<f32> { return vec4(f32(w_0(base, 0u, i4))); }
// end slot

var<workgroup> wt: array<f32, 1024>;       // values x columns
var<workgroup> xt: array<f32, 32u * LINE>; // values x rows

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) id: vec3<u32>, @builtin(local_invocation_index) t: u32) {
  let rows = true_rows();
  let row = id.y * 32u;
  if (row >= rows) { return; }
  let lane = t % 32u;
  let base = p.m_0.begin + id.x * p.m_0.panel + lane % STRIDE;
  let r = t / 32u * 4u;
  let quads = (p.k + 3u) / 4u;
  let blocks = (p.k + 31u) / 32u;
  var sum = vec4<f32>();
  for (var segment = 0u; segment < 8u; segment++) {
    var acc = vec4<f32>();
    for (var block = segment * blocks / 8u; block < (segment + 1u) * blocks / 8u; block++) {
      workgroupBarrier();
      // Values after the end of a row are zero. Rows after the last are copies of it.
      let quad = block * 8u + t / 32u;
      var w = vec4<f32>();
      if (quad < quads) { w = values_0(base, quad); }
      for (var i = 0u; i < 4u; i++) { wt[t / 32u * 128u + i * 32u + lane] = w[i]; }
      let v = block * 32u + lane;
      for (var i = 0u; i < 4u; i++) {
        var x = 0.0;
        if (v < p.k) { x = bitcast<f32>(act[p.x + min(row + r + i, rows - 1u) * p.k + v]); }
        xt[lane * LINE + r + i] = x;
      }
      workgroupBarrier();
      // Threads whose rows are all after the last compute nothing.
      if (row + r < rows) {
        for (var i = 0u; i < 32u; i++) {
          let at = i * LINE + r;
          acc = fma(vec4(wt[i * 32u + lane]), vec4(xt[at], xt[at + 1u], xt[at + 2u], xt[at + 3u]), acc);
        }
      }
    }
    sum += acc;
  }
  let col = id.x * 32u + lane;
  if (col >= p.m_0.n) { return; }
  if (p.m_0.bias != NONE) { sum += vec4(small[p.m_0.bias + p.m_0.first + col]); }
  for (var i = 0u; i < 4u; i++) {
    let at = (row + r + i) * p.m_0.cols + p.m_0.first + col;
    if (row + r + i < rows) { act[p.m_0.out + at] = bitcast<u32>(result(vec2(sum[i], 0.0), at)); }
  }
}
