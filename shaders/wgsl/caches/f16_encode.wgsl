const UNIT: u32 = 1u;
fn encode(row: u32, unit: u32, x: u32) { put16(row * p.dim + unit, f16_bits(act[x])); }
