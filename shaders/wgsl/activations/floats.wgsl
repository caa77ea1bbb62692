// Rows of activations in f32, as they are.
fn make(first: u32, rows: u32, t: u32) {}
fn x_at(row: u32, i: u32) -> f32 { return bitcast<f32>(act[p.x + row * p.k + i]); }
