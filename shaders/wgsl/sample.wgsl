// The token of each logit row by the chain of its sequence, as the definition draws it, or HOST where f32 can't tell.
// Grid: any number of groups, which take the rows in turn. Thread i has the tokens i, i + 256, ..
// Bounds, in units of 2^-23: crates/engine-wgpu/src/kernels/sample.rs derives them.
struct Params {
  rows: u32,      // most rows
  rows_from: u32,
  logits: u32,    // word offset of the logits
  vocab: u32,     // tokens of a row, at most 2^20
  step_rows: u32, // word offset of the rows that begin_step made
  out: u32,       // word offset of the records
  scratch: u32,   // word offset of 2 * vocab words a group
}
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> step: array<u32>;
@group(0) @binding(2) var<storage, read_write> act: array<u32>;
@group(0) @binding(7) var<storage, read_write> k: array<u32>; // the history

// slot: math
fn own_exp(x: f32) -> f32 { return exp(x); }
fn own_ln(x: f32) -> f32 { return log(x); }
fn own_ln_1p(f: f32) -> f32 { return log(1.0 + f); }
// end slot

const THREADS: u32 = 256u;
const LISTED: u32 = 1024u;         // most tokens in the list
const NONE: u32 = 0xffffffffu;
const NAN_LOGITS: u32 = 0xfffffffeu;
const HOST: u32 = 0xfffffffbu;
const EMPTY: u32 = 0xffffffefu;    // no token is left after stage i: less i
const OPEN: u32 = 0xffff0000u;     // no record yet
const REMOVED: u32 = 0xff800000u;  // -infinity
const LEAST: u32 = 0x007fffffu;    // its key
const MOST: u32 = 0xff800000u;     // the key of infinity
const HUGE: u32 = 0x71800000u;     // 2^100, from which on nothing is computed
const ONE_HIGH: u32 = 0x3ff00000u; // the high word of 1 as a double
const EDITED: u32 = 0x80000000u;   // marks: changed by arithmetic,
const SEEN: u32 = 0x40000000u;     // divided by the repetition penalty,
const COUNT: u32 = 0x3fffffffu;    // and how often it was generated
const UNIT: f32 = 1.1920929e-7;    // 2^-23
override BOUND: f32 = 1.0;         // factor of all bounds; tests of the bounds change it

struct Chain {
  taken: bool,
  edits: bool,
  bias: vec2<u32>,   // word and number of entries
  bans: vec2<u32>,
  least: vec2<u32>,  // of the stage min tokens
  least_tokens: u32,
  penalty: f32,
  last_n: u32,
  frequency: f32,
  presence: f32,
  greedy: bool,
  heated: bool,
  temperature: f32,
  top_k: u32,        // 0: all
  top_p: f32,        // 1: all
  min_p: f32,        // 0: all
}
// The tokens up to this one in the order.
struct Cut { key: u32, id: u32 }
struct Token { key: u32, id: u32, edited: bool }
// Of the whole row.
struct Row {
  largest: f32, // logit
  error: f32,   // of edited logits
  heated: bool, // by a temperature
}

var<workgroup> low: array<atomic<u32>, THREADS>;
var<workgroup> high: array<atomic<u32>, THREADS>;
var<workgroup> tile: array<u32, THREADS>;
var<workgroup> first_sums: array<vec2<u32>, THREADS>;
var<workgroup> list_keys: array<u32, LISTED>;
var<workgroup> list_ids: array<u32, LISTED>; // with EDITED
var<workgroup> slots: array<atomic<u32>, 4>;
var<workgroup> told: vec4<u32>;

var<private> lane: u32;
var<private> values: u32;        // word offset of the row, or of its edited copy
var<private> marks: u32;         // word offset of the marks
var<private> marked: bool;
var<private> odd: bool;          // a number is beyond what f32 does
var<private> bound: f32;         // error of edited logits
var<private> listed: bool;
var<private> tokens: u32;        // of the row or of the list
var<private> best: f32;          // the largest logit
var<private> temperature: f32;

fn word(at: u32) -> u32 { return step[min(at, arrayLength(&step) - 1u)]; }

