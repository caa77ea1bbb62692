// Values of rows as they are.
fn prepare(x: u32, row: u32, t: u32) {}
fn value(x: u32, w: u32, row: u32, i: u32) -> f32 { return bitcast<f32>(act[x + row * p.k + i]); }
