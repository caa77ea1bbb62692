// x w^T + bias for few rows of activations in Q8_A, for a piece of w. Grid: a workgroup per panel in x and per ROWS
// rows in y. A thread has a segment of k of one column, for all these rows; 32 neighbours have the columns of a panel.
struct Params {
  rows: u32,      // most rows
  rows_from: u32, // word of the step that has their number, or NONE
  x: u32,         // word offset of the activations
  out: u32,       // word offset of the result
  cols: u32,      // columns of the result: words from row to row
  first: u32,     // the column that the piece begins with
  n: u32,         // columns that the piece has
  groups: u32,    // groups of 32 values in a row
  panel: u32,     // words of a panel
  plane: u32,     // words of a row in the first plane
  bias: u32,      // offset of the bias in `small`, or NONE
}
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> step: array<u32>;
@group(0) @binding(2) var<storage, read_write> act: array<u32>;
@group(0) @binding(3) var<storage, read> small: array<f32>;
@group(0) @binding(4) var<storage, read> w0: array<u32>;
const NONE: u32 = 0xffffffffu;
override ROWS: u32 = 8u; // up to 8

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
fn w_0(base: u32, plane: u32, word: u32) -> u32 { return w0[base + (plane * p.plane + word) * 32u]; }
// slot: block
const HALVES_0: bool = false;
const MINS_0: bool = false;
fn codes_0(base: u32, group: u32, j: u32) -> u32 { return w_0(base, 0u, group * 8u + j); }
fn scales_0(base: u32, group: u32) -> Scales { return Scales(1.0, 0.0, 0u); }
// end slot

var<workgroup> part: array<f32, 2048>; // rows x segments x columns

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) id: vec3<u32>, @builtin(local_invocation_index) t: u32) {
  let first = id.y * ROWS;
  let all = true_rows();
  if (first >= all) { return; }
  let rows = min(all - first, ROWS);
  let lane = t % 32u;
  let segment = t / 32u;
  let base = id.x * p.panel + lane;
  var acc: array<f32, 8>;
  for (var g = segment * p.groups / 8u; g < (segment + 1u) * p.groups / 8u; g++) {
    let s = scales_0(base, g);
    let a = vec4(codes_0(base, g, 0u), codes_0(base, g, 1u), codes_0(base, g, 2u), codes_0(base, g, 3u));
    let b = vec4(codes_0(base, g, 4u), codes_0(base, g, 5u), codes_0(base, g, 6u), codes_0(base, g, 7u));
    for (var r = 0u; r < ROWS; r++) {
      if (r < rows) {
        let at = p.x + ((first + r) * p.groups + g) * 10u;
        let x = vec4(act[at], act[at + 1u], act[at + 2u], act[at + 3u]);
        let y = vec4(act[at + 4u], act[at + 5u], act[at + 6u], act[at + 7u]);
        var sums = vec2(0, bitcast<i32>(act[at + 9u]));
        if (HALVES_0 && MINS_0) { let sum = sum16(x); sums = vec2(sum, sums.y - sum); }
        let products = vec2(dot16(a, x), dot16(b, y));
        acc[r] = add_group(HALVES_0, MINS_0, acc[r], s, products, sums, bitcast<f32>(act[at + 8u]));
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