// Integers in the order of numbers; both zeros are equal.
fn key_of(bits: u32) -> u32 {
  if (bits == 0x80000000u) { return bits; }
  return select(bits | 0x80000000u, ~bits, bits >= 0x80000000u);
}
fn key_of_number(x: f32) -> u32 { return key_of(bitcast<u32>(x)); }
fn number_of(key: u32) -> f32 { return bitcast<f32>(select(~key, key ^ 0x80000000u, key >= 0x80000000u)); }
fn is_huge(bits: u32) -> bool { return (bits & 0x7fffffffu) >= HUGE; }

// Reductions by integers, which have one result in any order.
fn clear_slots() {
  workgroupBarrier();
  if (lane < 4u) { atomicStore(&slots[lane], 0u); }
  workgroupBarrier();
}
fn agreed() -> vec4<u32> {
  workgroupBarrier();
  if (lane == 0u) { told = vec4(atomicLoad(&slots[0]), atomicLoad(&slots[1]), atomicLoad(&slots[2]), atomicLoad(&slots[3])); }
  return workgroupUniformLoad(&told);
}
fn any_of(own: bool) -> bool {
  clear_slots();
  if (own) { atomicMax(&slots[0], 1u); }
  return agreed().x != 0u;
}

// ---- The chain ----

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
    let is_one = n >= 2u && word(own) == 0u && word(own + 1u) == ONE_HIGH;
    switch tag {
      case 0u: { c.bias = vec2(own, n / 2u); }
      case 1u: { c.bans = vec2(own, n); }
      case 2u: { c.least_tokens = word(own); c.least = vec2(own + 1u, max(n, 1u) - 1u); }
      case 3u: {
        let penalty = double(own, &beyond);
        c.last_n = word(own + 2u);
        if (!is_one && c.last_n != 0u) {
          c.penalty = penalty;
          beyond = beyond || !(penalty >= 9.5367432e-7 && penalty <= 1048576.0);
          c.edits = true;
        }
      }
      case 4u: { c.frequency = double(own, &beyond); c.edits = c.edits || c.frequency != 0.0; }
      case 5u: { c.presence = double(own, &beyond); c.edits = c.edits || c.presence != 0.0; }
      case 6u: { if (word(own) != 0u) { return c; } }
      case 7u: {
        c.temperature = double(own, &beyond);
        c.heated = !is_one;
        if (c.temperature == 0.0) {
          c.greedy = true;
          at = end;
        }
      }
      case 8u: { c.top_k = word(own); }
      case 9u: { if (!is_one) { return c; } }
      case 10u: { if (!is_one) { c.top_p = double(own, &beyond); beyond = beyond || c.top_p == 0.0; } }
      case 11u: { c.min_p = double(own, &beyond); }
      default: { return c; }
    }
  }
  c.edits = c.edits || c.bias.y > 0u || c.bans.y > 0u || (c.least.y > 0u && c.least_tokens > 0u);
  c.taken = !beyond;
  return c;
}

// ---- Edits: thread i changes the copies of its tokens ----

fn is_own(id: u32) -> bool { return id % THREADS == lane && id < p.vocab; }

// Error so far of a token.
fn error_of(id: u32, before: f32) -> f32 { return select(0.0, before, (act[marks + id] & EDITED) != 0u); }

// A new value from one with this error; returns its error.
fn put(id: u32, x: f32, error: f32) -> f32 {
  act[values + id] = bitcast<u32>(x);
  act[marks + id] |= EDITED;
  // Six units of x: of the last operation, and of sums with the bound. 2^-100: of operations that flush.
  let own = error + BOUND * (6.0 * UNIT * abs(x) + 7.8886e-31);
  bound = max(bound, own);
  odd = odd || is_huge(bitcast<u32>(x));
  return own;
}

// Removes the token, and says whether it was left.
fn remove(id: u32) -> bool {
  let left = act[values + id] != REMOVED;
  act[values + id] = REMOVED;
  return left;
}

fn penalize(id: u32, penalty: f32, before: f32) {
  let x = bitcast<f32>(act[values + id]);
  let prior = error_of(id, before);
  let most = max(penalty, 1.0 / penalty) * 1.0001;
  // Where the sign is unknown, the other of product and quotient may be right; both are small.
  let growth = select(most, 3.0 * most, abs(x) <= prior);
  _ = put(id, select(x * penalty, x / penalty, x > 0.0), prior * growth);
}

