// The place of a position of a sequence in the caches of a layer group, or NONE if no page of the cache has it.
fn place_of(seq: u32, group: u32, position: u32, places: u32) -> u32 {
  let page = max(step[5], 1u);
  let table = step[6] + seq * 12u + 4u + 2u * group;
  let index = position / page;
  if (seq >= step[1] || index >= step[table + 1u]) { return 0xffffffffu; }
  let number = step[step[12] + step[table] + index];
  if (number >= places / page) { return 0xffffffffu; }
  return number * page + position % page;
}

// The row of a head at a place of a cache: runs of 1,024 places, head after head (crates/tensor/src/cache.rs).
fn cache_row(heads: u32, places: u32, head: u32, place: u32) -> u32 {
  let first = place - place % 1024u;
  return first * heads + head * min(1024u, places - first) + place % 1024u;
}
