// Causal attention of each row over the places of its sequence, perhaps with a window. Grid: segments or one, heads, rows; a workgroup a segment or
// all of them, of a head of a row; a thread a position of a block of 64 positions, then values of the head 64 apart.
//
// A row of n positions has blocks of 64 positions, and at most 32 segments of at least four blocks. In a block, scores are
// chains over the values of a head; the largest score so far scales sums as in an online softmax. Segments are joined in order,
// here or by attend_merge.wgsl. Blocks and segments in which the row sees nothing are left out.
struct Params {
  rows: u32,
  rows_from: u32,
  q: u32,         // in `act`
  positions: u32, // token, position and sequence of each row, in `act`
  out: u32,       // in `act`
  parts: u32,     // of each segment the sums of values, the largest score and the sum of weights, in `act`
  heads: u32,     // query heads
  group: u32,     // query heads that read one head of keys and values
  k_dim: u32,     // values of a key
  k_heads: u32,   // rows of the cache of keys a place
  k_cols: u32,    // values of such a row
  v_heads: u32,
  v_cols: u32,
  places: u32,    // of the caches
  layers: u32,    // the layer group
  scale: f32,
  size: u32,      // of the window
  first: u32,     // positions at the beginning that every row sees
}
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> step: array<u32>;
@group(0) @binding(2) var<storage, read_write> act: array<u32>;
@group(0) @binding(7) var<storage, read_write> k: array<u32>; // the cache of keys
@group(0) @binding(8) var<storage, read_write> v: array<u32>; // the cache of values

override SPLIT: bool = false; // a workgroup a segment
override K_DIM: u32 = 64u;
override V_DIM: u32 = 64u;

const NONE: u32 = 0xffffffffu;
const LEAST: f32 = -3.0e38;
const BLOCK: u32 = 64u;

var<workgroup> query: array<f32, K_DIM>;
var<workgroup> sums: array<f32, V_DIM>;
var<workgroup> scores: array<f32, 64>;
var<workgroup> v_rows: array<u32, 64>; // the row of the cache of each position of the block, or NONE
var<workgroup> totals: array<f32, V_DIM>;

// slot: places
fn place_of(seq: u32, group: u32, position: u32, places: u32) -> u32 { return min(position, places); }
fn cache_row(heads: u32, places: u32, head: u32, place: u32) -> u32 { return place * heads + head; }
// end slot

// slot: math
fn exp_f32(x: f32) -> f32 { return exp(x); }
// end slot

// slot: window
struct Visible { first: u32, begin: u32 }
fn visible_of(n: u32, size: u32, first: u32) -> Visible { return Visible(min(first, n), n - min(n, size)); }
fn next_block(seen: Visible, block: u32) -> u32 { return select(seen.begin, block, block < seen.first); }
// end slot

// slot: largest
fn largest_of(t: u32, own: f32, before: f32) -> f32 { return max(own, before); }
// end slot

// slot: keys
fn k_at(row: u32, i: u32) -> f32 { return bitcast<f32>(k[row * p.k_cols + i]); }
// end slot

// slot: values
fn v_at(row: u32, i: u32) -> f32 { return bitcast<f32>(v[row * p.v_cols + i]); }
// end slot