fn subtract(id: u32, c: f32, prior: f32) -> f32 {
  return put(id, bitcast<f32>(act[values + id]) - c, prior + BOUND * (2.0 * UNIT * abs(c)));
}

fn history(seq_at: u32, position: u32) -> u32 {
  let page = max(word(5u), 1u);
  let index = min(position / page, max(word(seq_at + 5u), 1u) - 1u);
  let place = word(word(12u) + word(seq_at + 4u) + index) * page + position % page;
  return k[min(place, arrayLength(&k) - 1u)];
}

// Bias, bans, min tokens and penalties. A record if no token is left.
fn edit(c: Chain, logits: u32, seq_at: u32, length: u32, generated_from: u32, tokens_left: u32) -> u32 {
  var left = tokens_left;
  for (var id = lane; id < p.vocab; id += THREADS) {
    act[values + id] = act[logits + id];
    act[marks + id] = 0u;
  }
  if (c.bias.y > 0u) {
    for (var i = 0u; i < c.bias.y; i++) {
      let id = word(c.bias.x + 2u * i);
      if (!is_own(id) || act[values + id] == REMOVED) { continue; }
      let b = word(c.bias.x + 2u * i + 1u);
      if (b == REMOVED) {
        left -= u32(remove(id));
      } else if (is_huge(b) || is_huge(act[values + id])) {
        odd = true;
      } else {
        _ = put(id, bitcast<f32>(act[values + id]) + bitcast<f32>(b), error_of(id, bound));
      }
    }
    if (!any_of(left > 0u)) { return EMPTY - 1u; }
  }
  if (c.bans.y > 0u) {
    for (var i = 0u; i < c.bans.y; i++) {
      let id = word(c.bans.x + i);
      if (is_own(id)) { left -= u32(remove(id)); }
    }
    if (!any_of(left > 0u)) { return EMPTY - 2u; }
  }
  if (c.least.y > 0u && length - generated_from < c.least_tokens) {
    for (var i = 0u; i < c.least.y; i++) {
      let id = word(c.least.x + i);
      if (is_own(id)) { left -= u32(remove(id)); }
    }
    if (!any_of(left > 0u)) { return EMPTY - 3u; }
  }
  let repeats_from = select(length, length - min(c.last_n, length), c.penalty != 1.0 && c.last_n > 0u);
  let counts_from = select(length, generated_from, c.frequency != 0.0 || c.presence != 0.0);
  let before = bound;
  for (var first = min(repeats_from, counts_from); first < length; first += THREADS) {
    if (first + lane < length) { tile[lane] = history(seq_at, first + lane); }
    workgroupBarrier();
    for (var i = 0u; i < min(THREADS, length - first); i++) {
      let id = tile[i];
      if (!is_own(id) || act[values + id] == REMOVED) { continue; }
      if (is_huge(act[values + id])) {
        odd = true;
        continue;
      }
      if (first + i >= counts_from) { act[marks + id] += 1u; }
      if (first + i >= repeats_from && (act[marks + id] & SEEN) == 0u) {
        act[marks + id] |= SEEN;
        penalize(id, c.penalty, before);
      }
    }
    workgroupBarrier();
  }
  if (counts_from < length) {
    let before = bound;
    for (var id = lane; id < p.vocab; id += THREADS) {
      let times = act[marks + id] & COUNT;
      if (times == 0u) { continue; }
      odd = odd || times >= 0x1000000u;
      var prior = error_of(id, before);
      if (c.frequency != 0.0) { prior = subtract(id, c.frequency * f32(times), prior); }
      if (c.presence != 0.0) { prior = subtract(id, c.presence, prior); }
    }
  }
  return OPEN;
}

// ---- The tokens that are left ----

fn token(i: u32) -> Token {
  if (listed) {
    let id = list_ids[i];
    return Token(list_keys[i], id & ~EDITED, (id & EDITED) != 0u);
  }
  return Token(key_of(act[values + i]), i, marked && (act[marks + i] & EDITED) != 0u);
}

