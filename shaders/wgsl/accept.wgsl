// Takes what each sequence drew: stores the token, ends the sequence (end token, limit, error), writes a row of the ring.
// Grid: a workgroup; a thread a logit row.
struct Params {
  rows: u32,      // most logit rows
  rows_from: u32, // the word of the step with the true number
  records: u32,   // a word a logit row, in `act`
}
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> step: array<u32>;
@group(0) @binding(2) var<storage, read_write> act: array<u32>;
@group(0) @binding(7) var<storage, read_write> k: array<u32>; // the carry

const NONE: u32 = 0xffffffffu;
const SEQS: u32 = 64u;
const SEQ_WORDS: u32 = 12u;
const TOKENS_END: u32 = 0xffff0000u;
const TOKEN: u32 = 2u;
const DONE: u32 = 3u;
const LEFT: u32 = 4u;
const END: u32 = 5u;
const ENDS: u32 = 8u;
const RING: u32 = 13u;
const RING_STEPS: u32 = 8u;

@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) t: u32) {
  if (step[4] == 0u) { return; }
  let drawn = k[0]; // drawing steps so far
  let ring = (RING + drawn % RING_STEPS) * SEQS;
  let first = step[3];
  if (first == 0u) { k[ring + t] = NONE; }
  storageBarrier();
  workgroupBarrier();
  let count = min(step[4], p.rows);
  for (var r = t; r < count; r += 64u) {
    let row = step[step[10] + 2u * (first + r)];
    let at = step[6] + min(step[step[10] + 2u * (first + r) + 1u], SEQS - 1u) * SEQ_WORDS;
    let slot = min(step[at], SEQS - 1u);
    let draws = step[at + 3u] != NONE && row + 1u == step[at + 1u] + step[at + 2u];
    if (!draws || k[DONE * SEQS + slot] != 0u) { continue; }
    let record = act[p.records + r];
    k[ring + slot] = record;
    let left = max(k[LEFT * SEQS + slot], 1u) - 1u;
    k[LEFT * SEQS + slot] = left;
    var ends = record >= TOKENS_END || left == 0u;
    for (var i = 0u; i < ENDS; i++) { ends = ends || k[(END + i) * SEQS + slot] == record; }
    if (ends) { k[DONE * SEQS + slot] = 1u; } else { k[TOKEN * SEQS + slot] = record; }
  }
  storageBarrier();
  workgroupBarrier();
  if (t == 0u && first + step[4] == step[2]) { k[0] = drawn + 1u; }
}
