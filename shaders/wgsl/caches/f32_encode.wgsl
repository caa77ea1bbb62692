const UNIT: u32 = 1u;
fn encode(row: u32, unit: u32, x: u32) { atomicStore(&k[row * p.dim + unit], act[x]); }
