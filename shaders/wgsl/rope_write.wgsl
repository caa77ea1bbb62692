// The steps before attention: perhaps norms of the heads of q and k, their rotations, and the writes of keys and values
// to their caches. Grid: heads of q, then rows of the cache of keys per place, then rows of the cache of values; rows. A
// workgroup has such a line.
struct Params {
  rows: u32,
  rows_from: u32,
  positions: u32, // token, position and sequence of each row, in `act`
  k: u32,         // values of a head of q and k
  q: u32,         // in `act`
  out: u32,       // q after its rotation, in `act`
  q_heads: u32,
  w_q: u32,       // weights of the norm of q, in `small`
  keys: u32,      // in `act`
  w_k: u32,
  k_heads: u32,   // rows of the cache of keys a place
  k_cols: u32,    // values of such a row
  values: u32,    // in `act`
  v_heads: u32,
  v_cols: u32,
  places: u32,    // of the caches
  layers: u32,    // the layer group
  pairs: u32,     // pairs of a head that turn
  stride: u32,    // between pairs: 1, or 2 if a pair is neighbours
  apart: u32,     // between the values of a pair
  bias: u32,      // unused
  eps: f32,
}
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> step: array<u32>;
@group(0) @binding(2) var<storage, read_write> act: array<u32>;
@group(0) @binding(3) var<storage, read> small: array<f32>;
@group(0) @binding(4) var<storage, read> w0: array<vec2<f32>>; // cosine and sine, for each position the pairs of a head
@group(0) @binding(7) var<storage, read_write> k: array<atomic<u32>>; // the cache of keys
@group(0) @binding(8) var<storage, read_write> v: array<atomic<u32>>; // the cache of values
const NONE: u32 = 0xffffffffu;
const ROWS: u32 = 1u;
override LINE: u32 = 64u; // values of the longest line

var<workgroup> line: array<f32, LINE>;

// slot: places
fn place_of(seq: u32, group: u32, position: u32, places: u32) -> u32 { return min(position, places); }
fn cache_row(heads: u32, places: u32, head: u32, place: u32) -> u32 { return place * heads + head; }
// end slot

// slot: normed
fn prepare(x: u32, row: u32, t: u32) {}
fn value(x: u32, w: u32, row: u32, i: u32) -> f32 { return bitcast<f32>(act[x + row * p.k + i]); }
// end slot

// slot: turn
fn turned(pair: vec2<f32>, by: vec2<f32>) -> vec2<f32> { return pair * by; }
fn angle(position: u32, i: u32) -> vec2<f32> { return w0[position * p.pairs + i]; }
// end slot

// slot: f16
fn f16_bits(value: u32) -> u32 { return value; }
// end slot

// slot: encode_0
const UNIT_0: u32 = 1u;
fn encode_0(unit: u32, x: u32) { atomicStore(&k[unit], source(x)); }
// end slot

// slot: encode_1
const UNIT_1: u32 = 1u;
fn encode_1(unit: u32, x: u32) { atomicStore(&v[unit], source(x)); }
// end slot

// The bits of a value that is written.
fn source(at: u32) -> u32 { return bitcast<u32>(line[at]); }

// Heads from `first` on, turned, in `line`.
fn turn_heads(x: u32, w: u32, first: u32, heads: u32, position: u32, t: u32) {
  for (var head = 0u; head < heads; head++) {
    prepare(x, first + head, t);
    for (var i = t; i < p.k; i += 256u) { line[head * p.k + i] = value(x, w, first + head, i); }
  }
  workgroupBarrier();
  for (var i = t; i < heads * p.pairs; i += 256u) {
    let at = i / p.pairs * p.k + i % p.pairs * p.stride;
    let y = turned(vec2(line[at], line[at + p.apart]), angle(position, i % p.pairs));
    line[at] = y.x;
    line[at + p.apart] = y.y;
  }
  workgroupBarrier();
}

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) g: vec3<u32>, @builtin(local_invocation_index) t: u32) {
  let row = g.y;
  if (row >= min(step[p.rows_from], p.rows)) { return; }
  let position = act[p.positions + 3u * row + 1u];
  if (g.x < p.q_heads) {
    let head = row * p.q_heads + g.x;
    turn_heads(p.q, p.w_q, head, 1u, position, t);
    for (var i = t; i < p.k; i += 256u) { act[p.out + head * p.k + i] = bitcast<u32>(line[i]); }
    return;
  }
  let place = place_of(act[p.positions + 3u * row + 2u], p.layers, position, p.places);
  if (g.x < p.q_heads + p.k_heads) {
    let i = g.x - p.q_heads;
    let heads = p.k_cols / p.k;
    turn_heads(p.keys, p.w_k, (row * p.k_heads + i) * heads, heads, position, t);
    let units = p.k_cols / UNIT_0;
    let at = cache_row(p.k_heads, p.places, i, place) * units;
    if (place == NONE) { return; }
    for (var unit = t; unit < units; unit += 256u) { encode_0(at + unit, unit * UNIT_0); }
    return;
  }
  let i = g.x - p.q_heads - p.k_heads;
  let x = p.values + (row * p.v_heads + i) * p.v_cols;
  for (var j = t; j < p.v_cols; j += 256u) { line[j] = bitcast<f32>(act[x + j]); }
  workgroupBarrier();
  let units = p.v_cols / UNIT_1;
  let at = cache_row(p.v_heads, p.places, i, place) * units;
  if (place == NONE) { return; }
  for (var unit = t; unit < units; unit += 256u) { encode_1(at + unit, unit * UNIT_1); }
}
