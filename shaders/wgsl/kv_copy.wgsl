// The first places of pages go to other pages, as the step says for a layer group. Grid: 16 workgroups, the most copies of a
// step; the threads of a copy take units of its rows in turns: words, or halves of words if rows end inside words.
struct Params {
  rows: u32,
  rows_from: u32,
  heads: u32,  // rows of the cache a place
  units: u32,  // of a row
  places: u32, // of the cache
  layers: u32, // the layer group
}
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> step: array<u32>;
@group(0) @binding(7) var<storage, read_write> k: array<atomic<u32>>; // the cache

override HALVES: bool = false;

// slot: places
fn cache_row(heads: u32, places: u32, head: u32, place: u32) -> u32 { return place * heads + head; }
// end slot

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) g: vec3<u32>, @builtin(local_invocation_index) t: u32) {
  if (g.y >= step[17] / 4u) { return; }
  let copy = step[16] + 4u * g.y;
  let page = step[5];
  if (step[copy] != p.layers || max(step[copy + 1u], step[copy + 2u]) >= p.places / page) { return; }
  let count = step[copy + 3u] * p.heads * p.units;
  for (var i = g.x * 64u + t; i < count; i += 16u * 64u) {
    let unit = i % p.units;
    let place = i / p.units % step[copy + 3u];
    let head = i / p.units / step[copy + 3u];
    let source = cache_row(p.heads, p.places, head, step[copy + 1u] * page + place) * p.units + unit;
    let to = cache_row(p.heads, p.places, head, step[copy + 2u] * page + place) * p.units + unit;
    if (HALVES) {
      let bits = (atomicLoad(&k[source >> 1u]) >> ((source & 1u) * 16u)) & 0xffffu;
      let shift = (to & 1u) * 16u;
      atomicAnd(&k[to >> 1u], ~(0xffffu << shift));
      atomicOr(&k[to >> 1u], bits << shift);
    } else {
      atomicStore(&k[to], atomicLoad(&k[source]));
    }
  }
}
