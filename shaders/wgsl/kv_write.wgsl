// The heads of each row, encoded, at the place of its position. Neighbouring rows of a cache can share a word, so that words
// are changed by atomic operations. Grid: blocks of 64 units, rows; a thread a unit of values of a row.
struct Params {
  rows: u32,
  rows_from: u32,
  x: u32,         // the rows, in `act`
  positions: u32, // token, position and sequence of each row, in `act`
  cols: u32,      // values of a row of x
  heads: u32,     // rows of the cache a place
  dim: u32,       // values of a row of the cache
  places: u32,    // of the cache
  layers: u32,    // the layer group
}
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> step: array<u32>;
@group(0) @binding(2) var<storage, read_write> act: array<u32>;
@group(0) @binding(7) var<storage, read_write> k: array<atomic<u32>>; // the cache

const NONE: u32 = 0xffffffffu;

// slot: places
fn place_of(seq: u32, group: u32, position: u32, places: u32) -> u32 { return min(position, places); }
fn cache_row(heads: u32, places: u32, head: u32, place: u32) -> u32 { return place * heads + head; }
// end slot

// slot: f16
fn f16_bits(value: u32) -> u32 { return value; }
// end slot

// slot: encode_0
const UNIT_0: u32 = 1u;
fn encode_0(unit: u32, x: u32) { atomicStore(&k[unit], source(x)); }
// end slot

// The bits of a value that is written.
fn source(at: u32) -> u32 { return act[at]; }

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) g: vec3<u32>, @builtin(local_invocation_index) t: u32) {
  let unit = g.x * 64u + t;
  if (g.y >= min(step[p.rows_from], p.rows) || unit * UNIT_0 >= p.cols) { return; }
  let row = p.positions + 3u * g.y;
  let place = place_of(act[row + 2u], p.layers, act[row + 1u], p.places);
  if (place == NONE) { return; }
  let units = p.dim / UNIT_0;
  let at = cache_row(p.heads, p.places, unit / units, place) * units + unit % units;
  encode_0(at, p.x + g.y * p.cols + unit * UNIT_0);
}
