// Pairs of values of each head turn by position times frequency. Grid: blocks of 64 pairs or other values, rows; a thread a
// pair, or a value that does not turn.
struct Params {
  rows: u32,
  rows_from: u32,
  x: u32,         // in `act`
  out: u32,       // in `act`
  positions: u32, // token, position and sequence of each row, in `act`
  cols: u32,      // values of a row
  dim: u32,       // values of a head
  pairs: u32,     // pairs of a head that turn
  stride: u32,    // between pairs: 1, or 2 if a pair is neighbours
  apart: u32,     // between the values of a pair
}
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> step: array<u32>;
@group(0) @binding(2) var<storage, read_write> act: array<u32>;
@group(0) @binding(4) var<storage, read> w0: array<vec2<f32>>; // cosine and sine, for each position the pairs of a head

// slot: turn
fn turned(pair: vec2<f32>, by: vec2<f32>) -> vec2<f32> { return pair * by; }
fn angle(position: u32, i: u32) -> vec2<f32> { return w0[position * p.pairs + i]; }
// end slot

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) g: vec3<u32>, @builtin(local_invocation_index) t: u32) {
  let each = p.dim - p.pairs; // threads of a head
  let head = (g.x * 64u + t) / each;
  let i = (g.x * 64u + t) % each;
  if (g.y >= min(step[p.rows_from], p.rows) || head * p.dim >= p.cols) { return; }
  let at = g.y * p.cols + head * p.dim;
  if (i >= p.pairs) {
    act[p.out + at + p.pairs + i] = act[p.x + at + p.pairs + i];
    return;
  }
  let first = at + i * p.stride;
  let pair = vec2(bitcast<f32>(act[p.x + first]), bitcast<f32>(act[p.x + first + p.apart]));
  let y = turned(pair, angle(act[p.positions + 3u * g.y + 1u], i));
  act[p.out + first] = bitcast<u32>(y.x);
  act[p.out + first + p.apart] = bitcast<u32>(y.y);
}
