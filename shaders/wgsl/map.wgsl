// An expression of the values at the same place. Grid: blocks of 256 columns, rows; a thread a value.
struct Params {
  rows: u32,
  rows_from: u32,
  out: u32,  // in `act`
  cols: u32,
  inputs: array<vec4<u32>, 4>, // the operands, in `act`
}
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> step: array<u32>;
@group(0) @binding(2) var<storage, read_write> act: array<u32>;

// slot: rows
fn true_rows() -> u32 { return p.rows; }
// end slot

// slot: math
// end slot

// slot: result
fn result(y: vec2<f32>, at: u32) -> f32 { return bitcast<f32>(act[p.inputs[0].x + at]); }
// end slot

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) g: vec3<u32>, @builtin(local_invocation_index) t: u32) {
  let col = g.x * 256u + t;
  if (g.y >= true_rows() || col >= p.cols) { return; }
  let at = g.y * p.cols + col;
  act[p.out + at] = bitcast<u32>(result(vec2<f32>(), at));
}
