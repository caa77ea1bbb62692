// The token of each logit row by the chain of its sequence, as the definition draws it, or HOST where f32 can't tell.
// Grid: any number of groups, which take the rows in turn. Thread i has the tokens i, i + 256, ..
//
// Tokens are compared by integer keys and counted and summed in integers, so that the order of threads has no effect.
// Where the definition computes in f64 this kernel has a value and a bound of its error, in units of 2^-23: a token is
// surely kept, surely removed, or neither. crates/engine-wgpu/src/kernels/sample.rs derives the bounds.
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
// Cuts, in the order in which they are found: of top-k, the last token that may be in top-p, the last that surely is.
const TOP_K: u32 = 0u;
const AT_MOST: u32 = 1u;
const SURELY: u32 = 2u;
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
struct Facts {
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

// Reductions: threads raise slots, which are 0 before; then all agree on them.
fn raise(slot: u32, x: u32) { if (x != 0u) { atomicMax(&slots[slot], x); } }
fn agreed() -> vec4<u32> {
  workgroupBarrier();
  if (lane == 0u) {
    told = vec4(
      atomicExchange(&slots[0], 0u),
      atomicExchange(&slots[1], 0u),
      atomicExchange(&slots[2], 0u),
      atomicExchange(&slots[3], 0u),
    );
  }
  return workgroupUniformLoad(&told);
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
fn weight(key: u32) -> f32 { return min(exp_f32(height(key)), 1.0); }

// slot: math
fn exp_f32(x: f32) -> f32 { return exp(x); }
fn ln_f32(x: f32) -> f32 { return log(x); }
fn ln_1p_f32(f: f32) -> f32 { return log(1.0 + f); }
// end slot

// slot: chain
fn chain_at(start: u32, section_end: u32) -> Chain { return Chain(); }
// end slot

// slot: edits
fn edit(c: Chain, logits: u32, seq_at: u32, length: u32, generated_from: u32, tokens_left: u32) -> u32 { return OPEN; }
// end slot

// slot: order
fn nth_of_threads(own: u32, n: u32) -> u32 { return own; }
fn lower(key: u32, facts: Facts) -> u32 { return key; }
fn cut_of(kind: u32, c: Chain, floor: Cut, least: u32, facts: Facts, gathered: ptr<function, bool>) -> Cut {
  return floor;
}
fn is_sure(cut: Cut, floor: Cut, facts: Facts) -> bool { return false; }
// end slot

// slot: noise
fn random(seed: vec2<u32>, index: u32, id: u32) -> u32 { return index; }
fn noise(m: u32) -> f32 { return f32(m); }
// end slot

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
  let c = chain_at(sampler + 3u, min(word(14u) + word(15u), arrayLength(&step)));
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
  raise(0u, u32(is_nan));
  raise(1u, left);
  let seen = agreed();
  if (seen.x != 0u) { return NAN_LOGITS; }
  if (seen.y == 0u) { return EMPTY; }
  if (c.edits) {
    values = p.scratch + 2u * p.vocab * group;
    marks = values + p.vocab;
    marked = true;
    let record = edit(c, logits, seq_at, length, generated_from, left);
    if (record != OPEN) { return record; }
  }

  // The first in the order.
  var own_best = 0u;
  var own_id = 0u;
  for (var id = lane; id < p.vocab; id += THREADS) {
    let key = key_of(act[values + id]);
    if (key > own_best) {
      own_best = key;
      own_id = id;
    }
  }
  raise(0u, own_best);
  raise(1u, bitcast<u32>(bound));
  raise(2u, u32(odd));
  let found = agreed();
  raise(0u, select(0u, ~own_id, found.x == own_best));
  let first = Cut(found.x, ~agreed().x);
  let error = 1.01 * bitcast<f32>(found.y);
  let all_tokens = Cut(0u, NONE);
  if (found.z != 0u) { return HOST; }
  if (c.greedy && (error == 0.0 || p.vocab == 1u)) { return first.id; }
  let largest = number_of(first.key);
  if (is_huge(bitcast<u32>(largest)) || !c.greedy && error > 0.05 * c.temperature) { return HOST; }
  best = largest;
  temperature = c.temperature;
  let facts = Facts(largest, error, c.heated);

  // Top-k and top-p. Few tokens are gathered first.
  var least = select(NONE, 0u, p.vocab <= LISTED);
  if (c.top_k > 0u && c.top_k <= THREADS) { least = lower(nth_of_threads(own_best, c.top_k), facts); }
  var kept = all_tokens;
  var nucleus = Nucleus(kept, kept, true, true);
  var gathered = false;
  let by_number = c.top_k > 0u && c.top_k < p.vocab;
  let by_weight = c.top_p < 1.0;
  for (var kind = TOP_K; kind <= SURELY; kind++) {
    if (kind == TOP_K && by_number || kind != TOP_K && by_weight) {
      let cut = cut_of(kind, c, kept, least, facts, &gathered);
      let sure = is_sure(cut, kept, facts);
      least = NONE;
      if (kind == TOP_K) {
        if (!sure) { return HOST; }
        if (c.greedy) { return first.id; }
        kept = cut;
        nucleus = Nucleus(cut, cut, true, true);
      } else if (kind == AT_MOST) {
        // Where the sum is not reached, all may be in.
        if (cut.key > 0u) {
          nucleus.at_most = cut;
          nucleus.at_most_sure = sure;
        }
      } else {
        nucleus.surely = cut;
        nucleus.surely_sure = sure;
      }
    }
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
    let w = exp_f32(height);
    let relative = BOUND * UNIT * (4.2 * abs(height) + 8.0) + 2.5 * error / temperature;
    surely = surely && w * (1.0 - relative) > c.min_p;
    maybe = maybe && w * (1.0 + relative) >= c.min_p;
  }
  return vec2(surely, maybe);
}

// The token with the largest sum of height and noise, if it is surely in and no other may have a larger one.
fn drawn(c: Chain, n: Nucleus, kept: Cut, first: Cut, error: f32, seed: vec2<u32>, index: u32) -> u32 {
  var least = -1e30;   // the largest lower bound of a token that is surely in,
  var least_id = NONE;
  var least_at = vec2(0u, 0u); // its key and random number
  var most = -1e30;    // the largest and the second largest upper bound of tokens that may be in
  var most_id = NONE;
  var most_at = vec2(0u, 0u);
  var second = -1e30;
  // A sum that is surely reached, at first by the first token in the order. Most tokens are too low for it.
  var bar = -1e30;
  var is_first = error == 0.0;
  var i = lane;
  while (is_first || i < tokens) {
    var t = Token(first.key, first.id, false);
    if (!is_first) {
      t = token(i);
      i += THREADS;
    }
    let counts = !is_first;
    is_first = false;
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
    if (!counts) { continue; }
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
  raise(0u, select(0u, key_of_number(least), least_id != NONE));
  let lead = agreed().x;
  if (lead == 0u) { return HOST; }
  raise(0u, select(0u, ~least_id, least_id != NONE && key_of_number(least) == lead));
  let winner = ~agreed().x;
  if (least_id == winner) { told = vec4(least_at, 0u, 0u); }
  let winner_at = workgroupUniformLoad(&told).xy;
  let passed = most_id == winner || most_id != NONE && most_id > winner && all(most_at == winner_at);
  let rival = select(most, second, passed);
  raise(0u, u32(key_of_number(rival) >= lead));
  return select(winner, HOST, agreed().x != 0u);
}

@compute @workgroup_size(256)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) thread: u32,
) {
  lane = thread;
  if (lane < 4u) { atomicStore(&slots[lane], 0u); }
  workgroupBarrier();
  var rows = p.rows;
  if (p.rows_from != NONE) { rows = min(rows, word(p.rows_from)); }
  for (var r = group.x; r < rows; r += groups.x) {
    let record = row_record(r, group.x);
    if (lane == 0u) { act[p.out + r] = record; }
    workgroupBarrier();
  }
}
