// Lengths grow by the rows of the step, except for sequences that have ended. Grid: a workgroup, a thread a sequence.
@group(0) @binding(1) var<storage, read> step: array<u32>;
@group(0) @binding(7) var<storage, read_write> k: array<u32>; // the carry

const SEQS: u32 = 64u;
const SEQ_WORDS: u32 = 12u;
const LENGTH: u32 = 1u;
const DONE: u32 = 3u;

@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) s: u32) {
  if (s >= step[1]) { return; }
  let at = step[6] + s * SEQ_WORDS;
  let slot = min(step[at], SEQS - 1u);
  if (k[DONE * SEQS + slot] == 0u) { k[LENGTH * SEQS + slot] += step[at + 2u]; }
}