fn is_within(t: Token, cut: Cut) -> bool {
  return t.key > LEAST && (t.key > cut.key || t.key == cut.key && t.id <= cut.id);
}

// The logit below the largest, at the temperature: at most 0, at least -200, within 4.1 units of itself.
fn height(key: u32) -> f32 {
  let d = max(number_of(key), -2.5e30) - best;
  return max(d, -200.0 * temperature) / temperature;
}

// e to the height, within 4.1 units a height and 3 units.
fn weight(key: u32) -> f32 { return min(own_exp(height(key)), 1.0); }

// ---- 64-bit integers: low word, high word ----

fn sum(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  let lo = a.x + b.x;
  return vec2(lo, a.y + b.y + u32(lo < a.x));
}
fn reaches(a: vec2<u32>, b: vec2<u32>) -> bool { return a.y > b.y || a.y == b.y && a.x >= b.x; }

// A weight in units of 2^-43, so that sums are exact in any order and 2^20 of them fit.
fn fixed(w: f32) -> vec2<u32> {
  let bits = bitcast<u32>(w);
  let e = bits >> 23u;
  let m = (bits & 0x7fffffu) | 0x800000u;
  if (e >= 107u) {
    let s = e - 107u;
    return vec2(m << s, select(0u, m >> (32u - s), s > 8u));
  }
  return vec2(select(0u, m >> (107u - e), e > 83u), 0u);
}
fn number_of_fixed(x: vec2<u32>) -> f32 { return f32(x.y) * 4294967296.0 + f32(x.x); }
fn fixed_of(x: f32) -> vec2<u32> {
  let hi = u32(x * 2.3283064e-10);
  return vec2(u32(max(x - f32(hi) * 4294967296.0, 0.0)), hi);
}

fn add_to(bin: u32, x: vec2<u32>) {
  let old = atomicAdd(&low[bin], x.x);
  let carried = x.y + u32(old + x.x < old);
  if (carried != 0u) { atomicAdd(&high[bin], carried); }
}

fn measure(key: u32, by_weight: bool) -> vec2<u32> {
  if (by_weight) { return fixed(weight(key)); }
  return vec2(1u, 0u);
}

// ---- Order ----

// Distance from a logit next to 0 up to which the temperature may round others to the same.
fn near_zero(x: f32, r: Row) -> f32 { return 9.094947e-13 * (r.largest - x) + 7.8886e-31; }

// A key below that of all tokens that may come before one with this key.
fn lower(key: u32, r: Row) -> u32 {
  let x = number_of(key);
  let distance = 3.0 * r.error + select(0.0, near_zero(x, r), r.heated && abs(x) < 2.3841858e-7 * (r.largest - x));
  return select(key, key_of_number(x - distance), distance > 0.0 && key > LEAST && key < MOST);
}

// Gathers the tokens whose key is at least the one given, if the list has room.
fn gather(least: u32) {
  if (listed) { return; }
  clear_slots();
  for (var i = lane; i < tokens; i += THREADS) {
    let t = token(i);
    if (t.key < least || t.key <= LEAST) { continue; }
    let at = atomicAdd(&slots[0], 1u);
    if (at < LISTED) {
      list_keys[at] = t.key;
      list_ids[at] = t.id | select(0u, EDITED, t.edited);
    }
  }
  let n = agreed().x;
  if (n > LISTED) { return; }
  listed = true;
  tokens = n;
}

