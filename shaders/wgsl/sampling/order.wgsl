// Slot `order` of sample.wgsl: the first tokens in the order, by number or by weight, and whether they surely are.

// 64-bit integers: low word, high word.
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
fn number_of_fixed(x: vec2<u32>) -> f32 { return f32(x.y) * 4.8828125e-4 + f32(x.x) * 1.13686838e-13; }
// At least one unit, which the first token reaches.
fn fixed_of(x: f32) -> vec2<u32> {
  let hi = u32(max(x, 0.0) * 2048.0);
  let lo = u32(max(x - f32(hi) * 4.8828125e-4, 0.0) * 8.7960930e12);
  return vec2(max(lo, u32(hi == 0u)), hi);
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

// Whether the temperature may round logits near this one to the same. Those that are not next to 0 are too far apart.
fn merges_near(x: f32, facts: Facts) -> bool {
  return facts.heated && abs(x) < 2.3841858e-7 * (facts.largest - x);
}

// The distance up to which it may.
fn near_zero(x: f32, facts: Facts) -> f32 { return 9.094947e-13 * (facts.largest - x) + 7.8886e-31; }

// A key below that of all tokens that may come before one with this key.
fn lower(key: u32, facts: Facts) -> u32 {
  let x = number_of(key);
  let distance = 3.0 * facts.error + select(0.0, near_zero(x, facts), merges_near(x, facts));
  return select(key, key_of_number(x - distance), distance > 0.0 && key > LEAST && key < MOST);
}

// Gathers the tokens whose key is at least the one given. Whether the list has room for them.
fn gather(least: u32) -> bool {
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
  if (n > LISTED) { return false; }
  listed = true;
  tokens = n;
  return true;
}

// Sums the numbers or the weights of tokens within `floor` by a byte of their keys or inverted ids, where the bytes
// before it are the known ones; then sums up from each bin. Returns the thread's bin before that.
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

// The sum of weights of which the cut is wanted: before or behind the share of top-p by the bound.
fn weight_wanted(kind: u32, whole: f32, c: Chain, facts: Facts) -> vec2<u32> {
  let n = f32(select(p.vocab, min(c.top_k, p.vocab), c.top_k > 0u));
  // The mean height is at most ln(n / whole).
  let spread = max(ln_f32(n / whole), 0.0) + 0.1;
  let slack = whole * (BOUND * UNIT * (8.2 * spread + 16.0) + 5.0 * facts.error / temperature);
  return fixed_of(c.top_p * whole + select(-slack, slack, kind == AT_MOST));
}

// The cut at which the number or the weight of the tokens within `floor`, in order, reaches what is wanted: byte by
// byte of the keys, then of the ids. Gathers the tokens from the key `least` up before, if it is not NONE.
fn cut_of(kind: u32, c: Chain, floor: Cut, least: u32, facts: Facts, gathered: ptr<function, bool>) -> Cut {
  var wanted = vec2(c.top_k, 0u);
  var above = vec2(0u, 0u);
  var key = 0u;
  var id = 0u; // the lowest comes first: inverted
  for (var level = 0u; level < 7u; level++) {
    // From the third byte on the tokens below are not needed any more.
    if (!*gathered && (level == 0u && least != NONE || level == 2u)) {
      *gathered = gather(select(lower(key << 16u, facts), least, level == 0u));
    }
    let is_known = kind == SURELY && level == 0u;
    var bin = vec2(0u, 0u);
    if (is_known) {
      workgroupBarrier();
      atomicStore(&low[lane], first_sums[lane].x);
      atomicStore(&high[lane], first_sums[lane].y);
    } else {
      bin = fill_bins(level, key, id, kind != TOP_K, floor);
    }
    workgroupBarrier();
    let sums = vec2(atomicLoad(&low[lane]), atomicLoad(&high[lane]));
    if (kind != TOP_K && level == 0u) {
      first_sums[lane] = sums;
      if (lane == 0u) { told = vec4(sums, 0u, 0u); }
      wanted = weight_wanted(kind, number_of_fixed(workgroupUniformLoad(&told).xy), c, facts);
    }
    if (lane == 0u) { told = vec4(NONE, 0u, 0u, 0u); }
    workgroupBarrier();
    var next = above;
    if (lane + 1u < THREADS) { next = sum(above, vec2(atomicLoad(&low[lane + 1u]), atomicLoad(&high[lane + 1u]))); }
    if (reaches(sum(above, sums), wanted) && !reaches(next, wanted)) {
      let is_one = level == 3u && all(bin == measure(key << 8u | lane, kind != TOP_K));
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
fn is_sure(cut: Cut, floor: Cut, facts: Facts) -> bool {
  if (cut.key == 0u) { return true; }
  let c = number_of(cut.key);
  let merges = merges_near(c, facts);
  let merged = select(0.0, near_zero(c, facts), merges);
  if (facts.error == 0.0 && !merges) { return true; }
  for (var i = lane; i < tokens; i += THREADS) {
    let t = token(i);
    if (!is_within(t, floor)) { continue; }
    let inexact = t.edited || merges && t.key != cut.key;
    let e = select(0.0, facts.error, t.edited) + select(0.0, merged, inexact);
    let x = max(number_of(t.key), -2.5e30);
    if (is_within(t, cut)) {
      let least = ~key_of_number(x - e);
      raise(0u, least);
      raise(1u, select(0u, least, inexact));
    } else {
      let most = key_of_number(x + e);
      raise(2u, most);
      raise(3u, select(0u, most, inexact));
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
