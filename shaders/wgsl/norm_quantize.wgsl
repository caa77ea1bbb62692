// Norms of rows, or rows as they are, in Q8_A. Grid: rows in y; a workgroup a row.
struct Params {
  rows: u32,
  rows_from: u32,
  x: u32,    // in `act`
  out: u32,  // in `act`
  w: u32,    // in `small`
  bias: u32, // in `small`
  k: u32,    // values of a row
  eps: f32,
}
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> step: array<u32>;
@group(0) @binding(2) var<storage, read_write> act: array<u32>;
@group(0) @binding(3) var<storage, read> small: array<f32>;
const ROWS: u32 = 1u;
const AT_ONCE: u32 = 128u; // groups
const WORDS: u32 = AT_ONCE * 10u;

// slot: rows
fn true_rows() -> u32 { return p.rows; }
// end slot

// slot: normed
fn prepare(x: u32, row: u32, t: u32) {}
// end slot

// slot: encode
// end slot

// slot: encoded
var<workgroup> encoded: array<u32, WORDS>;
fn encode(row: u32, first: u32, count: u32, to: u32, t: u32) { encoded[to + t] = act[p.x + row + first]; }
// end slot

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) g: vec3<u32>, @builtin(local_invocation_index) t: u32) {
  if (g.y >= true_rows()) { return; }
  prepare(p.x, g.y, t);
  let groups = p.k / 32u;
  for (var first = 0u; first < groups; first += AT_ONCE) {
    let count = min(AT_ONCE, groups - first);
    encode(g.y, first, count, 0u, t);
    let out = p.out + (g.y * groups + first) * 10u;
    for (var i = t; i < count * 10u; i += 256u) { act[out + i] = encoded[i]; }
    workgroupBarrier();
  }
}
