// Rows of f32 in Q8_A: of each 32 values, 32 signed bytes, their scale d and their sum. Grid: a workgroup per 8 groups
// in x and per row in y. A thread has 4 values.
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

var<workgroup> largest: array<u32, 64>;
var<workgroup> sums: array<i32, 64>;

const INFINITY: u32 = 0x7f800000u; // bits; a NaN is above
// Bits of the least value by which 127 can be divided; a driver may assume that there is no infinity.
const LEAST: u32 = 0x02fe0001u;

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
  let size = bits & vec4(0x7fffffffu);
  largest[t] = max(max(size.x, size.y), max(size.z, size.w));
  workgroupBarrier();
  var most = 0u;
  for (var i = 0u; i < 8u; i++) { most = max(most, largest[first + i]); }
  var q = vec4<i32>();
  var d = 0u;
  if (most >= INFINITY) {
    d = 0x7fc00000u;
  } else if (most >= LEAST) {
    q = clamp(vec4<i32>(round(bitcast<vec4<f32>>(bits) * (127.0 / bitcast<f32>(most)))), vec4(-127), vec4(127));
    d = bitcast<u32>(bitcast<f32>(most) / 127.0);
  }
  sums[t] = q.x + q.y + q.z + q.w;
  workgroupBarrier();
  if (!inside) { return; }
  let out = p.out + (row * p.groups + group) * 10u;
  let b = bitcast<vec4<u32>>(q) & vec4(255u);
  act[out + t % 8u] = b.x | (b.y << 8u) | (b.z << 16u) | (b.w << 24u);
  if (t == first) {
    var sum = 0;
    for (var i = 0u; i < 8u; i++) { sum += sums[first + i]; }
    act[out + 8u] = d;
    act[out + 9u] = bitcast<u32>(sum);
  }
}
