// The table's row of each row's token or position, for a piece of a table of floats. Grid: a workgroup per 256 values
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
  begin: u32,     // first word of the piece
}
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> step: array<u32>;
@group(0) @binding(2) var<storage, read_write> act: array<u32>;
@group(0) @binding(4) var<storage, read> w0: array<u32>;
override STRIDE: u32 = 32u; // between words of a row; 1 for a table of one row
override BY: u32 = 0u; // 0: token, 1: position

// slot: rows
fn true_rows() -> u32 { return p.rows; }
// end slot
fn w_0(base: u32, plane: u32, word: u32) -> u32 { return w0[base + (plane * p.plane + word) * STRIDE]; }
// slot: floats
fn values_0(base: u32, i4: u32) -> vec4<f32> { return vec4(f32(w_0(base, 0u, i4))); }
// end slot

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  let row = id.y;
  if (row >= true_rows() || id.x >= (p.cols + 3u) / 4u) { return; }
  let place = min(act[p.index + 3u * row + BY], p.table - 1u);
  if (place < p.first || place - p.first >= p.n) { return; }
  let base = p.begin + (place - p.first) / 32u * p.panel + (place - p.first) % 32u;
  let value = bitcast<vec4<u32>>(values_0(base, id.x));
  for (var i = 0u; i < 4u; i++) {
    if (id.x * 4u + i < p.cols) { act[p.out + row * p.cols + id.x * 4u + i] = value[i]; }
  }
}
