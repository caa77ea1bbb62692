// Stores 16 bits; `at` counts halves of words.
fn put16_0(at: u32, bits: u32) {
  let shift = (at & 1u) * 16u;
  atomicAnd(&k[at >> 1u], ~(0xffffu << shift));
  atomicOr(&k[at >> 1u], (bits & 0xffffu) << shift);
}
