// x w^T + bias for many rows of activations in Q8_A, for a piece of w. Grid: a workgroup per panel in x and per 32
// rows in y. A thread has one column and 4 rows; codes and activations of STEP groups at a time come through workgroup
// memory.
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
const STEP: u32 = 4u;
const LINE: u32 = 36u; // words from line to line of the rows' activations, so that writes go to different banks

// slot: rows
fn true_rows() -> u32 { return p.rows; }
// end slot
// slot: group
struct Scales { s: f32, m: f32, factors: u32 }
fn byte(word: u32, i: u32) -> i32 { return bitcast<i32>(word << (24u - 8u * i)) >> 24u; }
fn sum16(a: vec4<u32>) -> i32 { return i32(a.x); }
fn dot16(a: vec4<u32>, b: vec4<u32>) -> i32 { return dot4I8Packed(a.x, b.x); }
fn add_group(halves: bool, mins: bool, acc: f32, s: Scales, products: vec2<i32>, sums: vec2<i32>, d: f32) -> f32 {
  return fma(s.s * f32(products.x + products.y), d, acc);
}
// end slot
// slot: math
// end slot

// slot: result
fn result(y: vec2<f32>, at: u32) -> f32 { return y.x; }
// end slot

fn w_0(base: u32, plane: u32, word: u32) -> u32 { return w0[base + (plane * p.m_0.plane + word) * 32u]; }
// slot: block
const HALVES_0: bool = false;
const MINS_0: bool = false;
fn codes_0(base: u32, group: u32, j: u32) -> u32 { return w_0(base, 0u, group * 8u + j); }
fn scales_0(base: u32, group: u32) -> Scales { return Scales(1.0, 0.0, 0u); }
// end slot

// Of the weights: codes (groups x words x columns), then s, m and factors (groups x columns).
var<workgroup> wq: array<u32, STEP * 256u>;
var<workgroup> ws: array<f32, STEP * 32u>;
var<workgroup> wm: array<f32, STEP * 32u>;
var<workgroup> wf: array<u32, STEP * 32u>;
// Of the activations: bytes (groups x words x rows), then scales and sums (groups x rows).
var<workgroup> xq: array<u32, STEP * 8u * LINE>;
var<workgroup> xd: array<f32, STEP * 32u>;
var<workgroup> xs: array<i32, STEP * 32u>;

// Codes of 4 rows.
fn x4(at: u32) -> vec4<u32> { return vec4(xq[at], xq[at + 1u], xq[at + 2u], xq[at + 3u]); }

// Products of a word of weights and a word of each of 4 rows.
fn dots(w: u32, x: vec4<u32>) -> vec4<i32> {
  return vec4(dot4I8Packed(w, x.x), dot4I8Packed(w, x.y), dot4I8Packed(w, x.z), dot4I8Packed(w, x.w));
}

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) id: vec3<u32>, @builtin(local_invocation_index) t: u32) {
  let rows = true_rows();
  let row = id.y * 32u;
  if (row >= rows) { return; }
  let lane = t % 32u;
  let groups = p.k / 32u;
  let base = id.x * p.m_0.panel + lane;
  let r = t / 32u * 4u;
  // This thread loads a word of weights of its column, and a word of activations of row `xr`. Rows after the last are
  // copies of it.
  let j = t / 32u;
  let xr = t / 8u;
  let xj = t % 8u;
  let x = p.x + min(row + xr, rows - 1u) * groups * 10u;
  var sum = vec4<f32>();
  for (var segment = 0u; segment < 8u; segment++) {
    let end = (segment + 1u) * groups / 8u;
    var acc = vec4<f32>();
    for (var g = segment * groups / 8u; g < end; g += STEP) {
      let count = min(STEP, end - g);
      workgroupBarrier();
      for (var i = 0u; i < count; i++) {
        wq[(i * 8u + j) * 32u + lane] = codes_0(base, g + i, j);
        xq[(i * 8u + xj) * LINE + xr] = act[x + (g + i) * 10u + xj];
      }
      if (j < count) {
        let s = scales_0(base, g + j);
        ws[j * 32u + lane] = s.s;
        wm[j * 32u + lane] = s.m;
        wf[j * 32u + lane] = s.factors;
      }
      if (xj < count) {
        xd[xj * 32u + xr] = bitcast<f32>(act[x + (g + xj) * 10u + 8u]);
        xs[xj * 32u + xr] = bitcast<i32>(act[x + (g + xj) * 10u + 9u]);
      }
      workgroupBarrier();
      // Threads whose rows are all after the last compute nothing.
      if (row + r < rows) {
        for (var i = 0u; i < count; i++) {
          var a = vec4<i32>();
          var b = vec4<i32>();
          var half = vec4<i32>();
          for (var j = 0u; j < 4u; j++) {
            let x = x4((i * 8u + j) * LINE + r);
            a += dots(wq[(i * 8u + j) * 32u + lane], x);
            if (HALVES_0 && MINS_0) { half += dots(0x01010101u, x); }
          }
          for (var j = 4u; j < 8u; j++) { b += dots(wq[(i * 8u + j) * 32u + lane], x4((i * 8u + j) * LINE + r)); }
          let at = i * 32u + lane;
          let s = Scales(ws[at], wm[at], wf[at]);
          for (var q = 0u; q < 4u; q++) {
            let xi = i * 32u + r + q;
            acc[q] = add_group(HALVES_0, MINS_0, acc[q], s, vec2(a[q], b[q]), vec2(half[q], xs[xi] - half[q]), xd[xi]);
          }
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
