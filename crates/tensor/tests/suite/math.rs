//! The elementary functions against exact values and against the platform's.

use inkstone_tensor::math;

/// Function, arguments and the exact result as `hi + lo`, all as the bits of doubles; computed with decimal arithmetic
/// of 60 digits and more. Among them are arguments near multiples of pi/2, near 1, subnormal ones and limits.
const EXACT: &str = include_str!("../data/functions.txt");

/// The distance of `x` to the next double away from zero; for subnormal numbers their spacing.
fn ulp(x: f64) -> f64 {
    let x = x.abs().max(f64::MIN_POSITIVE);
    f64::from_bits(x.to_bits() & 0x7ff << 52) * f64::EPSILON
}

#[test]
fn errors_are_within_the_stated_bounds() {
    let mut worst = std::collections::BTreeMap::new();
    for line in EXACT.lines() {
        let mut words = line.split(' ');
        let name = words.next().unwrap();
        let numbers: Vec<f64> = words.map(|w| f64::from_bits(u64::from_str_radix(w, 16).unwrap())).collect();
        let (got, hi, lo) = match (name, &numbers[..]) {
            ("exp", &[x, hi, lo]) => (math::exp(x), hi, lo),
            ("ln", &[x, hi, lo]) => (math::ln(x), hi, lo),
            ("tanh", &[x, hi, lo]) => (math::tanh(x), hi, lo),
            ("sin", &[x, hi, lo]) => (math::sin(x), hi, lo),
            ("cos", &[x, hi, lo]) => (math::cos(x), hi, lo),
            ("pow", &[x, y, hi, lo]) => (math::pow(x, y), hi, lo),
            _ => panic!("{line}"),
        };
        let error = (got - hi - lo).abs() / ulp(hi);
        let bound = match name {
            _ if hi.abs() < f64::MIN_POSITIVE => 1.0,
            "sin" | "cos" => 0.8,
            _ => 0.6,
        };
        assert!(error < bound, "{line}: {got:e} is {error} ulp from {hi:e}");
        let worst = worst.entry(name).or_insert(0f64);
        *worst = worst.max(error);
    }
    println!("largest error in ulp: {worst:?}");
    assert_eq!(worst.len(), 6);
}

/// Numbers from a fixed generator (SplitMix64).
fn random() -> impl FnMut() -> u64 {
    let mut state = 1u64;
    move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }
}

/// In 0 .. 1.
fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1u64 << 53) as f64
}

/// The platform's functions are within one ulp or so of the truth, ours too.
#[track_caller]
fn near(name: &str, x: f64, ours: f64, platform: f64) {
    let equal = ours == platform || ours.is_nan() && platform.is_nan();
    assert!(equal || (ours - platform).abs() <= 2.0 * ulp(platform), "{name} {x:e}: {ours:e}, platform {platform:e}");
}

#[test]
fn functions_agree_with_the_platform_over_all_ranges() {
    let mut next = random();
    for i in 0..400_000 {
        let any = f64::from_bits(next());
        let wide = (unit(next()) - 0.5) * 1500.0;
        let narrow = (unit(next()) - 0.5) * 4.0;
        let step = f64::from(i) / 1024.0 - 200.0;
        for x in [any, wide, narrow, step, f64::from_bits(next() & !(0x7ff << 52))] {
            near("exp", x, math::exp(x), x.exp());
            near("tanh", x, math::tanh(x), x.tanh());
            near("ln", x, math::ln(x), x.ln());
            near("sin", x, math::sin(x), x.sin());
            near("cos", x, math::cos(x), x.cos());
            near("pow", x, math::pow(wide.abs(), x), wide.abs().powf(x));
            near("pow", x, math::pow(x, narrow), x.powf(narrow));
        }
    }
}

#[test]
fn positions_up_to_two_to_the_31_are_angles() {
    let mut next = random();
    for _ in 0..300_000 {
        let x = (next() >> 33) as f64;
        near("sin", x, math::sin(x), x.sin());
        near("cos", -x, math::cos(-x), x.cos());
    }
}

#[test]
fn special_cases_are_those_of_c99() {
    const INF: f64 = f64::INFINITY;
    let special = [
        0.0,
        1.0,
        2.0,
        3.0,
        0.5,
        1e300,
        9007199254740991.0,
        9007199254740992.0,
        5e-324,
        f64::MIN_POSITIVE,
        f64::MAX,
        INF,
    ];
    let special: Vec<f64> = special.into_iter().flat_map(|x| [x, -x]).chain([f64::NAN]).collect();
    let same = |name, x, y, ours: f64, platform: f64| {
        near(name, x, ours, platform);
        let sign = platform.is_nan() || ours.is_sign_negative() == platform.is_sign_negative();
        assert!(sign, "{name} {x} {y}: {ours} against {platform}");
    };
    for &x in &special {
        same("exp", x, 0.0, math::exp(x), x.exp());
        same("ln", x, 0.0, math::ln(x), x.ln());
        same("tanh", x, 0.0, math::tanh(x), x.tanh());
        same("sin", x, 0.0, math::sin(x), x.sin());
        same("cos", x, 0.0, math::cos(x), x.cos());
        for &y in &special {
            same("pow", x, y, math::pow(x, y), x.powf(y));
        }
    }
}

/// A change of any bit anywhere shows here: the bits are the same on every machine, so this number is.
#[test]
fn bits_are_those_of_every_machine() {
    let mut next = random();
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    for _ in 0..20_000 {
        let (any, x) = (f64::from_bits(next()), (unit(next()) - 0.5) * 60.0);
        let (s, c) = math::sin_cos(any);
        for v in [s, c, math::exp(x), math::ln(x.abs()), math::ln(any.abs()), math::tanh(x), math::pow(x.abs(), x)] {
            let bits = if v.is_nan() { 0 } else { v.to_bits() };
            hash = (hash ^ bits).wrapping_mul(0x100_0000_01b3);
        }
    }
    assert_eq!(hash, 0x2618_461b_d5e7_a3de, "{hash:#x}");
}
