fn k_at(row: u32, i: u32) -> f32 { return bitcast<f32>(k[row * p.k_cols + i]); }
