// Rows of f32 in Q8_A. Grid: a workgroup per 8 groups in x and per row in y. A thread has 4 values.
struct Params {
  rows: u32,      // most rows
  rows_from: u32, // word of the step that has their number, or NONE
  x: u32,         // word offset of the values
  out: u32,       // word offset of the groups
  groups: u32,    // groups of 32 values in a row
}
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> step: array<u32>;
@group(0) @binding(2) var<storage, read_write> act: array<u32>;

// slot: rows
fn true_rows() -> u32 { return p.rows; }
// end slot

// slot: encode
fn largest4(bits: vec4<u32>) -> u32 { return bits.x; }
fn scale_of(most: u32) -> u32 { return most; }
fn codes4(bits: vec4<u32>, most: u32) -> u32 { return bits.x; }
fn sum4(codes: u32) -> i32 { return i32(codes); }
// end slot

var<workgroup> largest: array<u32, 64>;
var<workgroup> sums: array<i32, 64>;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) id: vec3<u32>, @builtin(local_invocation_index) t: u32) {
  let row = id.y;
  let group = id.x * 8u + t / 8u;
  let inside = row < true_rows() && group < p.groups;
  let first = t / 8u * 8u; // thread of the group
  var bits = vec4<u32>();
  if (inside) {
    let at = p.x + (row * p.groups + group) * 32u + t % 8u * 4u;
    bits = vec4(act[at], act[at + 1u], act[at + 2u], act[at + 3u]);
  }
  largest[t] = largest4(bits);
  workgroupBarrier();
  var most = 0u;
  for (var i = 0u; i < 8u; i++) { most = max(most, largest[first + i]); }
  let codes = codes4(bits, most);
  sums[t] = sum4(codes);
  workgroupBarrier();
  if (!inside) { return; }
  let out = p.out + (row * p.groups + group) * 10u;
  act[out + t % 8u] = codes;
  if (t == first) {
    var sum = 0;
    for (var i = 0u; i < 8u; i++) { sum += sums[first + i]; }
    act[out + 8u] = scale_of(most);
    act[out + 9u] = bitcast<u32>(sum);
  }
}
