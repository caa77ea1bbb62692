// Values of f32 in F16 or BF16, rounded to nearest, ties to even. Grid: a workgroup per 64 pairs of values, up to
// 32,768 in x and the others in y.
struct Params {
  rows: u32,      // most rows
  rows_from: u32, // word of the step that has their number, or NONE
  x: u32,         // word offset of the values
  out: u32,       // word offset of the result, a word for two values; rows follow each other without gaps
  cols: u32,      // values in a row
}
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> step: array<u32>;
@group(0) @binding(2) var<storage, read_write> act: array<u32>;
override TO: u32 = 0u; // 0: F16, 1: BF16

// slot: rows
fn true_rows() -> u32 { return p.rows; }
// end slot
// slot: f16
fn f16_bits(value: u32) -> u32 { return pack2x16float(vec2(bitcast<f32>(value), 0.0)); }
// end slot

fn bf16_bits(value: u32) -> u32 {
  if ((value & 0x7fffffffu) > 0x7f800000u) { return (value >> 16u) | 64u; } // a NaN becomes quiet
  return (value + 0x7fffu + ((value >> 16u) & 1u)) >> 16u;
}

fn encoded(value: u32) -> u32 {
  if (TO == 0u) { return f16_bits(value); }
  return bf16_bits(value);
}

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) id: vec3<u32>, @builtin(local_invocation_index) t: u32) {
  let pair = (id.y * 32768u + id.x) * 64u + t;
  let values = true_rows() * p.cols;
  if (pair * 2u >= values) { return; }
  var upper = 0u;
  if (pair * 2u + 1u < values) { upper = encoded(act[p.x + pair * 2u + 1u]); }
  act[p.out + pair] = encoded(act[p.x + pair * 2u]) | (upper << 16u);
}