// Sums the numbers or the weights of tokens within `floor` by a byte of their keys or inverted ids, where the bytes before it
// are the known ones; then sums up from each bin. Returns the thread's bin before that.
fn fill_bins(level: u32, key: u32, id: u32, by_weight: bool, floor: Cut) -> vec2<u32> {
  let of_key = level < 4u;
  let shift = select(48u - 8u * level, 24u - 8u * level, of_key);
  workgroupBarrier();
  atomicStore(&low[lane], 0u);
  atomicStore(&high[lane], 0u);
  workgroupBarrier();
  for (var i = lane; i < tokens; i += THREADS) {
    let t = token(i);
    if (!is_within(t, floor)) { continue; }
    let place = select(0xffffffu - t.id, t.key, of_key);
    let is_there = level == 0u || level == 4u || place >> (shift + 8u) == select(id, key, of_key);
    if (is_there && (of_key || t.key == key)) { add_to((place >> shift) & 255u, measure(t.key, by_weight)); }
  }
  workgroupBarrier();
  let bin = vec2(atomicLoad(&low[lane]), atomicLoad(&high[lane]));
  var own = bin;
  for (var far = 1u; far < THREADS; far *= 2u) {
    var other = vec2(0u, 0u);
    if (lane + far < THREADS) { other = vec2(atomicLoad(&low[lane + far]), atomicLoad(&high[lane + far])); }
    workgroupBarrier();
    own = sum(own, other);
    atomicStore(&low[lane], own.x);
    atomicStore(&high[lane], own.y);
    workgroupBarrier();
  }
  return bin;
}

// The weight of all tokens within the cut. Keeps the sums by the first byte.
fn total(floor: Cut) -> vec2<u32> {
  _ = fill_bins(0u, 0u, 0u, true, floor);
  let own = vec2(atomicLoad(&low[lane]), atomicLoad(&high[lane]));
  first_sums[lane] = own;
  if (lane == 0u) { told = vec4(own, 0u, 0u); }
  return workgroupUniformLoad(&told).xy;
}

// The cut with which the number or the weight of the tokens within `floor`, in order, reaches `wanted`: byte by byte of
// the keys, then of the ids. Weights need `total` before.
fn cut_that_reaches(wanted: vec2<u32>, by_weight: bool, floor: Cut, r: Row) -> Cut {
  var above = vec2(0u, 0u);
  var key = 0u;
  var id = 0u; // the lowest comes first: inverted
  for (var level = 0u; level < 7u; level++) {
    // Tokens below are not needed any more.
    if (level == 2u) { gather(lower(key << 16u, r)); }
    var bin = vec2(0u, 0u);
    if (by_weight && level == 0u) {
      workgroupBarrier();
      atomicStore(&low[lane], first_sums[lane].x);
      atomicStore(&high[lane], first_sums[lane].y);
    } else {
      bin = fill_bins(level, key, id, by_weight, floor);
    }
    workgroupBarrier();
    if (lane == 0u) { told = vec4(NONE, 0u, 0u, 0u); }
    workgroupBarrier();
    let own = sum(above, vec2(atomicLoad(&low[lane]), atomicLoad(&high[lane])));
    var next = above;
    if (lane + 1u < THREADS) { next = sum(above, vec2(atomicLoad(&low[lane + 1u]), atomicLoad(&high[lane + 1u]))); }
    if (reaches(own, wanted) && !reaches(next, wanted)) {
      let is_one = level == 3u && all(bin == measure(key << 8u | lane, by_weight));
      told = vec4(lane, next, u32(is_one));
    }
    let found = workgroupUniformLoad(&told);
    if (found.x == NONE) { return Cut(0u, NONE); }
    above = found.yz;
    if (level < 4u) { key = key << 8u | found.x; } else { id = id << 8u | found.x; }
    if (found.w != 0u) { return Cut(key, NONE); }
  }
  return Cut(key, 0xffffffu - id);
}

// Whether the tokens up to the cut are surely the first ones in the true order.
fn is_sure(cut: Cut, floor: Cut, r: Row) -> bool {
  if (cut.key == 0u) { return true; }
  let c = number_of(cut.key);
  // The temperature may round different logits to the same, but only next to 0: others are too far apart.
  let merges = r.heated && abs(c) < 2.3841858e-7 * (r.largest - c);
  let merged = select(0.0, near_zero(c, r), merges);
  if (r.error == 0.0 && !merges) { return true; }
  clear_slots();
  for (var i = lane; i < tokens; i += THREADS) {
    let t = token(i);
    if (!is_within(t, floor)) { continue; }
    let inexact = t.edited || merges && t.key != cut.key;
    let e = select(0.0, r.error, t.edited) + select(0.0, merged, inexact);
    let x = max(number_of(t.key), -2.5e30);
    if (is_within(t, cut)) {
      let least = ~key_of_number(x - e);
      atomicMax(&slots[0], least);
      if (inexact) { atomicMax(&slots[1], least); }
    } else {
      let most = key_of_number(x + e);
      atomicMax(&slots[2], most);
      if (inexact) { atomicMax(&slots[3], most); }
    }
  }
  let found = agreed();
  return ~found.x > found.w && ~found.y > found.z;
}

