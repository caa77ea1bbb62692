const UNIT_0: u32 = 1u;
fn encode_0(unit: u32, x: u32) { put16_0(unit, f16_bits(source(x))); }
