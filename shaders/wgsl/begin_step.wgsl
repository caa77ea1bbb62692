// Token, position and sequence of every row of the step, from the step and the carry. Grid: a thread a row.
struct Params {
  rows: u32,      // most rows
  rows_from: u32, // the word of the step with the true number
  out: u32,       // the rows, in `act`
}
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> step: array<u32>;
@group(0) @binding(2) var<storage, read_write> act: array<u32>;
@group(0) @binding(7) var<storage, read_write> k: array<u32>; // the carry

const SEQS: u32 = 64u;
const SEQ_WORDS: u32 = 12u;
const LENGTH: u32 = 1u;
const TOKEN: u32 = 2u;
const LAST: u32 = 0xffffffffu;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  let row = id.x;
  if (row >= min(step[p.rows_from], p.rows)) { return; }
  for (var s = 0u; s < min(step[1], SEQS); s++) {
    let at = step[6] + s * SEQ_WORDS;
    let first = step[at + 1u];
    if (row < first || row - first >= step[at + 2u]) { continue; }
    let slot = min(step[at], SEQS - 1u);
    let fed = step[step[8] + row];
    act[p.out + 3u * row] = select(fed, k[TOKEN * SEQS + slot], fed == LAST);
    act[p.out + 3u * row + 1u] = k[LENGTH * SEQS + slot] + (row - first);
    act[p.out + 3u * row + 2u] = s;
  }
}
