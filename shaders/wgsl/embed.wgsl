// The table's row of each row's token or position, decoded, for a piece of the table. Grid: a workgroup per 256 values
// in x and per row in y. A thread has 4 values.
struct Params {
  rows: u32,      // most rows
  rows_from: u32, // word of the step that has their number, or NONE
  index: u32,     // word offset of the rows: token, position, sequence
  out: u32,       // word offset of the result
  cols: u32,      // values of a row
  first: u32,     // the row of the table that the piece begins with
  n: u32,         // rows that the piece has
  table: u32,     // rows of the table, at least 1
  panel: u32,     // words of a panel
  plane: u32,     // words of a row in the first plane
}
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> step: array<u32>;
@group(0) @binding(2) var<storage, read_write> act: array<u32>;
@group(0) @binding(4) var<storage, read> w0: array<u32>;
override BY: u32 = 0u; // 0: token, 1: position

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

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  let row = id.y;
  if (row >= true_rows() || id.x >= (p.cols + 3u) / 4u) { return; }
  let place = min(act[p.index + 3u * row + BY], p.table - 1u);
  if (place < p.first || place - p.first >= p.n) { return; }
  let base = (place - p.first) / 32u * p.panel + (place - p.first) % 32u;
  let group = id.x / 8u;
  let j = id.x % 8u;
  let s = scales_0(base, group);
  let q = codes_0(base, group, j);
  var scale = s.s;
  var least = s.m;
  if (HALVES_0) {
    scale *= f32(byte(s.factors, j / 4u));
    least *= f32(byte(s.factors, 2u + j / 4u));
  }
  for (var i = 0u; i < 4u; i++) {
    var value = scale * f32(byte(q, i));
    if (MINS_0) { value -= least; }
    act[p.out + row * p.cols + id.x * 4u + i] = bitcast<u32>(value);
  }
}
