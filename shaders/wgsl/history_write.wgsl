// The token of each row at the place of its position. Grid: a thread a row.
struct Params {
  rows: u32,
  rows_from: u32,
  positions: u32, // token, position and sequence of each row, in `act`
  places: u32,    // places of the history
}
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> step: array<u32>;
@group(0) @binding(2) var<storage, read_write> act: array<u32>;
@group(0) @binding(7) var<storage, read_write> k: array<u32>; // the history

const NONE: u32 = 0xffffffffu;

// slot: places
fn place_of(seq: u32, group: u32, position: u32, places: u32) -> u32 { return min(position, places); }
// end slot

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x >= min(step[p.rows_from], p.rows)) { return; }
  let row = p.positions + 3u * id.x;
  let place = place_of(act[row + 2u], 0u, act[row + 1u], p.places);
  if (place != NONE) { k[place] = act[row]; }
}
