// Elementary functions of f32 from + - * / and bits: those of drivers are too far off and differ (log near 1 by 0.4%).
// Bounds are relative, in units of 2^-23, for any rounding of + - * to a neighbour, / within 2.5 ulp, any contraction.

// e^x within 3; 0 below -87.3 (also for -infinity), e^88.7 above 88.7. Results are never subnormal.
fn exp_f32(x: f32) -> f32 {
  let y = clamp(x, -87.3, 88.7);
  let n = round(y * 1.44269504);
  // n ln 2 in two parts: the upper one has 15 bits, so its product is exact, and so is the difference. |r| < 0.35.
  let r = (y - n * 0.693145751953125) - n * 1.42860677e-6;
  var q = 1.98412698e-4;
  q = q * r + 1.38888889e-3;
  q = q * r + 8.33333333e-3;
  q = q * r + 4.16666667e-2;
  q = q * r + 1.66666667e-1;
  q = q * r + 0.5;
  let e = (q * r * r + r) + 1.0;
  // 2^128 is no number: the scale in two factors.
  let k = i32(n);
  let half = k / 2;
  let scaled = e * bitcast<f32>(u32(half + 127) << 23u) * bitcast<f32>(u32(k - half + 127) << 23u);
  return select(scaled, 0.0, x < -87.3);
}

// ln(1 + f) within 3, for f in -0.293 ..= 0.415.
fn ln_1p_f32(f: f32) -> f32 {
  var q = 7.0376836292e-2;
  q = q * f - 1.1514610310e-1;
  q = q * f + 1.1676998740e-1;
  q = q * f - 1.2420140846e-1;
  q = q * f + 1.4249322787e-1;
  q = q * f - 1.6668057665e-1;
  q = q * f + 2.0000714765e-1;
  q = q * f - 2.4999993993e-1;
  q = q * f + 3.3333331174e-1;
  let square = f * f;
  return f + (f * square * q - 0.5 * square);
}

// ln x within 4, for a normal number above 0.
fn ln_f32(x: f32) -> f32 {
  let bits = bitcast<u32>(x);
  var e = i32(bits >> 23u) - 126;
  var m = bitcast<f32>((bits & 0x7fffffu) | 0x3f000000u);
  if (m < 0.70710678) {
    e -= 1;
    m = m + m;
  }
  // The difference is exact, and so is the product of e with the upper part of ln 2, which has 9 bits.
  let n = f32(e);
  return n * 0.693359375 + (ln_1p_f32(m - 1.0) - n * 2.12194440e-4);
}

// tanh x within 5.
fn tanh_f32(x: f32) -> f32 {
  let t = min(abs(x), 10.0);
  if (t < 0.625) {
    let square = x * x;
    var q = -5.70498872745e-3;
    q = q * square + 2.06390887954e-2;
    q = q * square - 5.37397155531e-2;
    q = q * square + 1.33314422036e-1;
    q = q * square - 3.33332819422e-1;
    return x + x * square * q;
  }
  let far = 1.0 - 2.0 / (exp_f32(2.0 * t) + 1.0);
  return select(far, -far, x < 0.0);
}

fn silu(x: f32) -> f32 { return x / (1.0 + exp_f32(-x)); }

fn gelu(x: f32) -> f32 { return 0.5 * x * (1.0 + tanh_f32(0.7978845608 * (x + 0.044715 * x * x * x))); }