// The weight of a score. By bits, because a driver may assume that there is no NaN and no infinity: a score that is one makes
// the result NaN, which ends its sequence.
fn weight_of(score: f32, largest: f32) -> f32 {
  let bits = bitcast<u32>(score);
  if (bits == 0x7f800000u || (bits & 0x7fffffffu) > 0x7f800000u) { return bitcast<f32>(bits | 0x7fc00000u); }
  return exp_f32(score - largest);
}

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) g: vec3<u32>, @builtin(local_invocation_index) t: u32) {
  let row = g.z;
  let head = g.y;
  if (row >= min(step[p.rows_from], p.rows)) { return; }
  let n = act[p.positions + 3u * row + 1u] + 1u;
  let seq = act[p.positions + 3u * row + 2u];
  let seen = visible_of(n, p.size, p.first);
  let blocks = (n + BLOCK - 1u) / BLOCK;
  let segment = max(4u, (blocks + 31u) / 32u); // blocks of a segment
  var first = 0u;
  var end = blocks;
  if (SPLIT) {
    first = g.x * segment;
    end = min(first + segment, blocks);
    if (next_block(seen, first) >= end) { return; }
  }
  let kv_head = head / p.group;
  let k_head = kv_head / (p.k_cols / K_DIM);
  let k_first = (kv_head % (p.k_cols / K_DIM)) * K_DIM;
  let v_head = kv_head / (p.v_cols / V_DIM);
  let v_first = (kv_head % (p.v_cols / V_DIM)) * V_DIM;

  for (var i = t; i < K_DIM; i += BLOCK) { query[i] = bitcast<f32>(act[p.q + (row * p.heads + head) * K_DIM + i]); }
  var m = LEAST;
  var l = 0.0;
  for (var i = t; i < V_DIM; i += BLOCK) { sums[i] = 0.0; totals[i] = 0.0; }
  var total_m = LEAST;
  var total_l = 0.0;

  var block = next_block(seen, first);
  while (block < end) {
    let position = block * BLOCK + t;
    var score = LEAST;
    var place = NONE;
    if (position < n && (position >= seen.begin || position < seen.first)) { place = place_of(seq, p.layers, position, p.places); }
    workgroupBarrier();
    if (place != NONE) {
      let at = cache_row(p.k_heads, p.places, k_head, place);
      var dot = 0.0;
      for (var i = 0u; i < K_DIM; i++) { dot = fma(query[i], k_at(at, k_first + i), dot); }
      score = dot * p.scale;
      v_rows[t] = cache_row(p.v_heads, p.places, v_head, place);
    } else {
      v_rows[t] = NONE;
    }
    let largest = largest_of(t, score, m);
    let shrink = exp_f32(m - largest);
    m = largest;
    scores[t] = select(weight_of(score, m), 0.0, place == NONE);
    workgroupBarrier();
    var weights = 0.0;
    for (var j = 0u; j < BLOCK; j++) { weights += scores[j]; }
    l = fma(l, shrink, weights);
    let count = min(BLOCK, n - block * BLOCK);
    for (var i = t; i < V_DIM; i += BLOCK) {
      var sum = 0.0;
      for (var j = 0u; j < count; j++) {
        if (v_rows[j] != NONE) { sum = fma(scores[j], v_at(v_rows[j], v_first + i), sum); }
      }
      sums[i] = fma(sums[i], shrink, sum);
    }
    let next = next_block(seen, block + 1u);
    if (!SPLIT && (next / segment != block / segment || next >= end)) {
      let most = max(total_m, m);
      let before = exp_f32(total_m - most);
      let now = exp_f32(m - most);
      total_m = most;
      total_l = fma(l, now, total_l * before);
      for (var i = t; i < V_DIM; i += BLOCK) {
        totals[i] = fma(sums[i], now, totals[i] * before);
        sums[i] = 0.0;
      }
      m = LEAST;
      l = 0.0;
    }
    block = next;
  }
  if (SPLIT) {
    let part = p.parts + ((row * p.heads + head) * 32u + g.x) * (V_DIM + 2u);
    for (var i = t; i < V_DIM; i += BLOCK) { act[part + i] = bitcast<u32>(sums[i]); }
    if (t == 0u) {
      act[part + V_DIM] = bitcast<u32>(m);
      act[part + V_DIM + 1u] = bitcast<u32>(l);
    }
    return;
  }
  for (var i = t; i < V_DIM; i += BLOCK) {
    act[p.out + (row * p.heads + head) * V_DIM + i] = bitcast<u32>(totals[i] / total_l);
  }
}
