// The rows whose logits are wanted. Grid: blocks of 256 columns, logit rows; a thread a value.
struct Params {
  rows: u32,      // most logit rows
  rows_from: u32,
  x: u32,         // the rows of the step, in `act`
  out: u32,       // the chosen rows, in `act`
  cols: u32,
  most: u32,      // most rows of the step
}
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> step: array<u32>;
@group(0) @binding(2) var<storage, read_write> act: array<u32>;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) g: vec3<u32>, @builtin(local_invocation_index) t: u32) {
  let col = g.x * 256u + t;
  if (g.y >= min(step[p.rows_from], p.rows) || col >= p.cols) { return; }
  let row = min(step[step[10] + 2u * (step[3] + g.y)], p.most - 1u);
  act[p.out + g.y * p.cols + col] = act[p.x + row * p.cols + col];
}