// The n-th largest of the threads' keys, n in 1 ..= 256: at least n tokens reach it.
fn nth_of_threads(own: u32, n: u32) -> u32 {
  workgroupBarrier();
  tile[lane] = own;
  workgroupBarrier();
  var before = 0u;
  for (var i = 0u; i < THREADS; i++) {
    let other = tile[i];
    before += u32(other > own || other == own && i < lane);
  }
  if (before == n - 1u) { told = vec4(own, 0u, 0u, 0u); }
  return workgroupUniformLoad(&told).x;
}

// ---- The draw ----

// The upper half of a product.
fn high_product(a: u32, b: u32) -> u32 {
  let a0 = a & 0xffffu;
  let a1 = a >> 16u;
  let b0 = b & 0xffffu;
  let b1 = b >> 16u;
  let middle = a1 * b0 + ((a0 * b0) >> 16u);
  return a1 * b1 + (middle >> 16u) + ((a0 * b1 + (middle & 0xffffu)) >> 16u);
}

// 24 random bits of a token: Philox 4x32-10.
fn random(seed: vec2<u32>, index: u32, id: u32) -> u32 {
  var x = vec4(index, 0u, id, 0u);
  var key = seed;
  for (var round = 0u; round < 10u; round++) {
    let a = 0xd2511f53u * x.x;
    let b = 0xcd9e8d57u * x.z;
    let a_high = high_product(0xd2511f53u, x.x);
    let b_high = high_product(0xcd9e8d57u, x.z);
    x = vec4(b_high ^ x.y ^ key.x, b, a_high ^ x.w ^ key.y, a);
    key += vec2(0x9e3779b9u, 0xbb67ae85u);
  }
  return x.x >> 8u;
}

// -ln(-ln u) of u = (m + 1/2) 2^-24, within 7 units and 4 units of itself.
fn noise(m: u32) -> f32 {
  let odd_part = 2u * m + 1u;
  var surprise = 0.0;
  if (m < 0x800000u) {
    surprise = -own_ln(f32(odd_part) * 2.98023224e-8);
  } else {
    let rest = f32(0x2000000u - odd_part) * 2.98023224e-8; // 1 - u is exact
    if (rest < 0.29) { surprise = -own_ln_1p(-rest); } else { surprise = -own_ln(1.0 - rest); }
  }
  return -own_ln(surprise);
}

// Error of the sum of height and noise, and of sums with it.
fn error_of_score(height: f32, noise: f32, error: f32) -> f32 {
  return BOUND * UNIT * (6.5 * (abs(height) + abs(noise)) + 10.0) + 1.1 * error / temperature;
}

struct Nucleus {
  surely: Cut,        // tokens up to here are surely in,
  at_most: Cut,       // and those behind this one surely out;
  surely_sure: bool,  // unless tokens near the cut may be out of order
  at_most_sure: bool,
}

