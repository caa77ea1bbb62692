// Some neighbouring columns of each row. Grid: blocks of 256 columns, rows; a thread a value.
struct Params {
  rows: u32,
  rows_from: u32,
  x: u32,     // the matrix, in `act`
  out: u32,   // the columns, in `act`
  cols: u32,  // columns of x
  first: u32, // the first column that is taken
  count: u32, // how many
}
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> step: array<u32>;
@group(0) @binding(2) var<storage, read_write> act: array<u32>;

const NONE: u32 = 0xffffffffu;

// slot: rows
fn true_rows() -> u32 { return p.rows; }
// end slot

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) g: vec3<u32>, @builtin(local_invocation_index) t: u32) {
  let col = g.x * 256u + t;
  if (g.y >= true_rows() || col >= p.count) { return; }
  act[p.out + g.y * p.count + col] = act[p.x + g.y * p.cols + p.first + col];
}
