// Joins the segments of each head of each row that attend.wgsl left, in order. Grid: heads, rows; a workgroup a head, a thread
// values 64 apart.
struct Params {
  rows: u32,
  rows_from: u32,
  positions: u32, // token, position and sequence of each row, in `act`
  out: u32,       // in `act`
  parts: u32,     // of each segment the sums of values, the largest score and the sum of weights, in `act`
  heads: u32,     // query heads
  dim: u32,       // values of a head
  size: u32,      // of the window
  first: u32,     // positions at the beginning that every row sees
}
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> step: array<u32>;
@group(0) @binding(2) var<storage, read_write> act: array<u32>;

const LEAST: f32 = -3.0e38;

// slot: math
fn exp_f32(x: f32) -> f32 { return exp(x); }
// end slot

// slot: window
struct Visible { first: u32, begin: u32 }
fn visible_of(n: u32, size: u32, first: u32) -> Visible { return Visible(min(first, n), n - min(n, size)); }
fn next_block(seen: Visible, block: u32) -> u32 { return select(seen.begin, block, block < seen.first); }
// end slot

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) g: vec3<u32>, @builtin(local_invocation_index) t: u32) {
  if (g.y >= min(step[p.rows_from], p.rows)) { return; }
  let n = act[p.positions + 3u * g.y + 1u] + 1u;
  let seen = visible_of(n, p.size, p.first);
  let blocks = (n + 63u) / 64u;
  let segment = max(4u, (blocks + 31u) / 32u);
  let head = g.y * p.heads + g.x;
  for (var i = t; i < p.dim; i += 64u) {
    var total_m = LEAST;
    var total_l = 0.0;
    var total = 0.0;
    for (var s = 0u; s * segment < blocks; s++) {
      if (next_block(seen, s * segment) >= min((s + 1u) * segment, blocks)) { continue; }
      let part = p.parts + (head * 32u + s) * (p.dim + 2u);
      let m = bitcast<f32>(act[part + p.dim]);
      let l = bitcast<f32>(act[part + p.dim + 1u]);
      let most = max(total_m, m);
      let before = exp_f32(total_m - most);
      let now = exp_f32(m - most);
      total_m = most;
      total_l = fma(l, now, total_l * before);
      total = fma(bitcast<f32>(act[part + i]), now, total * before);
    }
    act[p.out + head * p.dim + i] = bitcast<u32>(total / total_l);
  }
}
