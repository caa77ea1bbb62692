// Slot `chain` of sample.wgsl: the words of a chain.

// A double in 2^-40 ..= 2^40 as f32, within half a unit; 0 for zeros, otherwise -1 with a note.
fn double(at: u32, beyond: ptr<function, bool>) -> f32 {
  let lo = word(at);
  let hi = word(at + 1u);
  if ((hi & 0x7fffffffu) == 0u && lo == 0u) { return 0.0; }
  let e = (hi >> 20u) & 0x7ffu;
  if (e < 983u || e > 1063u) {
    *beyond = true;
    return -1.0;
  }
  let size = ((e - 896u) << 23u) + ((hi & 0xfffffu) << 3u | lo >> 29u) + ((lo >> 28u) & 1u);
  return bitcast<f32>(size | (hi & 0x80000000u));
}

// Words of the stages; of the first three the least.
const LENGTHS: array<u32, 12> = array(0u, 0u, 1u, 3u, 2u, 2u, 1u, 2u, 1u, 2u, 2u, 2u);

// The chain in the usual order, if the kernel takes it.
fn chain_at(start: u32, section_end: u32) -> Chain {
  var c: Chain;
  c.penalty = 1.0;
  c.temperature = 1.0;
  c.top_p = 1.0;
  var at = start + 1u;
  let end = at + word(start);
  if (start >= section_end || end < at || end > section_end) { return c; }
  var least_tag = 0u;
  var beyond = false;
  while (at < end) {
    let tag = word(at);
    let n = word(at + 1u);
    let own = at + 2u;
    if (own > end || n > end - own || tag < least_tag) { return c; }
    least_tag = tag + 1u;
    at = own + n;
    if (tag > 11u || n < LENGTHS[tag] || tag >= 3u && n > LENGTHS[tag] || tag == 0u && n % 2u != 0u) { return c; }
    let is_one = n >= 2u && word(own) == 0u && word(own + 1u) == ONE_HIGH;
    var x = 1.0;
    if (n >= 2u && tag >= 3u) { x = double(own, &beyond); }
    switch tag {
      case 0u: { c.bias = vec2(own, n / 2u); }
      case 1u: { c.bans = vec2(own, n); }
      case 2u: {
        c.least_tokens = word(own);
        c.least = vec2(own + 1u, n - 1u);
      }
      case 3u: {
        c.penalty = x;
        c.last_n = select(word(own + 2u), 0u, is_one);
        beyond = beyond || !(x >= 9.5367432e-7 && x <= 1048576.0);
      }
      case 4u: { c.frequency = x; }
      case 5u: { c.presence = x; }
      case 6u: { beyond = beyond || word(own) != 0u; }
      case 7u: {
        c.temperature = x;
        c.heated = x > 0.0 && !is_one;
        c.greedy = x == 0.0;
        beyond = beyond || x < 0.0;
        if (c.greedy) {
          c.top_k = 1u;
          at = end;
        }
      }
      case 8u: { c.top_k = word(own); }
      case 9u: { beyond = beyond || !is_one; }
      case 10u: {
        // Below 1 it is a stage, even if it rounds to 1.
        c.top_p = select(min(x, 0.99999994), 1.0, is_one);
        beyond = beyond || !(x > 0.0 && x <= 1.0);
      }
      default: {
        c.min_p = x;
        beyond = beyond || !(x >= 0.0 && x <= 1.0);
      }
    }
  }
  let penalizes = c.last_n > 0u || c.frequency != 0.0 || c.presence != 0.0;
  c.edits = penalizes || c.bias.y > 0u || c.bans.y > 0u || c.least.y > 0u && c.least_tokens > 0u;
  c.taken = !beyond;
  return c;
}
