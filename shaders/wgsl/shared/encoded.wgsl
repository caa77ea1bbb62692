// Groups of `value`, encoded in the memory of a workgroup of 256 threads.
var<workgroup> encoded: array<u32, WORDS>;

// Bits of the values i up to i + 3 of a row.
fn quad(row: u32, i: u32) -> vec4<u32> {
  let a = vec2(value(p.x, p.w, row, i), value(p.x, p.w, row, i + 1u));
  let b = vec2(value(p.x, p.w, row, i + 2u), value(p.x, p.w, row, i + 3u));
  return bitcast<vec4<u32>>(vec4(a, b));
}

// Encodes `count` groups of a row, from the group `first` on, to word `to`. On the way, the words of a group have the
// largest magnitude of 4 values each, and its last word that of all.
fn encode(row: u32, first: u32, count: u32, to: u32, t: u32) {
  for (var i = t; i < count * 8u; i += 256u) {
    encoded[to + i / 8u * 10u + i % 8u] = largest4(quad(row, first * 32u + i * 4u));
  }
  workgroupBarrier();
  for (var at = to + t * 10u; at < to + count * 10u; at += 2560u) {
    var most = 0u;
    for (var i = 0u; i < 8u; i++) { most = max(most, encoded[at + i]); }
    encoded[at + 8u] = scale_of(most);
    encoded[at + 9u] = most;
  }
  workgroupBarrier();
  for (var i = t; i < count * 8u; i += 256u) {
    let at = to + i / 8u * 10u;
    encoded[at + i % 8u] = codes4(quad(row, first * 32u + i * 4u), encoded[at + 9u]);
  }
  workgroupBarrier();
  for (var at = to + t * 10u; at < to + count * 10u; at += 2560u) {
    var sum = 0;
    for (var i = 0u; i < 8u; i++) { sum += sum4(encoded[at + i]); }
    encoded[at + 9u] = bitcast<u32>(sum);
  }
  workgroupBarrier();
}
