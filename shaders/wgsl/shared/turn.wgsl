// Rotations by position. Cosine and sine come from tables that were computed in f64: of the lowest 11 bits of the position
// (with the magnitude), of the next 11, and of the highest 10; angles are joined by the addition rule.

// A pair of values, turned by an angle with this cosine and sine.
fn turned(pair: vec2<f32>, by: vec2<f32>) -> vec2<f32> {
  return vec2<f32>(pair.x * by.x - pair.y * by.y, pair.y * by.x + pair.x * by.y);
}

// Cosine and sine of the angle of pair `i` of a head.
fn angle(position: u32, i: u32) -> vec2<f32> {
  var by = w0[(position & 2047u) * p.pairs + i];
  let middle = (position >> 11u) & 2047u;
  if (middle != 0u) { by = turned(by, w0[(2048u + middle) * p.pairs + i]); }
  let high = position >> 22u;
  if (high != 0u) { by = turned(by, w0[(4096u + high) * p.pairs + i]); }
  return by;
}
