// Slot `edits` of sample.wgsl: thread i changes the copies of its tokens, and marks them.

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
  for (var stage = 1u; stage <= 3u; stage++) {
    var list = c.bias;
    if (stage == 2u) { list = c.bans; }
    if (stage == 3u) { list = select(vec2(0u, 0u), c.least, length - generated_from < c.least_tokens); }
    if (list.y == 0u) { continue; }
    for (var i = 0u; i < list.y; i++) {
      let at = list.x + select(i, 2u * i, stage == 1u);
      let id = word(at);
      if (!is_own(id) || act[values + id] == REMOVED) { continue; }
      let b = select(REMOVED, word(at + 1u), stage == 1u);
      if (b == REMOVED) {
        act[values + id] = REMOVED;
        left -= 1u;
      } else if (is_huge(b) || is_huge(act[values + id])) {
        odd = true;
      } else {
        _ = put(id, bitcast<f32>(act[values + id]) + bitcast<f32>(b), error_of(id, bound));
      }
    }
    raise(0u, left);
    raise(1u, u32(odd));
    let found = agreed();
    if (found.x == 0u) { return select(EMPTY - stage, HOST, found.y != 0u); }
  }
  let repeats_from = length - min(c.last_n, length);
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