fn row_record(r: u32, group: u32) -> u32 {
  let row = min(word(word(10u) + 2u * (word(3u) + r)), max(word(0u), 1u) - 1u);
  workgroupBarrier();
  if (lane == 0u) { told = vec4(act[p.step_rows + 3u * row + 1u], act[p.step_rows + 3u * row + 2u], 0u, 0u); }
  let derived = workgroupUniformLoad(&told);
  let seq_at = word(6u) + 12u * min(derived.y, max(word(1u), 1u) - 1u);
  let sampler_at = word(seq_at + 3u);
  if (sampler_at == NONE) { return NONE; }
  let sampler = word(14u) + sampler_at;
  let c = chain_at(sampler + 3u, word(14u) + word(15u));
  if (!c.taken) { return HOST; }
  let length = min(derived.x, max(word(seq_at + 5u) * word(5u), 1u) - 1u) + 1u; // tokens so far
  let generated_from = min(word(sampler + 2u), length);

  // The row as it is.
  let logits = p.logits + r * p.vocab;
  values = logits;
  marks = 0u;
  marked = false;
  listed = false;
  tokens = p.vocab;
  odd = false;
  bound = 0.0;
  var left = 0u;
  var is_nan = false;
  for (var id = lane; id < p.vocab; id += THREADS) {
    let bits = act[logits + id];
    is_nan = is_nan || (bits & 0x7fffffffu) > 0x7f800000u;
    left += u32(bits != REMOVED);
  }
  if (any_of(is_nan)) { return NAN_LOGITS; }
  if (!any_of(left > 0u)) { return EMPTY; }
  if (c.edits) {
    values = p.scratch + 2u * p.vocab * group;
    marks = values + p.vocab;
    marked = true;
    let record = edit(c, logits, seq_at, length, generated_from, left);
    if (record != OPEN) { return select(record, HOST, any_of(odd)); }
  }

  // The first in the order.
  clear_slots();
  var own_best = 0u;
  var own_id = 0u;
  for (var id = lane; id < p.vocab; id += THREADS) {
    let key = key_of(act[values + id]);
    if (key > own_best) {
      own_best = key;
      own_id = id;
    }
  }
  atomicMax(&slots[0], own_best);
  atomicMax(&slots[1], bitcast<u32>(bound));
  if (odd) { atomicMax(&slots[2], 1u); }
  let found = agreed();
  if (found.x == own_best) { atomicMax(&slots[3], ~own_id); }
  let first = Cut(found.x, ~agreed().w);
  let error = 1.01 * bitcast<f32>(found.y);
  let all_tokens = Cut(0u, NONE);
  if (found.z != 0u) { return HOST; }
  if (c.greedy && error == 0.0) { return first.id; }
  let largest = number_of(first.key);
  if (is_huge(bitcast<u32>(largest))) { return HOST; }
  if (c.greedy) { return select(HOST, first.id, is_sure(first, all_tokens, Row(largest, error, false))); }
  if (error > 0.05 * c.temperature) { return HOST; }
  best = largest;
  temperature = c.temperature;

  // Top-k.
  let row_facts = Row(largest, error, c.heated);
  var kept = all_tokens;
  if (c.top_k > 0u && c.top_k <= THREADS) {
    gather(lower(nth_of_threads(own_best, c.top_k), row_facts));
  } else if (p.vocab <= LISTED) {
    gather(0u);
  }
  if (c.top_k > 0u && c.top_k < p.vocab) {
    kept = cut_that_reaches(vec2(c.top_k, 0u), false, all_tokens, row_facts);
    if (!is_sure(kept, all_tokens, row_facts)) { return HOST; }
  }

  // Top-p.
  var nucleus = Nucleus(kept, kept, true, true);
  if (c.top_p < 1.0) {
    let whole = number_of_fixed(total(kept));
    let n = f32(select(p.vocab, min(c.top_k, p.vocab), c.top_k > 0u));
    // The mean height is at most ln(n / total).
    let spread = max(own_ln(n / (whole * 1.13686838e-13)), 0.0) + 0.1;
    let slack = whole * (BOUND * UNIT * (8.2 * spread + 16.0) + 5.0 * error / c.temperature);
    let wanted = c.top_p * whole;
    nucleus.at_most = cut_that_reaches(fixed_of(wanted + slack), true, kept, row_facts);
    // The first token is in, whatever its weight.
    nucleus.surely = cut_that_reaches(max(fixed_of(max(wanted - slack, 0.0)), vec2(1u, 0u)), true, kept, row_facts);
    nucleus.surely_sure = is_sure(nucleus.surely, kept, row_facts);
    nucleus.at_most_sure = is_sure(nucleus.at_most, kept, row_facts);
    if (nucleus.at_most.key == 0u) { nucleus.at_most = kept; }
  }
  return drawn(c, nucleus, kept, first, error, vec2(word(sampler), word(sampler + 1u)), length - generated_from);
}

