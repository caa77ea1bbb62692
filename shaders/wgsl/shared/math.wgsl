// exp in f32: x = n ln 2 + r, a polynomial of r, and n into the exponent in two halves. 0 below -87.
fn exp_f32(x: f32) -> f32 {
  let n = round(clamp(x, -104.0, 89.0) * 1.44269504);
  var r = x - n * 0.693145751953125;
  r = r - n * 1.42860677e-6;
  var y = 1.98412698e-4;
  y = y * r + 1.38888889e-3;
  y = y * r + 8.33333333e-3;
  y = y * r + 4.16666667e-2;
  y = y * r + 1.66666667e-1;
  y = y * r + 0.5;
  y = y * r * r + r + 1.0;
  let e = i32(n);
  let half = e / 2;
  let scale = bitcast<f32>(u32(half + 127) << 23u) * bitcast<f32>(u32(e - half + 127) << 23u);
  return select(y * scale, 0.0, x < -87.0);
}

// tanh in f32: an odd polynomial near 0, else by exp.
fn tanh_f32(x: f32) -> f32 {
  let t = abs(x);
  if (t < 0.625) {
    let z = x * x;
    var y = -5.70498872745e-3;
    y = y * z + 2.06390887954e-2;
    y = y * z - 5.37397155531e-2;
    y = y * z + 1.33314422036e-1;
    y = y * z - 3.33332819422e-1;
    return x + x * z * y;
  }
  let r = 1.0 - 2.0 / (exp_f32(2.0 * min(t, 20.0)) + 1.0);
  return select(r, -r, x < 0.0);
}

fn silu(x: f32) -> f32 { return x / (1.0 + exp_f32(-x)); }

fn gelu(x: f32) -> f32 { return 0.5 * x * (1.0 + tanh_f32(0.7978845608 * (x + 0.044715 * x * x * x))); }
