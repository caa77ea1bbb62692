// Norms of rows, or of each head of a row. Grid: heads, rows; a workgroup a head.
struct Params {
  rows: u32,
  rows_from: u32,
  x: u32,     // in `act`
  out: u32,   // in `act`
  w: u32,     // in `small`
  bias: u32,  // in `small`
  heads: u32, // of a row
  k: u32,     // values of a head
  eps: f32,
}
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> step: array<u32>;
@group(0) @binding(2) var<storage, read_write> act: array<u32>;
@group(0) @binding(3) var<storage, read> small: array<f32>;
const ROWS: u32 = 1u;

// slot: rows
fn true_rows() -> u32 { return p.rows; }
// end slot

// slot: normed
fn prepare(x: u32, row: u32, t: u32) {}
fn value(x: u32, w: u32, row: u32, i: u32) -> f32 { return bitcast<f32>(act[x + row * p.k + i]); }
// end slot

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) g: vec3<u32>, @builtin(local_invocation_index) t: u32) {
  if (g.y >= true_rows()) { return; }
  let row = g.y * p.heads + g.x;
  prepare(p.x, row, t);
  for (var i = t; i < p.k; i += 256u) { act[p.out + row * p.k + i] = bitcast<u32>(value(p.x, p.w, row, i)); }
}