// Whether a token is surely in, and whether it may be.
fn membership(t: Token, height: f32, c: Chain, n: Nucleus, first: Cut, error: f32) -> vec2<bool> {
  var surely = is_within(t, n.surely);
  var maybe = is_within(t, n.at_most);
  let x = max(number_of(t.key), -2.5e30);
  if (!n.surely_sure) {
    let cut = number_of(n.surely.key);
    surely = x - cut > 2.2 * error + 1e-6 * abs(cut) + 9.1e-13 * (best - cut) + 7.8886e-31;
  }
  if (!n.at_most_sure) {
    let cut = number_of(n.at_most.key);
    maybe = cut - x <= 2.2 * error + 1e-6 * abs(cut) + 9.1e-13 * (best - cut) + 7.8886e-31;
  }
  if (c.min_p > 0.0 && !(error == 0.0 && t.key == first.key)) {
    let w = own_exp(height);
    let relative = BOUND * UNIT * (4.2 * abs(height) + 8.0) + 2.5 * error / temperature;
    surely = surely && w * (1.0 - relative) > c.min_p;
    maybe = maybe && w * (1.0 + relative) >= c.min_p;
  }
  return vec2(surely, maybe);
}

// The token with the largest sum of height and noise, if it is surely in and no other may have a larger one.
fn drawn(c: Chain, n: Nucleus, kept: Cut, first: Cut, error: f32, seed: vec2<u32>, index: u32) -> u32 {
  // A sum that is surely reached: most tokens can't, which the height tells.
  var bar = -1e30;
  if (error == 0.0) {
    let g = noise(random(seed, index, first.id));
    bar = g - error_of_score(0.0, g, 0.0);
  }
  var least = -1e30;   // the largest lower bound of a token that is surely in,
  var least_id = NONE;
  var least_at = vec2(0u, 0u); // its key and random number
  var most = -1e30;    // the largest and the second largest upper bound of tokens that may be in
  var most_id = NONE;
  var most_at = vec2(0u, 0u);
  var second = -1e30;
  for (var i = lane; i < tokens; i += THREADS) {
    let t = token(i);
    if (!is_within(t, kept)) { continue; }
    let h = height(t.key);
    if (h < -30.0 || h + 17.5 < bar) { continue; }
    let is_in = membership(t, h, c, n, first, error);
    if (!is_in.y) { continue; }
    let m = random(seed, index, t.id);
    let g = noise(m);
    let e = error_of_score(h, g, select(0.0, error, t.edited));
    let lower = h + g - e;
    let upper = h + g + e;
    bar = max(bar, select(-1e30, lower, is_in.x));
    let at = vec2(t.key, m);
    if (is_in.x && (lower > least || lower == least && t.id < least_id)) {
      least = lower;
      least_id = t.id;
      least_at = select(at, vec2(1u, 0u), t.edited);
    }
    if (!t.edited && most_id != NONE && all(at == most_at)) {
      most_id = min(most_id, t.id); // the same sum: the lower id wins
    } else if (upper > most) {
      second = most;
      most = upper;
      most_id = t.id;
      most_at = select(at, vec2(0u, 0u), t.edited);
    } else {
      second = max(second, upper);
    }
  }
  clear_slots();
  if (least_id != NONE) { atomicMax(&slots[0], key_of_number(least)); }
  let lead = agreed().x;
  if (lead == 0u) { return HOST; }
  if (least_id != NONE && key_of_number(least) == lead) { atomicMax(&slots[1], ~least_id); }
  let winner = ~agreed().y;
  workgroupBarrier();
  if (least_id == winner) { told = vec4(least_at, 0u, 0u); }
  let winner_at = workgroupUniformLoad(&told).xy;
  let passed = most_id == winner || most_id != NONE && most_id > winner && all(most_at == winner_at);
  let rival = select(most, second, passed);
  if (any_of(key_of_number(rival) >= lead)) { return HOST; }
  return winner;
}

@compute @workgroup_size(256)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) thread: u32,
) {
  lane = thread;
  var rows = p.rows;
  if (p.rows_from != NONE) { rows = min(rows, word(p.rows_from)); }
  for (var r = group.x; r < rows; r += groups.x) {
    let record = row_record(r, group.x);
    if (lane == 0u) { act[p.out + r] = record; }
    workgroupBarrier();
  }
}
