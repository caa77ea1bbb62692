// Rows of activations in Q8_A, as they are.
fn make(first: u32, rows: u32, t: u32) {}
fn group_at(row: u32, group: u32) -> u32 { return p.x + (row * (p.k / 32u) + group) * 10u; }
fn word(at: u32) -> u32 { return act[at]; }
