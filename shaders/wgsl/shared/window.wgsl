// What a row sees of its `n` positions: the first `first` of them and the last `size`, as the ranges 0..first and begin..n.
struct Visible {
  first: u32,
  begin: u32,
}

fn visible_of(n: u32, size: u32, first: u32) -> Visible {
  let begin = n - min(n, size);
  if (begin <= first) { return Visible(0u, 0u); }
  return Visible(first, begin);
}

// The first block of 64 positions at or after `block` of which a row sees any, if there is one.
fn next_block(seen: Visible, block: u32) -> u32 {
  return select(max(block, seen.begin / 64u), block, block * 64u < seen.first);
}
